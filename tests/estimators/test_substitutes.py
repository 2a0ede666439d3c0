"""substitutes: what takes the place of a chosen feature, and what it costs."""

import narwhals as nw
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
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
    evaluate_subsets,
)
from safdr._estimators.models import LinearModel
from safdr._estimators.parameters import seed_from

QUICK = Annealing(n_replicas=8, max_steps=20)


class Clipped(TransformerMixin, BaseEstimator):
    """Values beyond those that it was fitted to count as the nearest of them."""

    def fit(self, X, y=None):
        self.range_ = X.min(axis=0), X.max(axis=0)
        return self

    def transform(self, X):
        return np.clip(X, *self.range_)


LOGISTIC = make_pipeline(Clipped(), StandardScaler(), LogisticRegression(tol=1e-10, max_iter=1000))


def told(selector, X, y, **how):
    """Rows as dicts, with columns by number; None is left out."""
    columns = selector.substitutes(X, y, backend="dict", **how)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row in rows:
        for side in ("chosen", "replacement"):
            row[side] = None if row[side] is None else int(row[side][1:])
    return rows


def subset_with(selector, row):
    rest = [j for j in selector.subset_ if j != row["chosen"]]
    return rest if row["replacement"] is None else sorted([*rest, row["replacement"]])


# ---- Criterion values and losses ----------------------------------------------------------------


@pytest.mark.parametrize("task", ["two classes", "more classes", "regression"])
def test_replacements_are_the_best_of_all_and_measured_as_subsets_are(two_classes, task):
    kind, kind_of_task, X, y = {
        "two classes": (AnnealingSelector, "classification", *two_classes),
        "more classes": (AnnealingSelector, "classification", *load_iris(return_X_y=True)),
        "regression": (
            *(AnnealingRegressorSelector, "regression"),
            *load_diabetes(return_X_y=True),
        ),
    }[task]
    size = 2 if task == "more classes" else 4
    selector = kind(size, annealing=QUICK, random_state=0).fit(X, y)
    rows = told(selector, X, y, n_best=2)
    assert len(rows) == 3 * size
    for chosen in selector.subset_:
        mine = [row for row in rows if row["chosen"] == chosen]
        others = [j for j in range(X.shape[1]) if j not in selector.subset_]
        rest = [j for j in selector.subset_ if j != chosen]
        how = {"task": kind_of_task, "ridge": selector.ridge_}
        swaps = evaluate_subsets(X, y, [[*rest, j] for j in others], **how)
        order = np.argsort(-swaps.criterion_values)[:2]
        assert [row["replacement"] for row in mine] == [*(others[i] for i in order), None]
        out = evaluate_subsets(X, y, [rest], **how)
        values = [*swaps.criterion_values[order], *out.criterion_values]
        losses = [*swaps.losses[order], *out.losses]
        assert [row["criterion_value"] for row in mine] == pytest.approx(values, rel=1e-9)
        assert [row["loss"] for row in mine] == pytest.approx(losses, rel=1e-6)
        for row in mine:
            assert row["criterion_value_difference"] == pytest.approx(
                row["criterion_value"] - selector.criterion_value_, abs=1e-9
            )
            assert row["loss_difference"] == pytest.approx(row["loss"] - selector.loss_, abs=1e-6)


def test_costs_are_taken_off(two_classes):
    X, y = two_classes
    cost = np.zeros(12)
    cost[3] = 100.0
    selector = AnnealingSelector(2, annealing=QUICK, feature_cost=cost, random_state=0).fit(X, y)
    assert 3 not in selector.subset_
    rows = told(selector, X, y, n_best=20)
    [paid] = {row["criterion_value_difference"] < -90 for row in rows if row["replacement"] == 3}
    assert paid


def test_leaving_out_the_only_feature_leaves_the_constant_model(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(1, annealing=QUICK, random_state=0).fit(X, y)
    last = told(selector, X, y)[-1]
    assert last["replacement"] is None
    assert last["criterion_value"] == 0.0
    assert last["loss"] == pytest.approx(np.log(2.0))
    assert last["score"] == 0.5
    X, y = load_diabetes(return_X_y=True)
    selector = AnnealingRegressorSelector(1, annealing=QUICK, random_state=0).fit(X, y)
    assert told(selector, X, y)[-1]["loss"] == pytest.approx(np.var(y))


# ---- Held-out scores ----------------------------------------------------------------------------


def expected_scores(model, X, y, selector, rows, cv, scoring):
    def scores(subset):
        return cross_val_score(model, X[:, subset], y, cv=cv, scoring=scoring)

    of_chosen = scores(selector.subset_)
    of_rows = [scores(subset_with(selector, row)) for row in rows]
    return [each.mean() for each in of_rows], [(each - of_chosen).std() for each in of_rows]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_scores_are_those_of_scikit_learns_models_on_the_default_splits(two_classes, task):
    if task == "classification":
        (X, y), kind, model, scoring = two_classes, AnnealingSelector, LOGISTIC, "roc_auc"
        splitter = StratifiedShuffleSplit
    else:
        X, y = load_diabetes(return_X_y=True)
        kind, model, scoring = AnnealingRegressorSelector, LinearModel(), "r2"
        splitter = ShuffleSplit
    selector = kind(3, annealing=QUICK, random_state=5).fit(X, y)
    rows = told(selector, X, y, n_best=1)
    cv = splitter(n_splits=5, test_size=0.25, random_state=seed_from(5))
    scores, spreads = expected_scores(model, X, y, selector, rows, cv, scoring)
    assert [row["score"] for row in rows] == pytest.approx(scores, abs=1e-4)
    assert [row["score_difference_std"] for row in rows] == pytest.approx(spreads, abs=1e-4)
    base = cross_val_score(model, X[:, selector.subset_], y, cv=cv, scoring=scoring).mean()
    differences = [score - base for score in scores]
    assert [row["score_difference"] for row in rows] == pytest.approx(differences, abs=1e-4)


def test_cv_scoring_and_model_are_the_selectors_own(two_classes):
    X, y = two_classes
    cv, model = StratifiedKFold(4), GaussianNB()
    selector = AnnealingSelectorCV(
        **{"max_features": 3, "cv": cv, "scoring": "accuracy", "estimator": model},
        **{"annealing": QUICK, "random_state": 0},
    ).fit(X, y)
    rows = told(selector, X, y, n_best=1)
    scores, _ = expected_scores(model, X, y, selector, rows, cv, "accuracy")
    assert [row["score"] for row in rows] == pytest.approx(scores)


def test_row_groups_reach_the_splitter(two_classes):
    X, y = two_classes
    groups = np.arange(len(y)) // 8
    selector = AnnealingSelectorCV(min_features=2, max_features=3, cv=GroupKFold(3))
    selector.set_params(annealing=QUICK, random_state=0).fit(X, y, groups=groups)
    rows = told(selector, X, y, n_best=1, groups=groups)
    cv = list(GroupKFold(3).split(X, y, groups))
    scores, _ = expected_scores(LOGISTIC, X, y, selector, rows, cv, "roc_auc")
    assert [row["score"] for row in rows] == pytest.approx(scores, abs=1e-4)


def test_weights_count_in_values_and_models(two_classes):
    X, y = two_classes
    weight = np.where(np.arange(len(y)) < 160, 2.0, 0.0)
    selector = AnnealingSelector(2, annealing=QUICK, random_state=0)
    selector.fit(X, y, sample_weight=weight)
    rows = told(selector, X, y, n_best=1, sample_weight=weight)
    some = [subset_with(selector, row) for row in rows]
    for row, subset in zip(rows, some, strict=True):
        measured = evaluate_subsets(np.tile(X[:160], (2, 1)), np.tile(y[:160], 2), [subset])
        assert row["criterion_value"] == pytest.approx(measured.criterion_values[0])
        assert row["loss"] == pytest.approx(measured.losses[0])


def test_sparse_rows_and_any_number_of_jobs_give_the_same(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(3, annealing=QUICK, random_state=0).fit(X, y)
    one, two = (selector.substitutes(X, y, backend="dict", n_jobs=n) for n in (1, 2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    sparse = selector.substitutes(csr_matrix(X), y, backend="dict")
    assert sparse["replacement"] == one["replacement"]
    np.testing.assert_allclose(sparse["score"], one["score"], rtol=1e-9)


def test_a_criterion_and_a_model_of_ones_own(two_classes):
    X, y = two_classes

    def distance(X, y):
        return float(np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)).sum())

    selector = AnnealingSelector(2, criterion=distance, annealing=QUICK, random_state=0).fit(X, y)
    rows = told(selector, X, y, n_best=1)
    by_feature = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    third = int(np.argsort(-by_feature)[2])
    assert {row["replacement"] for row in rows} == {third, None}
    assert [row["criterion_value"] for row in rows] == pytest.approx(
        [by_feature[subset_with(selector, row)].sum() for row in rows]
    )
    assert [row["loss"] for row in rows] == [-row["criterion_value"] for row in rows]
    assert selector.result_.loss_name == "negative_criterion"


# ---- Constraints --------------------------------------------------------------------------------


def test_constraints_are_kept(two_classes):
    X, y = two_classes
    limits = Constraints(always_include=0, never_include=[1, 2], at_most_one_of=[[3, 4]])
    selector = AnnealingSelector(4, annealing=QUICK, constraints=limits, random_state=0).fit(X, y)
    rows = told(selector, X, y, n_best=12)
    of_forced = [row for row in rows if row["chosen"] == 0]
    assert [(row["replacement"], row["allowed"]) for row in of_forced] == [(None, False)]
    others = [row for row in rows if row["chosen"] != 0]
    assert all(row["allowed"] for row in others)
    assert not {1, 2} & {row["replacement"] for row in others}
    for row in others:
        assert not {3, 4} <= set(subset_with(selector, row))
    [rival] = {3, 4} & set(selector.subset_)
    assert any((row["chosen"], row["replacement"]) == (rival, 7 - rival) for row in rows)


def members_of(name, groups):
    if name is None:
        return set()
    return set(groups[name]) if name in groups else {int(name[1:])}


def test_copies_of_other_members_are_no_replacements(two_classes):
    X, y = two_classes
    X = np.column_stack([X, X[:, :5] * 2.0 + 1.0, np.ones(len(y))])
    selector = AnnealingSelector(4, annealing=QUICK, random_state=0).fit(X, y)
    for row in told(selector, X, y, n_best=20):
        members = subset_with(selector, row)
        assert row["replacement"] != 17
        assert not any(j in members and j + 12 in members for j in range(5))


# ---- Frames and refusals ------------------------------------------------------------------------


def test_the_frame_is_of_the_kind_of_the_rows(two_classes):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = two_classes
    names = [f"f{j}" for j in range(12)]
    selector = AnnealingSelector(2, annealing=QUICK, random_state=0)
    for frame, kind in ((pd.DataFrame(X, columns=names), pd), (pl.DataFrame(X, schema=names), pl)):
        told = selector.fit(frame, y).substitutes(frame, y)
        assert isinstance(told, kind.DataFrame)
        assert set(told["chosen"]) <= set(names)
    assert isinstance(selector.fit(X, y).substitutes(X, y), pd.DataFrame)
    assert isinstance(selector.substitutes(X, y, backend="polars"), pl.DataFrame)


def test_without_pandas_it_says_what_to_do(two_classes, monkeypatch):
    X, y = two_classes
    selector = AnnealingSelector(2, annealing=QUICK, random_state=0).fit(X, y)

    def missing(columns, backend):
        raise ModuleNotFoundError(f"No module named {backend!r}")

    monkeypatch.setattr(nw, "from_dict", missing)
    with pytest.raises(
        ImportError, match=r"substitutes\(backend='pandas'\) needs pandas.*'polars'"
    ):
        selector.substitutes(X, y)
    assert set(selector.substitutes(X, y, backend="dict")) >= {"chosen", "replacement", "score"}


def test_wrong_values(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(2, annealing=QUICK, random_state=0)
    with pytest.raises(NotFittedError):
        selector.substitutes(X, y)
    selector.fit(X, y)
    with pytest.raises(ParameterError, match="n_best"):
        selector.substitutes(X, y, n_best=0)
    with pytest.raises(ParameterError, match="backend"):
        selector.substitutes(X, y, backend="spark")
    with pytest.raises(ValueError, match="X has 11 features"):
        selector.substitutes(X[:, 1:], y)


def test_a_scorer_may_ask_for_the_labels(two_classes):
    X, y = two_classes
    scoring = make_scorer(roc_auc_score, response_method="predict_proba")
    selector = AnnealingSelectorCV(max_features=2, scoring=scoring, annealing=QUICK)
    rows = told(selector.set_params(random_state=0).fit(X, y), X, y, n_best=1)
    plain = told(selector.set_params(scoring=None).fit(X, y), X, y, n_best=1)
    assert [row["score"] for row in rows] == pytest.approx([row["score"] for row in plain])


def test_regression_with_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    two = np.column_stack([y, X[:, 3] + 0.1 * np.sin(y)])
    selector = AnnealingRegressorSelectorCV(max_features=3, annealing=QUICK, random_state=0)
    rows = told(selector.fit(X, two), X, two, n_best=1)
    some = [subset_with(selector, row) for row in rows]
    cv = ShuffleSplit(n_splits=5, test_size=0.25, random_state=seed_from(0))
    scores = [cross_val_score(LinearModel(), X[:, s], two, cv=cv).mean() for s in some]
    assert [row["score"] for row in rows] == pytest.approx(scores, abs=1e-6)
