"""How the figures look: colours, axes, legends, names of features and the mark at k*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from safdr.text import count, shortened

# Okabe and Ito's colours differ for the colour-blind; these two also differ in grey.
FIRST = "#0072B2"
SECOND = "#E69F00"
NEUTRAL = "#555555"
# Of a figure with a row for each feature, in inches: height of a row, of everything else, at least.
ROW_HEIGHT, REST_HEIGHT, MIN_HEIGHT = 0.2, 1.3, 2.6
# Points; smaller names are not legible, and only every second, third, … is written.
MIN_TEXT_SIZE, MAX_TEXT_SIZE = 4.0, 8.3


def axes_for(caller: str, ax: Any, *, n_rows: int = 0, width: float = 1.0) -> Any:
    """Return the axes given, or those of a new figure whose height grows with its rows."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib, which is not installed. Install it with: "
            "pip install matplotlib. The numbers are in to_frame() without it."
        ) from error
    if ax is not None:
        return ax
    figsize = None
    if n_rows:
        default = plt.rcParams["figure.figsize"][0]
        figsize = (width * default, max(MIN_HEIGHT, REST_HEIGHT + ROW_HEIGHT * n_rows))
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def add_legend(ax: Any, handles: list[Any], *, own_figure: bool) -> None:
    """Put the legend above the axes in a new figure, and into the axes in any other."""
    if own_figure:
        # Two columns fit in a figure half as wide as matplotlib's default.
        ax.figure.legend(
            handles=handles, loc="outside upper center", ncols=2, fontsize="small", frameon=False
        )
    else:
        ax.legend(handles=handles, loc="best", fontsize="small")


def set_size_axis(ax: Any, n_features: Any, n_chosen: int) -> None:
    """Put sizes along x, and write k* above the axes."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlim(n_features.min() - 0.5, n_features.max() + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    ax.set_xlabel("Number of features k")
    top = ax.secondary_xaxis("top")
    top.set_xticks([n_chosen], labels=[f"k* = {n_chosen}"])
    top.tick_params(labelsize="small")


def label_rows(ax: Any, names: Sequence[Any], side: Any = None, share: float = 0.4) -> None:
    """Write names as large as the rows allow; `side` is a secondary axis to write them at."""
    inches = ax.figure.dpi_scale_trans.inverted()
    width, height = (ax.bbox.transformed(inches).size * 72).tolist()
    row = height / max(len(names), 1)
    size = float(np.clip(0.75 * row, MIN_TEXT_SIZE, MAX_TEXT_SIZE))
    step = max(1, int(np.ceil(MIN_TEXT_SIZE / (0.75 * row))))
    # A character is about 0.6 of its size wide.
    longest = max(4, int(share * width / (0.6 * size)))
    labels = [plain(name, longest) for name in names[::step]]
    (side or ax).set_yticks(range(0, len(names), step), labels=labels, fontsize=size)


def plain(name: Any, longest: int = 60) -> str:
    """Write a name on one line, and no mathematics."""
    return shortened(name, longest).replace("$", r"\$")


def hidden_rows(n_hidden: int) -> str:
    """Say how many rows are not shown."""
    return f"\n{count(n_hidden, 'further feature')} not shown" if n_hidden else ""
