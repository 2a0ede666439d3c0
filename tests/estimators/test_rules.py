"""The rules that choose a size, against numbers worked out by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, roc_auc_score

from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV
from safdr._estimators.rules import RULES, Limits, ceiling_of, choose_size, threshold
from safdr.errors import ParameterError

SIZES = [1, 2, 3, 4]

# Two folds, four sizes. Means 0.75, 0.80, 0.88, 0.90; the best is size 4. Over its folds it has a
# standard deviation of 0.10 with divisor n, so one_sd requires 0.80: size 2. With divisor n - 1 it
# is 0.1414, divided by the root of two splits 0.10 again: one_se requires 0.80 too.
SCORES = np.array([[0.80, 0.85, 0.96, 1.00], [0.70, 0.75, 0.80, 0.80]])
# Four folds. Best size: scores 1.0, 0.8, 1.0, 0.8, standard deviation 0.10 (divisor n) and 0.1155
# (n - 1), standard error 0.0577. Means 0.79, 0.83, 0.85, 0.90: one_sd takes size 2 (0.80), one_se
# size 3 (0.842).
FOUR_FOLDS = np.array([[0.79, 0.83, 0.85, 1.0], [0.79, 0.83, 0.85, 0.8]] * 2)
# Means 0.95, 0.98, 0.995, 1; the best size has no spread.
SATURATED = np.array([[0.94, 0.97, 0.99, 1.00], [0.96, 0.99, 1.00, 1.00]])


@pytest.mark.parametrize(
    ("scores", "rule", "size"),
    [
        (SCORES, "one_sd", 2),
        (SCORES, "best", 4),
        (FOUR_FOLDS, "one_sd", 2),
        (FOUR_FOLDS, "one_se", 3),
        (FOUR_FOLDS, "best", 4),
    ],
)
def test_rules_by_hand(scores, rule, size):
    assert SIZES[choose_size(rule, SIZES, scores, Limits())] == size


@pytest.mark.parametrize(
    ("tolerance", "size"), [(0, 4), (0.0199, 4), (0.02, 3), (0.1, 2), (0.15, 1), (7, 1)]
)
def test_tolerance_by_hand(tolerance, size):
    # 0.90 - 0.02, 0.90 - 0.10 and 0.90 - 0.15 are reached just so, whatever their last digits.
    assert SIZES[choose_size("tolerance", SIZES, SCORES, Limits(tolerance))] == size


def test_thresholds_by_hand():
    assert threshold("one_sd", SCORES, Limits()) == pytest.approx(0.80)
    assert threshold("one_se", SCORES, Limits()) == pytest.approx(0.80)
    assert threshold("one_sd", FOUR_FOLDS, Limits()) == pytest.approx(0.80)
    assert threshold("one_se", FOUR_FOLDS, Limits()) == pytest.approx(0.90 - 0.1 / np.sqrt(3))
    assert threshold("tolerance", SCORES, Limits(0.05)) == pytest.approx(0.85)
    assert threshold("best", SCORES, Limits()) == pytest.approx(0.90)
    assert threshold(len, SCORES, Limits()) is None


@pytest.mark.parametrize("rule", RULES)
def test_ties_go_to_the_smaller_size(rule):
    assert choose_size(rule, SIZES, np.full((5, 4), 0.9), Limits()) == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_single_fold_has_no_spread(rule):
    assert choose_size(rule, SIZES, np.array([[0.7, 0.9, 0.8, 0.9]]), Limits()) == 1


def test_sizes_need_not_be_sorted():
    assert choose_size("one_sd", [4, 3, 2, 1], SCORES[:, ::-1], Limits()) == 2


# ---- Scores near 1 ------------------------------------------------------------------------------


def test_where_scores_saturate_half_a_row_is_nothing():
    # 25 test rows a fold: means from 0.98 on are good enough. The paper's rule knows no ceiling.
    limits = Limits(ceiling=ceiling_of("roc_auc", [25, 25]))
    assert limits.ceiling == pytest.approx(0.98)
    assert SIZES[choose_size("one_se", SIZES, SATURATED, limits)] == 2
    assert SIZES[choose_size("one_se", SIZES, SATURATED, Limits())] == 4
    assert SIZES[choose_size("one_sd", SIZES, SATURATED, limits)] == 4


def test_the_ceiling_leaves_other_scores_alone():
    # The rule asks for less already; and a ceiling never raises that.
    rng = np.random.default_rng(0)
    for n in (10, 40, 1000):
        limits = Limits(ceiling=ceiling_of("accuracy", [n] * 5))
        for scores in rng.uniform(0.3, 0.94, size=(50, 5, 8)):
            plain = threshold("one_se", scores, Limits())
            assert threshold("one_se", scores, limits) == plain


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


def standard_error(search):
    """The error of the best size over the splits, and its mean score."""
    results = search.cv_results_
    best = results["mean_test_score"].argmax()
    scores = [results[f"split{i}_test_score"][best] for i in range(search.n_splits_)]
    return results["mean_test_score"][best], np.std(scores, ddof=1) / np.sqrt(len(scores))


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_wine_needs_few():
    X, y = load_wine(return_X_y=True)
    search = AnnealingSelectorCV(max_features=13, random_state=0).fit(X, y)
    assert search.n_features_ <= 5
    assert search.threshold_ == pytest.approx(1 - 0.5 / 45)
    assert search.score(X, y) > 0.98
    published = AnnealingSelectorCV.as_published(max_features=13, random_state=0).fit(X, y)
    assert published.n_features_ >= 8
    assert published.n_features_by_rule_["one_se"] <= 5
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
    mean, error = standard_error(by_loss)
    assert error > 0
    assert by_loss.threshold_ == pytest.approx(mean - error)


# ---- The parameter ------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [AnnealingSelectorCV, AnnealingRegressorSelectorCV])
@pytest.mark.parametrize("value", [-0.001, np.nan, np.inf, "0.1", None, True])
def test_a_wrong_tolerance_is_named(selector, value):
    with pytest.raises(ParameterError, match="'tolerance' parameter") as raised:
        selector(tolerance=value).check_params()
    assert raised.value.parameter == "tolerance"
