"""prove and near_ties: what users give and get."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from safdr import (
    AnnealingRegressorSelector,
    AnnealingSelector,
    Constraints,
    Moments,
    ParameterError,
    near_ties,
    prove,
)


@pytest.fixture(scope="module")
def moments(two_classes):
    return Moments.from_rows(*two_classes)


def test_the_value_is_that_of_the_selector(two_classes, moments):
    selector = AnnealingSelector(4, pick="criterion", random_state=0).fit(*two_classes)
    proof = prove(moments, 4, incumbent=selector.support_)
    assert proof.optimal
    assert proof.subset.tolist() == selector.subset_.tolist()
    assert proof.value == pytest.approx(selector.criterion_value_, rel=1e-12)
    assert "Proven: no subset of 4 features" in str(proof)


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_more_classes_and_regression():
    X, y = load_iris(return_X_y=True)
    proof = prove(Moments.from_rows(X, y), 2)
    selector = AnnealingSelector(2, pick="criterion", random_state=0).fit(X, y)
    assert (proof.optimal, proof.subset.tolist()) == (True, selector.subset_.tolist())
    X, y = load_diabetes(return_X_y=True)
    proof = prove(Moments.from_rows(X, y, task="regression"), 5)
    selector = AnnealingRegressorSelector(5, pick="criterion", random_state=0).fit(X, y)
    assert (proof.optimal, proof.subset.tolist()) == (True, selector.subset_.tolist())


def test_features_by_name(two_classes):
    pd = pytest.importorskip("pandas")
    X, y = two_classes
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    limits = Constraints(always_include="f7", never_include=["f0", "f1"])
    proof = prove(Moments.from_rows(frame, y), 3, constraints=limits, incumbent=["f7", "f2", "f3"])
    assert 7 in proof.subset
    assert not {0, 1} & set(proof.subset)


def test_near_ties_hold_the_best_first(moments):
    ties = near_ties(moments, 4, within=0.05)
    assert ties.exact
    assert ties.subsets[0].tolist() == prove(moments, 4).subset.tolist()
    assert (ties.values >= 0.95 * ties.values[0] * (1 - 1e-12)).all()


def test_features_without_any_use(two_classes):
    X, y = two_classes
    odd = np.column_stack([X, np.ones(len(X)), 3.0 * X[:, 0], X[:, 1] + X[:, 2]])
    proof = prove(Moments.from_rows(odd, y), 12)
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


def test_one_class_is_refused(two_classes):
    X, _ = two_classes
    with pytest.raises(ValueError, match="2 or more classes"):
        prove(Moments.from_rows(X, np.zeros(len(X), dtype=int)), 3)
