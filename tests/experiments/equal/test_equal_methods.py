"""Who chooses: subsets of the sizes asked for, by what each method says it does."""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression

from experiments.equal import methods
from experiments.equal.methods import LASSO, METHODS, get_method
from experiments.errors import MethodError

SIZES = [1, 2, 3, 5, 8]


@pytest.fixture(scope="module")
def scaled(toy):
    return (toy.X - toy.X.mean(axis=0)) / toy.X.std(axis=0), toy.y


def choose(name, data, sizes=SIZES):
    if name == "abess":
        pytest.importorskip("abess")
    return METHODS[name].subsets(*data, sizes, 0)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_chooses_as_many_as_asked_for(name, scaled):
    subsets = choose(name, scaled)
    assert [len(subset) for subset in subsets] == SIZES
    for subset in subsets:
        assert np.array_equal(subset, np.unique(subset))
    assert list(subsets[1]) == [2, 5]


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_subsets(name, scaled):
    for one, other in zip(choose(name, scaled), choose(name, scaled), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", METHODS)
def test_a_column_that_never_changes_comes_last(name, scaled):
    X, y = scaled
    X = np.column_stack([np.zeros(len(X)), X])
    assert all(0 not in subset for subset in choose(name, (X, y)))


def test_forward_selection_takes_the_feature_that_lowers_the_penalised_loss_most(scaled):
    X, y = scaled
    chosen = []
    for subset in choose("forward", scaled, [1, 2, 3, 4]):
        losses = {j: penalised_loss(X[:, [*chosen, j]], y) for j in set(range(8)) - set(chosen)}
        chosen.append(min(losses, key=losses.get))
        assert sorted(chosen) == list(subset)


def penalised_loss(X, y):
    """What scikit-learn minimises at C = 1."""
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(X, y)
    log_odds = model.decision_function(X)
    return np.logaddexp(0, np.where(y == 1, -log_odds, log_odds)).sum() + (model.coef_**2).sum() / 2


def test_anova_is_scikit_learns(scaled):
    for size, subset in zip(SIZES, choose("anova", scaled), strict=True):
        assert list(subset) == list(SelectKBest(k=size).fit(*scaled).get_support(indices=True))


def test_the_lasso_cuts_the_first_support_that_is_large_enough(scaled):
    X, y = scaled
    slopes = [np.abs(LASSO.slopes(X, y, v / len(X), 0)) for v in LASSO.grid(X, y, 8)]
    for size, subset in zip(SIZES, choose("lasso", scaled), strict=True):
        first = next(each for each in slopes if np.count_nonzero(each) >= size)
        assert first[subset].min() >= np.delete(first, subset).max(initial=0.0)


def test_the_lasso_stays_below_a_size_that_no_penalty_reaches(scaled):
    X, y = scaled
    X = np.column_stack([X[:, 2], np.zeros((len(X), 2))])
    assert [list(subset) for subset in choose("lasso", (X, y), [1, 2, 3])] == [[0]] * 3


def test_the_papers_method_stays_what_it_is_whatever_the_defaults_become():
    settings = METHODS["paper"].settings
    assert {key: settings[key] for key in ("criterion", "ridge", "C")} == {
        **{"criterion": "fisher", "ridge": 1e-6},
        "C": "inf",
    }
    assert settings["n_replicas"] == 50


def test_settings_can_be_written_and_tell_methods_apart():
    texts = [json.dumps(method.settings, allow_nan=False) for method in METHODS.values()]
    assert len(set(texts)) == len(METHODS)


def test_an_unknown_method_says_what_there_is():
    with pytest.raises(MethodError, match=r"'sa-fdr'.*recipe, unscreened, paper, fisher, rfe"):
        get_method("sa-fdr")


def test_abess_that_is_not_installed_says_so(monkeypatch):
    monkeypatch.setattr(methods, "find_spec", lambda name: None if name == "abess" else find_spec)
    with pytest.raises(MethodError, match="pip install abess"):
        get_method("abess")
