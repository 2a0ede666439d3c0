"""The sets of the comparison: the same each time, and what their names say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.equal import generated
from experiments.equal.generated import RECIPES, Recipe, effects
from experiments.equal.sets import OWN, PAPER_SETS, TITLES, is_made_up, load
from experiments.errors import UnknownDataError


def small(name, n_rows=300):
    return replace(RECIPES[name], n_rows=n_rows)


@pytest.mark.parametrize("name", RECIPES)
def test_a_made_up_set_is_the_same_each_time_and_has_both_classes(name):
    data, again = small(name).generate(), small(name).generate()
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.y, again.y)
    assert np.isfinite(data.X).all()
    positive = round(300 * RECIPES[name].positive_share)
    assert data.counts == (300, RECIPES[name].n_features, positive)
    assert len(data.feature_names) == data.X.shape[1]


def test_made_up_sets_differ_and_are_larger_than_their_splits():
    assert len({recipe.seed for recipe in RECIPES.values()}) == len(RECIPES)
    assert all(r.n_train + r.n_test < r.n_rows for r in RECIPES.values())


@pytest.mark.parametrize("name", RECIPES)
def test_names_and_titles_say_how_many_rows_a_split_trains_on(name):
    recipe = RECIPES[name]
    assert f"{recipe.n_train} × {recipe.n_features}" in recipe.title
    if found := re.search(r"(\d+)x(\d+)", name):
        assert (int(found[1]), int(found[2])) == (recipe.n_train, recipe.n_features)


def test_the_kinds_that_are_hard_to_come_by_are_there():
    wide = [n for n, r in RECIPES.items() if r.n_features > r.n_train]
    assert wide == [n for n in RECIPES if n.startswith("wide")]
    assert len(wide) == 6
    kurtosis = [np.mean(z**4) for z in map(standardised, ("tails_log_normal", "tails_cauchy"))]
    assert min(kurtosis) > 10  # 3 for a normal column
    assert RECIPES["rare_2_percent"].positive_share == 0.02


def standardised(name):
    X = small(name, 2000).generate().X
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_log_odds_tell_the_class():
    recipe = Recipe("", 10, 12, generated.independent, n_rows=3000, seed=5)
    data = recipe.generate()
    X, log_odds = generated.independent(np.random.default_rng(5), 3000, 12)
    np.testing.assert_array_equal(data.X, X)
    assert np.corrcoef(log_odds, data.y)[0, 1] > 0.6


def test_effects_have_the_length_and_the_number_asked_for():
    found = effects(np.random.default_rng(0), 50, 6, 4.0)
    assert np.count_nonzero(found) == 6
    assert np.linalg.norm(found) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "counts"), [("wine_1", (178, 13, 71)), ("digits_8", (1797, 64, 174))]
)
def test_scikit_learns_own_are_one_class_against_the_rest(name, counts):
    data = load(name)
    assert (data.name, data.counts) == (name, counts)
    assert not is_made_up(name)


def test_no_set_comes_twice_and_each_has_a_title():
    assert len(TITLES) == len(PAPER_SETS) + len(OWN) + len(RECIPES)
    assert len(set(TITLES.values())) == len(TITLES)


def test_a_made_up_set_is_loaded_by_name():
    data = load("few_120x30")
    assert (data.name, data.counts) == ("few_120x30", (5000, 30, 2500))
    assert is_made_up("few_120x30")


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UnknownDataError, match=r"'loan_default_synthetic'.*heart.*wide_70x1000"):
        load("loan_default_synthetic")
