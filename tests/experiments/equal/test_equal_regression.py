"""Regression at equal k: sets, subsets, scores and the page."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression

from experiments.__main__ import main
from experiments.equal import regression
from experiments.equal.regression import METHODS, RegressionSettings, load, run_cell, score
from experiments.equal.regression_sets import N_RELEVANT, SETS
from experiments.errors import MethodError, UnknownDataError
from experiments.store import RowStore

SETTINGS = RegressionSettings(sizes=(1, 3, 6))


@pytest.mark.parametrize("noise", [1, 30, 60, 90])
@pytest.mark.parametrize("kind", ["independent", "chain", "blocks"])
def test_planted_sets_have_the_noise_that_they_say(kind, noise):
    data = load(f"{kind}_250x60_{noise}")
    assert data.X.shape == (10_000, 60)
    r2 = LinearRegression().fit(data.X, data.y).score(data.X, data.y)
    assert 1 - r2 == pytest.approx(noise / 100, rel=0.03)
    np.testing.assert_allclose(data.X.var(axis=0), 1.0, atol=0.15)
    slopes = np.abs(LinearRegression().fit(data.X, data.y).coef_)
    if noise == 1:
        assert np.count_nonzero(slopes > 0.1) == N_RELEVANT


def test_a_column_that_is_the_target_is_no_feature():
    data, columns = load("wine"), load_wine()
    assert data.X.shape == (178, 12 + 12 * 13 // 2)
    np.testing.assert_array_equal(data.y, columns.data[:, columns.feature_names.index("alcohol")])
    assert not any("alcohol" in name.split() for name in data.feature_names)
    with pytest.raises(UnknownDataError, match="There are: diabetes, wine"):
        load("iris")


def test_predictions_stay_within_the_training_targets(rng):
    X, X_test = rng.normal(size=(50, 2)), 30 * rng.normal(size=(40, 2))
    y, y_test = X[:, 0] + 0.1 * rng.normal(size=50), np.clip(X_test[:, 0], -2, 2)
    model = LinearRegression().fit(X[:, :1], y)
    clipped = np.clip(model.predict(X_test[:, :1]), y.min(), y.max())
    expected = 1 - ((y_test - clipped) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
    assert score(X, y, X_test, y_test, np.array([0])) == pytest.approx(expected)
    assert model.score(X_test[:, :1], y_test) < -1
    assert score(X, y, X_test, -y_test, np.array([0])) == regression.LOWEST


@pytest.mark.parametrize("name", ["recipe", "unscreened", "lasso", "forward", "abess"])
def test_methods_find_what_was_planted(name):
    if name == "abess":
        pytest.importorskip("abess")
    data = load("independent_250x60_1")
    cell = run_cell(data, METHODS[name], 0, SETTINGS)
    assert cell["rows"] == {"all": 10_000, "train": 250, "test": 1000}
    assert [len(subset) for subset in cell["subsets"]] == [1, 3, 6]
    slopes = np.abs(LinearRegression().fit(data.X, data.y).coef_)
    assert cell["subsets"][2] == np.flatnonzero(slopes > 0.1).tolist()
    assert cell["scores"][2] > 0.985


def test_the_command_compares_in_pairs(tmp_path):
    words = ["--data", "diabetes", "--method", "recipe,lasso", "--repeats", "2"]
    main(["regression", *words, "--out", str(tmp_path)])
    rows, _ = RowStore(tmp_path).read_all()
    scores = {(row["method"], row["repeat"]): np.array(row["scores"]) for row in rows}
    lead = np.mean([scores["recipe", r] - scores["lasso", r] for r in (0, 1)])
    page = (tmp_path / "regression.md").read_text()
    assert f"{lead:+.4f} ± " in page
    assert SETS["diabetes"].title in page
    with pytest.raises(MethodError, match="recipe, without-screen"):
        regression.get_method("ridge")
