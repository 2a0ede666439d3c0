"""Selectors called as RFE and RFECV are, or with parameters that are elsewhere."""

import inspect
import pickle

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
)

FIXED = (AnnealingSelector, AnnealingRegressorSelector)
SEARCHES = (AnnealingSelectorCV, AnnealingRegressorSelectorCV)


def refusal(kind, *args, **params):
    with pytest.raises(TypeError) as error:
        kind(*args, **params)
    return str(error.value)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_model_comes_by_name(kind):
    message = refusal(kind, LogisticRegression(), min_features_to_select=2)
    name = kind.__name__
    assert message.startswith(f"{name} takes no model first")
    assert f"{name}()" in message
    assert f"{name}(estimator=LogisticRegression(…))" in message


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize(
    ("args", "params", "size"), [((), {"n_features_to_select": 7}, 7), ((8,), {}, 8), ((), {}, 5)]
)
def test_a_model_comes_after_the_size(kind, args, params, size):
    message = refusal(kind, make_pipeline(LogisticRegression()), *args, **params)
    assert f"{kind.__name__}({size});" in message
    assert f"{kind.__name__}({size}, estimator=Pipeline(…))" in message


@pytest.mark.parametrize(
    ("kind", "params", "hint"),
    [
        (AnnealingSelectorCV, {"min_features_to_select": 3}, "Write min_features=3."),
        (AnnealingSelectorCV, {"max_features_to_select": 3}, "Write max_features=3."),
        (AnnealingSelector, {"n_features": 3}, "Write n_features_to_select=3."),
        (AnnealingSelectorCV, {"step": 2}, "not eliminated step by step: leave it out."),
        (AnnealingSelector, {"importance_getter": "auto"}, "leave it out."),
        (AnnealingSelector, {"verbose": 1}, "Leave it out."),
        (AnnealingSelectorCV, {"n_features_to_select": 3}, "AnnealingSelector has 'n_features_to"),
        (
            AnnealingSelector,
            {"min_features_to_select": 3},
            "AnnealingSelectorCV has 'min_features'",
        ),
        (AnnealingRegressorSelector, {"cv": 5}, "AnnealingRegressorSelectorCV has 'cv'."),
        (AnnealingSelector, {"n_replicas": 9}, "Write annealing=Annealing(n_replicas=9)."),
        (AnnealingSelector, {"groups": 9}, "Write constraints=Constraints(groups=9)."),
        (AnnealingSelector, {"random_stat": 0}, "Did you mean 'random_state'?"),
        (AnnealingSelector, {"colour": 0}, "It has n_features_to_select, annealing,"),
    ],
)
def test_a_parameter_of_others_gets_an_error_that_says_what_to_write(kind, params, hint):
    message = refusal(kind, **params)
    assert message.startswith(f"{kind.__name__} has no parameter {next(iter(params))!r}. ")
    assert hint in message


def test_a_number_alone_is_no_size_for_cross_validation():
    message = refusal(AnnealingSelectorCV, 10)
    assert "got 10 without one" in message
    assert "AnnealingSelectorCV(max_features=…)" in message
    assert "or AnnealingSelector(…) for exactly" in message


@pytest.mark.parametrize("kind", FIXED + SEARCHES)
def test_constructors_are_as_they_were_to_others(kind):
    selector = kind(annealing=Annealing(n_replicas=3))
    known = inspect.signature(kind).parameters
    assert set(known) == set(selector.get_params(deep=False))
    assert all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in known.values())
    for copy in (clone(selector), pickle.loads(pickle.dumps(selector))):
        assert copy.annealing.n_replicas == 3
