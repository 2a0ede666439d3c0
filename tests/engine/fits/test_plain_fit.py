"""Fits that the fast way does not lead to: strong 0/1 features, heavy tails, one huge value, rows
on their way to infinity. Held against a slow solver of its own, or what the optimum must be."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from fitting import criterion_of, unpenalised
from fuzz import penalised
from fuzz.cross_entropy import is_separated, loss_of, smallest_loss
from fuzz.fits import random_rows
from fuzz.fits_proof import proof
from safdr import Annealing, AnnealingSelector
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter

TOL, SLOW_TOL = 1e-8, 1e-6


def all_subsets(n_features, largest=3):
    sizes = range(1, min(n_features, largest) + 1)
    return [list(itertools.combinations(range(n_features), size)) for size in sizes]


def assert_optimal(X, codes, subsets, weight=None):
    """Each subset of one size has a finite optimum, and the fit is there."""
    weight = np.ones(len(X)) if weight is None else weight
    fits = unpenalised(X, codes, subsets, sample_weight=weight).fits
    rows = codes, codes.max() + 1, weight
    best = np.array([smallest_loss(X[:, list(subset)], *rows) for subset in subsets])
    # The slow solver stops a little early now and then.
    assert (fits.losses - best).max() < TOL
    assert (best - fits.losses).max() < SLOW_TOL
    assert not fits.separated.any()
    assert fits.converged.all()
    return best


# ---- 0/1 features -------------------------------------------------------------------------------


def mislabelled(rng, is_class, share):
    """A 0/1 column that is wrong for a few rows of either kind."""
    return is_class ^ (rng.random(len(is_class)) < share)


def test_a_strong_binary_feature_beats_a_weaker_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1000)
    X = np.c_[y ^ (rng.random(2000) < 0.01), y + 0.6 * rng.normal(size=2000)]
    assert AnnealingSelector.as_published(1).fit(X, y).subset_.tolist() == [0]
    fits = unpenalised(X, y, [[0], [1]])
    np.testing.assert_allclose(fits.losses, [0.0734, 0.4122], atol=5e-5)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.05])
def test_the_loss_of_one_binary_feature_is_that_of_a_table(share):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 5000)
    x = mislabelled(rng, y == 1, share).astype(int)
    counts = np.histogram2d(x, y, bins=2)[0]
    given = counts / counts.sum(axis=1, keepdims=True)
    expected = -np.sum(counts * np.log(given)) / len(y)
    fits = unpenalised(x[:, None], y, [[0]]).fits
    np.testing.assert_allclose(fits.losses, expected, rtol=1e-10)
    slope = np.log(given[1, 1] / given[1, 0]) - np.log(given[0, 1] / given[0, 0])
    np.testing.assert_allclose(fits.coefficients, slope, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_strong_binary_features_alone_and_together(n_classes, seed):
    rng = np.random.default_rng([seed, n_classes])
    codes = rng.integers(0, n_classes, 800)
    first, last = codes == 0, codes == n_classes - 1
    columns = [mislabelled(rng, first, 0.01), mislabelled(rng, last, 0.03)]
    # Rows of each class that both are wrong about, or the two would separate in part.
    for c in range(n_classes):
        twice = np.flatnonzero(codes == c)[:2]
        columns[0][twice], columns[1][twice] = ~first[twice], ~last[twice]
    columns += [rng.random(800) < 0.5, codes + 0.8 * rng.normal(size=800)]
    X = np.column_stack(columns).astype(float)
    for subsets in all_subsets(4):
        best = assert_optimal(X, codes, subsets)
        winner = AnnealingSelector.as_published(len(subsets[0]), random_state=seed).fit(X, codes)
        assert winner.result_.losses[winner.result_.best] == pytest.approx(best.min(), abs=TOL)


# ---- Heavy tails --------------------------------------------------------------------------------


def _log_normal(rng, codes):
    return np.exp(3 * (rng.normal(size=len(codes)) + 0.5 * codes))


def _cauchy(rng, codes):
    return rng.standard_cauchy(len(codes)) + codes


def _few_huge(rng, codes):
    column = rng.normal(size=len(codes)) + codes
    column[rng.permutation(len(codes))[:5]] *= 10.0 ** rng.uniform(3, 12, 5)
    return column


@pytest.mark.parametrize("make", [_log_normal, _cauchy, _few_huge])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_heavy_tailed_columns(make, n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.integers(0, n_classes, 300)
    X = np.column_stack([make(rng, codes) for _ in range(3)] + [rng.normal(size=300) + codes])
    for subsets in all_subsets(4, largest=2):
        assert_optimal(X, codes, subsets)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("far", [1e6, 1e13])
@pytest.mark.parametrize("own_side", [False, True])
def test_one_row_of_a_huge_value(far, own_side, n_classes):
    rng = np.random.default_rng(n_classes)
    codes = np.arange(400) % n_classes
    X = np.c_[codes + rng.normal(size=400), rng.normal(size=400)]
    last = np.flatnonzero(codes == n_classes - 1)[0]
    X[last, 0] = far if own_side else -far
    (alone,) = assert_optimal(X, codes, [[0]])
    (together,) = assert_optimal(X, codes, [[0, 1]])
    assert together <= alone
    if own_side:
        # It costs nothing where it is, and the others go on as if it was not there.
        others = np.delete(np.arange(400), last)
        rest = smallest_loss(X[others][:, [0]], codes[others], n_classes, np.ones(399))
        assert alone == pytest.approx(rest * 399 / 400, abs=TOL)
    elif n_classes == 2:
        # It leaves the others no slope, only so much of the wrong sign that it costs nothing.
        assert alone == pytest.approx(np.log(2) * 399 / 400, abs=1e-5)


def assert_proved(X, codes, weight=None):
    """All columns together have a finite optimum, and the fit is there; no model is better."""
    weight = np.ones(len(X)) if weight is None else weight
    fits = unpenalised(X, codes, [range(X.shape[1])], sample_weight=weight).fits
    loss, left, largest = proof(X, codes, weight, fits.coefficients[0], fits.intercepts[0])
    assert largest < 1
    assert left < TOL
    assert abs(loss - fits.losses[0]) < TOL
    assert fits.converged.tolist() == [True]
    assert fits.separated.tolist() == [False]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(
    "far",
    [(1e5, 1e5), (1e7, 1e7), (1e10, 1e9), (1e12, 1e11), (1e12, 1e6), (1e5, 1e9), (1e13, -1e13)],
)
def test_two_rows_of_huge_values(n_classes, far):
    codes = np.arange(300) % n_classes
    x = codes + np.random.default_rng(0).normal(size=300)
    x[[n_classes - 2, n_classes - 1]] = far
    assert_optimal(x[:, None], codes, [[0]])
    if n_classes > 2:
        assert_proved(x[:, None], codes)


def with_huge_rows(rng, codes, n_columns):
    """Columns with one or two values of 1e5 to 1e13 in each of one to three classes."""
    X = 0.6 * codes[:, None] + rng.normal(size=(len(codes), n_columns))
    for column in X.T:
        for c in rng.permutation(codes.max() + 1)[: rng.integers(1, 4)]:
            column[rng.choice(np.flatnonzero(codes == c), rng.integers(1, 3), replace=False)] = (
                rng.choice([-1, 1]) * 10.0 ** rng.uniform(5, 13)
            )
    return X


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_huge_rows_of_several_classes_and_columns(seed, light):
    rng = np.random.default_rng([seed, 7])
    n_classes, n_columns = 3 + seed % 3, 1 + seed // 3 % 3
    codes = rng.permutation(np.arange(200) % n_classes)
    X = with_huge_rows(rng, codes, n_columns)
    weight = np.where(rng.random(200) < 0.5, 1.0, 1e-4) if light else np.ones(200)
    assert_proved(X, codes, weight)


@pytest.mark.parametrize(("seed", "subset"), [(8101377, [0, 3, 5]), (8100927, [2, 7, 10, 14])])
def test_where_rounding_stops_a_fit_separation_is_not_guessed(seed, subset):
    """Rows seemed to be on their way out, and the optimum is finite."""
    X, codes, weight = random_rows(np.random.default_rng(seed))
    fits = unpenalised(X, codes, [subset], sample_weight=weight).fits
    model = fits.coefficients[0], fits.intercepts[0]
    _, left, largest_v = proof(X[:, subset], codes, weight, *model)
    assert left < TOL
    assert largest_v < 1.0
    assert not fits.separated[0]


def test_where_rounding_stops_one_way_another_is_tried():
    rng = np.random.default_rng([182, 300])
    n_classes, n_columns = rng.integers(3, 6), rng.integers(1, 4)
    codes = rng.permutation(np.arange(120) % n_classes)
    X = with_huge_rows(rng, codes, n_columns)
    light = rng.random() < 0.4
    assert_proved(X, codes, np.where(rng.random(120) < 0.5, 1.0, 1e-4) if light else None)


@pytest.mark.parametrize("seed", [7, 31, 35, 114, 214])
def test_rows_that_others_hold_far_out(seed):
    """Next to nothing is left of them, and they still move when the others have come to rest."""
    rng = np.random.default_rng(seed)
    codes = np.arange(150) % 4
    x = 0.5 * codes + rng.normal(size=150)
    x[:3] = rng.choice([-1, 1], 3) * 10.0 ** rng.uniform(9, 13, 3)
    assert_proved(x[:, None], codes, np.where(rng.random(150) < 0.5, 1, 1e-4))


def test_a_near_copy_of_a_huge_column():
    codes = np.arange(300) % 3
    x = 0.5 * codes + np.random.default_rng(0).normal(size=300)
    x[:3] = -1e12, -1e11, 6e12
    assert_proved(np.c_[x, x + (np.arange(300) // 30 == 1)], codes)


@pytest.mark.parametrize("light", [1e-4, 1e-6])
@pytest.mark.parametrize("n_classes", [3, 4])
def test_columns_that_differ_in_a_few_light_rows_only(n_classes, light):
    rng = np.random.default_rng(0)
    codes = np.arange(400) % n_classes
    x = codes + rng.normal(size=400)
    few = np.arange(400) < 40
    X = np.c_[x, x + few * rng.normal(size=400)]
    assert_proved(X, codes, np.where(few, light, 1.0))


# ---- Separation ---------------------------------------------------------------------------------


def with_rare_rows(n_classes, n_rows=300, n_rare=6):
    """Codes, a noisy column, and a few rows of the last class that could be told for certain."""
    rng = np.random.default_rng(n_classes)
    codes = np.arange(n_rows) % n_classes
    noisy = 0.5 * codes + rng.normal(size=n_rows)
    rare = np.zeros(n_rows)
    rare[np.flatnonzero(codes == n_classes - 1)[:n_rare]] = 1.0
    return codes, noisy, rare


def loss_of_the_rest(columns, codes, rare):
    """Of all rows, where the rare ones cost nothing and the others make the best of some columns.

    The rare ones are of the last class: a direction leads them there and leaves the others alone.
    """
    rest = rare == 0
    loss = smallest_loss(columns[rest], codes[rest], codes.max() + 1, np.ones(rest.sum()))
    return loss * rest.mean()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rare", [1, 6])
def test_a_rare_column_of_one_class_separates_in_part(n_classes, n_rare):
    codes, noisy, rare = with_rare_rows(n_classes, n_rare=n_rare)
    X = np.c_[rare, noisy]
    assert_optimal(X, codes, [[1]])
    fits = unpenalised(X, codes, [[0, 1]]).fits
    assert fits.separated.tolist() == [True]
    assert fits.converged.tolist() == [False]
    expected = loss_of_the_rest(noisy[:, None], codes, rare)
    np.testing.assert_allclose(fits.losses, expected, atol=TOL)
    with pytest.warns(UserWarning, match="in part"):
        selector = AnnealingSelector.as_published(2, random_state=0).fit(X, codes)
    assert selector.result_.separated[selector.result_.best]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_combination_of_two_columns_separates_in_part(n_classes):
    codes, noisy, rare = with_rare_rows(n_classes)
    hidden = np.random.default_rng(7).normal(size=len(codes))
    X = np.c_[hidden, 0.3 * rare - 2 * hidden, noisy]
    # Neither of them does it alone.
    assert_optimal(X, codes, [[0, 2], [1, 2]])
    fits = unpenalised(X, codes, [[0, 1, 2]]).fits
    assert fits.separated.tolist() == [True]
    expected = loss_of_the_rest(np.c_[hidden, noisy], codes, rare)
    np.testing.assert_allclose(fits.losses, expected, atol=TOL)


def test_two_sorts_of_rows_leave_one_after_the_other():
    """Only when those of the first column are gone, can those of the second be told."""
    y = np.tile([0, 1], 150)
    first, second = np.zeros(300), np.zeros(300)
    first[[1, 3]] = 1.0
    second[[5, 7]] = 1.0
    # Of the wrong class, but the first column tells them.
    first[[0, 2]] = -1.0
    second[[0, 2]] = 1.0
    fits = unpenalised(np.c_[first, second], y, [[0, 1], [1, 0]]).fits
    assert fits.separated.all()
    left = 294 / 300 * -(146 / 294 * np.log(146 / 294) + 148 / 294 * np.log(148 / 294))
    np.testing.assert_allclose(fits.losses, left, atol=TOL)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("gap", [1e-3, 0.1, 10.0])
def test_complete_separation_has_no_loss(n_classes, gap):
    rng = np.random.default_rng(n_classes)
    codes = np.arange(240) % n_classes
    hidden = rng.normal(size=240)
    side = codes * (1 + gap) + rng.random(240)
    X = np.c_[side - 3 * hidden, hidden, rng.normal(size=240)]
    fits = unpenalised(X, codes, [[0, 1], [0, 2], [1, 2]]).fits
    assert fits.separated.tolist() == [True, False, False]
    assert fits.losses[0] == 0
    assert fits.losses[1:].min() > 0.01
    with pytest.warns(UserWarning, match="separate"):
        selector = AnnealingSelector.as_published(2, random_state=0).fit(X, codes)
    assert selector.subset_.tolist() == [0, 1]


def _close(rng, codes):
    return codes + 0.05 * rng.normal(size=len(codes))


def _to_one_side(rng, codes):
    return codes + 0.95 * rng.beta(0.5, 4, len(codes))


def _ever_farther(rng, codes):
    return 1.3 ** (codes + 0.9 * rng.random(len(codes)))


@pytest.mark.parametrize("make", [_close, _to_one_side, _ever_farther])
def test_many_ordered_classes_on_one_feature_are_separated(make):
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(57), rng.integers(2, 30, 57))
    X = np.c_[make(rng, codes), rng.normal(size=len(codes))]
    fits = unpenalised(X, codes, [[0]]).fits
    assert fits.separated.tolist() == [True]
    assert fits.losses.tolist() == [0.0]
    with pytest.warns(UserWarning, match="separate"):
        selector = AnnealingSelector.as_published(
            1, annealing=Annealing(n_replicas=5), random_state=0
        ).fit(X, codes)
    assert selector.subset_.tolist() == [0]
    assert selector.result_.separated[selector.result_.best]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("far", [1e10, 3e13, 1e14])
def test_rows_at_the_center_of_a_column_leave_beside_a_huge_value(far, n_classes):
    """The others have their logits from the difference of two huge numbers, but for the center."""
    rng = np.random.default_rng(n_classes)
    gone = np.arange(300) % 5 < 3
    codes = np.where(gone, 0, rng.integers(0, n_classes, 300))
    x = codes + rng.normal(size=300)
    x[:2] = far, -far / 3
    fits = unpenalised(np.c_[x, gone], codes, [[0, 1]]).fits
    assert fits.separated.tolist() == [True]
    expected = loss_of_the_rest(x[:, None], codes, gone)
    np.testing.assert_allclose(fits.losses, expected, atol=TOL)
    model = np.c_[x, gone], codes, np.ones(300), fits.coefficients[0], fits.intercepts[0]
    assert loss_of(*model)[0] == pytest.approx(expected, abs=TOL)


@pytest.mark.parametrize("best_only", [False, True])
def test_what_is_fitted_anew_is_the_same_from_sparse_rows(best_only):
    gone = np.arange(300) % 5 < 3
    codes = np.where(gone, 0, np.arange(300) % 3)
    x = codes + np.random.default_rng(0).normal(size=300)
    x[:2] = 1e14, -3e13
    X = np.c_[x, gone, np.arange(300) % 7]
    criterion, subsets = criterion_of(X, codes, 3), np.array([[0, 1], [1, 2], [0, 2]])
    dense, sparse = (
        MultinomialFitter(rows, codes, None, criterion).fit(subsets, best_only=best_only)
        for rows in (X, csr_array(X))
    )
    np.testing.assert_array_equal(dense.losses, sparse.losses)
    np.testing.assert_array_equal(dense.coefficients, sparse.coefficients)
    expected = loss_of_the_rest(x[:, None], codes, gone)
    assert dense.losses[0] == pytest.approx(expected, abs=TOL)


def test_rows_far_out_that_hold_each_other_are_not_separated():
    """The optimum is finite, where either have some e^-200 to lose."""
    y = np.r_[np.tile([0, 1], 50), 0, 0, 1]
    x = np.r_[np.tile([0.0, 1.0], 50) + np.random.default_rng(0).normal(size=100), 0, 0, 400]
    at = np.r_[np.ones(100), 0, 0, 0]
    fits = unpenalised(np.c_[x, at], y, [[0, 1]]).fits
    assert fits.separated.tolist() == [False]
    assert fits.converged.tolist() == [True]
    slope, intercept = fits.coefficients[0, 0], fits.intercepts[0]
    # Two of one class at -intercept, one of the other at 400 slopes.
    assert -intercept == pytest.approx(400 * slope + intercept + np.log(2), abs=1e-3)


def test_rows_that_hold_each_other_where_nothing_is_left_of_them_are_not_separated():
    """The optimum is finite: no direction takes rows of either class out and none back."""
    X, codes, weight = random_rows(np.random.default_rng(91001356))
    some = X[:, [2, 3, 4]]
    assert not is_separated(some, codes, 2)
    fits = unpenalised(some, codes, [[0, 1, 2]], sample_weight=weight).fits
    assert fits.separated.tolist() == [False]
    assert fits.converged.tolist() == [True]
    assert fits.losses[0] == pytest.approx(smallest_loss(some, codes, 2, weight), abs=TOL)


def test_rows_of_one_class_that_two_columns_tell_apart_separate_in_part():
    """Once they were far out, their part of the step was lost in the rounding of the others."""
    X, codes, weight = random_rows(np.random.default_rng([77, 4]))
    assert len(np.unique(codes[X[:, 4] != X[:, 5]])) == 1
    fits = unpenalised(X, codes, [[0, 4, 5, 1]], sample_weight=weight).fits
    assert fits.separated.tolist() == [True]


def test_where_rounding_stops_a_fit_on_its_way_out_separation_is_told():
    """Columns over ten orders of magnitude: rounding hid the step, not the direction."""
    case = penalised.make(np.random.default_rng(8000187))
    codes, weight = np.unique(case.y, return_inverse=True)[1], case.row_weights()
    subset = [2, 1, 3, 6, 5, 0]
    fits = unpenalised(case.X, codes, [subset], sample_weight=weight).fits
    assert fits.separated.tolist() == [True]
    assert fits.losses[0] < smallest_loss(case.X[:, subset], codes, 3, weight) + 1e-4


# ---- Weights, threads ---------------------------------------------------------------------------


@pytest.mark.parametrize("light", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_few_heavy_rows_do_not_hide_the_light_ones(light, n_classes):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), np.arange(40) % n_classes
    weight = np.where(np.arange(40) < 5, 1, light)
    (best,) = assert_optimal(X, codes, [[0, 1, 2]], weight)
    if (n_classes, light) == (3, 1e-4):
        assert best == pytest.approx(0.0098, abs=5e-5)


def _nasty(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.integers(0, n_classes, 500)
    makes = (_log_normal, _cauchy, _few_huge, _few_huge)
    columns = [make(rng, codes) for make in makes]
    columns += [mislabelled(rng, codes == 0, 0.01), (codes == 1) & (rng.random(500) < 0.02)]
    return np.column_stack(columns).astype(float), codes


@pytest.mark.parametrize("best_only", [False, True])
@pytest.mark.parametrize(("kind", "n_classes"), [(LogisticFitter, 2), (MultinomialFitter, 4)])
def test_the_number_of_threads_does_not_change_a_bit(kind, n_classes, best_only):
    X, codes = _nasty(n_classes)
    data = kind(X, codes, None, criterion_of(X, codes, n_classes))
    for subsets in all_subsets(6):
        one, two = (data.fit(np.array(subsets), best_only=best_only, n_threads=n) for n in (1, 2))
        names = ("coefficients", "intercepts", "losses", "separated", "converged")
        for name in (*names, "n_iter"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_number_of_jobs_does_not_change_a_bit(n_classes):
    X, codes = _nasty(n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, two = (
            AnnealingSelector.as_published(3, random_state=0, n_jobs=n).fit(X, codes).result_
            for n in (1, 2)
        )
    for name in ("subsets", "losses", "separated", "coefficients", "intercepts", "n_iter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
