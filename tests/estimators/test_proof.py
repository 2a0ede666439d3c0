"""prove and near_ties: what users give and get."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from fitting import assert_same_result
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    Moments,
    ParameterError,
    evaluate_subsets,
    near_ties,
    prove,
)

# So little of it that the best subset is missed.
WEAK = Annealing(n_replicas=1, max_steps=1, n_batches=1, batch_fraction=1.0)
# No proof here takes a second; a slow machine may take any time.
LONG = 1e6


@pytest.fixture(scope="module")
def moments(two_classes):
    return Moments.from_rows(*two_classes)


def test_the_value_is_that_of_the_selector(two_classes, moments):
    selector = AnnealingSelector(4, random_state=0).fit(*two_classes)
    proof = prove(moments, 4, ridge="auto", incumbent=selector.support_)
    assert proof.optimal
    values = selector.result_.criterion_values
    assert proof.subset.tolist() == selector.result_.subsets[values.argmax()].tolist()
    assert proof.value == pytest.approx(values.max(), rel=1e-12)
    assert "Proven: no subset of 4 features" in str(proof)


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_more_classes_and_regression():
    X, y = load_iris(return_X_y=True)
    proof = prove(Moments.from_rows(X, y), 2, ridge=1e-6)
    found = AnnealingSelector.as_published(2, random_state=0).fit(X, y).result_
    best = found.subsets[found.criterion_values.argmax()]
    assert (proof.optimal, proof.subset.tolist()) == (True, best.tolist())
    X, y = load_diabetes(return_X_y=True)
    proof = prove(Moments.from_rows(X, y, task="regression"), 5, ridge=1e-6)
    found = AnnealingRegressorSelector.as_published(5, random_state=0).fit(X, y).result_
    best = found.subsets[found.criterion_values.argmax()]
    assert (proof.optimal, proof.subset.tolist()) == (True, best.tolist())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_ridge_is_that_of_selectors(task):
    if task == "regression":
        (X, y), make = load_diabetes(return_X_y=True), AnnealingRegressorSelector
    else:
        (X, y), make = load_iris(return_X_y=True), AnnealingSelector
    X = np.column_stack([X, -2.0 * X[:, 1]])  # a duplicate
    selector = make(3, prove=10.0, random_state=0).fit(X, y)
    proof = prove(Moments.from_rows(X, y, task=task), 3)
    assert proof.value == pytest.approx(selector.proof_.value, rel=1e-9)
    assert proof.subset.tolist() == selector.proof_.subset.tolist()
    measured = evaluate_subsets(X, y, [selector.subset_], task=task)
    assert measured.criterion_values == pytest.approx([selector.criterion_value_], rel=1e-9)


def test_features_by_name(two_classes):
    pd = pytest.importorskip("pandas")
    X, y = two_classes
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    limits = Constraints(always_include="f7", never_include=["f0", "f1"])
    proof = prove(Moments.from_rows(frame, y), 3, constraints=limits, incumbent=["f7", "f2", "f3"])
    assert 7 in proof.subset
    assert not {0, 1} & set(proof.subset)


def test_what_they_say_names_features(two_classes, moments):
    pd = pytest.importorskip("pandas")
    X, y = two_classes
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    named = Moments.from_rows(frame, y)
    subset = prove(moments, 3).subset.tolist()
    columns, names = (", ".join(w.format(j) for j in subset) for w in ("column {}", "'f{}'"))
    assert str(prove(moments, 3)).endswith(f", that of {columns}.")
    selector = AnnealingSelector(3, prove=LONG, random_state=0).fit(frame, y)
    for proof in (prove(named, 3), selector.proof_, selector.result_.proof):
        assert str(proof).endswith(f", that of {names}.")
    ties = near_ties(named, 3, within=0.2)
    text = str(ties)
    assert text.startswith(
        f"Subsets of 3 features within 20 % of the best: {ties.n_total} (proven)"
    )
    assert f": {names}. In all: " in text
    assert ("In all: no feature" in text) == (len(ties.in_all) == 0)
    assert "not proven, there may be others" in str(near_ties(named, 3, time_limit=0.0))
    assert f": {columns}. In all" in str(near_ties(moments, 3, within=None, at_most=5))


def test_near_ties_hold_the_best_first(moments):
    ties = near_ties(moments, 4, within=0.05)
    assert ties.exact
    assert ties.subsets[0].tolist() == prove(moments, 4).subset.tolist()
    assert (ties.values >= 0.95 * ties.values[0] * (1 - 1e-12)).all()


def test_features_without_any_use(two_classes):
    X, y = two_classes
    odd = np.column_stack([X, np.ones(len(X)), 3.0 * X[:, 0], X[:, 1] + X[:, 2]])
    proof = prove(Moments.from_rows(odd, y), 12, ridge=1e-6)
    assert proof.optimal
    assert 12 not in proof.subset
    assert not {0, 13} <= set(proof.subset)
    assert not {1, 2, 14} <= set(proof.subset)
    # All of them are no subset without collinear ones, but there is no other.
    assert prove(Moments.from_rows(odd, y), 15).subset.tolist() == list(range(15))


def test_labels_among_the_features(two_classes):
    X, y = two_classes
    proof = prove(Moments.from_rows(np.column_stack([X, y, 2.0 * y]), y), 2)
    assert 12 in proof.subset
    assert 13 not in proof.subset


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"size": 0}, "size"),
        ({"size": 13}, "size"),
        ({"size": 2.5}, "size"),
        ({"within": -0.1}, "within"),
        ({"within": 1.0}, "within"),
        ({"at_most": 0}, "at_most"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"ridge": 0.0}, "ridge"),
        ({"feature_cost": [1.0, 2.0]}, "feature_cost"),
        ({"feature_cost": {3: 1.0}, "cost_strength": -1.0}, "cost_strength"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"moments": np.eye(3)}, "moments"),
        ({"constraints": {"never_include": [0]}}, "constraints"),
        ({"constraints": Constraints(groups=[[0, 1]])}, "groups"),
        ({"constraints": Constraints(never_include=range(10))}, "size"),
    ],
)
def test_wrong_values_are_refused_by_name(moments, wrong, parameter):
    with pytest.raises(ParameterError) as caught:
        near_ties(**({"moments": moments, "size": 4} | wrong))
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("incumbent", [[0, 1], [0, 1, 2, 99], [0, 1, 2, 5]])
def test_incumbents_that_do_not_fit_are_refused(moments, incumbent):
    with pytest.raises(ParameterError) as caught:
        prove(moments, 4, incumbent=incumbent, constraints=Constraints(never_include=5))
    assert caught.value.parameter == "incumbent"


@pytest.mark.parametrize("ask", [prove, near_ties])
def test_rows_in_place_of_moments_are_told_the_way(two_classes, ask):
    X, _ = two_classes
    with pytest.raises(ParameterError, match=r"moments must be Moments.*from_rows.*got ndarray\.$"):
        ask(X, 3)


def test_one_class_is_refused(two_classes):
    X, _ = two_classes
    with pytest.raises(ValueError, match="2 or more classes"):
        prove(Moments.from_rows(X, np.zeros(len(X), dtype=int)), 3)


# ---- Selectors ----------------------------------------------------------------------------------


def missed(**more):
    """A selector that misses the best six features, or would."""
    X, y = load_breast_cancer(return_X_y=True)
    return AnnealingSelector(6, annealing=WEAK, random_state=1, **more).fit(X, y)


def test_without_a_proof_there_is_none(two_classes):
    plain = AnnealingSelector(4, random_state=0).fit(*two_classes)
    assert plain.proof_ is None
    assert plain.result_.proof is None


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_selectors_prove_what_they_found(two_classes, moments, n_jobs):
    plain = AnnealingSelector(4, random_state=0).fit(*two_classes)
    proven = clone(plain).set_params(prove=LONG, n_jobs=n_jobs).fit(*two_classes)
    assert proven.proof_.optimal
    assert proven.proof_.value == pytest.approx(plain.result_.criterion_values.max(), rel=1e-12)
    assert proven.proof_.subset.tolist() == prove(moments, 4, ridge="auto").subset.tolist()
    assert_same_result(proven.result_, plain.result_)
    # A later fit without a proof does not keep it.
    assert proven.set_params(prove=None).fit(*two_classes).proof_ is None


def test_out_of_time_the_answer_is_that_without_a_proof():
    plain, bounded = missed(), missed(prove=0)
    assert not bounded.proof_.optimal
    # It knows a better one; on another machine it might not.
    assert bounded.proof_.value > bounded.result_.criterion_values.max()
    assert_same_result(bounded.result_, plain.result_)
    assert bounded.subset_.tolist() == plain.subset_.tolist()


def test_the_loss_decides_whether_a_better_subset_wins(two_classes):
    """On most tables some candidate has a smaller loss than the best one by the criterion."""
    selector = AnnealingSelector(3, random_state=0, prove=LONG).fit(*two_classes)
    result = selector.result_
    assert selector.loss_ == result.losses.min()
    assert selector.proof_.value >= selector.criterion_value_ * (1 - 1e-12)


def test_regression_and_both_choices_of_the_size_are_proven(two_classes):
    X, y = two_classes
    for_size = {"max_features": 4, "random_state": 0, "prove": LONG}
    outputs = np.column_stack([X[:, 0] + X[:, 3], X[:, 5] - X[:, 1] + y])
    for selector in (
        AnnealingSelectorCV(**for_size).fit(X, y),
        AnnealingRegressorSelector(4, random_state=0, prove=LONG).fit(X, outputs),
        AnnealingRegressorSelectorCV(**for_size).fit(X, outputs),
    ):
        assert selector.proof_.optimal
        assert len(selector.proof_.subset) == selector.n_features_
        assert selector.proof_.value == pytest.approx(selector.result_.criterion_values.max())


def test_constraints_hold_for_the_proof(two_classes, moments):
    limits = Constraints(always_include=7, never_include=[0, 1], at_most_one_of=[[2, 3]])
    selector = AnnealingSelector(4, constraints=limits, random_state=0, prove=LONG)
    proof = selector.fit(*two_classes).proof_
    assert (
        proof.subset.tolist() == prove(moments, 4, ridge="auto", constraints=limits).subset.tolist()
    )
    assert 7 in proof.subset
    assert not {0, 1} & set(proof.subset)
    assert not {2, 3} <= set(proof.subset)


def test_costs_hold_for_the_proof(two_classes, moments):
    costs = {"feature_cost": {1: 1.0, 3: 2.0}, "cost_strength": 0.05}
    selector = AnnealingSelector(4, random_state=0, prove=LONG, **costs).fit(*two_classes)
    proof = selector.proof_
    assert proof.optimal
    assert proof.subset.tolist() == prove(moments, 4, ridge="auto", **costs).subset.tolist()
    assert proof.subset.tolist() != prove(moments, 4, ridge="auto").subset.tolist()
    assert proof.value == pytest.approx(selector.result_.criterion_values.max(), rel=1e-12)
    assert near_ties(moments, 4, ridge="auto", **costs).values[0] == pytest.approx(proof.value)


def first_column(X, y):
    raise AssertionError("refused before any search")


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"prove": -1.0}, "prove"),
        ({"prove": True}, "prove"),
        ({"prove": "10"}, "prove"),
        ({"prove": np.inf}, "prove"),
        ({"criterion": first_column}, "prove"),
        ({"constraints": Constraints(groups=[[0, 1]])}, "groups"),
    ],
)
@pytest.mark.parametrize("kind", [AnnealingSelector, AnnealingSelectorCV])
def test_what_cannot_be_proven_is_refused_by_name(two_classes, kind, wrong, parameter):
    with pytest.raises(ParameterError) as caught:
        kind(**({"prove": 1.0} | wrong)).fit(*two_classes)
    assert caught.value.parameter == parameter
