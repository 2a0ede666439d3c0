"""The numbers behind the figures, and the files."""

import numpy as np
import pytest

from safdr.paper.figures import PANELS, draw_figure_1, draw_figure_2, make_curve, save

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
    np.testing.assert_allclose(test_auc.get_ydata(), [0.71, 0.81, 0.91])


def test_a_figure_is_kept_as_svg_and_png_and_is_the_same_each_time(rows, tmp_path):
    paths = save(draw_figure_2(rows, "heart"), tmp_path, "figure2")
    assert [path.name for path in paths] == ["figure2.svg", "figure2.png"]
    first = [path.read_bytes() for path in paths]
    save(draw_figure_2(rows, "heart"), tmp_path, "figure2")
    assert [path.read_bytes() for path in paths] == first
    assert first[1].startswith(b"\x89PNG")


def test_figure_1_shows_discriminant_trace_and_proxy(toy, tmp_path):
    figure = draw_figure_1(toy)
    assert len(figure.axes) >= 3
    assert save(figure, tmp_path, "figure1")[0].stat().st_size > 10_000
