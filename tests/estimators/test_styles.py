"""What is left open is chosen on held-out rows: criterion and penalty."""

import weakref

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    ParameterError,
    anneal_path,
    evaluate_subsets,
    stability,
)
from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.plan import STYLE, SearchPlan
from safdr._estimators.styles import Comparison, n_comparisons
from searching import class_rows

QUICK = Annealing(n_replicas=10, max_steps=20)
OPEN = {"criterion": "auto", "C": "auto", "ridge": "auto", "annealing": QUICK, "random_state": 0}


@pytest.fixture(scope="module")
def skewed():
    """Classes far from normal: counts of which most are zero."""
    rng = np.random.default_rng(2024)
    y = np.arange(240) % 2
    X = rng.poisson(0.3 + 0.5 * np.outer(y, rng.random(12) < 0.5), size=(240, 12)) ** 2.0
    return X + 1e-3 * rng.normal(size=X.shape), y


@pytest.fixture
def short(rng):
    """More features than rows."""
    y = np.arange(40) % 2
    return rng.normal(size=(40, 60)) + np.outer(y, np.arange(60) < 3), y


@pytest.fixture(scope="module")
def search(skewed):
    """A search that left all open."""
    return AnnealingSelectorCV(max_features=6, **OPEN).fit(*skewed)


STYLES = {
    ("fisher", 1e-6, "unpenalised"),
    *((name, "auto", "auto") for name in ("fisher", "mixed", "ranks")),
}


def test_the_published_style_wins_unless_another_is_clearly_better(search):
    results = search.style_results_
    styles = [*zip(*(results[name] for name in STYLE), strict=True)]
    assert {(criterion, ridge, pick) for criterion, ridge, _, pick in styles} == STYLES
    # Loss and disorder by style, mean over the sizes, each in units of its mean over all.
    badness = {style: np.zeros(search.n_splits_) for style in styles}
    for name in ("loss", "disorder"):
        splits = np.array([results[f"split{i}_test_{name}"] for i in range(search.n_splits_)])
        assert results[f"mean_test_{name}"] == pytest.approx(splits.mean(axis=0))
        for style, by_split in zip(styles, splits.T, strict=True):
            badness[style] += by_split / splits.mean() / 3
    assert len(styles) == 3 * len(badness)
    by_mean = sorted(badness, key=lambda style: badness[style].mean())
    published = next(style for style in by_mean if style[3] == "unpenalised")
    gained = badness[published] - badness[by_mean[0]]
    clear = gained.mean() > gained.std(ddof=1) / np.sqrt(search.n_splits_)
    best = by_mean[0] if clear else published
    assert tuple(search.style_.values()) == best
    assert (search.criterion_, search.C_) == (best[0], best[2])
    assert search.estimator_.C == search.C_


@pytest.mark.parametrize(("gain", "wins"), [(0.02, "fisher"), (0.4, "mixed")])
def test_what_is_clearly_better(gain, wins):
    plans = [SearchPlan(criterion="fisher"), SearchPlan(criterion="mixed")]
    usual = np.array([[1.0, 1.2], [0.8, 1.0], [1.1, 0.9]])
    losses = np.stack([usual, usual - gain + np.array([[0.2], [-0.2], [0.0]])])
    for disorder in (np.zeros((2, 3, 2)), np.full((2, 3, 2), np.nan)):
        assert Comparison(plans, [1, 2], losses, disorder).best.criterion == wins
    # Half the badness is clear, wherever it comes from.
    one_split = np.array([[[9.0], [1.0], [1.0]], [[1.0], [1.0], [1.0]]])
    assert Comparison(plans, [1], one_split, disorder[:, :, :1]).best.criterion == "mixed"
    # Of one fold nobody knows how much it says, and a style without a subset can't be the usual.
    assert Comparison(plans, [1, 2], losses[:, 1:2], disorder[:, 1:2]).best.criterion == "mixed"
    losses[0, 0, 0] = np.nan
    assert Comparison(plans, [1, 2], losses, disorder).best.criterion == "mixed"


@pytest.mark.parametrize("threshold", [2000, 50])
def test_where_features_outnumber_rows_the_path_is_compared(monkeypatch, short, threshold):
    """Also where they are so many that their products are never all made."""
    monkeypatch.setattr("safdr._engine.wide.WIDE", threshold)
    X, y = short
    search = AnnealingSelectorCV(max_features=4, **OPEN).fit(X, y)
    path = ("reference", 1e-6)  # the usual, whose ridge is its own
    assert compared(search) == [path, ("fisher", 1e-6)]
    assert set(search.style_results_["pick"]) == {"auto", "unpenalised"}
    measured = AnnealingRegressorSelectorCV(max_features=4, **OPEN).fit(X, y + X[:, 0])
    assert compared(measured) == [path, ("r2", 1e-6)]
    # A ridge that is given is that of all styles.
    given = AnnealingSelector(2, **{**OPEN, "C": 1.0, "ridge": 0.3}).fit(X, y)
    assert compared(given) == [("reference", 0.3), ("fisher", 0.3)]


def compared(search):
    """Criteria and ridges, in order."""
    results = search.style_results_
    return [*dict.fromkeys(zip(results["criterion"], results["ridge"], strict=True))]


def test_all_rows_say_what_is_compared_and_announced(rng):
    """Folds have fewer rows than features, all rows together have more."""
    y = np.arange(60) % 2
    X, how = rng.normal(size=(60, 50)) + y[:, None], {**OPEN, "C": 1.0}
    search = AnnealingSelectorCV(max_features=1, **how).fit(X, y)
    results = search.style_results_
    assert {*zip(results["criterion"], results["ridge"], results["pick"], strict=True)} == STYLES
    announced = n_comparisons(SearchPlan.of(search), class_rows(X, y), 5, [1])
    assert announced == 5 * len(results["C"])
    # Rows of weight zero count as none.
    few = AnnealingSelectorCV(max_features=1, **how).fit(X, y, np.arange(60) < 40)
    assert set(few.style_results_["criterion"]) == {"reference", "fisher"}


def test_of_few_rows_of_three_classes_shrinkage_is_compared(rng):
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 50)) + y[:, None]
    results = AnnealingSelector(2, **{**OPEN, "C": 1.0}).fit(X, y).style_results_
    assert results["ridge"].tolist() == ["auto", 1e-6]  # the first is the usual


def test_held_out_losses_are_those_of_models_that_never_saw_the_rows(skewed):
    X, y = skewed
    how = {"annealing": QUICK, "random_state": 0, "ridge": "auto"}
    selector = AnnealingSelector(3, C="auto", **how).fit(X, y)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    splitter = StratifiedShuffleSplit(5, test_size=0.25, random_state=seed)
    expected = []
    for train, test in splitter.split(X, y):
        # The features are chosen with C = 1, whatever C comes out.
        fitted = AnnealingSelector(3, C=1.0, **how).fit(X[train], y[train])
        fits = evaluate_subsets(X[train], y[train], [fitted.subset_], C=10.0).fits
        fitted.estimator_.coef_, fitted.estimator_.intercept_ = fits.coefficients, fits.intercepts
        expected.append(log_loss(y[test], fitted.predict_proba(X[test])))
    row = int(np.flatnonzero(selector.style_results_["C"] == 10.0)[0])
    found = [selector.style_results_[f"split{i}_test_loss"][row] for i in range(5)]
    assert found == pytest.approx(expected, rel=1e-6)


def test_weights_count_on_held_out_rows_as_in_training(skewed):
    X, y = skewed
    how = {**OPEN, "criterion": "fisher", "max_features": 3}
    weight = np.where(y == 1, 3.0, 1.0)
    by_rows = AnnealingSelectorCV(**how).fit(X, y, sample_weight=weight)
    by_class = AnnealingSelectorCV(class_weight={1: 3.0}, **how).fit(X, y)
    assert by_rows.style_results_["mean_test_loss"] == pytest.approx(
        by_class.style_results_["mean_test_loss"]
    )
    # A row of weight zero counts as none, in training and in testing.
    absent = np.arange(len(y)) < 40
    noise = np.random.default_rng(0).normal(size=X.shape) * 10
    splits = [(np.arange(60, 240), np.arange(60)), (np.arange(20, 200), np.arange(200, 240))]
    losses = [
        AnnealingSelectorCV(cv=splits, **how)
        .fit(np.where(absent[:, None], rows, X), y, sample_weight=(~absent).astype(float))
        .style_results_["mean_test_loss"]
        for rows in (X, noise)
    ]
    assert losses[0] == pytest.approx(losses[1])


def test_a_model_that_looks_like_a_sequence_is_one_criterion(skewed):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    few = Annealing(n_replicas=2, max_steps=1)
    selector = AnnealingSelector(
        1, criterion=model, C="auto", pick="linear", annealing=few, random_state=0
    )
    results = selector.fit(*skewed).style_results_
    assert {len(column) for column in results.values()} == {4}
    assert results["criterion"][0] is model


def test_where_there_is_one_choice_nothing_is_compared(rng):
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + np.outer(y, [1, 0, 0, 0])
    fitted = AnnealingSelector(2, criterion="auto", annealing=QUICK, random_state=0).fit(X, y)
    assert fitted.criterion_ == "fisher"
    assert not hasattr(fitted, "style_results_")


def test_what_was_chosen_is_what_is_fitted(skewed, search):
    X, y = skewed
    told = {**OPEN, **search.style_}
    again = AnnealingSelectorCV(max_features=6, **told).fit(X, y)
    assert again.n_features_ == search.n_features_
    assert again.subset_.tolist() == search.subset_.tolist()
    assert again.loss_ == pytest.approx(search.loss_, rel=1e-9)
    assert not hasattr(again, "style_results_")
    path = anneal_path(X, y, [search.n_features_], **told)
    assert path[0].subset.tolist() == search.subset_.tolist()
    assert anneal_path(X, y, [], C="auto") == []


@pytest.mark.parametrize("selector", [AnnealingSelector(2), AnnealingSelectorCV(max_features=2)])
def test_nothing_is_left_of_an_earlier_comparison(skewed, selector):
    assert "fisher" in selector.set_params(**OPEN).fit(*skewed).style_results_["criterion"]
    again = selector.set_params(criterion="mixed", C=2.0).fit(*skewed)
    assert not hasattr(again, "style_results_")
    assert (again.criterion_, again.C_) == ("mixed", 2.0)


def test_an_answer_does_not_depend_on_the_number_of_threads(skewed, search):
    two = AnnealingSelectorCV(max_features=6, n_jobs=2, **OPEN).fit(*skewed)
    for name, values in search.style_results_.items():
        assert values.tolist() == two.style_results_[name].tolist()
    assert search.subset_.tolist() == two.subset_.tolist()


def test_readers_of_a_fitted_selector_know_what_was_chosen(skewed, search):
    X, y = skewed
    told = {**OPEN, **search.style_}
    told = AnnealingSelector(search.n_features_, **told).fit(X, y)
    mine, theirs = (s.measure_subsets(X, y, [s.subset_]) for s in (search, told))
    assert mine[0] == pytest.approx(theirs[0])
    assert mine[1] == pytest.approx(theirs[1])
    # By the criterion that stands-in are ranked by; the splits are the same.
    frames = [s.substitutes(X, y, n_best=1, backend="dict") for s in (search, told)]
    assert frames[0]["replacement"] == frames[1]["replacement"]
    assert stability(search, X, y, n_resamples=4, random_state=0).frequencies.max() <= 1


@pytest.mark.parametrize("selector", [AnnealingSelector, AnnealingSelectorCV])
def test_more_classes_have_one_criterion_but_several_penalties(rng, selector):
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 6)) + np.outer(y, [1, 0, 0.5, 0, 0, 0])
    size = {"max_features": 3} if selector is AnnealingSelectorCV else {"n_features_to_select": 2}
    fitted = selector(**size, **OPEN).fit(X, y)
    assert fitted.criterion_ == "fisher"
    assert set(fitted.style_results_["C"]) == {0.1, 1.0, 10.0, 100.0}


@pytest.mark.parametrize("selector", [AnnealingRegressorSelector, AnnealingRegressorSelectorCV])
def test_regression_chooses_its_penalty(rng, selector):
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + 3 * rng.normal(size=60)
    size = {"n_features_to_select": 5}
    if selector is AnnealingRegressorSelectorCV:
        size = {"min_features": 5, "max_features": 5}
    fitted = selector(**size, **OPEN).fit(X, y)
    assert fitted.criterion_ == "r2"
    # Nearly all is noise, so slopes should be small.
    assert fitted.C_ == 0.1
    assert fitted.estimator_.alpha == 10.0


def test_own_criteria_leave_the_penalty_open(skewed):
    X, y = skewed

    def by_means(X, y):
        return float(np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)).sum())

    selector = AnnealingSelector(
        2, criterion=by_means, C="auto", annealing=QUICK, random_state=0
    ).fit(X, y)
    assert selector.criterion_ is by_means
    assert selector.C_ in (0.1, 1.0, 10.0, 100.0)


@pytest.mark.parametrize("name", ["estimator", "criterion"])
def test_a_penalty_that_nothing_would_use_is_not_chosen(skewed, name):
    own = {name: LogisticRegression(), "C": "auto", "annealing": QUICK}
    fits = [
        lambda: AnnealingSelector(2, **own).fit(*skewed),
        lambda: AnnealingSelectorCV(max_features=2, **own).fit(*skewed),
        lambda: anneal_path(*skewed, [2], **own),
    ]
    for fit in fits:
        with pytest.raises(ParameterError, match=f"^C must be a number where {name} is the model"):
            fit()


@pytest.mark.parametrize("used", [{"pick": "linear"}, {"criterion": "mixed"}])
def test_a_penalty_that_linear_models_on_the_way_use_is_chosen(skewed, used):
    own = {"estimator": LogisticRegression(), "annealing": QUICK, "random_state": 0}
    assert AnnealingSelector(2, C="auto", **own, **used).fit(*skewed).C_ in (0.1, 1.0, 10.0, 100.0)


# ---- Mixed -------------------------------------------------------------------------------------


def test_candidates_of_both_criteria_and_of_forward_selection_meet(skewed):
    X, y = skewed
    how = {"C": 1.0, "ridge": "auto", "random_state": 0}
    half = Annealing(n_replicas=5, max_steps=20)
    mixed = AnnealingSelector(4, criterion="mixed", annealing=QUICK, **how).fit(X, y)
    alone = [
        AnnealingSelector(4, criterion=criterion, annealing=half, **how).fit(X, y)
        for criterion in ("fisher", "logistic")
    ]
    known = {tuple(subset) for each in alone for subset in each.result_.subsets}
    known.add(tuple(sorted(forward_on_the_log_loss(X, y, 4, range(12)))))
    assert {tuple(subset) for subset in mixed.result_.subsets} == known
    losses = evaluate_subsets(X, y, sorted(known), C=1.0).losses
    assert mixed.loss_ == pytest.approx(losses.min(), rel=1e-9)
    values, _ = alone[0].measure_subsets(X, y, mixed.result_.subsets)
    assert mixed.result_.criterion_values == pytest.approx(values)


def forward_on_the_log_loss(X, y, size, free, chosen=()):
    """Slowly, and all features at each step."""
    while len(chosen) < size:
        steps = [[*chosen, j] for j in free if j not in chosen]
        chosen = steps[int(np.argmin(evaluate_subsets(X, y, steps, C=1.0).losses))]
    return chosen


def test_of_many_features_those_are_tried_that_the_residuals_call_for(rng):
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 400)) * np.exp(rng.normal(size=400)) + 100.0
    scale = X.std(axis=0)
    X[:, [7, 300, 311]] += np.outer(y, [1.5, 1.2, 1.0]) * scale[[7, 300, 311]]
    how = {"criterion": "mixed", "C": 1.0, "annealing": Annealing(n_replicas=2, max_steps=1)}
    for rows in (X, csr_matrix(X)):
        selector = AnnealingSelector(3, random_state=0, **how).fit(rows, y)
        assert selector.subset_.tolist() == [7, 300, 311]


def test_forward_selection_keeps_to_constraints(skewed):
    X, y = skewed
    rivals = [[2, 3, 4], [5, 6]]
    constraints = Constraints(always_include=[0], never_include=[7], at_most_one_of=rivals)
    how = {"criterion": "mixed", "annealing": QUICK, "random_state": 0, "C": 1.0}
    for size in (1, 3, 8):
        selector = AnnealingSelector(size, constraints=constraints, **how).fit(X, y)
        for subset in selector.result_.subsets:
            assert len(subset) == size
            assert 0 in subset
            assert 7 not in subset
            assert all(len(set(subset) & set(some)) <= 1 for some in rivals)


def test_forward_selections_are_kept_by_constraints_that_stay(skewed):
    """What is told by an address alone could be taken for another at the same address."""
    rows = class_rows(*skewed)
    criterion = rows.criterion(1e-6)
    known = []
    for first in range(3):
        allowed = AllowedSubsets.make(12, always_include=[first])
        (selection,) = rows.forward(1e-6, 1.0, allowed, criterion)
        assert first in selection.candidates(2)[0]
        assert rows.forward(1e-6, 1.0, allowed, criterion) == [selection]
        known.append(weakref.ref(allowed))
        del allowed
    assert all(there() is not None for there in known)


def test_both_criteria_keep_groups_and_costs(skewed):
    X, y = skewed
    constraints = Constraints(groups=[[0, 1], [2, 3, 4]], always_include=[0], never_include=[7])
    how = {"criterion": "mixed", "annealing": QUICK, "random_state": 0, "C": 1.0}
    selector = AnnealingSelector(3, constraints=constraints, feature_cost={5: 100.0}, **how)
    selector.fit(X, y)
    for subset in selector.result_.subsets:
        chosen = set(subset[subset >= 0])
        assert {0, 1} <= chosen
        assert 7 not in chosen
        assert len(chosen & {2, 3, 4}) in (0, 3)
    assert 5 not in selector.subset_
    values, _ = selector.measure_subsets(X, y, [selector.subset_])
    assert selector.criterion_value_ == pytest.approx(values[0])


def test_constraints_that_end_the_way_of_forward_selection_are_no_error(rng):
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3))
    X[:, 0] += 2 * y
    constraints = Constraints(at_most_one_of=[[0, 1], [0, 2]])
    how = {"criterion": "mixed", "C": 1.0, "annealing": QUICK, "random_state": 0}
    selector = AnnealingSelector(2, constraints=constraints, **how).fit(X, y)
    assert selector.subset_.tolist() == [1, 2]


def test_forward_selection_takes_no_copy(rng):
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 12))
    X[:, 0] += 2 * y
    X[:, 1] = 3.0 - 2.0 * X[:, 0]
    X[:, 2] = X[:, 0] + X[:, 3]
    for size in (2, 3, 5):
        selector = AnnealingSelector(
            size, criterion="mixed", C=1.0, annealing=QUICK, random_state=0
        ).fit(X, y)
        assert (
            np.linalg.matrix_rank(X[:, selector.subset_] - X[:, selector.subset_].mean(0)) == size
        )


def test_one_replica_serves_both(skewed):
    one = Annealing(n_replicas=1, max_steps=5)
    selector = AnnealingSelector(2, criterion="mixed", annealing=one, random_state=0).fit(*skewed)
    assert len(selector.subset_) == 2


# ---- The path of an L1 penalty, and the published pick ------------------------------------------


def test_the_published_pick_has_a_penalised_model_in_the_end(skewed):
    X, y = skewed
    how = {"annealing": QUICK, "random_state": 0}
    mine = AnnealingSelectorCV(max_features=4, pick="unpenalised", **how).fit(X, y)
    theirs = AnnealingSelector(mine.n_features_, C=np.inf, **how).fit(X, y)
    assert mine.subset_.tolist() == theirs.subset_.tolist()
    assert mine.loss_ == pytest.approx(theirs.loss_)
    fits = evaluate_subsets(X, y, [mine.subset_], C=1.0).fits
    assert mine.estimator_.coef_ == pytest.approx(fits.coefficients)
    assert mine.estimator_.C == 1.0


# ---- Where it can't be --------------------------------------------------------------------------


def test_more_classes_refuse_a_mixture(rng):
    with pytest.raises(ParameterError, match="'mixed' with the 3 classes of y: those are for two"):
        AnnealingSelector(2, criterion="mixed").fit(rng.normal(size=(30, 4)), np.arange(30) % 3)


OFF_PATH = {
    "feature_cost": {"feature_cost": [0.1] * 60},
    "signs": {"constraints": Constraints(signs={0: 1})},
    "prove": {"prove": 5.0},
}


@pytest.mark.parametrize("parameter", OFF_PATH)
def test_the_path_refuses_what_it_can_not_heed_and_auto_does_without_it(parameter, short):
    X, y = short
    for kind, name in ((AnnealingSelector, "fisher"), (AnnealingRegressorSelector, "r2")):
        with pytest.raises(ParameterError, match="must be left out with criterion='l1'") as caught:
            kind(2, criterion="l1", **OFF_PATH[parameter]).fit(X, y)
        assert caught.value.parameter == parameter
        fitted = kind(2, **OPEN | {"C": 1.0} | OFF_PATH[parameter]).fit(X, y)
        assert compared(fitted) == [(name, "auto"), (name, 1e-6)]
        # Where one is left, there is nothing to compare.
        given = kind(2, **OPEN | {"C": 1.0, "ridge": 0.1} | OFF_PATH[parameter]).fit(X, y)
        assert given.style_["criterion"] == name
        assert not hasattr(given, "style_results_")


def test_what_has_no_ranks_or_no_path_says_so(skewed, rng):
    X, y = skewed
    with pytest.raises(ParameterError, match="'ranks' with sparse rows"):
        AnnealingSelector(2, criterion="ranks").fit(csr_matrix(X), y)
    with pytest.raises(ParameterError, match="must not be 'l1' with 3 classes"):
        AnnealingSelector(2, criterion="l1").fit(X, np.arange(240) % 3)
    signs = Constraints(signs={0: 1})
    with pytest.raises(ParameterError, match="got pick='unpenalised'"):
        AnnealingSelector(2, pick="unpenalised", constraints=signs).fit(X, y)
    fitted = AnnealingSelector(2, **OPEN).fit(csr_matrix(X), y)
    assert "ranks" not in fitted.style_results_["criterion"]


def test_subsets_are_evaluated_with_a_penalty_that_is_known(skewed):
    with pytest.raises(ParameterError, match="'C'"):
        evaluate_subsets(*skewed, [[0, 1]], C="auto")


def test_too_few_rows_for_splits_say_so(rng):
    X, y = rng.normal(size=(6, 3)), np.arange(6) % 2
    with pytest.raises(ValueError, match="these 6 rows are too few"):
        AnnealingSelector(1, C="auto").fit(X, y)
