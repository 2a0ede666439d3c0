"""Cross-validation is a plain loop over the selector of a size; rules choose by the scores."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

from helpers.selectors import (
    PUBLISHED_RULE,
    RULES,
    TASKS,
    as_published,
    make_rows,
    of_size,
    over_sizes,
    size_by_rule,
    splitter,
    test_scores,
)
from safdr import (
    Annealing,
    AnnealingRegressorSelectorCV,
    AnnealingSelectorCV,
    Constraints,
)

SCORERS = {"two": "roc_auc", "three": "roc_auc_ovr", "regression": "r2"}


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


# ---- A plain loop --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"C": 0.1},
        {"C": np.inf},
        {"constraints": Constraints(always_include=[0], groups=[[2, 3]])},
        {"form": sparse.csr_array},
        {"weighted": True},
    ],
    ids=lambda how: next(iter(how), "default"),
)
def test_scores_are_those_of_a_plain_loop(task, how):
    X, y = make_rows(task)
    how = dict(how)
    rows = how.pop("form", np.asarray)(X)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y)) if how.pop("weighted", 0) else None
    search = over_sizes(3, task, **how).fit(rows, y, sample_weight=weight)
    scorer = get_scorer(SCORERS[task])
    for i, (train, test) in enumerate(splitter(task).split(X, y)):
        of_rows = None if weight is None else weight[train]
        for row, size in enumerate(search.cv_results_["n_features"]):
            one = of_size(int(size), task, **how)
            one.fit(rows[train], y[train], sample_weight=of_rows)
            split = {
                name: search.cv_results_[f"split{i}_{name}"][row]
                for name in ("support", "test_score")
            }
            np.testing.assert_array_equal(split["support"], one.support_)
            wanted = scorer(one, rows[test], y[test])
            assert split["test_score"] == pytest.approx(wanted, abs=1e-12)
    assert search.n_splits_ == i + 1


def test_a_model_of_the_users_own_is_scored_as_in_a_plain_loop():
    X, y = make_rows(n_rows=90)
    few = Annealing(n_replicas=2, max_steps=2)
    how = {"estimator": LogisticRegression(C=0.01), "annealing": few}
    train, test = next(iter(splitter().split(X, y)))
    search = over_sizes(2, cv=iter([(train, test)]), n_jobs=2, **how).fit(X, y)
    one = of_size(2, **how).fit(X[train], y[train])
    np.testing.assert_array_equal(search.cv_results_["split0_support"][1], one.support_)
    wanted = get_scorer("roc_auc")(one, X[test], y[test])
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(wanted, abs=1e-12)
    assert search.estimator_.C == 0.01


def test_the_final_search_is_that_of_the_selector_of_this_size(task):
    X, y = make_rows(task)
    search = over_sizes(5, task).fit(X, y)
    whole = of_size(search.n_features_, task).fit(X, y)
    np.testing.assert_array_equal(search.subset_, whole.subset_)
    np.testing.assert_array_equal(search.result_.subsets, whole.result_.subsets)
    assert search.result_.loss == whole.result_.loss
    # The slopes of the final model may be multiplied by one factor.
    ratio = search.estimator_.coef_ / whole.estimator_.coef_
    np.testing.assert_allclose(ratio, ratio.flat[0])
    assert ratio.flat[0] > 0


def test_the_table_holds_means_and_deviations_of_its_splits(task):
    X, y = make_rows(task)
    results = over_sizes(3, task).fit(X, y).cv_results_
    table = test_scores(results)
    np.testing.assert_allclose(results["mean_test_score"], table.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(results["std_test_score"], table.std(axis=0), rtol=1e-12)
    assert results["n_features"].tolist() == [1, 2, 3]
    for i in range(3):
        assert [mask.sum() for mask in results[f"split{i}_support"]] == [1, 2, 3]


def test_the_scores_of_a_size_do_not_depend_on_the_others():
    X, y = make_rows()
    few, many = (over_sizes(largest).fit(X, y).cv_results_ for largest in (2, 5))
    for name, values in few.items():
        np.testing.assert_array_equal(values, many[name][:2])


def test_splits_are_those_of_any_splitter():
    X, y = make_rows()
    pairs = list(splitter().split(X, y))
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in pair) for pair in pairs]
    expected = over_sizes(2).fit(X, y).cv_results_
    for cv in (pairs, [tuple(map(list, pair)) for pair in pairs], masks, iter(pairs)):
        found = over_sizes(2, cv=cv).fit(X, y).cv_results_
        np.testing.assert_array_equal(test_scores(found), test_scores(expected))
    assert over_sizes(2, cv=4).fit(X, y).n_splits_ == 4
    alone = over_sizes(1, cv=LeaveOneOut(), scoring="accuracy").fit(X[:20], y[:20])
    assert set(test_scores(alone.cv_results_).ravel()) <= {0.0, 1.0}


def test_the_default_splits_are_stratified_and_a_quarter():
    X, y = make_rows()
    seen = []

    def note(model, X, y):
        seen.append((len(y), np.mean(y)))
        return 0.0

    over_sizes(1, cv=None, scoring=note).fit(X, y)
    assert seen == [(60, pytest.approx(0.5))] * 5


def test_any_score_is_that_of_scikit_learn(task):
    X, y = make_rows(task)
    names = ["neg_mean_absolute_error"] if task == "regression" else ["accuracy", "neg_log_loss"]
    for name in names:
        search = over_sizes(2, task, scoring=name).fit(X, y)
        train, test = next(iter(splitter(task).split(X, y)))
        one = of_size(2, task).fit(X[train], y[train])
        score = search.cv_results_["split0_test_score"][1]
        assert score == pytest.approx(get_scorer(name)(one, X[test], y[test]), rel=1e-12)
        assert search.score(X, y) == pytest.approx(get_scorer(name)(search, X, y), rel=1e-12)


# ---- Groups of rows and other metadata -----------------------------------------------------------


@pytest.mark.parametrize("task", ["two", "regression"])
@pytest.mark.parametrize("cv", [None, 3, GroupKFold(4), StratifiedGroupKFold(4)])
def test_groups_never_leak(task, cv):
    """A forced column names the group of each row; criterion and scorer note what they see."""
    X, y = make_rows(task)
    if task == "regression" and isinstance(cv, StratifiedGroupKFold):
        pytest.skip("classes only")
    X[:, 3] = groups = np.arange(len(y)) % 12
    train, test = [], []

    def criterion(X, y):
        train.append(set(X[:, 0].tolist()))
        return 0.0

    def scorer(model, X, y):
        test.append(set(X[:, 0].tolist()))
        return 0.0

    only = Constraints(always_include=[3])
    how = {"cv": cv, "scoring": scorer, "criterion": criterion, "constraints": only}
    over_sizes(1, task, **how).fit(X, y, groups=groups)
    assert train.pop() == set(range(12))  # the final search
    assert len(train) == len(test) == {None: 5, 3: 3}.get(cv if cv in (None, 3) else 0, 4)
    for seen, held_out in zip(train, test, strict=True):
        assert seen | held_out == set(range(12))
        assert not seen & held_out


@pytest.mark.parametrize("cv", [None, 3])
def test_groups_of_a_pipeline_split_the_rows_of_its_selector(cv):
    """It failed: with metadata routing they had no effect."""
    X, y = make_rows()
    groups = np.arange(len(y)) // 20
    outer = list(GroupKFold(2).split(X, y, groups))
    wanted = [
        over_sizes(3, cv=cv).fit(X[train], y[train], groups=groups[train]).score(X[test], y[test])
        for train, test in outer
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        search = over_sizes(3, cv=cv)
        found = search.fit(X, y, groups=groups).cv_results_
        params = {"groups": groups}
        pipeline = make_pipeline("passthrough", search)
        scores = cross_val_score(pipeline, X, y, cv=GroupKFold(2), params=params)
    np.testing.assert_allclose(scores, wanted, rtol=1e-12)
    by_hand = over_sizes(3, cv=cv).fit(X, y, groups=groups).cv_results_
    np.testing.assert_array_equal(test_scores(found), test_scores(by_hand))
    assert (test_scores(found) != test_scores(over_sizes(3, cv=cv).fit(X, y).cv_results_)).any()


@pytest.mark.parametrize("cv", [KFold(3), list(KFold(3).split(np.zeros(240)))])
def test_groups_without_effect_are_refused(cv):
    X, y = make_rows()
    with pytest.raises(ValueError, match="groups has no effect"):
        over_sizes(1, cv=cv).fit(X, y, groups=np.arange(len(y)) // 10)


def test_groups_split_as_the_splitter_says():
    X, y = make_rows()
    groups = np.arange(len(y)) // 40
    search = over_sizes(2, cv=GroupKFold(5)).fit(X, y, groups=groups)
    by_hand = over_sizes(2, cv=list(GroupKFold(5).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(test_scores(search.cv_results_), test_scores(by_hand.cv_results_))


def test_metadata_reaches_splitter_scorer_and_search():
    X, y = make_rows()
    groups = np.arange(len(y)) // 40
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = over_sizes(2, cv=GroupKFold(5), scoring=scorer)
        search.set_fit_request(sample_weight=True)
        search.fit(X, y, sample_weight=weight, groups=groups)
        score = search.score(X, y, sample_weight=weight)
    assert score == accuracy_score(y, search.predict(X), sample_weight=weight)
    train, test = list(GroupKFold(5).split(X, y, groups))[2]
    one = of_size(2).fit(X[train], y[train], weight[train])
    wanted = accuracy_score(y[test], one.predict(X[test]), sample_weight=weight[test])
    assert search.cv_results_["split2_test_score"][1] == pytest.approx(wanted, abs=1e-12)


def test_nothing_is_learnt_from_test_rows():
    """Test rows that are changed change no subset."""
    X, y = make_rows()
    train, test = np.arange(160), np.arange(160, 240)
    other = X.copy()
    other[test] = 1e3 * np.random.default_rng(0).normal(size=(80, X.shape[1]))
    searches = [over_sizes(3, cv=[(train, test)]).fit(rows, y) for rows in (X, other)]
    np.testing.assert_array_equal(*(each.cv_results_["split0_support"] for each in searches))


# ---- Rules ---------------------------------------------------------------------------------------

# Splits by four sizes; all numbers are sums of powers of two.
TABLES = {
    # The best mean, .75, has deviation .25 (divisor n): .5 is just enough.
    "a tie at the limit": [[0.375, 0.625, 0.875, 1.0], [0.5, 0.375, 0.25, 0.5]],
    # The deviation of .875 is .125 (n) or .177 (n - 1); the second mean is .71875.
    "between two divisors": [[0.625, 0.71875, 0.8125, 1.0], [0.625, 0.71875, 0.75, 0.75]],
    "no deviation": [[0.5, 0.75, 0.875, 0.875], [0.5, 0.75, 0.875, 0.875]],
    "all equal": [[0.75, 0.75, 0.75, 0.75], [0.75, 0.75, 0.75, 0.75]],
    "the best is in the middle": [[0.5, 0.875, 1.0, 0.75], [0.5, 0.75, 0.75, 0.5]],
    "splits differ, sizes do not": [
        [0.25, 0.28125, 0.3125, 0.34375],
        [0.75, 0.78125, 0.8125, 0.875],
    ],
    # The deviation of .75 is .177, its standard error .102; the other means are .625 and .6875.
    "four splits": [[0.25, 0.625, 0.6875, best] for best in (1.0, 0.75, 0.75, 0.5)],
}


def scripted(table, n_rows=240):
    """Splits, and a scorer that gives the scores of a table; training rows score 0."""
    tests = [np.arange(20 + i) for i in range(len(table))]
    cv = [(np.arange(50, n_rows), test) for test in tests]

    def score(model, X, y):
        split = len(y) - 20
        return table[split][X.shape[1] - 1] if 0 <= split < len(table) else 0.0

    return cv, score


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("table", TABLES)
def test_a_rule_chooses_by_its_definition(rule, table):
    X, y = make_rows()
    cv, score = scripted(TABLES[table])
    search = over_sizes(4, rule=rule, cv=cv, scoring=score).fit(X, y)
    np.testing.assert_array_equal(test_scores(search.cv_results_), TABLES[table])
    assert search.n_features_ == size_by_rule(rule, TABLES[table], [1, 2, 3, 4])


def test_the_tables_tell_rules_and_divisors_apart():
    sizes = [1, 2, 3, 4]
    chosen = {
        rule: [size_by_rule(rule, TABLES[table], sizes) for table in TABLES] for rule in RULES
    }
    assert chosen["one_sd"] != chosen["one_se"] != chosen["best"]
    limit = np.array(TABLES["a tie at the limit"])
    assert limit.mean(axis=0)[1] == limit[:, 3].mean() - limit[:, 3].std()
    assert size_by_rule("one_sd", limit, sizes) == 2
    between = np.array(TABLES["between two divisors"])
    least = [between[:, 3].mean() - between[:, 3].std(ddof=ddof) for ddof in (0, 1)]
    assert least[1] < between.mean(axis=0)[1] < least[0]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_chooses_by_its_definition_on_random_scores(rule):
    X, y = make_rows(n_rows=120)
    rng = np.random.default_rng(3)
    for _ in range(10):
        table = np.sort(rng.uniform(0.3, 0.9, (4, 5)), axis=1) + rng.normal(0, 0.03, (4, 5))
        cv, score = scripted(table, 120)
        search = over_sizes(5, rule=rule, cv=cv, scoring=score).fit(X, y)
        assert search.n_features_ == size_by_rule(rule, table, range(1, 6))


def test_means_of_many_splits_are_compared_with_themselves():
    """A mean of ten scores depends on the order of the sum."""
    X, y = make_rows(n_rows=120)
    for seed in range(20):
        table = np.random.default_rng(seed).uniform(0.5, 0.9, (10, 3))
        cv, score = scripted(table, 120)
        found = over_sizes(3, rule="best", cv=cv, scoring=score).fit(X, y)
        assert found.n_features_ == 1 + table.mean(axis=0).argmax()


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_scores_within_half_a_row_of_perfect_are_perfect():
    """By "one_se"; half a test row of an AUC is 1/(2n)."""
    X, y = load_wine(return_X_y=True)
    published, other = (as_published(8, **how).fit(X, y) for how in ({}, {"rule": "one_se"}))
    scores = test_scores(other.cv_results_)
    np.testing.assert_array_equal(test_scores(published.cv_results_), scores)
    means, sizes = scores.mean(axis=0), other.cv_results_["n_features"]
    best = scores[:, means.argmax()]
    assert best.mean() - best.std(ddof=1) / np.sqrt(len(scores)) > 1 - 0.5 / 45
    assert published.n_features_ == size_by_rule(PUBLISHED_RULE, scores, sizes)
    assert other.n_features_ == sizes[means >= 1 - 0.5 / 45].min()
    assert other.n_features_ < size_by_rule("one_se", scores, sizes)


def test_as_published_is_the_papers_method():
    for kind in (AnnealingSelectorCV, AnnealingRegressorSelectorCV):
        published = kind.as_published(random_state=0)
        assert published.rule == PUBLISHED_RULE
        assert np.inf == published.C
        assert published.criterion in ("fisher", "r2")
        assert published.annealing.screen is None
        mine = kind.as_published(annealing=Annealing(n_replicas=7)).annealing
        assert (mine.n_replicas, mine.screen) == (7, None)
        assert kind.as_published(random_state=0, rule="best").rule == "best"
        assert type(published) is kind
        parameters = kind().get_params(deep=False).keys()
        assert clone(published).get_params(deep=False).keys() == parameters


def test_a_rule_may_be_a_function():
    X, y = make_rows()

    def second(results):
        assert "mean_test_score" in results
        return 1

    assert over_sizes(4, rule=second).fit(X, y).n_features_ == 2


def test_sizes_that_constraints_forbid_are_not_tried():
    X, y = make_rows()
    limits = Constraints(always_include=[1, 2], never_include=[6, 7])
    search = over_sizes(6, constraints=limits, cv=KFold(3)).fit(X, y)
    assert search.cv_results_["n_features"].tolist() == [2, 3, 4, 5, 6]
    groups = Constraints(groups=[[0, 1, 2, 3], [4, 5, 6, 7]])
    search = over_sizes(2, constraints=groups).fit(X, y)
    assert search.cv_results_["n_features"].tolist() == [1, 2]
    assert search.support_.sum() == 4 * search.n_features_


def share_of_ordered_pairs(scores, positive):
    """Pairs of rows of both classes in which the positive one scores higher; ties count half."""
    above, below = scores[positive][:, None], scores[~positive]
    return np.mean((above > below) + 0.5 * (above == below))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, "like scikit-learn"])
def test_ties_between_the_classes_count_half(n_classes, scoring):
    """Scores of few values, so that many pairs of rows of different classes are equal."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % n_classes
    X = (rng.random((240, 4)) < 0.2 + 0.3 * y[:, None]).astype(float)
    splits = StratifiedShuffleSplit(3, random_state=0)
    if scoring is not None:
        scoring = "roc_auc" if n_classes == 2 else "roc_auc_ovr"
    search = over_sizes(2, cv=splits, scoring=scoring).fit(X, y)
    for i, (train, test) in enumerate(splits.split(X, y)):
        one = of_size(1).fit(X[train], y[train])
        chances = one.predict_proba(X[test])
        assert len(np.unique(chances[:, 1])) == 2
        areas = [share_of_ordered_pairs(chances[:, c], y[test] == c) for c in range(n_classes)]
        score = search.cv_results_[f"split{i}_test_score"][0]
        assert score == pytest.approx(np.mean(areas), abs=1e-12)
