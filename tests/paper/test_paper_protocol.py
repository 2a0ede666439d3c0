"""The protocol on a tiny problem, end to end."""

import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from safdr.paper.baselines import RFE, Lasso
from safdr.paper.methods import get_method
from safdr.paper.protocol import (
    ProtocolSettings,
    _standardised,
    make_split,
    run_cell,
    settings_of,
)
from safdr.rules import choose_size

SETTINGS = ProtocolSettings(max_features=4)
QUICK = "sa-fdr+max_steps=20+n_replicas=10"


@pytest.fixture(scope="module", params=[QUICK, "rfe", "lasso"])
def cell(request, toy):
    return run_cell(toy, get_method(request.param), 0, SETTINGS)


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
    assert len({*same.fold_seeds, same.refit_seed}) == 6


def test_a_cell_can_be_written_as_json(cell):
    assert json.loads(json.dumps(cell)) == cell


def test_the_shapes_are_folds_by_grid(cell):
    n_grid = len(cell["grid"])
    for name in ("n_features", "train_cross_entropy", "train_auc", "validation_auc"):
        assert np.shape(cell["folds"][name]) == (5, n_grid)
    assert len(cell["folds"]["seconds"]) == 5
    for name in ("subsets", "train_cross_entropy", "train_auc", "test_auc"):
        assert len(cell["refit"][name]) == n_grid


def test_k_star_and_its_auc_follow_from_the_numbers_in_the_row(cell):
    for rule, chosen in cell["chosen"].items():
        scores = cell["folds"]["validation_auc"]
        index = choose_size(rule, range(len(cell["grid"])), scores)
        assert chosen["index"] == index
        assert chosen["k"] == np.mean(np.array(cell["folds"]["n_features"])[:, index])
        assert chosen["test_auc"] == cell["refit"]["test_auc"][index]


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


def test_a_cell_is_a_function_of_its_names(toy, cell):
    again = run_cell(toy, get_method("rfe"), 0, SETTINGS)
    third = run_cell(toy, get_method("rfe"), 0, SETTINGS)
    for part in ("refit", "chosen"):
        assert again[part] == third[part]


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
    settings: dict = {}  # noqa: RUF012
    grid = RFE.grid

    def path(self, X, y, grid, seed):
        warnings.warn("gave up", ConvergenceWarning, stacklevel=1)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
        return RFE().path(X, y, grid, seed)


def test_solvers_that_gave_up_are_counted_and_other_warnings_passed_on(toy):
    with pytest.warns(RuntimeWarning, match="something else") as caught:
        cell = run_cell(toy, Noisy(), 0, SETTINGS)
    assert cell["convergence_warnings"] == 6
    assert not [w for w in caught if issubclass(w.category, ConvergenceWarning)]


def test_settings_name_the_data_the_method_and_the_protocol():
    settings = settings_of("ab", Lasso(), SETTINGS)
    assert settings["data"] == {"sha256": "ab"}
    assert settings["method"] == {"method": "lasso", "n_values": 30, "span": 1e3}
    assert settings["protocol"]["max_features"] == 4
