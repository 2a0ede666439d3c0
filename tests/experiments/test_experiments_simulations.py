"""Simulated rows have the covariance, the ratio and the slopes that they are said to have."""

import json

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.errors import MethodError, UnknownDataError
from experiments.simulated_methods import METHODS, forward, get_method, lasso, least_squares
from experiments.simulations import (
    RATIOS,
    SIMULATIONS,
    Simulation,
    SimulationSettings,
    load,
    names_of,
    run_cell,
    tuned,
)
from experiments.simulations_table import to_markdown
from experiments.store import RowStore

SETTINGS = SimulationSettings(ratios=(0.42, 6.0), sizes=(1, 2, 5))


def many_rows(pattern, correlation):
    return Simulation(f"many-{pattern}-{correlation}", 200_000, 8, 3, pattern, correlation)


@pytest.mark.parametrize("pattern", [1, 2])
@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("ratio", [0.05, 6.0])
def test_rows_have_the_ratio_and_the_covariance(pattern, correlation, ratio):
    simulation = many_rows(pattern, correlation)
    train, validation, noise_variance = simulation.samples(0, ratio)
    for sample in (train, validation):
        signal = sample.X @ simulation.slopes
        noise = sample.y - signal
        assert signal.var() / noise.var() == pytest.approx(ratio, rel=0.02)
        assert noise.var() == pytest.approx(noise_variance, rel=0.02)
        assert abs(np.corrcoef(signal, noise)[0, 1]) < 0.01
        distances = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
        expected = np.where(distances == 0, 1.0, correlation**distances)
        np.testing.assert_allclose(np.cov(sample.X.T), expected, atol=0.02)
    assert abs(np.corrcoef(train.X[:, 0], validation.X[:, 0])[0, 1]) < 0.01


def test_patterns_are_spaced_or_first():
    assert np.flatnonzero(load("low-pattern1-rho0").slopes).tolist() == [0, 2, 4, 7, 9]
    assert np.flatnonzero(load("low-pattern2-rho0").slopes).tolist() == [0, 1, 2, 3, 4]
    assert [int(each.slopes.sum()) for each in SIMULATIONS.values()] == [5] * 18 + [10] * 6


def test_ratios_are_those_of_the_article():
    expected = [0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6.0]
    np.testing.assert_allclose(RATIOS, expected, atol=0.006)


def test_the_error_is_that_of_new_rows():
    simulation = many_rows(2, 0.7)
    _, fresh, noise_variance = simulation.samples(1, 1.22)
    slopes = np.array([0.5, 1.5, 0.0, 0.0, 1.0, 0.0, 0.0, -0.5])
    squared = ((fresh.y - 0.3 - fresh.X @ slopes) ** 2).mean() / noise_variance
    error = simulation.relative_test_error(0.3, slopes, noise_variance)
    assert error == pytest.approx(squared, rel=0.02)
    assert simulation.relative_test_error(0.0, simulation.slopes, 1.0) == 1.0
    constant = simulation.relative_test_error(0.0, np.zeros(8), noise_variance)
    assert constant == pytest.approx(1.0 + 1.22)


def test_tuning_takes_the_best_on_validation_rows_and_may_keep_nothing():
    train, validation, _ = load("low-pattern2-rho0.35").samples(0, 6.0)
    true = load("low-pattern2-rho0.35").slopes
    models = np.array([true, -true])
    np.testing.assert_array_equal(tuned(models, train, validation)[1], true)
    assert not tuned(models[1:], train, validation)[1].any()


def test_forward_selection_lowers_the_residual_most(rng):
    X = rng.normal(size=(40, 6))
    X[:, 5] = X[:, 0]
    y = 2 * X[:, 0] + X[:, 3] + 0.1 * rng.normal(size=40) + 5

    def residual(subset):
        fitted = (X - X.mean(axis=0)) @ least_squares(X, y, np.array(subset))
        return ((y - y.mean() - fitted) ** 2).sum()

    one, two, every = forward(X, y, [1, 2, 6])
    assert residual(one) == pytest.approx(min(residual([j]) for j in range(6)))
    assert two.tolist() == [0, 3]
    assert every.tolist() == [0, 1, 2, 3, 4]


def test_the_first_blend_is_least_squares_and_the_last_the_lasso():
    train, _, _ = load("low-pattern1-rho0.35").samples(0, 1.22)
    models = METHODS["relaxed"].models(train.X, train.y, [1]).reshape(50, 10, 10)
    np.testing.assert_allclose(models[:, -1], lasso(train.X, train.y, [1]))
    active = np.flatnonzero(models[20, -1])
    np.testing.assert_allclose(models[20, 0], least_squares(train.X, train.y, active))


def test_slopes_are_scaled_together():
    train, _, _ = load("low-pattern1-rho0.35").samples(0, 1.22)
    plain = METHODS["recipe"].models(train.X, train.y, [2, 4])
    scaled = METHODS["scaled"].models(train.X, train.y, [2, 4])
    np.testing.assert_array_equal(scaled[-2:], plain)
    np.testing.assert_allclose(scaled[:2], plain / 4)


def test_a_cell_is_the_same_twice_and_finds_strong_signals():
    simulation = load("low-pattern2-rho0")
    cell = run_cell(simulation, METHODS["forward"], 3, SETTINGS)
    assert cell == run_cell(simulation, METHODS["forward"], 3, SETTINGS)
    assert cell["n_nonzero"][1] == 5
    assert 1.0 < cell["errors"][1] < 1.42


def test_unknown_names_are_refused():
    assert len(names_of(["low", "medium"])) == 12
    assert names_of(["high-10"])[0] == "high-10-pattern1-rho0"
    with pytest.raises(UnknownDataError, match="low, medium, high-5, high-10"):
        names_of(["high"])
    with pytest.raises(MethodError, match="recipe, scaled, without-screen"):
        get_method("ridge")


def test_the_command_goes_on_where_it_stopped(tmp_path, capsys):
    words = ["simulations", "--data", "low-pattern2-rho0", "--out", str(tmp_path)]
    main([*words, "--method", "lasso", "--repeats", "1"])
    main([*words, "--method", "recipe,lasso", "--repeats", "2"])
    assert "1 cells were there, 3 done now." in capsys.readouterr().err
    rows, problems = RowStore(tmp_path).read_all()
    assert (len(rows), problems) == (4, [])
    page = to_markdown(rows)
    assert "## low: 100 rows, 10 features" in page
    errors = {(row["method"], row["repeat"]): np.array(row["errors"]) for row in rows}
    lead = np.mean([errors["recipe", r] / errors["lasso", r] - 1 for r in (0, 1)])
    assert f"{100 * lead:+.1f} ± " in page
    assert len((tmp_path / "simulations.csv").read_text().splitlines()) == 1 + 4 * len(RATIOS)
    assert json.dumps(rows[0]["problem"])
