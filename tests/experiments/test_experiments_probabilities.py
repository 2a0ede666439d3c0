"""Losses with the calibration slope and without: cells, the page and its claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

from experiments import probabilities
from experiments.__main__ import main
from experiments.errors import MethodError, UnknownDataError
from experiments.probabilities import SELECTOR, SlopeSettings
from experiments.store import RowStore


class ScaledLogistic(LogisticRegression):
    """A logistic model with a calibration slope, its intercepts not refitted."""

    def __init__(self, calibration_slope=1.0):
        super().__init__(max_iter=2000)
        self.calibration_slope = calibration_slope

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.coef_ *= self.calibration_slope
        return self


class ScaledLinear(LinearRegression):
    """The same for regression."""

    def __init__(self, calibration_slope=1.0):
        super().__init__()
        self.calibration_slope = calibration_slope

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.coef_ *= self.calibration_slope
        return self


class FirstFeatures(BaseEstimator):
    """A selector of the first two features with slope 0.5."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.support_ = np.arange(X.shape[1]) < 2
        self.n_features_, self.calibration_slope_ = 2, 0.5
        self.estimator_ = self.model(0.5).fit(X[:, :2], y)
        return self


@pytest.fixture
def selector(monkeypatch):
    """Selectors that take no time."""

    def make(y, max_features, seed):
        assert max_features > 0
        return FirstFeatures(ScaledLinear if y.dtype.kind == "f" else ScaledLogistic)

    monkeypatch.setattr(probabilities, "make_selector", make)


def run(name: str, repeat: int = 0, **settings: Any) -> dict[str, Any]:
    """One cell."""
    method = probabilities.get_method(SELECTOR)
    data = probabilities.load(name)
    return probabilities.run_cell(data, method, repeat, SlopeSettings(**settings))


@pytest.mark.parametrize("name", ["few_120x30", "wine"])
def test_losses_are_those_of_test_rows(selector, name):
    cell, settings = run(name), SlopeSettings()
    data = probabilities.load(name)
    train, test, _ = probabilities.make_split(data, 0, settings)
    assert cell["rows"] == {"all": len(data.y), "train": len(train), "test": len(test)}
    assert not set(train) & set(test)
    X, y, y_test = data.X[:, :2], data.y[train], data.y[test]
    mean, size = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / size
    for key, slope in {"with": 0.5, "without": 1.0}.items():
        chances = ScaledLogistic(slope).fit(X[train], y).predict_proba(X[test])
        assert cell["losses"][key] == pytest.approx(log_loss(y_test, chances), abs=1e-6)
    dummy = DummyClassifier(strategy="prior").fit(X[train], y).predict_proba(X[test])
    assert cell["losses"]["constant"] == pytest.approx(log_loss(y_test, dummy), abs=1e-6)
    assert (cell["calibration_slope"], cell["n_selected"], cell["is_regression"]) == (0.5, 2, False)


def test_regression_has_shares_of_the_variance(selector):
    cell, data = run("diabetes", max_train_other=100), probabilities.load("diabetes")
    train, test, _ = probabilities.make_split(data, 0, SlopeSettings(max_train_other=100))
    X, y = data.X[:, :2], data.y
    r2 = LinearRegression().fit(X[train], y[train]).score(X[test], y[test])
    assert cell["is_regression"]
    assert len(train) == 100
    assert cell["losses"]["without"] == pytest.approx(1.0 - r2, abs=1e-6)
    assert cell["losses"]["constant"] == pytest.approx(
        1.0 + (y[test].mean() - y[train].mean()) ** 2 / y[test].var(), abs=1e-6
    )


def test_splits_differ_between_repeats_only():
    data, settings = probabilities.load("wine"), SlopeSettings()
    first, again, second = (probabilities.make_split(data, r, settings) for r in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    assert first[2] == again[2] != second[2]
    assert set(first[0]) != set(second[0])


def test_names_are_checked():
    with pytest.raises(MethodError, match="There is: selector-cv"):
        probabilities.get_method("auto")
    with pytest.raises(UnknownDataError):
        probabilities.load("iris")


def test_the_command_keeps_rows_and_goes_on(selector, tmp_path, capsys):
    words = ["probabilities", "--out", str(tmp_path), "--data", "wine,diabetes", "--repeats"]
    main([*words, "1"])
    rows, problems = RowStore(tmp_path).read_all()
    assert (len(rows), problems) == (2, [])
    seconds = {row["data"]: row["seconds"] for row in rows}
    main([*words, "2"])
    rows, _ = RowStore(tmp_path).read_all()
    assert len(rows) == 4
    assert all(row["seconds"] == seconds[row["data"]] for row in rows if row["repeat"] == 0)
    page = (tmp_path / "probabilities.md").read_text()
    assert page in capsys.readouterr().out
    pairs = [r["losses"]["with"] - r["losses"]["without"] for r in rows if r["data"] == "wine"]
    line = next(line for line in page.splitlines() if line.startswith("| Wine"))
    assert f"{np.mean(pairs):+.4f} ± " in line


def make_rows(data: str, differences: list[float], *, regression: bool = False) -> list[Any]:
    """Rows of one set with given differences."""
    return [
        {
            "data": data,
            "method": SELECTOR,
            "repeat": repeat,
            "rows": {"all": 100, "train": 75, "test": 25},
            "is_regression": regression,
            "n_features": 9,
            "n_selected": 3,
            "calibration_slope": 0.8,
            "losses": {"with": 0.5 + each, "without": 0.5, "constant": 0.6},
            "environment": {"safdr": "0.1.0", "engine": "abc"},
        }
        for repeat, each in enumerate(differences)
    ]


def test_claims_name_the_sets_that_break_them():
    rows = {"wine": make_rows("wine", [0.02, 0.022]), "heart": make_rows("heart", [-0.05, -0.06])}
    lower, harmed = probabilities.to_claims(rows)
    assert lower.endswith("over 2 sets lower with the slope: yes, -0.0170")
    assert "**no**: Wine, 3 classes +0.0210" in harmed
    assert "Heart" not in harmed
    rows["heart"] = make_rows("heart", [0.0, 0.05])
    lower, harmed = probabilities.to_claims(rows)
    assert "**no**" in lower
    # Its mean is above the limit, but not beyond its standard error.
    assert "Heart" not in harmed


def test_squared_errors_are_no_part_of_the_claims():
    log_losses = make_rows("wine", [-0.01, -0.02])
    rows = [*log_losses, *make_rows("diabetes", [0.5, 0.5], regression=True)]
    page = probabilities.to_markdown(rows)
    assert "over 1 sets" in page
    assert "**no**" not in page
    assert "| Diabetes" in page


def test_rows_of_two_engines_are_named():
    rows = make_rows("wine", [-0.01, -0.02])
    rows[1]["environment"]["engine"] = "def"
    assert "engine def" in probabilities.to_markdown(rows)
