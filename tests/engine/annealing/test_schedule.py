import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from safdr._engine.annealing.loop import beta_step, has_converged, spread, steps_ahead


def test_the_step_is_epsilon_over_sigma(rng):
    values = rng.normal(3.0, 2.0, size=50)
    assert beta_step(values, 0.7) == pytest.approx(0.7 / values.std())


@pytest.mark.parametrize("values", [[2.5], [2.5] * 50, [0.1 + 0.2] * 3 + [0.3] * 3])
def test_without_spread_the_size_of_the_values_sets_the_step(values):
    assert beta_step(np.array(values), 0.7) == pytest.approx(0.7 / values[0])


@pytest.mark.parametrize("n_values", [1, 4])
def test_values_of_zero_give_a_finite_step(n_values):
    assert beta_step(np.zeros(n_values), 0.7) == 0.7


@given(st.floats(1e-6, 1e6))
def test_the_step_scales_with_the_criterion(scale):
    values = np.array([1.0, 2.0, 4.0])
    assert beta_step(scale * values, 0.7) == pytest.approx(beta_step(values, 0.7) / scale)


@pytest.mark.parametrize("window", [1, 3, 10])
def test_no_convergence_before_two_windows(window):
    assert not has_converged([1.0] * (2 * window - 1), 1e-3, window)
    assert has_converged([1.0] * (2 * window), 1e-3, window)


def test_a_change_beyond_the_tolerance_is_no_convergence():
    assert has_converged([1.0, 1.0, 1.0009, 1.0009], 1e-3, 2)
    assert not has_converged([1.0, 1.0, 1.002, 1.002], 1e-3, 2)


def test_only_the_last_two_windows_count():
    assert has_converged([0.0, 5.0, 9.0, 1.0, 1.0, 1.0, 1.0], 1e-3, 2)


def test_noise_around_a_settled_mean_is_convergence():
    assert has_converged([1.0, 1.2] * 10, 1e-3, 10)


def test_a_falling_mean_is_no_convergence():
    assert not has_converged(list(np.linspace(2, 1, 20)), 1e-3, 10)


def test_a_tolerance_of_zero_asks_for_no_change_at_all():
    assert has_converged([1.0] * 4, 0.0, 2)
    assert not has_converged([1.0, 1.0, 1.0, 1.0 + 1e-12], 0.0, 2)


@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=30), st.integers(1, 8))
def test_convergence_is_that_of_the_reference(means, window):
    assert has_converged(means, 0.05, window) == reference.has_converged(means, 0.05, window)


@pytest.mark.parametrize("shape", [(50,), (23, 50), (4, 1)])
def test_the_spread_is_the_standard_deviation_to_the_last_bit(rng, shape):
    values = rng.lognormal(size=shape)
    np.testing.assert_array_equal(spread(values), values.std(axis=-1))


def test_the_spread_of_values_that_are_not_finite_is_no_number():
    values = np.array([[1.0, 2.0], [-np.inf, 1.0], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(spread(values), [0.5, np.nan, np.nan])


def test_values_that_are_not_finite_do_not_set_the_step():
    values = np.array([1.0, 2.0, 4.0])
    with_gaps = np.array([1.0, -np.inf, 2.0, np.nan, 4.0])
    assert beta_step(with_gaps, 0.7) == beta_step(values, 0.7)
    assert beta_step(np.full(3, -np.inf), 0.7) == 0.7


@pytest.mark.parametrize("at_once", [1, 2, 5, 9, 12])
@pytest.mark.parametrize("window", [1, 5, 20])
def test_no_look_is_left_out_at_which_the_mean_could_have_settled(at_once, window):
    first = steps_ahead(0, at_once, window)
    assert first in (at_once, 2 * at_once)
    assert steps_ahead(first, at_once, window) == at_once
    if first > at_once:
        # The means of the start and of the steps until then.
        assert not has_converged([1.0] * (at_once + 1), 1.0, window)


def test_the_first_look_at_the_usual_settings_is_after_ten_steps_and_long_steps_stay_single():
    assert steps_ahead(0, 5, 5) == 10
    assert steps_ahead(0, 1, 5) == 1
