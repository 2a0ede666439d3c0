"""The numbers behind the figures, and the files."""

import numpy as np
import pytest

from experiments.errors import PaperError, UnknownDataError
from experiments.figures import (
    PANELS,
    draw_figure_1,
    draw_figure_2,
    make_curve,
    save,
    sets_to_draw,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def rows(make_row):
    return [
        make_row("heart", method, repeat, 2, 0.8 + 0.02 * repeat)
        for method in ("sa-fdr", "lasso", "sa-fdr+n_batches=2")
        for repeat in range(2)
    ]


def test_a_curve_is_the_mean_over_folds_and_repeats(rows):
    curve = make_curve(rows[:2], "folds", "train_cross_entropy")
    np.testing.assert_allclose(curve.k, [1, 2, 3.5])
    np.testing.assert_allclose(curve.mean, [0.5, 0.4, 0.3])
    np.testing.assert_allclose(curve.error, 0, atol=1e-12)
    test = make_curve(rows[:2], "refit", "test_auc")
    np.testing.assert_allclose(test.k, [1, 2, 5])
    np.testing.assert_allclose(test.mean, [0.71, 0.81, 0.91])
    np.testing.assert_allclose(test.error, 0.01)


def test_figure_2_has_a_line_for_each_method_and_a_dot_at_its_k_star(rows):
    figure = draw_figure_2(rows, "heart")
    assert [ax.get_title() for ax in figure.axes] == [title for title, _, _ in PANELS]
    for ax in figure.axes:
        lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
        dots = [line for line in ax.lines if len(line.get_xdata()) == 1]
        assert [line.get_label() for line in lines] == ["SA-FDR", "Lasso"]
        assert [dot.get_xdata()[0] for dot in dots] == [2, 2]
    test_auc = figure.axes[-1].lines[0]
    np.testing.assert_allclose(test_auc.get_xdata(), [1, 2, 5])
    np.testing.assert_allclose(test_auc.get_ydata(), [0.71, 0.81, 0.91])


def test_figure_2_says_what_it_shows_and_what_it_cuts(rows):
    caption = draw_figure_2(rows, "heart").get_supxlabel()
    assert "mean over 2 repeats" in caption
    assert "± 1 standard error" in caption
    assert "mean k* (one_sd)" in caption
    assert "not shown" not in caption
    single = draw_figure_2(rows[:1], "heart").get_supxlabel()
    assert single.startswith("Line: one repeat. Dot: its k* (one_sd). Heights")
    few = [
        {**row, "settings": {**row["settings"], "protocol": {"max_features": 2}}} for row in rows
    ]
    # The folds go on to 3.5 features; the axis ends at 3.
    assert "Lasso goes on to k = 4: not shown" in draw_figure_2(few, "heart").get_supxlabel()


def test_figure_2_goes_on_to_the_last_dot(make_row):
    rows = [make_row("heart", "lasso", repeat, 9, 0.8) for repeat in range(2)]
    for ax in draw_figure_2(rows, "heart").axes:
        assert ax.get_xlim() == (0, 10)


def test_figure_2_is_scaled_to_the_larger_sizes_and_the_dots(make_row):
    rows = [make_row("heart", "sa-fdr", r, 3, 0.8, protocol={"max_features": 30}) for r in range(2)]
    low, high = draw_figure_2(rows, "heart").axes[0].get_ylim()
    # Cross-entropies are 0.5, 0.4 and 0.3 at k = 1, 2 and 3.5; the dot is at k = 3.
    assert low < 0.3
    assert 0.3 + 0.1 / 3 < high < 0.4


def test_figure_2_of_nothing_is_a_clear_error(rows, make_row):
    variant_only = make_row("ozone", "sa-fdr+n_batches=2", 0, 2, 0.8)
    assert sets_to_draw([*rows, variant_only], []) == ["heart"]
    with pytest.raises(PaperError, match="no rows of ozone to draw; there are of: heart"):
        sets_to_draw([*rows, variant_only], ["heart", "ozone"])
    with pytest.raises(UnknownDataError, match="No data set is called 'foo'"):
        sets_to_draw(rows, ["foo"])


def test_a_figure_is_kept_as_svg_and_png_and_is_the_same_each_time(rows, tmp_path):
    paths = save(draw_figure_2(rows, "heart"), tmp_path, "figure2")
    assert [path.name for path in paths] == ["figure2.svg", "figure2.png"]
    first = [path.read_bytes() for path in paths]
    save(draw_figure_2(rows, "heart"), tmp_path, "figure2")
    assert [path.read_bytes() for path in paths] == first
    assert first[1].startswith(b"\x89PNG")


def test_figure_1_shows_discriminant_trace_and_proxy(toy):
    figure = draw_figure_1(toy)
    assert figure.get_suptitle() == "toy: N = 240, k = 5"
    titles = [panel.get_suptitle() for panel in figure.subfigs]
    assert [title[:3] for title in titles] == ["(a)", "(b)", "(c)"]
    labels = [ax.get_xlabel() for ax in figure.axes if ax.axison]
    assert labels[-2:] == ["Inverse temperature β", "−FDR of k = 5 features"]
    assert [ax.get_ylabel() for ax in figure.axes if ax.axison][1:3] == ["Density", "Density"]


def test_no_legend_of_figure_1_covers_anything_drawn(toy):
    figure = draw_figure_1(toy)
    figure.draw_without_rendering()
    for panel in figure.subfigs:
        (legend,) = panel.legends
        box = legend.get_window_extent()
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        for ax in panel.axes:
            assert ax.get_legend() is None
            assert not box.overlaps(ax.get_window_extent())
