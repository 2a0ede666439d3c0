"""The rules that choose a size, against numbers worked out by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, roc_auc_score

from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV
from safdr._estimators.rules import ALL_RULES, Limits, ceiling_of, choose_size, threshold
from safdr.errors import ParameterError

SIZES = [1, 2, 3, 4]

# Two folds, four sizes. Means 0.75, 0.80, 0.88, 0.90; the best is size 4, with a standard deviation
# of 0.10 over its folds, so one_sd asks for 0.80: size 2.
# Differences to size 4: (0.20, 0.10), (0.15, 0.05), (0.04, 0.00), 0. Means 0.15, 0.10, 0.02, 0;
# standard errors |d1 - d2| / 2: 0.05, 0.05, 0.02, 0. So one_se takes size 3.
SCORES = np.array([[0.80, 0.85, 0.96, 1.00], [0.70, 0.75, 0.80, 0.80]])
# Means 0.95, 0.98, 0.995, 1; the best size has no spread.
SATURATED = np.array([[0.94, 0.97, 0.99, 1.00], [0.96, 0.99, 1.00, 1.00]])


@pytest.mark.parametrize(
    ("rule", "size"), [("one_sd", 2), ("as_published", 2), ("one_se", 3), ("best", 4)]
)
def test_rules_by_hand(rule, size):
    assert SIZES[choose_size(rule, SIZES, SCORES, Limits())] == size


@pytest.mark.parametrize(
    ("tolerance", "size"), [(0, 4), (0.0199, 4), (0.02, 3), (0.1, 2), (0.15, 1), (7, 1)]
)
def test_tolerance_by_hand(tolerance, size):
    # 0.90 - 0.02, 0.90 - 0.10 and 0.90 - 0.15 are reached just so, whatever their last digits.
    assert SIZES[choose_size("tolerance", SIZES, SCORES, Limits(tolerance))] == size


def test_one_sd_threshold_by_hand():
    assert threshold("one_sd", SCORES, Limits()) == pytest.approx(0.80)


def test_only_rules_that_ask_for_less_than_the_best_have_a_threshold():
    assert threshold("tolerance", SCORES, Limits(0.05)) == pytest.approx(0.85)
    assert [threshold(rule, SCORES, Limits()) for rule in ("one_se", "best", len)] == [None] * 3


def test_one_se_compares_pairs_of_folds_and_not_means():
    # Folds differ by 0.5, sizes by 0.02 on every fold: by the spread of the scores size 1 would
    # pass, by the spread of the differences (none) it does not.
    scores = np.array([[0.48, 0.50], [0.98, 1.00]])
    assert choose_size("one_sd", [1, 2], scores, Limits()) == 0
    assert choose_size("one_se", [1, 2], scores, Limits()) == 1


def test_one_se_is_that_of_a_mean():
    # Differences of 0.035, -0.005, 0.035 and -0.005: their mean is 0.015, their deviation 0.023,
    # and that of their mean half of it.
    scores = np.array([[0.865, 0.9], [0.905, 0.9], [0.865, 0.9], [0.905, 0.9]])
    assert choose_size("one_se", [1, 2], scores, Limits()) == 1


@pytest.mark.parametrize("rule", ALL_RULES)
def test_ties_go_to_the_smaller_size(rule):
    assert choose_size(rule, SIZES, np.full((5, 4), 0.9), Limits()) == 0


@pytest.mark.parametrize("rule", ALL_RULES)
def test_a_single_fold_has_no_spread(rule):
    assert choose_size(rule, SIZES, np.array([[0.7, 0.9, 0.8, 0.9]]), Limits()) == 1


def test_sizes_need_not_be_sorted():
    assert choose_size("one_sd", [4, 3, 2, 1], SCORES[:, ::-1], Limits()) == 2


# ---- Scores near 1 ------------------------------------------------------------------------------


def test_where_scores_saturate_half_a_row_is_nothing():
    # 25 test rows a fold: means from 0.98 on are good enough. As published only the best is.
    limits = Limits(ceiling=ceiling_of("roc_auc", [25, 25]))
    assert limits.ceiling == pytest.approx(0.98)
    assert SIZES[choose_size("one_sd", SIZES, SATURATED, limits)] == 2
    assert SIZES[choose_size("as_published", SIZES, SATURATED, limits)] == 4
    assert SIZES[choose_size("one_se", SIZES, SATURATED, limits)] == 3


def test_the_ceiling_leaves_other_scores_alone():
    # The rule asks for 0.80 already; and a ceiling never raises that.
    rng = np.random.default_rng(0)
    for n in (10, 40, 1000):
        limits = Limits(ceiling=ceiling_of("accuracy", [n] * 5))
        for scores in rng.uniform(0.3, 0.94, size=(50, 5, 8)):
            published = choose_size("as_published", range(8), scores, limits)
            assert choose_size("one_sd", range(8), scores, limits) == published
            assert threshold("one_sd", scores, limits) == threshold("as_published", scores, limits)


def test_one_row_costs_one_nth_of_an_auc_on_average():
    # What the ceiling is derived from: each row at each place among those of the other class.
    y = np.repeat([0, 1], [7, 4])
    perfect = np.where(y == 1, 100.0, 0.0) + np.arange(len(y))
    costs = []
    for row, other in enumerate([perfect[y != label] for label in y]):
        places = [*(other - 0.5), other.max() + 0.5]
        moved = [np.where(np.arange(len(y)) == row, place, perfect) for place in places]
        costs.append(np.mean([1 - roc_auc_score(y, scores) for scores in moved]))
    assert np.mean(costs) == pytest.approx(1 / len(y))


def test_few_test_rows_do_not_make_everything_perfect():
    assert ceiling_of("accuracy", [1] * 30) == ceiling_of("accuracy", [10]) == pytest.approx(0.95)
    assert ceiling_of("accuracy", [20, 40]) == pytest.approx(1 - (1 / 40 + 1 / 80) / 2)


@pytest.mark.parametrize(
    ("scoring", "counted"),
    [
        ("roc_auc_ovr", True),
        (get_scorer("balanced_accuracy"), True),
        (get_scorer("roc_auc"), True),
        (make_scorer(accuracy_score), True),
        ("neg_log_loss", False),
        ("r2", False),
        ("f1", False),
        (get_scorer("neg_brier_score"), False),
        (make_scorer(accuracy_score, normalize=False), False),
        (make_scorer(accuracy_score, greater_is_better=False), False),
        (lambda model, X, y: 1.0, False),
    ],
)
def test_only_scores_that_count_rows_have_a_ceiling(scoring, counted):
    assert np.isfinite(ceiling_of(scoring, [40])) == counted


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_wine_needs_few():
    X, y = load_wine(return_X_y=True)
    search = AnnealingSelectorCV(max_features=13, random_state=0).fit(X, y)
    assert search.n_features_ <= 5
    assert search.threshold_ == pytest.approx(1 - 0.5 / 45)
    assert search.score(X, y) > 0.98
    published = AnnealingSelectorCV.as_published(max_features=13, random_state=0).fit(X, y)
    assert published.n_features_ >= 8
    assert published.n_features_by_rule_["one_sd"] <= 5
    assert published.threshold_ == pytest.approx(
        np.max(m := published.cv_results_["mean_test_score"])
        - published.cv_results_["std_test_score"][m.argmax()]
    )


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_the_ceiling_knows_the_scorer_and_the_test_rows():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]  # setosa: any one feature separates it, or nearly
    by_auc = AnnealingSelectorCV(max_features=4, cv=5, random_state=0)
    assert by_auc.fit(X, y).threshold_ == pytest.approx(1 - 0.5 / 20)
    by_loss = AnnealingSelectorCV(max_features=4, scoring="neg_log_loss", random_state=0).fit(X, y)
    means, spread = (by_loss.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
    assert by_loss.threshold_ == pytest.approx(means.max() - spread[means.argmax()])


# ---- The parameter ------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [AnnealingSelectorCV, AnnealingRegressorSelectorCV])
@pytest.mark.parametrize("value", [-0.001, np.nan, np.inf, "0.1", None, True])
def test_a_wrong_tolerance_is_named(selector, value):
    with pytest.raises(ParameterError, match="'tolerance' parameter") as raised:
        selector(tolerance=value).check_params()
    assert raised.value.parameter == "tolerance"
