"""stability: resamples are searched as the selector would, and told in words and numbers."""

import json
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_selection import SelectKBest
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
    stability,
)
from safdr._estimators import stability as module

QUICK = Annealing(n_replicas=8, max_steps=20)


@pytest.fixture
def searched(monkeypatch):
    """Rows, seed, columns and size of each resample, as they are searched."""
    seen = []
    search = module._search

    def noted(how, data, rows, seed, *rest):
        subset, size = search(how, data, rows, seed, *rest)
        seen.append((rows, seed, subset, size))
        return subset, size

    monkeypatch.setattr(module, "_search", noted)
    return seen


def table(names, X):
    return pytest.importorskip("pandas").DataFrame(X, columns=names)


# ---- The same as fits ---------------------------------------------------------------------------


def problems(two_classes):
    X, y = two_classes
    iris, diabetes = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
    weight = np.arange(len(y)) % 3
    return {
        "two classes": (AnnealingSelector(4, annealing=QUICK), X, y, None),
        "weights": (AnnealingSelector(3, annealing=QUICK, class_weight="balanced"), X, y, weight),
        "constraints": (
            AnnealingSelector(
                3,
                annealing=QUICK,
                constraints=Constraints(always_include=0, groups=[[1, 2], [3, 4]]),
                feature_cost={5: 0.1},
            ),
            *(X, y, None),
        ),
        "penalised": (AnnealingSelector(3, annealing=QUICK, C=0.5, ridge="auto"), X, y, None),
        "sparse": (AnnealingSelector(3, annealing=QUICK), csr_matrix(X), y, None),
        "more classes": (AnnealingSelector(2, annealing=QUICK), *iris, None),
        "regression": (AnnealingRegressorSelector(3, annealing=QUICK), *diabetes, None),
    }


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
@pytest.mark.parametrize(
    "problem",
    ["two classes", "weights", "constraints", "penalised", "sparse", "more classes", "regression"],
)
def test_a_resample_is_a_fit_on_its_rows_with_its_seed(two_classes, searched, problem):
    selector, X, y, weight = problems(two_classes)[problem]
    found = stability(selector, X, y, sample_weight=weight, n_resamples=6, random_state=3)
    assert len(searched) == found.n_resamples == 6
    for (rows, seed, subset, size), kept in zip(searched, found.subsets, strict=True):
        weights = None if weight is None else weight[rows]
        again = clone(selector).set_params(random_state=seed)
        again.fit(X[rows], y[rows], sample_weight=weights)
        assert subset.tolist() == kept.tolist() == again.subset_.tolist()
        assert size == again.n_features_
    assert not hasattr(selector, "subset_")


@pytest.mark.parametrize("kind", [AnnealingSelectorCV, AnnealingRegressorSelectorCV])
def test_each_resample_can_choose_its_size(two_classes, searched, kind):
    X, y = two_classes if kind is AnnealingSelectorCV else load_diabetes(return_X_y=True)
    selector = kind(max_features=4, annealing=QUICK, cv=3, random_state=0)
    found = stability(selector, X, y, choose_size=True, n_resamples=4, random_state=0)
    for (rows, seed, subset, size), k in zip(searched, found.sizes, strict=True):
        again = clone(selector).set_params(random_state=seed).fit(X[rows], y[rows])
        assert subset.tolist() == again.subset_.tolist()
        assert size == k == again.n_features_


def test_the_size_of_a_cross_validated_selector_is_the_fitted_one(two_classes):
    X, y = two_classes
    selector = AnnealingSelectorCV(max_features=5, annealing=QUICK, random_state=0)
    unfitted = stability(selector, X, y, n_resamples=4, random_state=0)
    fitted = stability(selector.fit(X, y), X, y, n_resamples=4, random_state=0)
    assert fitted.sizes.tolist() == [selector.n_features_] * 4 == unfitted.sizes.tolist()
    assert [s.tolist() for s in fitted.subsets] == [s.tolist() for s in unfitted.subsets]
    assert np.flatnonzero(fitted.chosen).tolist() == selector.subset_.tolist()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_answer_does_not_depend_on_n_jobs(two_classes, n_jobs):
    selector = AnnealingSelector(4, annealing=QUICK)
    one = stability(selector, *two_classes, n_resamples=10, random_state=0)
    more = stability(selector, *two_classes, n_resamples=10, random_state=0, n_jobs=n_jobs)
    assert one.to_dict() == more.to_dict()


def test_seeds_alone(two_classes, searched):
    X, y = two_classes
    selector = AnnealingSelector(4, annealing=QUICK)
    found = stability(selector, X, y, resample="seeds", n_resamples=5, random_state=0)
    assert len({seed for _, seed, _, _ in searched}) == 5
    assert all(rows.tolist() == list(range(len(y))) for rows, *_ in searched)
    # Every seed finds the best of 495 subsets.
    assert found.index == 1.0
    assert str(found).startswith("5 seeds chose: ")


# ---- Halves -------------------------------------------------------------------------------------


def test_halves_are_complements_and_stratified(two_classes, searched):
    X, _ = two_classes
    y = np.repeat(["a", "b", "c"], [21, 79, 140])
    stability(AnnealingSelector(2, annealing=QUICK), X, y, n_resamples=8, random_state=0)
    rows = [each[0] for each in searched]
    assert len({tuple(some) for some in rows}) == 8
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(240))
        assert abs(len(first) - len(second)) <= 1
        for label in "abc":
            assert abs((y[first] == label).sum() - (y[second] == label).sum()) <= 1


def test_rows_without_a_weight_do_not_upset_the_balance(two_classes, searched):
    X, y = two_classes
    weight = np.ones(len(y))
    weight[: len(y) // 2] = 0.0
    selector = AnnealingSelector(2, annealing=QUICK)
    stability(selector, X, y, sample_weight=weight, n_resamples=4, random_state=0)
    for rows, *_ in searched:
        assert np.bincount(y[rows[weight[rows] > 0]]).tolist() == [30, 30]


def test_row_groups_are_not_divided(two_classes, searched):
    X, y = two_classes
    groups = np.arange(len(y)) // 6
    selector = AnnealingSelector(2, annealing=QUICK)
    stability(selector, X, y, groups=groups, n_resamples=6, random_state=0)
    for rows, *_ in searched:
        assert np.isin(np.bincount(groups[rows], minlength=40), [0, 6]).all()
        assert len(rows) == 120


def test_row_groups_reach_the_splitter_where_sizes_are_chosen(two_classes):
    from sklearn.model_selection import GroupKFold

    X, y = two_classes
    groups = np.arange(len(y)) // 6
    selector = AnnealingSelectorCV(max_features=2, annealing=QUICK, cv=GroupKFold(3))
    found = stability(selector, X, y, groups=groups, choose_size=True, n_resamples=4)
    assert set(found.sizes) <= {1, 2}


# ---- What is told -------------------------------------------------------------------------------


def test_counts_names_and_shares(two_classes):
    X, y = two_classes
    names = [f"f{j}" for j in range(12)]
    limits = Constraints(groups={"pair": ["f1", "f2"]}, always_include="f11")
    selector = AnnealingSelector(4, annealing=QUICK, constraints=limits, random_state=0)
    found = stability(selector, table(names, X), y, n_resamples=10, random_state=0)
    assert found.names == ("f0", "pair", *names[3:])
    assert (found.sizes == 4).all()
    columns = [0, 1, *range(3, 12)]
    by_hand = [sum(j in subset for subset in found.subsets) for j in columns]
    assert found.counts.tolist() == by_hand
    assert found.frequencies.tolist() == pytest.approx([n / 10 for n in by_hand])
    assert (found.frequency_intervals[:, 0] <= found.frequencies).all()
    assert (found.frequency_intervals[:, 1] >= found.frequencies).all()
    assert found.counts[-1] == 10
    assert found.chosen.sum() == 4


def test_features_that_constraints_settle_do_not_count_in_the_index(two_classes):
    X, y = two_classes
    limits = Constraints(always_include=[0, 1], never_include=[7, 8])
    selector = AnnealingSelector(4, annealing=QUICK, constraints=limits)
    found = stability(selector, X, y, n_resamples=10, random_state=0)
    free = [j for j in range(12) if j not in (0, 1, 7, 8)]
    p = found.frequencies[free]
    assert found.index == pytest.approx(1 - 10 / 9 * np.mean(p * (1 - p)) / (0.25 * 0.75))


def test_copies_of_a_feature_stand_in_for_one_another(rng):
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 6))
    X[:, [0, 2]] += y[:, None]
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=300)
    found = stability(AnnealingSelector(2), X, y, n_resamples=50, random_state=0)
    pair = found.stand_ins[0]
    assert {pair.first, pair.second} == {"x0", "x1"}
    assert pair.n_first >= pair.n_second
    assert pair.n_first + pair.n_second + pair.n_both + pair.n_neither == 50
    assert pair.n_both <= 2
    assert f"Instead of one another: {pair.first} ({pair.n_first} times) or" in str(found)


def test_it_can_be_written_as_json(two_classes):
    found = stability(AnnealingSelector(12, annealing=QUICK), *two_classes, n_resamples=4)
    assert np.isnan(found.index)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["index"] is None
    assert content["features"][0] == {
        **{"name": "x0", "chosen": True, "count": 4, "frequency": 1.0},
        "frequency_interval": pytest.approx([0.51, 1.0], abs=0.01),
    }
    assert repr(found).startswith("Stability(n_resamples=4, resample='halves', index=nan")


def test_models_that_nobody_uses_are_not_warned_about():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stability(AnnealingSelector(2, annealing=QUICK), X[:100], y[:100], n_resamples=4)


# ---- What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_resamples": 7}, "n_resamples must be even.*got 7. Ask for 8"),
        ({"n_resamples": 2}, "n_resamples.*range.*Got 2"),
        ({"n_resamples": True}, "n_resamples"),
        ({"resample": "bootstrap"}, "resample.*'halves', 'seeds'|resample.*'seeds', 'halves'"),
        ({"choose_size": True}, "choose_size =True needs.*got AnnealingSelector"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"groups": [1, 2]}, "groups must hold one label for each of the 240 rows"),
        ({"groups": np.arange(240) % 3}, "groups must hold at least 4 different labels"),
    ],
)
def test_wrong_values(two_classes, changes, message):
    with pytest.raises(ParameterError, match=message):
        stability(AnnealingSelector(2, annealing=QUICK), *two_classes, **changes)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (SelectKBest(k=2), "got SelectKBest"),
        (AnnealingSelector, "got the class AnnealingSelector"),
        (
            make_pipeline(StandardScaler(), AnnealingSelector(2)),
            "got Pipeline. Of a pipeline, pass",
        ),
    ],
)
def test_selectors_of_another_kind(two_classes, selector, message):
    with pytest.raises(ParameterError, match=message):
        stability(selector, *two_classes)


def test_a_class_too_rare_to_be_halved(two_classes):
    X, y = two_classes
    y = np.where(np.arange(len(y)) < 3, 2, y)
    with pytest.raises(ValueError, match=r"Half-sample \d.*1 row of class 2.*fewer than 4 rows"):
        stability(AnnealingSelector(2, annealing=QUICK), X, y)
    stability(AnnealingSelector(2, annealing=QUICK), X, y, resample="seeds", n_resamples=4)


def test_rows_of_other_columns_than_the_fitted(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(2, annealing=QUICK).fit(X, y)
    with pytest.raises(ValueError, match="X has 11 features"):
        stability(selector, X[:, 1:], y)
