"""The three charts with axes, as SVG in the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from safdr import text
from safdr.display import PathDisplay
from safdr.display.style import FIRST, NEUTRAL, SECOND

Result = Mapping[str, Any]

# Colours of displays, and those of the page; CSS colours the text.
COLOURS = {
    **{NEUTRAL: "var(--muted)", "#000000": "var(--ink)", "#ffffff": "var(--ground)"},
    **{FIRST.lower(): "var(--first)", SECOND.lower(): "var(--second)"},
}
# A phone's width at 72 points an inch, so that text keeps its size.
SIZE = (4.6, 3.3)
STYLE: Any = {
    **{"svg.fonttype": "none", "font.size": 10, "text.parse_math": False},
    **{"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False},
}


def figures(result: Result) -> dict[str, str]:
    """Return the charts of a result that has their numbers."""
    test, found = result.get("test", {}), {}
    if len(result.get("sizes", [])) > 1:
        found["sizes"] = _drawn(_sizes, result, "sizes")
    if "roc" in test:
        found["roc"] = _drawn(_roc, result, "roc")
    if len(test.get("bins", [])) > 1:
        found["calibration"] = _drawn(_calibration, result, "calibration")
    if "survival" in test:
        found["survival"] = _drawn(_survival, result, "survival")
    return found


def _drawn(draw: Callable[[Any, Result], None], result: Result, name: str) -> str:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure.subplots(), result)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Ids are those of one page.
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"font: [^;\"]*px [^;\"]*", "font: 10px system-ui, sans-serif", svg)
    for placeholder, colour in COLOURS.items():
        svg = svg.replace(placeholder, colour)
    return svg


def _sizes(ax: Any, result: Result) -> None:
    """Draw the score of each size, with one standard deviation over the splits."""
    sizes = result["sizes"]
    PathDisplay(
        n_features=np.array([each["k"] for each in sizes]),
        scores=np.array([each["splits"] for each in sizes]).T,
        n_features_selected=result["rule"]["k"],
        score_name=text.score_name(result),
    ).plot(ax)


def _roc(ax: Any, result: Result) -> None:
    curve = result["test"]["roc"]
    ax.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.7, linestyle=":")
    ax.plot(curve["fpr"], curve["tpr"], color=FIRST)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")


def _survival(ax: Any, result: Result) -> None:
    """Draw the share of rows without an event, by thirds of the risk."""
    thirds = result["test"]["survival"]
    for curve, colour in zip(thirds, (FIRST, NEUTRAL, SECOND), strict=False):
        ax.step(curve["times"], curve["survival"], where="post", color=colour, label=curve["risk"])
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("time")
    ax.set_ylabel("share without an event")
    ax.legend(title="risk")


def _calibration(ax: Any, result: Result) -> None:
    """Draw observed against predicted values of groups of rows, with 95 % intervals."""
    bins = result["test"]["bins"]
    keys = ("predicted", "observed", "low", "high")
    predicted, observed, low, high = (np.array([each[key] for each in bins]) for key in keys)
    ax.axline((predicted[0], predicted[0]), slope=1, color=NEUTRAL, linewidth=0.7, linestyle=":")
    ends = [observed - low, high - observed]
    ax.errorbar(predicted, observed, ends, color=FIRST, fmt="o", markersize=4)
    ax.set_xlabel("predicted")
    ax.set_ylabel("observed")
