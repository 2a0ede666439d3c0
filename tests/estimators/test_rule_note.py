"""The sentence about what a rule gives up, on scores worked out by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit

from safdr import Annealing, AnnealingRegressorSelectorCV
from safdr._estimators.rule_note import RuleNote
from safdr._estimators.rules import Limits

SIZES = np.array([1, 2, 3, 4])
# Means 0.75, 0.80, 0.88, 0.90.
SCORES = np.array([[0.80, 0.85, 0.96, 1.00], [0.70, 0.75, 0.80, 0.80]])
BY_RULE = {"one_sd": 2, "one_se": 3, "tolerance": 4, "best": 4}


def note(rule="one_sd", scoring="roc_auc", scores=SCORES, chosen=2, by_rule=BY_RULE, **limits):
    return str(RuleNote(rule, scoring, SIZES, scores, Limits(**limits), by_rule, chosen))


def test_it_says_what_is_given_up_and_what_others_would_take():
    assert note() == (
        "one_sd took 2 features: their mean ROC AUC is 0.1 below the best (0.9 at 4); "
        "one_se would take 3 (0.02 below), tolerance 4 (the best)."
    )


def test_it_says_that_nothing_is_given_up():
    assert note("best", chosen=4) == (
        "best took 4 features, with the best mean ROC AUC (0.9); "
        "one_sd would take 2 (0.1 below), one_se 3 (0.02 below), tolerance 4 (the same)."
    )


def test_a_single_feature_is_one():
    assert note(chosen=1).startswith("one_sd took 1 feature: its mean ROC AUC is 0.15 below")


@pytest.mark.parametrize("scoring", ["neg_log_loss", get_scorer("neg_log_loss")])
def test_a_loss_is_above_the_best_and_has_its_own_sign(scoring):
    assert note(scoring=scoring, scores=SCORES - 1) == (
        "one_sd took 2 features: their mean log loss is 0.1 above the best (0.1 at 4); "
        "one_se would take 3 (0.02 above), tolerance 4 (the best)."
    )


def test_large_numbers_are_told_in_their_units():
    text = note(scoring="neg_mean_squared_error", scores=(SCORES - 1) * 10_000)
    assert "their mean squared error is 1000 above the best (1000 at 4)" in text


def test_a_rule_of_the_users_own_is_called_theirs():
    text = note(lambda results: 0, chosen=1)
    assert text.startswith("Your rule took 1 feature: its mean ROC AUC is 0.15 below the best")
    assert "one_sd would take 2 (0.1 below), one_se 3" in text


def test_scores_that_count_as_equal_are_told_only_if_they_decided():
    told = "Means from 0.7 on count as equal here: they are within half a test row a split"
    assert told in note("one_se", chosen=3, ceiling=0.7)
    assert "count as equal" not in note("one_se", chosen=3, ceiling=0.85)  # it asks for 0.8 already
    assert "count as equal" not in note("one_sd", ceiling=0.7)


def test_with_one_size_there_was_nothing_to_choose():
    one = RuleNote("one_sd", "r2", SIZES[:1], SCORES[:, :1], Limits(), {"one_sd": 1}, 1)
    assert str(one) == "1 feature is the only size that was tried."


def test_one_split_is_told():
    X, y = load_diabetes(return_X_y=True)
    search = AnnealingRegressorSelectorCV(
        max_features=4,
        cv=ShuffleSplit(1, random_state=0),
        annealing=Annealing(n_replicas=5, max_steps=5),
        random_state=0,
    ).fit(X, y)
    size = search.n_features_by_rule_["best"]
    value = search.cv_results_["mean_test_score"].max()
    assert search.rule_note_.startswith(
        f"one_se took {size} features, with the best mean R² ({value:.4g}); one_sd would take "
        f"{size} (the same)"
    )
    assert search.rule_note_.endswith(
        ". A single split has no spread: nothing below its best passes."
    )


def test_it_says_what_the_size_would_be_without_a_split():
    # Without the first split sizes 2 to 4 are alike, without the third 1 falls behind by much.
    scores = np.array([[0.7, 0.8, 0.9, 0.9], [0.8, 0.9, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9]])
    told = "Without one of the 3 splits one_sd would take 2 to 3, depending on which."
    assert told in note("one_sd", scores=scores, chosen=3)
    assert "Without" not in note("one_sd", scores=scores[1:], chosen=2)
    assert "Without" not in note("best", scores=np.tile(SCORES, (2, 1)), chosen=4)
    same = np.array([[0.8, 0.9, 0.9, 0.9]] * 3)
    assert "Without any one of the splits best would take 2." in note("best", scores=same, chosen=3)
