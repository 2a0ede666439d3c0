import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

from fitting import nested
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingResult,
    AnnealingSelector,
    ParameterError,
    anneal_path,
)
from safdr._engine.criterion import batch_criteria
from safdr._engine.search import Search

QUICK = {"annealing": Annealing(n_replicas=12, max_steps=15)}
QUIET = {"annealing": Annealing(n_replicas=12, max_steps=15, n_batches=1, batch_fraction=1.0)}
ARRAYS = ("subsets", "criterion_values", "cross_entropies", "coefficients", "intercepts")


def assert_same_results(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_there_is_one_result_for_each_size_in_order(two_classes):
    results = anneal_path(*two_classes, [4, 1, 12], random_state=0, **QUICK)
    assert all(isinstance(result, AnnealingResult) for result in results)
    assert [result.size for result in results] == [4, 1, 12]


@pytest.mark.parametrize("settings", [QUICK, QUIET], ids=["batches", "no batches"])
def test_each_result_is_that_of_a_selector_alone(two_classes, settings):
    results = anneal_path(*two_classes, [2, 3, 7], random_state=5, **settings)
    alone = [
        AnnealingSelector(size, random_state=5, **settings).fit(*two_classes).result_
        for size in (2, 3, 7)
    ]
    assert_same_results(results, alone)


def test_the_order_of_the_sizes_does_not_matter(two_classes):
    up = anneal_path(*two_classes, range(1, 9), random_state=0, **QUICK)
    down = anneal_path(*two_classes, range(8, 0, -1), random_state=0, **QUICK)
    assert_same_results(up, down[::-1])


def test_large_sizes_come_first_and_results_in_the_order_asked_for(two_classes, monkeypatch):
    sizes, run = [], Search.run

    def noted(search, size, **how):
        sizes.append(size)
        return run(search, size, **how)

    monkeypatch.setattr(Search, "run", noted)
    results = anneal_path(*two_classes, [4, 1, 12, 4], random_state=0, **QUICK)
    assert sizes == [12, 4, 4, 1]
    assert [result.size for result in results] == [4, 1, 12, 4]


def test_threads_share_the_batches(two_classes, monkeypatch):
    shares = []

    def noted(noise, n_batches, share, *others):
        shares.append(share)
        return batch_criteria(noise, n_batches, share, *others)

    monkeypatch.setattr("safdr._engine.search.batch_criteria", noted)
    anneal_path(*two_classes, range(1, 9), random_state=0, n_jobs=2, **QUICK)
    assert len(shares) == 2  # one for each criterion


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_jobs_does_not_matter(two_classes, n_jobs):
    alone = anneal_path(*two_classes, range(1, 7), random_state=0, n_jobs=1, **QUICK)
    together = anneal_path(*two_classes, range(1, 7), random_state=0, n_jobs=n_jobs, **QUICK)
    assert_same_results(alone, together)


def test_processes_give_what_threads_give(two_classes):
    threads = anneal_path(*two_classes, [2, 3], random_state=0, n_jobs=2, **QUICK)
    with joblib.parallel_config(backend="loky"):
        processes = anneal_path(*two_classes, [2, 3], random_state=0, n_jobs=2, **QUICK)
    assert_same_results(threads, processes)


def test_weights_reach_the_search(two_classes):
    X, y = two_classes
    repeats = np.arange(len(X)) % 3 + 1
    weighted = anneal_path(X, y, [3], sample_weight=repeats, random_state=0, **QUIET)[0]
    repeated = anneal_path(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats), [3], random_state=0, **QUIET
    )[0]
    np.testing.assert_array_equal(weighted.subset, repeated.subset)
    assert weighted.cross_entropy == pytest.approx(repeated.cross_entropy, rel=1e-9)


def test_no_size_is_no_result(two_classes):
    assert anneal_path(*two_classes, [], **QUICK) == []


def test_the_best_criterion_value_never_falls_with_the_size(two_classes):
    results = anneal_path(
        *two_classes,
        range(1, 13),
        random_state=0,
        annealing=Annealing(n_batches=1, batch_fraction=1.0),
    )
    best = [result.criterion_values.max() for result in results]
    assert (np.diff(best) >= 0).all()


@pytest.mark.parametrize("size", [0, -1, 13, 2.5, "3", None])
def test_a_size_out_of_range_is_named(two_classes, size):
    with pytest.raises(ValueError, match=r"sizes must be ints from 1 to n_features = 12") as error:
        anneal_path(*two_classes, [1, size], **QUICK)
    assert f"got {size!r}" in str(error.value)


@pytest.mark.parametrize(("setting", "value"), [("n_replicas", 0), ("ridge", -1.0)])
def test_a_bad_setting_is_named(two_classes, setting, value):
    with pytest.raises(ValueError, match=setting):
        anneal_path(*two_classes, [1], **nested(**{setting: value}))


def test_an_unknown_setting_is_an_error(two_classes):
    with pytest.raises(TypeError, match="n_sweeps"):
        anneal_path(*two_classes, [1], n_sweeps=3)


def test_regression_has_no_class_weights(two_classes):
    X, _ = two_classes
    with pytest.raises(ValueError, match="class_weight is for labels; got 'balanced'"):
        anneal_path(X, X[:, 0], [1], task="regression", class_weight="balanced")


def test_a_target_is_needed(two_classes):
    with pytest.raises(ValueError, match="requires y to be passed"):
        anneal_path(two_classes[0], None, [1])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_results_of_a_frame_have_names(two_classes, frame):
    X, y = two_classes
    names = tuple(f"f{j}" for j in range(12))
    table = frame(dict(zip(names, X.T, strict=True)))
    results = anneal_path(table, y, [1, 3], random_state=0, **QUICK)
    assert_same_results(results, anneal_path(X, y, [1, 3], random_state=0, **QUICK))
    for result in results:
        assert result.feature_names == names
        assert result.subset_names == tuple(f"f{j}" for j in result.subset)
        assert f"subset={list(result.subset_names)}, " in repr(result)
    alone = AnnealingSelector(3, random_state=0, prove=5, **QUICK).fit(table, y)
    assert alone.result_.subset_names == tuple(alone.get_feature_names_out())
    assert alone.result_.proof.feature_names == names
    assert alone.proof_ is alone.result_.proof


def test_results_of_an_array_have_no_names(two_classes):
    (result,) = anneal_path(*two_classes, [2], random_state=0, **QUICK)
    assert result.feature_names is None
    assert result.subset_names is None
    assert f"subset={result.subset.tolist()}, " in repr(result)


def test_regression_has_its_own_criterion(rng):
    X = rng.normal(size=(60, 6))
    y = X[:, 1] - X[:, 4] + rng.normal(size=60)
    how = {"criterion": "r2", "ridge": 1e-6, "annealing": Annealing(screen=None)}
    [result] = anneal_path(X, y, [2], task="regression", random_state=0, **how)
    alone = AnnealingRegressorSelector(2, random_state=0, **how).fit(X, y)
    np.testing.assert_array_equal(result.subsets, alone.result_.subsets)
    np.testing.assert_array_equal(result.losses, alone.result_.losses)
    for task, criterion in (("regression", "fisher"), ("classification", "r2")):
        with pytest.raises(ParameterError, match=f"Got '{criterion}' instead"):
            anneal_path(X, y > 0, [2], task=task, criterion=criterion)
