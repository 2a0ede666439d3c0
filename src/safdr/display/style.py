"""How the pictures look: colours, axes, legends and the mark at k*."""

from __future__ import annotations

from typing import Any

from safdr.display.base import IntArray

# Okabe and Ito's colours can be told apart by the colour-blind; these two also differ in grey.
FIRST = "#0072B2"
SECOND = "#E69F00"
NEUTRAL = "#555555"

POINTS_PER_INCH = 72

# Of a figure with a row for each feature, in inches: height of a row, what the labels around the
# rows take, and the least in all.
ROW_HEIGHT = 0.2
REST_HEIGHT = 1.3
MIN_HEIGHT = 2.6


def import_pyplot(caller: str) -> Any:
    """Import matplotlib's pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib, which is not installed. Install it with: "
            "pip install 'safdr[plot]'. The numbers are there without it: see to_frame()."
        ) from error
    return plt


def axes_for(caller: str, ax: Any, figsize: tuple[float, float] | None = None) -> Any:
    """Take the axes given, or make a figure that gives every label its place."""
    plt = import_pyplot(caller)
    if ax is not None:
        return ax
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def row_figsize(caller: str, n_rows: int, wider: float = 1.0) -> tuple[float, float]:
    """Size of a new figure whose height grows with its rows."""
    width = import_pyplot(caller).rcParams["figure.figsize"][0]
    return wider * width, max(MIN_HEIGHT, REST_HEIGHT + ROW_HEIGHT * n_rows)


def size_in_points(ax: Any) -> tuple[float, float]:
    """Width and height of the axes in points, as the size of a font is given."""
    points_per_pixel = POINTS_PER_INCH / ax.figure.dpi
    return ax.bbox.width * points_per_pixel, ax.bbox.height * points_per_pixel


def add_legend(ax: Any, handles: list[Any], *, own_figure: bool) -> None:
    """Put the legend above the axes in a figure of ours, and into the axes in any other."""
    if own_figure:
        # Two columns fit in a figure half as wide as matplotlib's default.
        ax.figure.legend(
            handles=handles, loc="outside upper center", ncols=2, fontsize="small", frameon=False
        )
    else:
        ax.legend(handles=handles, loc="best", fontsize="small")


def set_size_axis(ax: Any, n_features: IntArray) -> None:
    """Put sizes along x: whole numbers only, with half a step of room on both sides."""
    ax.set_xlim(n_features.min() - 0.5, n_features.max() + 0.5)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set_xlabel("Number of features k")


def whole_numbers() -> Any:
    """Ticks at whole numbers, at one of them if there is only one."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])


def mark_chosen_size(ax: Any, n_features: int) -> None:
    """Write k* above the axes, as a tick: a title then moves out of its way."""
    top = ax.secondary_xaxis("top")
    top.set_xticks([n_features], labels=[f"k* = {n_features}"])
    top.tick_params(labelsize="small")


def without_tex(ax: Any) -> None:
    """Keep every text out of LaTeX, which would run the names of the features as its commands."""
    from matplotlib.text import Text

    legends = [] if ax.get_legend() else ax.figure.legends
    for artist in (ax, *legends):
        for text in artist.findobj(Text):
            text.set_usetex(False)
