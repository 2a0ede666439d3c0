"""The protocol on tiny data, end to end."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments import protocol
from experiments.baselines import RFE, Lasso
from experiments.methods import get_method
from experiments.protocol import (
    ProtocolSettings,
    _standardised,
    first_as_good,
    make_split,
    run_cell,
    settings_of,
)
from safdr._estimators.rules import Limits, choose_size

SETTINGS = ProtocolSettings(max_features=4, n_splits=3)
QUICK = "sa-fdr+max_steps=20+n_replicas=10"


@pytest.fixture(scope="module", params=[QUICK, "rfe", "lasso"])
def method(request):
    return get_method(request.param)


@pytest.fixture(scope="module")
def cell(method, toy):
    return run_cell(toy, method, 0, SETTINGS)


def without_times(cell):
    """What a cell measured, but for how long it took."""
    folds = {name: value for name, value in cell["folds"].items() if name != "seconds"}
    return {**cell, "folds": folds}


def test_the_shares_are_the_papers(toy):
    split = make_split(toy, 0, ProtocolSettings())
    assert len(split.test) == 48
    assert sorted([*split.train, *split.test]) == list(range(240))
    assert len(split.folds) == 5
    for train, validation in split.folds:
        assert (len(train), len(validation)) == (144, 48)
        assert sorted([*train, *validation]) == sorted(split.train)


def test_every_part_keeps_the_class_balance(toy):
    split = make_split(toy, 3, ProtocolSettings())
    for rows in (split.train, split.test, *(part for fold in split.folds for part in fold)):
        assert toy.y[rows].mean() == pytest.approx(toy.y.mean(), abs=0.02)


def test_splits_depend_on_the_repeat_and_on_the_name(toy):
    same, other = make_split(toy, 1, SETTINGS), make_split(toy, 2, SETTINGS)
    np.testing.assert_array_equal(make_split(toy, 1, SETTINGS).test, same.test)
    assert set(same.test) != set(other.test)
    assert len({*same.fold_seeds, same.refit_seed}) == 4
    renamed = make_split(replace(toy, name="other"), 1, SETTINGS)
    assert set(same.test) != set(renamed.test)
    assert set(same.fold_seeds).isdisjoint(renamed.fold_seeds)


def test_a_cell_can_be_written_as_json(cell):
    assert json.loads(json.dumps(cell)) == cell


def test_the_shapes_are_folds_by_grid(cell):
    n_grid = len(cell["grid"])
    for name in ("n_features", "train_cross_entropy", "train_auc", "validation_auc"):
        assert np.shape(cell["folds"][name]) == (3, n_grid)
    assert len(cell["folds"]["seconds"]) == 3
    for name in ("subsets", "train_cross_entropy", "train_auc", "test_auc"):
        assert len(cell["refit"][name]) == n_grid


def test_k_star_and_its_auc_follow_from_the_numbers_in_the_row(cell):
    for rule, chosen in cell["chosen"].items():
        index = first_as_good(rule, np.array(cell["folds"]["validation_auc"]))
        assert chosen["index"] == index
        assert chosen["k"] == np.mean(np.array(cell["folds"]["n_features"])[:, index])
        assert chosen["test_auc"] == cell["refit"]["test_auc"][index]


def within_one_error(scores):
    """The first size whose mean distance to the best, fold by fold, is within its error."""
    best = np.argmax([column.mean() for column in scores.T])
    for index, column in enumerate(scores.T):
        behind = scores[:, best] - column
        if behind.mean() <= np.std(behind, ddof=1) / np.sqrt(len(behind)):
            return index
    raise AssertionError("the best is not behind itself")


def within_one_deviation(scores):
    """The rule of the library."""
    return choose_size("one_sd", range(scores.shape[1]), scores, Limits())


@pytest.mark.parametrize(
    ("rule", "expected"), [("one_sd", within_one_deviation), ("one_se", within_one_error)]
)
def test_sizes_follow_the_rules(rule, expected):
    chosen = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        # A curve that rises and levels off, on folds that differ; few digits, so that some tie.
        curve = 0.9 - 0.2 * rng.random() ** np.arange(12)
        scores = (curve + rng.normal(0, 0.03, (5, 1)) + rng.normal(0, 0.01, (5, 12))).round(2)
        index = first_as_good(rule, scores)
        assert index == expected(scores)
        chosen.add(index)
    assert len(chosen) > 5


def test_the_two_features_that_matter_are_found(cell):
    pairs = [subset for subset in cell["refit"]["subsets"] if len(subset) == 2]
    assert [2, 5] in pairs


def test_the_refit_is_scikit_learns_unpenalised_model(toy, cell):
    split = make_split(toy, 0, SETTINGS)
    for subset, auc in zip(cell["refit"]["subsets"], cell["refit"]["test_auc"], strict=True):
        if not subset:
            assert auc == 0.5
            continue
        X = toy.X[:, subset]
        model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
        model.fit(X[split.train], toy.y[split.train])
        expected = roc_auc_score(toy.y[split.test], model.decision_function(X[split.test]))
        assert auc == pytest.approx(expected, abs=2e-3)


def test_a_cell_is_a_function_of_its_names(toy, method, cell):
    assert without_times(run_cell(toy, method, 0, SETTINGS)) == without_times(cell)
    assert run_cell(toy, method, 1, SETTINGS)["folds"] != cell["folds"]


def changed(toy, rows):
    """The data with other values in some rows."""
    X = toy.X.copy()
    X[rows] = 100.0 - 7.0 * X[rows]
    return replace(toy, X=X)


def test_the_test_part_does_not_leak(toy, method, cell):
    split = make_split(toy, 0, SETTINGS)
    other = run_cell(changed(toy, split.test), method, 0, SETTINGS)
    assert without_times(other)["folds"] == without_times(cell)["folds"]
    for name in ("subsets", "train_cross_entropy", "train_auc"):
        assert other["refit"][name] == cell["refit"][name]
    assert other["refit"]["test_auc"] != cell["refit"]["test_auc"]


class Recorder:
    """RFE that keeps what it was given and what it found."""

    name = "recorder"
    settings: dict = {}  # noqa: RUF012 - a stand-in that nobody changes
    grid = RFE.grid

    def __init__(self):
        self.given, self.found = [], []

    def path(self, X, y, grid, seed):
        models = RFE().path(X, y, grid, seed)
        self.given.append((X, y, seed))
        self.found.append([model.subset.tolist() for model in models])
        return models


def test_the_validation_rows_of_a_fold_do_not_leak_into_it(toy):
    split = make_split(toy, 0, SETTINGS)
    before, after = Recorder(), Recorder()
    run_cell(toy, before, 0, SETTINGS)
    run_cell(changed(toy, split.folds[0][1]), after, 0, SETTINGS)
    np.testing.assert_array_equal(after.given[0][0], before.given[0][0])
    assert after.found[0] == before.found[0]
    assert after.found[1:] != before.found[1:]


def test_every_method_gets_the_same_rows_and_seeds(toy):
    one, other = Recorder(), Recorder()
    other.name = "another"
    for recorder in (one, other):
        run_cell(toy, recorder, 3, SETTINGS)
    split = make_split(toy, 3, SETTINGS)
    seeds = [*split.fold_seeds, split.refit_seed]
    rows = [*(train for train, _ in split.folds), split.train]
    for mine, theirs, seed, which in zip(one.given, other.given, seeds, rows, strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[2] == theirs[2] == seed
        expected = toy.X[which]
        expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
        np.testing.assert_allclose(mine[0], expected)
        np.testing.assert_array_equal(mine[1], toy.y[which])


def test_only_the_method_is_timed(toy, monkeypatch):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr(protocol.time, "process_time", lambda: next(clock))
    inside = []

    class Timed(Recorder):
        def path(self, X, y, grid, seed):
            inside.append(next(clock))
            return super().path(X, y, grid, seed)

    cell = run_cell(toy, Timed(), 0, SETTINGS)
    # The clock is read just before, within and just after each path, and at no other time.
    assert inside == list(range(7, 7 * 3 * 4, 21))
    assert cell["folds"]["seconds"] == [14] * 3


def test_chosen_features_are_named(toy):
    cell = run_cell(toy, RFE(), 0, ProtocolSettings(max_features=2))
    chosen = cell["chosen"]["one_sd"]
    subset = cell["refit"]["subsets"][chosen["index"]]
    assert chosen["features"] == [toy.feature_names[j] for j in subset]


@pytest.mark.parametrize("scale_by", ["train", "test"])
def test_the_rows_that_standardise_have_mean_0_and_deviation_1(toy, scale_by):
    split = make_split(toy, 0, SETTINGS)
    settings = ProtocolSettings(scale_by=scale_by)
    scaled = _standardised(toy, split.train, split.test, settings)
    part = scaled[split.train if scale_by == "train" else split.test]
    np.testing.assert_allclose(part.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(part.std(axis=0), 1, rtol=1e-12)


class Noisy:
    """RFE that gives up, and complains about something else."""

    name = "noisy"
    settings: dict = {}  # noqa: RUF012 - a stand-in that nobody changes
    grid = RFE.grid

    def path(self, X, y, grid, seed):
        warnings.warn("gave up", ConvergenceWarning, stacklevel=1)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
        return RFE().path(X, y, grid, seed)


def test_solvers_that_gave_up_are_counted_and_other_warnings_passed_on(toy):
    with pytest.warns(RuntimeWarning, match="something else") as caught:
        cell = run_cell(toy, Noisy(), 0, SETTINGS)
    assert cell["convergence_warnings"] == 4
    assert not [w for w in caught if issubclass(w.category, ConvergenceWarning)]


def test_settings_name_the_data_the_method_and_the_protocol():
    settings = settings_of("ab", Lasso(), SETTINGS)
    assert settings["data"] == {"sha256": "ab"}
    lasso = {"method": "lasso", "grid": "C * n_rows", "n_values": 30, "span": 1e3}
    assert settings["method"] == lasso
    assert settings["protocol"]["max_features"] == 4
