"""The model of all features that a path goes towards: each row left out, one by one, slowly."""

import numpy as np
import pytest

from safdr._engine import reference
from safdr._engine.l1_path import L1Path
from safdr._engine.reference import RIDGES, gains_clearly, reference_model
from safdr._engine.wide.criterion import WideCriterion

KINDS = ["normal", "heavy tails", "huge offsets", "all scales", "binary", "copies"]


def make(kind, rng, *, n_rows=30, n_columns=45):
    """Rows of more features than rows, some of which make up an output."""
    X = rng.normal(size=(n_rows, n_columns))
    output = X[:, :3] @ [2.0, -1.0, 1.0] + rng.normal(size=n_rows)
    if kind == "heavy tails":
        X = rng.standard_t(1.5, size=X.shape)
    if kind == "huge offsets":
        X = X + 1e6
    if kind == "all scales":
        X = X * 10.0 ** rng.integers(-8, 9, n_columns)
    if kind == "binary":
        X = (X > 0.5) * 1.0
    if kind == "copies":
        X = np.repeat(X[:, :15], 3, axis=1)
    return X, output


def standardised(X, weight):
    """Columns with mean zero and variance one; those that never change stay zero."""
    centred = X - weight @ X / weight.sum()
    variance = weight @ centred**2 / weight.sum()
    return centred / np.sqrt(np.where(variance > 0, variance, 1.0))


def left_out(columns, output, weight, penalty):
    """Predictions of ridge regressions without a row each; the mean has no penalty."""
    design = np.column_stack([np.ones(len(output)), columns])
    punished = penalty * np.diag([0.0] + [1.0] * columns.shape[1])
    found = []
    for i in range(len(output)):
        others = np.arange(len(output)) != i
        some, heavy = design[others], weight[others] / weight.sum()
        slopes = np.linalg.solve(
            some.T @ (heavy[:, None] * some) + punished, some.T @ (heavy * output[others])
        )
        found.append(design[i] @ slopes)
    return np.array(found)


def criterion_of(X, output, weight):
    return WideCriterion.of_outputs(X, output[:, None], weight)


def told(model, root, output):
    """What a model says of rows left out, in units of the output, and less its mean."""
    spread = np.linalg.norm((output - root**2 @ output) * root)
    return model.left_out / root * spread


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_ridge_regression_of_rows_left_out(kind, weighted, rng):
    X, output = make(kind, rng)
    weight = rng.uniform(0.5, 2.0, 30) if weighted else np.ones(30)
    criterion = criterion_of(X, output, weight if weighted else None)
    usable = np.flatnonzero(criterion.scale)
    root = criterion.rows.root
    measured = (output - root**2 @ output) * root
    model = reference._ridge_regression(criterion, measured / np.linalg.norm(measured), usable)
    mean = weight @ output / weight.sum()
    columns = standardised(X, weight)[:, usable]
    slow = [left_out(columns, output, weight, ridge * len(usable)) - mean for ridge in RIDGES]
    # Leaving a row out moves the mean of the columns, which the closed form allows for.
    errors = [weight @ (output - mean - each) ** 2 for each in slow]
    np.testing.assert_allclose(told(model, root, output), slow[int(np.argmin(errors))], atol=1e-6)


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "huge offsets", "all scales"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_lasso_of_rows_left_out_with_the_same_members(kind, weighted, rng):
    X, output = make(kind, rng)
    weight = rng.uniform(0.5, 2.0, 30) if weighted else np.ones(30)
    criterion = criterion_of(X, output, weight if weighted else None)
    root = criterion.rows.root
    measured = (output - root**2 @ output) * root
    spread = np.linalg.norm(measured)
    steps = list(reference._steps(criterion, np.arange(45)))
    path = L1Path(criterion, np.arange(45))
    share, mean = weight / weight.sum(), weight @ output / weight.sum()
    assert len(steps) > 8
    for n_steps in (1, 4, 8):
        step, (fitted, leverage) = path.after(n_steps), steps[n_steps]
        columns = standardised(X, weight)[:, step.features]
        # What the penalty takes off each slope's equation, in units of the output.
        pull = columns.T @ (share * (output - mean)) - columns.T @ (share[:, None] * columns) @ (
            step.slopes * spread
        )
        slow = []
        for i in range(30):
            others = np.arange(30) != i
            design = np.column_stack([np.ones(29), columns[others]])
            heavy = share[others, None] * design
            side = heavy.T @ output[others] - np.concatenate([[0.0], pull])
            slow.append(
                np.concatenate([[1.0], columns[i]]) @ np.linalg.solve(heavy.T @ design, side)
            )
        unit = measured / spread
        fast = (unit - (unit - fitted) / (1.0 - leverage)) / root * spread
        np.testing.assert_allclose(fast, np.array(slow) - mean, atol=1e-6)


def test_what_is_stacked_predicts_rows_left_out_best(rng):
    """Of all weights that are not negative, on a grid."""
    measured = rng.normal(size=40)
    models = [
        reference._Model(measured, measured + size * rng.normal(size=40)) for size in (0.5, 2.0)
    ]
    weights, error = reference._stacked(models, measured)
    grid = np.linspace(0.0, 1.2, 61)
    errors = [
        np.sum((measured - a * models[0].left_out - b * models[1].left_out) ** 2)
        for a in grid
        for b in grid
    ]
    assert error <= min(errors) <= error + 0.05
    assert (weights >= 0).all()


def made_of(kind, seed, n_rows=80, n_columns=300):
    """Rows, labels, and the log-odds that made them."""
    rng = np.random.default_rng(seed)
    if kind == "factors":
        hidden = rng.normal(size=(n_rows, 8))
        X = hidden @ rng.normal(size=(8, n_columns)) / 3 + rng.normal(size=(n_rows, n_columns))
        log_odds = hidden @ [1.5, -1.5, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0]
    else:
        X = rng.normal(size=(n_rows, n_columns))
        log_odds = X[:, :4] @ [2.0, -2.0, 1.0, 1.0]
    return X, (log_odds + rng.logistic(size=n_rows) > 0) * 1.0, log_odds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["factors", "few features"])
def test_a_reference_is_nearer_to_the_truth_than_labels_are(kind, seed):
    X, y, log_odds = made_of(kind, seed)
    found = reference_model(criterion_of(X, y, None), y, np.arange(300), 80.0)
    assert np.corrcoef(found.target, log_odds)[0, 1] > np.corrcoef(y, log_odds)[0, 1] + 0.02
    assert 0.0 <= found.ridge <= 1.0
    assert found.error < 1.0


def test_a_ridge_regression_has_a_share_where_all_features_are_views_of_a_few():
    shares = {
        kind: np.mean(
            [
                reference_model(criterion_of(X, y, None), y, np.arange(300), 80.0).ridge
                for X, y, _ in (made_of(kind, seed) for seed in range(8))
            ]
        )
        for kind in ("factors", "few features")
    }
    assert shares["few features"] < 0.1 < 0.3 < shares["factors"]


def test_many_rows_have_the_lasso_alone(monkeypatch):
    X, y, _ = made_of("factors", 0)
    monkeypatch.setattr(reference, "MOST_ROWS", 79)
    found = reference_model(criterion_of(X, y, None), y, np.arange(300), 80.0)
    assert found.ridge == 0.0
    assert found.target.any()


def test_columns_that_are_not_usable_have_no_say(rng):
    X, y, _ = made_of("factors", 1)
    usable = np.arange(0, 300, 2)
    found = reference_model(criterion_of(X, y, None), y, usable, 80.0)
    X[:, 1::2] = y[:, None] + 0.1 * rng.normal(size=(80, 150))
    again = reference_model(criterion_of(X, y, None), y, usable, 80.0)
    np.testing.assert_allclose(again.target, found.target, atol=1e-12)


@pytest.mark.parametrize("n_usable", [0, 3])
def test_features_that_know_nothing_leave_some_target(n_usable, rng):
    """Also where there is none, or none has anything in common with the output."""
    y = np.arange(20) % 2 * 1.0
    X = rng.normal(size=(20, 3)).repeat(2, axis=0)[:20]  # rows of both classes are the same
    found = reference_model(criterion_of(X, y, None), y, np.arange(n_usable), 20.0)
    assert np.isfinite(found.target).all()
    assert found.target.any()


def test_a_clear_gain_is_one_that_a_further_number_is_worth():
    assert gains_clearly(1.0, 0.9, 100.0)
    assert not gains_clearly(1.0, 0.99, 100.0)
    assert not gains_clearly(0.9, 1.0, 100.0)
    assert gains_clearly(1.0, 0.0, 100.0)
    assert not gains_clearly(0.0, 0.0, 100.0)
    assert not gains_clearly(0.0, 0.1, 100.0)
