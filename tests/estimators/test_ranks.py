"""Ranks in place of values: units, weights, columns taken from many, memory."""

import numpy as np
import pytest
from scipy.stats import rankdata

from safdr import Annealing, AnnealingSelector, evaluate_subsets
from safdr._engine.taken_rows import take_rows
from safdr._estimators.ranks import mid_ranks
from searching import class_rows


def test_a_rank_is_the_weight_below_and_half_of_the_weight_at_it(rng):
    X, weight = rng.integers(0, 9, (40, 3)).astype(float), rng.uniform(0.1, 2, 40)
    expected = [
        [weight @ ((column < x) + 0.5 * (column == x)) / weight.sum() for x in column]
        for column in X.T
    ]
    np.testing.assert_allclose(mid_ranks(X, weight), np.transpose(expected))
    np.testing.assert_allclose(mid_ranks(X, None), (rankdata(X, axis=0) - 0.5) / 40)
    some = np.arange(0, 40, 3)
    np.testing.assert_array_equal(mid_ranks(take_rows(X, some), None), mid_ranks(X[some], None))


def test_ranks_do_not_change_with_the_unit(rng):
    y = np.arange(240) % 2
    X = rng.poisson(0.3 + 0.5 * np.outer(y, np.arange(12) % 2), size=(240, 12)) ** 2.0
    X += 1e-3 * rng.normal(size=X.shape)
    quick = Annealing(n_replicas=10, max_steps=20)
    how = {"criterion": "ranks", "ridge": "auto", "annealing": quick, "random_state": 0}
    one, other = (
        AnnealingSelector(3, pick="criterion", **how).fit(rows, y) for rows in (X, np.cbrt(X))
    )
    assert one.subset_.tolist() == other.subset_.tolist()
    assert one.criterion_value_ == pytest.approx(other.criterion_value_)
    ranks = np.argsort(np.argsort(X, axis=0), axis=0) / 1.0
    of_ranks = AnnealingSelector(3, criterion="fisher", ridge="auto", random_state=0)
    values, _ = of_ranks.fit(ranks, y).measure_subsets(ranks, y, [one.subset_])
    assert one.criterion_value_ == pytest.approx(values[0])
    # The models are those of the values, which also choose.
    chosen = AnnealingSelector(3, **how).fit(X, y)
    losses = evaluate_subsets(X, y, chosen.result_.subsets, C=1.0).losses
    assert chosen.loss_ == pytest.approx(losses.min(), rel=1e-9)
    assert chosen.result_.losses.min() == chosen.loss_


@pytest.mark.parametrize("digits", [1, 9])
def test_weights_are_rows_to_ranks(rng, digits):
    y = np.arange(120) % 2
    X = np.exp(rng.normal(size=(120, 8)) + 0.4 * np.outer(y, np.arange(8) % 3)).round(digits)
    no_noise = Annealing(n_batches=1, batch_fraction=1.0)
    how = {"criterion": "ranks", "annealing": no_noise, "random_state": 0}
    weight = rng.integers(0, 4, 120)
    weighted = AnnealingSelector(3, **how).fit(X, y, weight)
    repeated = AnnealingSelector(3, **how).fit(np.repeat(X, weight, axis=0), y.repeat(weight))
    assert weighted.subset_.tolist() == repeated.subset_.tolist()
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_, rel=1e-9)
    assert weighted.loss_ == pytest.approx(repeated.loss_, rel=1e-7)


def test_of_some_columns_the_log_loss_is_that_near_the_model_of_all(rng):
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 20)) + 0.5 * y[:, None]
    data, which = class_rows(X, y), np.array([0, 3, 7])
    near_all = data.ranked().linearised()
    near_some = data.columns(which).ranked().linearised()
    np.testing.assert_array_equal(near_some.y, near_all.y)
    np.testing.assert_array_equal(near_some.sample_weight, near_all.sample_weight)
    np.testing.assert_array_equal(near_some.X, near_all.X[:, which])


def test_ranks_that_would_not_fit_say_what_to_do(rng, monkeypatch):
    monkeypatch.setattr("safdr._memory.available_memory", lambda: 5_000_000)
    X, y = rng.normal(size=(100, 10_000)).astype(np.float32), np.arange(100) % 2
    with pytest.raises(MemoryError, match=r"ranks of 100 rows of 10,000 .*8 MB .*'mixed' does"):
        AnnealingSelector(2, criterion="ranks").fit(X, y)
