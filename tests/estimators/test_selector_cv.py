"""AnnealingSelectorCV: choosing the number of features."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV
from safdr._estimators.parameters import seed_from
from safdr._estimators.rules import DEFAULT_MAX_FEATURES
from safdr._estimators.scoring import score_by_roc_auc

# Quick settings: what is tested here is not how well they anneal.
QUICK = {"annealing": Annealing(n_replicas=10, max_steps=15)}
QUIET = Annealing(n_replicas=10, max_steps=15, n_batches=1, batch_fraction=1.0)


def planted(n_rows=400, n_features=12, informative=(2, 5, 9), seed=0):
    """Noise, and a few features that carry the label independently of each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, n_features))
    X[:, list(informative)] += 1.1 * y[:, None]
    return X, y


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def fitted(data):
    return AnnealingSelectorCV(max_features=6, random_state=0, **QUICK).fit(*data)


@parametrize_with_checks([AnnealingSelectorCV(max_features=2, cv=3, annealing=QUIET)])
@pytest.mark.filterwarnings("ignore:max_features=2 is more:UserWarning")
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_planted_features_and_no_others(seed):
    X, y = planted(n_rows=1500, seed=seed)
    search = AnnealingSelectorCV(max_features=8, rule="one_se", random_state=seed).fit(X, y)
    assert search.subset_.tolist() == [2, 5, 9]
    assert search.n_features_ == 3


def test_agrees_with_a_plain_loop_over_the_fixed_size_selector(data, fitted):
    X, y = data
    splits = StratifiedShuffleSplit(5, test_size=0.25, random_state=seed_from(0)).split(X, y)
    for i, (train, test) in enumerate(splits):
        for row, size in enumerate(fitted.cv_results_["n_features"]):
            one = AnnealingSelector(int(size), random_state=0, **QUICK).fit(X[train], y[train])
            np.testing.assert_array_equal(
                fitted.cv_results_[f"split{i}_support"][row], one.support_
            )
            score = roc_auc_score(y[test], one.decision_function(X[test]))
            assert fitted.cv_results_[f"split{i}_test_score"][row] == pytest.approx(score)
            score = roc_auc_score(y[train], one.decision_function(X[train]))
            assert fitted.cv_results_[f"split{i}_train_score"][row] == pytest.approx(score)
            entropy = fitted.cv_results_[f"split{i}_cross_entropy"][row]
            assert entropy == one.cross_entropy_
    whole = AnnealingSelector(fitted.n_features_, random_state=0, **QUICK).fit(X, y)
    np.testing.assert_array_equal(fitted.subset_, whole.subset_)
    np.testing.assert_array_equal(fitted.estimator_.coef_, whole.estimator_.coef_)


def test_cv_results_hold_means_and_deviations_of_the_splits(fitted):
    results = fitted.cv_results_
    for name in ("test_score", "train_score", "cross_entropy"):
        table = np.array([results[f"split{i}_{name}"] for i in range(5)])
        np.testing.assert_allclose(results[f"mean_{name}"], table.mean(axis=0))
        np.testing.assert_allclose(results[f"std_{name}"], table.std(axis=0))
    assert results["n_features"].tolist() == [1, 2, 3, 4, 5, 6]
    for i in range(5):
        counts = np.sum(results[f"split{i}_support"], axis=1)
        np.testing.assert_array_equal(counts, results["n_features"])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_cv_results_become_a_data_frame(fitted, frame):
    table = frame(fitted.cv_results_)
    assert list(table.columns) == list(fitted.cv_results_)
    assert list(table["n_features"]) == [1, 2, 3, 4, 5, 6]
    assert [int(np.sum(list(mask))) for mask in table["split3_support"]] == [1, 2, 3, 4, 5, 6]


def test_scores_of_both_kinds_of_selector_are_what_their_docs_say(data, fitted):
    X, y = data
    alone = AnnealingSelector(fitted.n_features_, random_state=0, **QUICK).fit(X, y)
    assert alone.score(X, y) == accuracy_score(y, alone.predict(X))
    assert fitted.score(X, y) == roc_auc_score(y, fitted.decision_function(X))
    assert fitted.score(X, y) == get_scorer("roc_auc")(alone, X, y)
    assert alone.score(X, y) != fitted.score(X, y)


def test_chosen_size_follows_the_rule(data, fitted):
    assert fitted.n_features_ == fitted.n_features_by_rule_["one_se"]
    assert set(fitted.n_features_by_rule_) == {"one_sd", "one_se", "tolerance", "best"}
    results = fitted.cv_results_
    passing = results["n_features"][results["mean_test_score"] >= fitted.threshold_]
    assert fitted.n_features_ == passing.min()
    other = clone(fitted).set_params(rule="best").fit(*data)
    assert other.n_features_ == fitted.n_features_by_rule_["best"]
    assert other.threshold_ == other.cv_results_["mean_test_score"].max()


def test_rule_may_be_a_callable(data):
    search = AnnealingSelectorCV(max_features=4, rule=lambda results: 2, random_state=0, **QUICK)
    assert search.fit(*data).n_features_ == 3


@pytest.mark.parametrize("answer", [4, -1, 1.5, None])
def test_a_rule_that_returns_no_index_is_named(data, answer):
    search = AnnealingSelectorCV(max_features=4, rule=lambda results: answer, **QUICK)
    with pytest.raises(ValueError, match=r"rule must return an index .* from 0 to 3; got"):
        search.fit(*data)


@pytest.mark.parametrize(
    "config",
    [
        {"backend": "threading", "n_jobs": 2},
        {"backend": "loky", "n_jobs": 2},
        {"backend": "multiprocessing", "n_jobs": 2},
    ],
    ids=lambda config: config["backend"],
)
def test_any_backend_gives_the_numbers_of_one_core(data, fitted, config):
    with parallel_config(**config):
        other = clone(fitted).fit(*data)
    assert other.cv_results_.keys() == fitted.cv_results_.keys()
    for name, values in fitted.cv_results_.items():
        np.testing.assert_array_equal(other.cv_results_[name], values)
    np.testing.assert_array_equal(other.estimator_.coef_, fitted.estimator_.coef_)


def test_pickle_keeps_the_answer(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    X, y = data
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.fit(X, y).subset_, fitted.subset_)


def test_model_methods_use_the_chosen_features(data, fitted):
    X, y = data
    logit = X[:, fitted.subset_] @ fitted.estimator_.coef_[0] + fitted.estimator_.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(X), logit)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], 1 / (1 + np.exp(-logit)))
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))
    np.testing.assert_array_equal(fitted.predict(X), (logit > 0).astype(int))
    np.testing.assert_array_equal(fitted.transform(X), X[:, fitted.subset_])
    assert fitted.score(X, y) == pytest.approx(roc_auc_score(y, logit))


def test_scoring_decides_scores_and_score(data):
    X, y = data
    search = AnnealingSelectorCV(max_features=3, scoring="accuracy", random_state=0, **QUICK)
    search.fit(X, y)
    assert search.score(X, y) == accuracy_score(y, search.predict(X))
    assert search.scorer_name_ == "accuracy"
    wrapped = clone(search).set_params(scoring=make_scorer(accuracy_score)).fit(X, y)
    assert wrapped.scorer_name_ == "accuracy score"
    by_callable = clone(search).set_params(scoring=get_scorer("accuracy")).fit(X, y)
    np.testing.assert_array_equal(
        by_callable.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_estimator_is_fitted_and_scored_on_the_found_features(data):
    X, y = data
    model = LogisticRegression(C=0.01)
    search = AnnealingSelectorCV(max_features=3, estimator=model, cv=3, random_state=0, **QUICK)
    search.fit(X, y)
    train, test = next(iter(StratifiedKFold(3).split(X, y)))
    found = search.cv_results_["split0_support"][1]
    expected = model.fit(X[train][:, found], y[train]).decision_function(X[test][:, found])
    score = search.cv_results_["split0_test_score"][1]
    assert score == pytest.approx(roc_auc_score(y[test], expected))
    assert search.estimator_.C == 0.01


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3), list(StratifiedKFold(3).split(*planted()))])
def test_any_cv(data, cv):
    search = AnnealingSelectorCV(max_features=2, cv=cv, random_state=0, **QUICK).fit(*data)
    splits = check_cv(cv, data[1], classifier=True).split(*data)
    by_hand = clone(search).set_params(cv=list(splits)).fit(*data)
    assert search.n_splits_ == by_hand.n_splits_ == 3
    for i in range(3):
        name = f"split{i}_test_score"
        np.testing.assert_array_equal(search.cv_results_[name], by_hand.cv_results_[name])


def test_groups_reach_the_splitter(data):
    X, y = data
    groups = np.arange(len(y)) // 40
    search = AnnealingSelectorCV(max_features=2, cv=GroupKFold(5), random_state=0, **QUICK)
    search.fit(X, y, groups=groups)
    by_hand = clone(search).set_params(cv=list(GroupKFold(5).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["split3_test_score"], by_hand.cv_results_["split3_test_score"]
    )


def test_scores_of_the_default_scorer_are_counted_and_others_are_left_alone(data):
    X, y = data
    usual = AnnealingSelectorCV(max_features=3, random_state=0, **QUICK).fit(X, y)
    named = clone(usual).set_params(scoring="roc_auc").fit(X, y)
    assert usual._fold_scorer() is score_by_roc_auc
    for other in (named, clone(usual).set_params(estimator=LogisticRegression())):
        assert other._fold_scorer() is not score_by_roc_auc
    for name in ("mean_test_score", "std_test_score", "mean_train_score"):
        np.testing.assert_allclose(usual.cv_results_[name], named.cv_results_[name], atol=1e-14)


def test_metadata_routing_reaches_splitter_scorer_and_search(data):
    X, y = data
    groups = np.arange(len(y)) // 40
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = AnnealingSelectorCV(
            max_features=2, cv=GroupKFold(5), scoring=scorer, random_state=0, **QUICK
        ).set_fit_request(sample_weight=True)
        search.fit(X, y, sample_weight=weight, groups=groups)
        score = search.score(X, y, sample_weight=weight)
    assert score == accuracy_score(y, search.predict(X), sample_weight=weight)
    train, test = list(GroupKFold(5).split(X, y, groups))[2]
    one = AnnealingSelector(2, random_state=0, **QUICK).fit(X[train], y[train], weight[train])
    expected = accuracy_score(y[test], one.predict(X[test]), sample_weight=weight[test])
    assert search.cv_results_["split2_test_score"][1] == pytest.approx(expected)


def test_unknown_metadata_is_refused(data):
    with pytest.raises(ValueError, match="thing"):
        AnnealingSelectorCV(max_features=2, **QUICK).fit(*data, thing=1)


def test_nested_in_cross_val_score_and_pipeline(data):
    X, y = data
    search = AnnealingSelectorCV(max_features=3, cv=3, random_state=0, **QUICK)
    scores = cross_val_score(make_pipeline(StandardScaler(), search), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.8


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_names(data, frame):
    X, y = data
    names = [f"feature {i}" for i in range(X.shape[1])]
    table = frame(dict(zip(names, X.T, strict=True)))
    search = AnnealingSelectorCV(max_features=3, random_state=0, **QUICK).fit(table, y)
    chosen = [names[i] for i in search.subset_]
    assert search.get_feature_names_out().tolist() == chosen
    backend = "pandas" if frame is pd.DataFrame else "polars"
    assert list(search.set_output(transform=backend).transform(table).columns) == chosen


def test_max_features_beyond_the_data_is_clipped_with_a_warning(data):
    X, y = data
    search = AnnealingSelectorCV(max_features=20, random_state=0, **QUICK)
    with pytest.warns(UserWarning, match="max_features=20 is more than the 4 feature"):
        search.fit(X[:, :4], y)
    assert search.cv_results_["n_features"].tolist() == [1, 2, 3, 4]


def test_the_default_of_max_features_is_clipped_without_a_warning(data):
    X, y = data
    search = AnnealingSelectorCV(random_state=0, **QUICK)
    assert search.max_features == DEFAULT_MAX_FEATURES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X[:, :4], y)
    assert search.cv_results_["n_features"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_features": 5, "max_features": 4}, r"min_features must be at most max_features = 4"),
        ({"min_features": 13}, r"min_features must be at most n_features = 12"),
        ({"min_features": 0}, r"'min_features' parameter .* Got 0 instead"),
        ({"max_features": 2.5}, r"'max_features' parameter .* Got 2.5 instead"),
        ({"rule": "two_sd"}, r"{'one_se', 'one_sd', 'tolerance', 'best'} .* Got 'two_sd' instead"),
        ({"scoring": "nonsense", "max_features": 3}, r"'nonsense' is not a valid scoring"),
        ({"cv": 1}, r"'cv' parameter .* Got 1 instead"),
    ],
)
def test_bad_parameters_are_named(data, params, message):
    with pytest.raises(ValueError, match=message):
        AnnealingSelectorCV(**{**QUICK, **params}).fit(*data)


def test_a_fold_whose_training_rows_lack_a_class_is_named(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match=r"training rows of fold 0 .* one class only, 1;"):
        AnnealingSelectorCV(max_features=2, cv=KFold(2), **QUICK).fit(
            X[order][150:], y[order][150:]
        )


def test_a_fold_that_cannot_be_scored_is_named(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match=r"score of fold 0 at 1 features is nan.* 1 value"):
        AnnealingSelectorCV(max_features=2, cv=KFold(4), **QUICK).fit(X[order], y[order])


def test_single_class_test_rows_serve_where_the_score_is_defined():
    X, y = planted(n_rows=30)
    search = AnnealingSelectorCV(
        max_features=2, cv=LeaveOneOut(), scoring="accuracy", random_state=0, **QUICK
    )
    assert search.fit(X, y).n_splits_ == 30


@pytest.mark.filterwarnings("error")
def test_progress_reaches_scikit_learn_callbacks(data):
    callback = pytest.importorskip("sklearn.callback", reason="callbacks came with 1.9")

    class Counter:
        """Counts the tasks that end."""

        def __init__(self):
            self.ended = []

        def setup(self, estimator, context):
            self.total = context.max_subtasks

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.ended.append(context.task_name)

        def teardown(self, estimator, context):
            pass

    assert isinstance(Counter(), callback.FitCallback)
    counter = Counter()
    search = AnnealingSelectorCV(max_features=3, cv=4, random_state=0, **QUICK)
    search.set_callbacks(counter).fit(*data)
    assert counter.total == 4 * 3 + 1
    assert len(counter.ended) == 4 * 3 + 2
    assert counter.ended[-2:] == ["refit", "fit"]


# The first model that is scored tells that the workers are at work.
SLOW_SEARCH = """
import sys
from pathlib import Path
import numpy as np
from joblib import parallel_config
from safdr import AnnealingSelectorCV

def tell(model, X, y):
    Path(sys.argv[1]).touch()
    return model.score(X, y)

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 80))
y = X[:, :20].sum(axis=1) + 5 * rng.normal(size=len(X)) > 0
with parallel_config(backend="loky"):
    AnnealingSelectorCV(n_jobs=2, scoring=tell, random_state=0).fit(X, y)
"""


def processes_in_group(group):
    """Process ids of a group that have not ended."""
    lines = subprocess.run(
        ["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [pid for pid, pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to a process group")
def test_ctrl_c_stops_soon_and_leaves_no_worker(tmp_path):
    script, at_work = tmp_path / "search.py", tmp_path / "at work"
    script.write_text(SLOW_SEARCH)
    process = subprocess.Popen(
        [sys.executable, str(script), str(at_work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not at_work.exists():
        time.sleep(0.05)
    assert process.poll() is None, "the search must still be running"
    os.killpg(process.pid, signal.SIGINT)
    # A second is what is promised; the rest is for a busy machine.
    _, errors = process.communicate(timeout=10)
    assert process.returncode in (-signal.SIGINT, 130)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    # Workers are stopped by now; the system takes a moment to forget them.
    patience = time.monotonic() + 60
    while processes_in_group(process.pid) and time.monotonic() < patience:
        time.sleep(0.05)
    assert processes_in_group(process.pid) == []


def test_breast_cancer_needs_few_features():
    X, y = load_breast_cancer(return_X_y=True)
    search = AnnealingSelectorCV(max_features=10, n_jobs=2, random_state=0).fit(X, y)
    assert search.n_features_ <= 4
    assert search.cv_results_["mean_test_score"].max() > 0.98


def test_training_rows_of_weight_zero_count_as_absent_for_the_scorer_too(data):
    X, y = data
    weight = (np.random.default_rng(0).random(len(y)) > 0.3).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        splits = list(StratifiedKFold(3).split(X, y))
        how = {"max_features": 2, "scoring": scorer, "random_state": 0, **QUICK}
        search = AnnealingSelectorCV(cv=splits, **how).set_fit_request(sample_weight=True)
        search.fit(X, y, sample_weight=weight)
        # The same folds of the rows that are left.
        present, place = np.flatnonzero(weight), np.cumsum(weight > 0) - 1
        splits = [[place[rows[weight[rows] > 0]] for rows in fold] for fold in splits]
        without = AnnealingSelectorCV(cv=splits, **how).set_fit_request(sample_weight=True)
        without.fit(X[present], y[present], sample_weight=weight[present])
    for name in ("mean_train_score", "mean_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], without.cv_results_[name])


def test_a_fold_without_weight_is_named(data):
    X, y = data
    rows = np.arange(len(y))
    search = AnnealingSelectorCV(max_features=2, cv=[(rows[:100], rows[100:])], **QUICK)
    with pytest.raises(ValueError, match=r"training rows of fold 0 .* sample_weight is zero"):
        search.fit(X, y, sample_weight=(rows >= 100).astype(float))


def test_no_splits_are_an_error(data):
    with pytest.raises(ValueError, match=r"cv must give at least one split .* cv=\[\] gave none"):
        AnnealingSelectorCV(max_features=2, cv=[], **QUICK).fit(*data)


def test_too_few_rows_for_the_default_splits_are_named():
    X, _ = planted(n_rows=6)
    with pytest.raises(ValueError, match=r"cv=None .* at least 8 rows; X has 6"):
        AnnealingSelectorCV(max_features=2, **QUICK).fit(X, np.arange(6) % 2)


def test_warning_filters_are_left_as_they_were(data):
    before = list(warnings.filters)
    AnnealingSelectorCV(max_features=4, n_jobs=8, random_state=0, **QUICK).fit(*data)
    assert warnings.filters == before


def test_regressors_are_refused(data):
    with pytest.raises(ValueError, match="estimator must be a classifier; got the regressor"):
        AnnealingSelectorCV(max_features=2, estimator=LinearRegression(), **QUICK).fit(*data)


@pytest.mark.parametrize("weighted", [False, True])
def test_splits_may_be_lists_or_masks(data, weighted):
    X, y = data
    weight = (np.arange(len(y)) % 3 > 0).astype(float) if weighted else None
    train, test = next(iter(StratifiedKFold(3).split(X, y)))
    mask = np.zeros(len(y), dtype=bool)
    mask[train] = True
    searches = [
        AnnealingSelectorCV(max_features=2, cv=[split], random_state=0, **QUICK).fit(X, y, weight)
        for split in ((train, test), (train.tolist(), test.tolist()), (mask, ~mask))
    ]
    for search in searches[1:]:
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], searches[0].cv_results_["mean_test_score"]
        )
