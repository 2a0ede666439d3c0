"""One split of the comparison: its rows, its models and its scores."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from experiments.equal.generated import RECIPES
from experiments.equal.methods import METHODS, EqualMethod
from experiments.equal.protocol import PENALTIES, EqualSettings, log_loss, make_split, run_cell
from experiments.task_data import TaskData

SETTINGS = EqualSettings(sizes=(1, 2, 5, 8, 20))


@pytest.fixture(scope="module")
def cell(toy):
    return run_cell(toy, METHODS["recipe"], 0, SETTINGS)


def test_a_quarter_is_for_testing_and_keeps_the_class_balance(toy):
    split = make_split(toy, 0, SETTINGS)
    assert sorted([*split.train, *split.test]) == list(range(240))
    assert len(split.test) == 60
    for rows in (split.train, split.test):
        assert toy.y[rows].mean() == pytest.approx(toy.y.mean(), abs=0.01)


def test_splits_depend_on_the_repeat_and_on_the_name_alone(toy):
    split, same = (make_split(toy, 3, SETTINGS) for _ in range(2))
    np.testing.assert_array_equal(split.train, same.train)
    assert split.seed == same.seed
    for other in (make_split(toy, 4, SETTINGS), make_split(replace(toy, name="b"), 3, SETTINGS)):
        assert not np.array_equal(split.test, other.test)
        assert split.seed != other.seed


def test_rows_beyond_the_limits_are_in_neither_part(toy):
    split = make_split(toy, 0, EqualSettings(max_train=50, max_test=30))
    assert (len(split.train), len(split.test)) == (50, 30)
    assert not set(split.train) & set(split.test)


def test_a_made_up_set_says_itself_how_many_rows_a_split_has():
    name = "few_120x30"
    data = replace(RECIPES[name].generate(), name=name)
    split = make_split(data, 0, SETTINGS)
    assert (len(split.train), len(split.test)) == (120, 500)


def test_a_cell_can_be_written_as_json(cell):
    assert json.loads(json.dumps(cell, allow_nan=False)) == cell


def test_sizes_end_with_the_features(cell):
    assert cell["sizes"] == [1, 2, 5, 8]
    assert [len(subset) for subset in cell["subsets"]] == [1, 2, 5, 8]
    assert cell["rows"] == {"all": 240, "train": 180, "test": 60}
    assert cell["n_features"] == 8


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_models_are_scikit_learns_on_standardised_columns(toy, cell, penalty):
    split = make_split(toy, 0, SETTINGS)
    scaler = StandardScaler().fit(toy.X[split.train])
    X, X_test = (scaler.transform(toy.X[rows]) for rows in (split.train, split.test))
    if penalty != "inf":
        # What is penalised does not extrapolate.
        X_test = np.clip(X_test, X.min(axis=0), X.max(axis=0))
    for i, subset in enumerate(cell["subsets"]):
        model = LogisticRegression(C=PENALTIES[penalty], tol=1e-8, max_iter=1000)
        model.fit(X[:, subset], toy.y[split.train])
        log_odds = model.decision_function(X_test[:, subset])
        scores = cell["scores"][penalty]
        assert scores["auc"][i] == pytest.approx(
            roc_auc_score(toy.y[split.test], log_odds), abs=2e-3
        )
        assert scores["log_loss"][i] == pytest.approx(
            log_loss(toy.y[split.test], log_odds), abs=1e-5
        )


def test_the_constant_model_knows_the_class_share_of_the_training_rows(toy, cell):
    split = make_split(toy, 0, SETTINGS)
    shares = np.full(60, toy.y[split.train].mean())
    expected = sklearn_log_loss(toy.y[split.test], shares)
    assert cell["constant_log_loss"] == pytest.approx(expected, abs=1e-6)


def test_the_log_loss_is_that_of_the_probabilities_and_finite_where_they_are_not():
    y, log_odds = np.array([0, 1, 1]), np.array([-0.3, 0.2, -4.0])
    assert log_loss(y, log_odds) == pytest.approx(sklearn_log_loss(y, 1 / (1 + np.exp(-log_odds))))
    assert log_loss(np.array([0, 1]), np.array([1e8, 1e8])) == 5e7


@pytest.mark.parametrize("name", ["recipe", "anova"])
def test_the_test_part_does_not_leak(toy, name):
    split = make_split(toy, 0, SETTINGS)
    X = toy.X.copy()
    X[split.test] = 100.0 - 7.0 * X[split.test]
    cell, other = (run_cell(d, METHODS[name], 0, SETTINGS) for d in (toy, replace(toy, X=X)))
    assert other["subsets"] == cell["subsets"]
    assert other["scores"] != cell["scores"]


def test_a_subset_of_columns_that_never_change_gives_the_constant_model():
    data = TaskData(np.ones((40, 2)), np.arange(40) % 2, ("a", "b"), "flat")
    method = EqualMethod("first", "first", lambda X, y, sizes, seed: [np.array([0])])
    cell = run_cell(data, method, 0, EqualSettings(sizes=(1,)))
    for scores in cell["scores"].values():
        assert scores["log_loss"] == [cell["constant_log_loss"]]
        assert scores["auc"] == [0.5]
