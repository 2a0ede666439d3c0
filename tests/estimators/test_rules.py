"""The rules that choose a size, against numbers worked out by hand."""

import numpy as np
import pytest

from safdr._estimators.rules import choose_size, one_sd_threshold

SIZES = [1, 2, 3, 4]

# Two folds, four sizes. Means 0.75, 0.80, 0.88, 0.90; the best is size 4, with a standard deviation
# of 0.10 over its folds, so one_sd asks for 0.80: size 2.
# Differences to size 4: (0.20, 0.10), (0.15, 0.05), (0.04, 0.00), 0. Means 0.15, 0.10, 0.02, 0;
# standard errors |d1 - d2| / 2: 0.05, 0.05, 0.02, 0. So one_se takes size 3.
SCORES = np.array([[0.80, 0.85, 0.96, 1.00], [0.70, 0.75, 0.80, 0.80]])


@pytest.mark.parametrize(("rule", "size"), [("one_sd", 2), ("one_se", 3), ("best", 4)])
def test_rules_by_hand(rule, size):
    assert SIZES[choose_size(rule, SIZES, SCORES)] == size


def test_one_sd_threshold_by_hand():
    assert one_sd_threshold(SCORES) == pytest.approx(0.80)


def test_one_se_compares_pairs_of_folds_and_not_means():
    # Folds differ by 0.5, sizes by 0.02 on every fold: by the spread of the scores size 1 would
    # pass, by the spread of the differences (none) it does not.
    scores = np.array([[0.48, 0.50], [0.98, 1.00]])
    assert choose_size("one_sd", [1, 2], scores) == 0
    assert choose_size("one_se", [1, 2], scores) == 1


@pytest.mark.parametrize("rule", ["one_sd", "one_se", "best"])
def test_ties_go_to_the_smaller_size(rule):
    assert choose_size(rule, SIZES, np.full((5, 4), 0.9)) == 0


@pytest.mark.parametrize("rule", ["one_sd", "one_se", "best"])
def test_a_single_fold_has_no_spread(rule):
    assert choose_size(rule, SIZES, np.array([[0.7, 0.9, 0.8, 0.9]])) == 1


def test_sizes_need_not_be_sorted():
    assert choose_size("one_sd", [4, 3, 2, 1], SCORES[:, ::-1]) == 2
