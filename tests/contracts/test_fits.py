"""Models are at their optimum, and the one that is chosen is the best of full fits."""

import time

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from fuzz import fits as fuzz_fits
from helpers import data, engine, families, references

TASKS = ["logistic", "softmax"]
SUBSETS = np.array([[0, 1, 2], [1, 4, 6], [2, 3, 5], [0, 5, 7], [1, 2, 6]])


def n_classes(task):
    return 2 if task == "logistic" else 3


def make(task, seed=0, n_rows=150, n_features=8):
    rng = np.random.default_rng([seed, n_rows])
    if task == "least squares":
        return data.output_rows(rng, n_rows, n_features, 2)
    return data.class_rows(rng, n_rows, n_features, n_classes(task))


def random_subsets(rng, n_features, size, n=30):
    return np.array([np.sort(rng.permutation(n_features)[:size]) for _ in range(n)])


def penalised_loss(X, codes, subset, slopes, intercepts, weight, C):
    """Return the loss as defined, from coefficients on raw columns."""
    total = len(X) if weight is None else weight.sum()
    mean = np.average(X[:, subset], axis=0, weights=weight)
    variance = np.average((X[:, subset] - mean) ** 2, axis=0, weights=weight)
    found = references.cross_entropy(X[:, subset], codes, slopes, intercepts, weight)
    return found + np.sum(np.atleast_2d(slopes) ** 2 * variance) / (2 * C * total)


# ---- The optimum --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.03, 1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_losses_are_those_of_newton(task, sparse, weighted, C):
    for seed in range(3):
        X, codes = make(task, seed)
        if sparse:
            X[np.random.default_rng(seed).random(X.shape) < 0.7] = 0.0
        weight = np.random.default_rng(seed).uniform(0.1, 3.0, len(X)) if weighted else None
        rows = csr_array(X) if sparse else X
        fits = engine.fitter(rows, codes, weight, C).fit(SUBSETS)
        for i, subset in enumerate(SUBSETS):
            expected = references.newton(X[:, subset], codes, weight, C)
            assert fits.losses[i] == pytest.approx(expected, rel=1e-9)
            model = fits.coefficients[i], fits.intercepts[i]
            expected_loss = penalised_loss(X, codes, subset, *model, weight, C)
            assert expected_loss == pytest.approx(fits.losses[i], rel=1e-9)
        assert not fits.separated.any()


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("task", TASKS)
def test_the_gradient_is_zero(task, C):
    X, codes = make(task, 3)
    weight = np.random.default_rng(3).uniform(0.1, 3.0, len(X))
    share = weight / weight.sum()
    fits = engine.fitter(X, codes, weight, C).fit(SUBSETS)
    indicators = codes[:, None] == np.arange(n_classes(task))
    for i, subset in enumerate(SUBSETS):
        mean = share @ X[:, subset]
        spread = np.sqrt(share @ (X[:, subset] - mean) ** 2)
        logits = X[:, subset] @ np.atleast_2d(fits.coefficients[i]).T + fits.intercepts[i]
        if task == "logistic":
            logits = np.column_stack([np.zeros(len(X)), logits])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        residual = share[:, None] * (p - indicators)
        slopes = np.atleast_2d(fits.coefficients[i])
        gradient = residual.T @ ((X[:, subset] - mean) / spread)
        gradient = gradient[-len(slopes) :] + slopes * spread / (C * weight.sum())
        assert np.abs(gradient).max() < 1e-7
        assert np.abs(residual.sum(axis=0)).max() < 1e-7


@pytest.mark.parametrize("task", TASKS)
def test_coefficients_are_those_of_scikit_learn(task):
    X, codes = make(task, 1)
    fits = engine.fitter(X, codes, None, 0.5).fit(SUBSETS)
    for i, subset in enumerate(SUBSETS):
        Z, scale = references.standardised(X[:, subset]), X[:, subset].std(axis=0)
        model = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(Z, codes)
        slopes = np.atleast_2d(fits.coefficients[i]) * scale
        np.testing.assert_allclose(slopes, model.coef_, atol=1e-6)
        found = X[:, subset] @ np.atleast_2d(fits.coefficients[i]).T + fits.intercepts[i]
        expected = model.decision_function(Z).reshape(len(X), -1)
        if task == "softmax":  # up to what all classes have in common
            found, expected = (
                each - each.mean(axis=1, keepdims=True) for each in (found, expected)
            )
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_penalised_fits_of_adversarial_columns(n, C):
    for seed in range(12):
        rng = np.random.default_rng([seed, n])
        X, codes = data.adversarial_rows(rng, int(rng.integers(40, 200)), 7, n)
        weight = rng.uniform(0.01, 5.0, len(X)) if seed % 2 else None
        subsets = random_subsets(rng, 7, int(rng.integers(1, 5)), 3)
        fits = engine.fitter(X, codes, weight, C).fit(subsets)
        assert fits.converged.all()
        for subset, loss in zip(subsets, fits.losses, strict=True):
            expected = references.newton(X[:, subset], codes, weight, C)
            assert loss == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_least_squares_are_those_of_scikit_learn():
    X, Y = make("least squares")
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    for C in (np.inf, 0.7):
        for rows in (X, csr_array(X)):
            fits = engine.fitter(rows, Y, weight, C).fit(SUBSETS)
            for i, subset in enumerate(SUBSETS):
                Z = X[:, subset] - np.average(X[:, subset], axis=0, weights=weight)
                scale = np.sqrt(np.average(Z**2, axis=0, weights=weight))
                penalised = LinearRegression() if np.isinf(C) else Ridge(alpha=1.0 / C)
                model = penalised.fit(Z / scale, Y, sample_weight=weight)
                np.testing.assert_allclose(fits.coefficients[i] * scale, model.coef_, rtol=1e-7)
                error = np.average((Y - model.predict(Z / scale)) ** 2, axis=0, weights=weight)
                error += np.sum(model.coef_**2, axis=1) / (C * weight.sum())
                assert fits.losses[i] == pytest.approx(error.mean(), rel=1e-9)


# ---- What must not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("task", [*TASKS, "least squares"])
def test_weights_equal_copies_and_zero_equals_absence(task, C):
    X, y = make(task)
    counts = data.repeats_of_rows(np.random.default_rng(1), len(X))
    weighted = engine.fitter(X, y, counts, C).fit(SUBSETS)
    repeated = engine.fitter(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0), None, C)
    found = repeated.fit(SUBSETS)
    np.testing.assert_allclose(weighted.losses, found.losses, rtol=1e-9)
    np.testing.assert_allclose(weighted.coefficients, found.coefficients, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("task", [*TASKS, "least squares"])
def test_scale_origin_and_precision_of_columns_do_not_matter(task, C):
    X, y = make(task)
    X = X.astype(np.float32).astype(np.float64)
    losses = engine.fitter(X, y, None, C).fit(SUBSETS).losses
    scale, origin = 10.0 ** np.arange(-8, 8, 2), 1e3 * np.arange(8)
    moved = engine.fitter((X + origin) * scale, y, None, C).fit(SUBSETS)
    np.testing.assert_allclose(moved.losses, losses, rtol=1e-8)
    single = engine.fitter(X.astype(np.float32), y, None, C).fit(SUBSETS)
    np.testing.assert_allclose(single.losses, losses, rtol=1e-9)
    in_columns = engine.fitter(np.asfortranarray(X), y, None, C).fit(SUBSETS)
    np.testing.assert_allclose(in_columns.losses, losses, rtol=1e-9)


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("task", [*TASKS, "least squares"])
def test_a_constant_column_has_no_slope(task, C):
    X, y = make(task)
    without = engine.fitter(X, y, None, C).fit(np.array([[0, 1]]))
    for constant in (0.0, 1.0, 1e6 / 3):
        X[:, 5] = constant
        fits = engine.fitter(X, y, None, C).fit(np.array([[0, 1, 5], [1, 2, 5]]))
        assert np.isfinite(fits.losses).all()
        np.testing.assert_allclose(fits.losses[0], without.losses[0], rtol=1e-9)
        np.testing.assert_allclose(fits.coefficients[..., 2], 0.0, atol=1e-9)
        np.testing.assert_allclose(
            fits.coefficients[0][..., :2], without.coefficients[0], rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("task", [*TASKS, "least squares"])
def test_order_repeats_and_threads_do_not_matter(task):
    X, y = make(task, n_rows=400)
    fitter = engine.fitter(X, y, None, 1.0)
    subsets = random_subsets(np.random.default_rng(0), 8, 4, 20)
    fits = fitter.fit(subsets)
    again = fitter.fit(np.concatenate([subsets[::-1], subsets]), n_threads=2)
    np.testing.assert_allclose(again.losses[:20], fits.losses[::-1], rtol=1e-10)
    np.testing.assert_array_equal(again.losses[:20][::-1], again.losses[20:])
    for best_only in (False, True):
        one, two = (fitter.fit(subsets, best_only=best_only, n_threads=n) for n in (1, 2))
        np.testing.assert_array_equal(one.losses, two.losses)
        np.testing.assert_array_equal(one.coefficients, two.coefficients)


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_without_features_is_the_entropy(task):
    X, codes = make(task)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    share = np.bincount(codes, weight) / weight.sum()
    found = engine.fitter(X, codes, weight, 1.0).baseline()
    assert found == pytest.approx(-share @ np.log(share))


@pytest.mark.parametrize("seed", range(3))
def test_the_second_order_model_of_the_loss_follows_its_definition(seed):
    """Differences of its values are twice those of the smallest quadratic losses of subsets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 7)) + 0.5 * rng.normal(size=(90, 1))
    codes = (X[:, 0] - X[:, 1] + 1.0 + rng.logistic(size=90) > 0).astype(int)
    weight = rng.uniform(0.2, 2.0, 90)
    share, penalty = weight / weight.sum(), 1.0 / weight.sum()
    fitter = engine.fitter(X, codes, weight, 1.0)
    subset = np.array([0, 3])
    fits = fitter.fit(subset[None])
    near = fitter.near(np.arange(7), subset, fits.coefficients[0], fits.intercepts[0])
    mean = share @ X
    sd = np.sqrt(share @ (X - mean) ** 2)
    Z = np.column_stack([(X - mean) / sd, np.ones(90)])
    eta = X[:, subset] @ fits.coefficients[0].ravel() + fits.intercepts[0]
    p = 1.0 / (1.0 + np.exp(-eta))
    penalties = np.append(np.full(7, penalty), 0.0)
    theta = np.zeros(8)
    theta[subset] = fits.coefficients[0].ravel() * sd[subset]
    theta[-1] = (fits.intercepts[0] + fits.coefficients[0].ravel() @ mean[subset]).item()
    H = Z.T @ (Z * (share * p * (1 - p))[:, None]) + np.diag(penalties)
    target = H @ theta - Z.T @ (share * (p - codes)) - penalties * theta

    def value(some):
        kept = [*some, 7]
        return target[kept] @ np.linalg.solve(H[np.ix_(kept, kept)], target[kept])

    subsets = [[0, 3], [0, 1], [2, 5, 6], [1], list(range(7))]
    ours = [near.value(some) for some in subsets]
    wanted = [value(some) for some in subsets]
    np.testing.assert_allclose(np.diff(ours), np.diff(wanted), rtol=1e-6, atol=1e-10)


# ---- Early discarding ---------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
@pytest.mark.parametrize("task", TASKS)
def test_the_best_is_the_best_of_full_fits(task, C):
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        X = rng.standard_t(df=1.2 + seed % 4, size=(int(rng.choice([60, 200])), 10))
        logits = np.tanh(X[:, :4]) @ rng.normal(size=(4, n_classes(task)))
        codes = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        codes[:6] = np.arange(6) % n_classes(task)
        weight = rng.uniform(0.5, 2.0, len(X)) if seed % 2 else None
        subsets = random_subsets(rng, 10, int(rng.integers(2, 5)))
        fitter = engine.fitter(X, codes, weight, C)
        exact, rough = fitter.fit(subsets), fitter.fit(subsets, best_only=True)
        if exact.separated.any():
            continue
        best = np.nanargmin(rough.losses)
        assert exact.losses[best] <= exact.losses.min() * (1 + 1e-10)
        assert rough.losses[best] == pytest.approx(exact.losses[best], rel=1e-8)
        np.testing.assert_allclose(
            rough.coefficients[best], exact.coefficients[best], rtol=1e-3, atol=1e-5
        )
        # What is known of the others is good to a tenth of their distance to the best.
        distance = exact.losses - exact.losses.min()
        assert (np.abs(rough.losses - exact.losses) <= 0.1 * distance + 1e-9).all()


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_no_adversarial_column_hides_the_best(n, C):
    for seed in range(20):
        rng = np.random.default_rng([seed, n, 9])
        X, codes = data.adversarial_rows(rng, int(rng.integers(40, 200)), 9, n)
        weight = 10.0 ** rng.uniform(-3, 3, len(X)) if seed % 2 else None
        subsets = random_subsets(rng, 9, int(rng.integers(1, 5)), 25)
        fitter = engine.fitter(X, codes, weight, C)
        exact, rough = fitter.fit(subsets), fitter.fit(subsets, best_only=True)
        best = np.nanargmin(rough.losses)
        assert exact.losses[best] <= exact.losses.min() + 1e-9 * fitter.baseline()
        assert rough.losses[best] == pytest.approx(exact.losses[best], rel=1e-8)
        # A discarded model can still improve, but by no more than its bound.
        assert (rough.losses - exact.losses <= rough.left + 1e-9 * fitter.baseline()).all()


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("task", TASKS)
def test_the_best_of_nearly_equal_ones_is_found(task, C):
    """Losses of near duplicates differ by less than loose-tolerance fits tell."""
    close = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 6])
        X, codes = make(task, seed, 150, 3)
        copies = np.repeat(X, 8, axis=1)
        noise = 10.0 ** rng.uniform(-7, -3.5, copies.shape[1])
        copies += noise * rng.normal(size=copies.shape)
        subsets = np.sort(rng.integers(0, 8, (40, 3)) + np.array([0, 8, 16]), axis=1)
        fitter = engine.fitter(copies, codes, None, C)
        exact, rough = fitter.fit(subsets), fitter.fit(subsets, best_only=True)
        best = np.nanargmin(rough.losses)
        assert exact.losses[best] <= exact.losses.min() + 1e-11
        assert rough.losses[best] == pytest.approx(exact.losses[best], rel=1e-9)
        close += np.sum(exact.losses < exact.losses.min() + 1e-6)
    assert close > 40


def test_of_equal_losses_the_first_is_the_best():
    X, codes = make("logistic")
    X[:, 5] = X[:, 1]
    for subsets in ([[0, 1], [0, 5]], [[0, 5], [0, 1]]):
        fits = engine.fitter(X, codes).fit(np.array([*subsets, [2, 3]]), best_only=True)
        assert np.argmin(fits.losses) == 0


# ---- Families and their bound ------------------------------------------------------------------


def check_bounds(family, n_steps):
    rng = np.random.default_rng(list(family.encode()))
    at_edge = done = 0
    while done < n_steps:
        problem = families.random_problem(family, rng)
        optimum, least = problem.optimum()
        for _ in range(30):
            theta = optimum + 10.0 ** rng.uniform(-3, 0.5) * rng.normal(size=optimum.shape)
            loss, gradient, near = problem.at(theta)
            step = problem.newton_step(near, gradient)
            if rng.random() < 0.3:  # another direction serves as well
                step = step + 0.3 * np.abs(step).max() * rng.normal(size=step.shape)
            found, reach = problem.bound(theta, step)
            for _ in range(3):  # intercepts follow
                step = step / max(reach, 1e-3)
                found, reach = problem.bound(theta, step)
                if reach <= 1 + 1e-9:
                    assert loss - least <= found * (1 + 1e-7) + 1e-11
                    at_edge, done = at_edge + (reach > 0.9), done + 1
    return at_edge


@pytest.mark.parametrize("family", families.NEAR)
def test_the_bound_holds_up_to_the_edge_of_its_reach(family):
    assert check_bounds(family, 1000) > 200 or family == "squared"


def test_the_solver_serves_counts_amounts_and_survival():
    rng = np.random.default_rng(0)
    for family in ("poisson", "gamma", "cox"):
        for _ in range(40):
            problem = families.random_problem(family, rng, int(rng.integers(20, 200)))
            theta, loss, left = families.fit_compiled(problem)
            expected, least = problem.optimum()
            assert problem.at(theta[:, None])[0] == pytest.approx(least, rel=1e-9, abs=1e-11)
            assert left <= 1e-11
            eta, own = problem.Z @ theta, families.FAMILIES[family]
            losses, slopes, _ = own.derivatives(eta, families.core_target(problem), problem.weight)
            of_penalty = 0.5 * problem.penalty * np.sum(theta[:-1] ** 2)
            assert loss == pytest.approx(problem.weight @ losses + of_penalty, rel=1e-9, abs=1e-12)
            near = families.NEAR[family](eta[:, None], problem.y, problem.weight, problem.time)
            np.testing.assert_allclose(problem.weight * slopes, near.slope[:, 0], atol=1e-12)
            eta = problem.Z @ (theta - expected[:, 0])
            eta -= eta.mean() if family == "cox" else 0.0
            assert problem.weight @ eta**2 < 1e-8


def test_adversarial_fits_are_certified_in_extended_precision():
    for seed in range(60):
        fuzz_fits.check(np.random.default_rng([seed, 3]))


@pytest.mark.parametrize("n_classes", [5, 12, 40])
def test_unpenalised_softmax_with_random_classes_ends(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.standard_t(df=2, size=(300, 12))
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 300 - n_classes)])
    start = time.process_time()
    fits = engine.fitter(X, codes, None, np.inf).fit(np.array([np.arange(5), np.arange(4, 9)]))
    assert np.isfinite(fits.losses).all()
    assert time.process_time() - start < 5.0


# ---- Separation ---------------------------------------------------------------------------------


def is_separable(X, codes, subset):
    """Return True if a direction has no row on its wrong side, by linear programming."""
    Z = np.column_stack([X[:, subset], np.ones(len(X))])
    Z /= np.abs(Z).max(axis=0)
    n, q = int(codes.max()) + 1, Z.shape[1]
    margins = []
    for other in range(n):
        rows = np.flatnonzero(codes != other)
        part = np.zeros((len(rows), n, q))
        part[np.arange(len(rows)), codes[rows]] = Z[rows]
        part[:, other] -= Z[rows]
        margins.append(part.reshape(len(rows), -1))
    A = np.vstack(margins)
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -found.fun > 1e-6


@pytest.mark.parametrize("task", TASKS)
def test_separation_is_flagged_where_there_is_one(task):
    flagged = checked = 0
    for seed in range(14):
        rng = np.random.default_rng([seed, 8])
        n_rows = int(rng.choice([8, 12, 20]))
        X = rng.poisson(0.7, (n_rows, 8)) if seed % 2 else rng.normal(size=(n_rows, 8))
        X = X.astype(float) + rng.normal(size=(n_rows, 8)) * (seed % 2 == 0)
        codes = data.labels(rng, n_rows, n_classes(task))
        X[:, 0] += 2.0 * codes
        subsets = random_subsets(rng, 8, int(rng.integers(1, 4)), 5)
        fits = engine.fitter(X, codes, None, np.inf).fit(subsets)
        for subset, flag in zip(subsets, fits.separated, strict=True):
            if (np.ptp(X[:, subset], axis=0) == 0).any():
                continue
            assert bool(flag) == is_separable(X, codes, subset)
            flagged, checked = flagged + bool(flag), checked + 1
    assert 5 < flagged < checked - 5


@pytest.mark.parametrize("task", TASKS)
def test_complete_separation_has_no_loss_and_a_penalty_prevents_it(task):
    X, codes = make(task)
    X[:, 2] = codes + 0.3 * np.random.default_rng(0).random(len(X))
    subsets = np.array([[0, 1], [1, 2], [0, 3]])
    fits = engine.fitter(X, codes, None, np.inf).fit(subsets)
    assert fits.separated.tolist() == [False, True, False]
    assert fits.losses[1] == 0.0
    logits = X[:, [1, 2]] @ np.atleast_2d(fits.coefficients[1]).T + fits.intercepts[1]
    predicted = logits[:, 0] > 0 if task == "logistic" else logits.argmax(axis=1)
    assert (predicted == codes).all()
    best = engine.fitter(X, codes, None, np.inf).fit(subsets, best_only=True)
    assert np.nanargmin(best.losses) == 1
    penalised = engine.fitter(X, codes, None, 1.0).fit(subsets)
    assert not penalised.separated.any()
    assert penalised.losses[1] == pytest.approx(references.newton(X[:, [1, 2]], codes), rel=1e-9)
