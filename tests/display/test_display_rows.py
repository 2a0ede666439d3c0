"""ProxyDisplay and DiscriminantDisplay, which measure the rows again, against plain NumPy."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import QuadContourSet
from sklearn.datasets import make_classification

from safdr import Annealing, AnnealingSelector, evaluate_subsets
from safdr.display import DiscriminantDisplay, ProxyDisplay

mpl.use("Agg")
import matplotlib.pyplot as plt

QUICK = {"annealing": Annealing(n_replicas=15, max_steps=15), "random_state": 0}


def _rows(n_features):
    X, y = make_classification(
        300, n_features, n_informative=3, n_redundant=0, n_clusters_per_class=1, random_state=0
    )
    names = [f"feature {i}" for i in range(n_features)]
    return pd.DataFrame(X, columns=names), np.where(y, "ill", "healthy")


@pytest.fixture(scope="module")
def fit():
    """A selector of 4 out of 12 features, and its rows."""
    X, y = _rows(12)
    return AnnealingSelector(4, **QUICK).fit(X, y), X, y


# ProxyDisplay


def test_proxy_draws_random_subsets_uniformly_and_measures_them():
    X, y = _rows(4)
    selector = AnnealingSelector(2, **QUICK).fit(X, y)
    n_random = 3000
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=n_random, random_state=0)
    possible = evaluate_subsets(X, y, list(itertools.combinations(range(4), 2)))
    for value, loss in zip(possible.criterion_values, possible.cross_entropies, strict=True):
        same = np.isclose(display.random_criterion_values, value, rtol=1e-9)
        # Binomial: five standard deviations around n/6.
        assert abs(same.sum() - n_random / 6) < 5 * np.sqrt(n_random * 5 / 36)
        np.testing.assert_allclose(display.random_losses[same], loss, rtol=1e-6)


def test_proxy_shows_the_replicas_and_the_winner(fit):
    selector, X, y = fit
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=200, random_state=0)
    result = selector.result_
    frame = display.to_frame()
    annealed = frame[frame["kind"] == "annealed"]
    np.testing.assert_array_equal(annealed["criterion_value"], result.criterion_values)
    np.testing.assert_array_equal(annealed["cross_entropy"], result.cross_entropies)
    display.plot()
    (ring,) = display.ax_.lines
    assert ring.get_xdata().tolist() == [-result.criterion_value]
    assert ring.get_ydata().tolist() == [result.cross_entropy]
    assert display.ax_.get_xlabel() == f"−FDR of k = {result.size} features"
    assert display.ax_.get_ylabel() == "Cross-entropy"


def test_proxy_takes_the_weights_of_the_rows(fit):
    X, y = _rows(4)
    selector = AnnealingSelector(3, **QUICK).fit(X, y)
    weight = np.where(np.arange(len(y)) < 200, 2.0, 0.5)
    display = ProxyDisplay.from_estimator(selector, X, y, sample_weight=weight, n_random=3)
    subsets = list(itertools.combinations(range(4), 3))
    expected = evaluate_subsets(X, y, subsets, sample_weight=weight).cross_entropies
    distance = np.abs(display.random_losses[:, None] - expected).min(axis=1)
    np.testing.assert_allclose(distance, 0, atol=1e-8)


def _proxy_of(annealed, n_random=300):
    rng = np.random.default_rng(0)
    ratio = rng.gamma(2.0, size=n_random)
    return ProxyDisplay(
        random_criterion_values=ratio,
        random_losses=0.7 * np.exp(-ratio) + rng.uniform(0.0, 0.1, n_random),
        annealed_criterion_values=annealed[:, 0],
        annealed_losses=annealed[:, 1],
        best=0,
        n_features=3,
    )


def _n_contours(display):
    return sum(isinstance(artist, QuadContourSet) for artist in display.ax_.collections)


def test_proxy_density_holds_the_shares_it_says():
    rng = np.random.default_rng(1)
    annealed = np.abs(rng.normal([9.0, 0.5], [0.5, 0.05], size=(400, 2)))
    display = _proxy_of(annealed).plot()
    assert _n_contours(display) == 4
    lines = [each for each in display.ax_.collections if isinstance(each, QuadContourSet)][-1]
    outermost = lines.get_paths()[0]
    points = np.stack([-annealed[:, 0], annealed[:, 1]], axis=1)
    assert outermost.contains_points(points).mean() == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    "annealed",
    [
        np.tile([9.0, 0.1], (50, 1)),
        np.array([[9.0, 0.1]]),
        np.stack([np.linspace(8, 9, 50), np.full(50, 0.1)], axis=1),
        np.stack([np.linspace(8, 9, 50), np.linspace(0.2, 0.1, 50)], axis=1),
        np.tile([[9.0, 0.1], [8.0, 0.2], [8.5, 0.11]], (10, 1)),
    ],
    ids=["identical", "single", "flat", "line", "three"],
)
def test_proxy_without_a_density_shows_points(annealed):
    display = _proxy_of(annealed).plot()
    # Only the random subsets have contours: filled and lines.
    assert _n_contours(display) == 2
    np.testing.assert_array_equal(
        display.ax_.collections[-1].get_offsets(),
        np.stack([-annealed[:, 0], annealed[:, 1]], axis=1),
    )
    display.figure_.canvas.draw()


def test_proxy_axes_hold_the_points_and_no_negative_fdr():
    annealed = np.random.default_rng(1).normal([9.0, 0.5], 0.02, size=(400, 2))
    display = _proxy_of(annealed).plot()
    x = -np.concatenate([display.random_criterion_values, annealed[:, 0]])
    y = np.concatenate([display.random_losses, annealed[:, 1]])
    low, high = display.ax_.get_xlim()
    assert low == pytest.approx(x.min() - 0.05 * np.ptp(x))
    assert x.max() < high <= 0.0
    low, high = display.ax_.get_ylim()
    assert 0.0 <= low < y.min()
    assert high == pytest.approx(y.max() + 0.05 * np.ptp(y))


def test_proxy_dots_grow_with_the_replicas_that_ended_there():
    annealed = np.repeat([[9.0, 0.1], [8.0, 0.2], [8.5, 0.15]], [1, 3, 2], axis=0)
    areas = _proxy_of(annealed).plot().ax_.collections[-1].get_sizes()
    np.testing.assert_allclose(areas / areas[0], [1, 3, 3, 3, 2, 2])


def test_proxy_shows_a_few_random_subsets_under_the_annealed_ones():
    X, y = _rows(3)
    selector = AnnealingSelector(1, **QUICK).fit(X, y)
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=1000, random_state=0).plot()
    random, annealed = display.ax_.collections
    assert random.get_sizes().min() > annealed.get_sizes().max()


def test_proxy_rejects_what_it_cannot_measure(fit):
    selector, X, y = fit
    with pytest.raises(ValueError, match="n_random must be at least 1; got 0"):
        ProxyDisplay.from_estimator(selector, X, y, n_random=0)
    with pytest.raises(ValueError, match="feature names"):
        ProxyDisplay.from_estimator(selector, X.rename(columns=str.upper), y)
    with pytest.raises(ValueError, match="feature names"):
        ProxyDisplay.from_estimator(selector, X.iloc[:, 1:], y)


# DiscriminantDisplay


def _fisher_by_hand(values, y):
    first, second = np.unique(y)
    a, b = values[y == first], values[y == second]
    within = np.cov(a.T, ddof=0) + np.cov(b.T, ddof=0)
    difference = b.mean(axis=0) - a.mean(axis=0)
    return np.linalg.solve(within, difference), difference @ np.linalg.solve(within, difference)


def test_discriminant_is_the_fisher_direction(fit):
    selector, X, y = fit
    X = X * np.logspace(-6, 6, 12)
    names = X.columns[[3, 10]]
    display = DiscriminantDisplay.from_estimator(selector, X, y, names, random_state=0)
    w, ratio = _fisher_by_hand(X[names].to_numpy(), y)
    np.testing.assert_allclose(display.directions[0], w, rtol=1e-6)
    assert display.ratios[0] == pytest.approx(ratio, rel=1e-6)
    # Without shrinkage.
    alone = evaluate_subsets(X, y, [3, 10], ridge=1e-6).criterion_values[0]
    assert display.ratios[0] == pytest.approx(alone, rel=1e-4)
    for projection, along in zip(display.projections, display.ratios, strict=True):
        means = [projection[display.codes == code].mean() for code in (0, 1)]
        variances = [projection[display.codes == code].var() for code in (0, 1)]
        assert (means[1] - means[0]) ** 2 == pytest.approx(along)
        assert sum(variances) == pytest.approx(1.0)
        assert sum(means) == pytest.approx(0.0, abs=1e-9)
    assert display.ratios[0] >= display.ratios[1]


@pytest.mark.parametrize("seed", range(8))
def test_both_directions_point_from_the_first_class_to_the_second(fit, seed):
    selector, X, y = fit
    display = DiscriminantDisplay.from_estimator(selector, X, y, (0, 1), random_state=seed)
    for projection in display.projections:
        assert projection[display.codes == 1].mean() > projection[display.codes == 0].mean()


def test_discriminant_names_and_numbers_mean_the_same(fit):
    selector, X, y = fit
    by_number = DiscriminantDisplay.from_estimator(selector, X, y, (7, 2), random_state=0)
    by_name = DiscriminantDisplay.from_estimator(selector, X, y, X.columns[[7, 2]], random_state=0)
    pd.testing.assert_frame_equal(by_number.to_frame(), by_name.to_frame())
    assert by_number.names.tolist() == X.columns[[7, 2]].tolist()
    np.testing.assert_array_equal(by_number.to_frame()["feature_1"], X.iloc[:, 7])
    assert by_number.to_frame()["class"].tolist() == y.tolist()


def test_discriminant_takes_the_leading_pair():
    X, y = _rows(12)
    X = X * np.logspace(-3, 3, 12)
    selector = AnnealingSelector(4, **QUICK).fit(X, y)
    display = DiscriminantDisplay.from_estimator(selector, X, y)
    strength = np.abs(selector.estimator_.coef_[0]) * X.to_numpy()[:, selector.subset_].std(axis=0)
    leading = X.columns[selector.subset_[np.argsort(strength)[-2:]]]
    assert set(display.names) == set(leading)


def test_discriminant_weights_count_as_repeated_rows(fit):
    selector, X, y = fit
    times = np.arange(len(y)) % 3
    weighted = DiscriminantDisplay.from_estimator(
        selector, X, y, (0, 1), sample_weight=times, random_state=0
    )
    repeated = DiscriminantDisplay.from_estimator(
        selector, X.loc[X.index.repeat(times)], np.repeat(y, times), (0, 1), random_state=0
    )
    np.testing.assert_allclose(weighted.directions, repeated.directions)
    np.testing.assert_allclose(weighted.ratios, repeated.ratios)


def test_discriminant_draws_the_line_it_projects_onto(fit):
    selector, X, y = fit
    display = DiscriminantDisplay.from_estimator(selector, X, y, (0, 1), random_state=0).plot()
    lines = {line.get_label(): line for line in display.ax_.lines}
    end = np.array(lines["Fisher direction w"].get_xy2())
    standardised = (display.values - display.values.mean(axis=0)) / display.values.std(axis=0)
    # Rows that lie at a right angle to the drawn line have the same projection.
    correlation = np.corrcoef(standardised @ end, display.projections[0])[0, 1]
    assert correlation == pytest.approx(1.0)
    assert display.ax_.get_aspect() == 1.0


def test_discriminant_of_collinear_features():
    X, y = _rows(3)
    X.iloc[:, 1] = 2 * X.iloc[:, 0]
    selector = AnnealingSelector(1, **QUICK).fit(X, y)
    display = DiscriminantDisplay.from_estimator(selector, X, y, (0, 1), random_state=0).plot()
    alone = evaluate_subsets(X, y, [0], ridge=1e-6).criterion_values[0]
    np.testing.assert_allclose(display.ratios, alone, rtol=1e-4)


def test_discriminant_says_what_it_needs(fit):
    selector, X, y = fit
    one = AnnealingSelector(1, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=r"the selector chose 1\. Name two columns"):
        DiscriminantDisplay.from_estimator(one, X, y)
    for wrong in [(0,), (0, 1, 2), (0, 12), (-1, 0), ("nope", 0), (4, 4), "a", 3]:
        with pytest.raises(ValueError, match=r"features must be two different columns of X"):
            DiscriminantDisplay.from_estimator(selector, X, y, wrong)
    with pytest.raises(ValueError, match=r"y must hold rows of both classes that fit saw"):
        DiscriminantDisplay.from_estimator(selector, X, np.where(y == y[0], "other", "healthy"))
    with pytest.raises(ValueError, match=r"there is no Fisher direction"):
        DiscriminantDisplay.from_estimator(selector, X * 0.0, y, (0, 1))
    by_hand = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match=r"ax must be part of a grid"):
        DiscriminantDisplay.from_estimator(selector, X, y, (0, 1)).plot(by_hand)
