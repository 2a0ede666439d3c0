"""How scores rank rows: the ROC curve and the gains curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr._old_report.charts.plane import Plane
from safdr._old_report.charts.svg import Sheet
from safdr._old_report.numbers import decimals, percent

HEIGHT = 330
UNIT = (0.0, 1.0)


def draw_ranking(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw both curves beside one another."""
    found = content["risk"]["discrimination"]
    sheet = Sheet(width, HEIGHT, _spoken(found))
    first = (0.0, 0.0, width / 2 - 10, float(HEIGHT))
    second = (width / 2 + 10, 0.0, float(width), float(HEIGHT))
    curve = found["curve"]
    false, true = curve["false_positive_rate"], curve["true_positive_rate"]
    roc = Plane.on(
        sheet, first, UNIT, UNIT, titles=("false positive rate", "ROC: true positive rate")
    )
    roc.curve([UNIT[:1] * 2, UNIT[1:] * 2], "rule")
    roc.curve(zip(false, true, strict=True), "curve")
    _draw_widest(roc, found, false, true)
    gains = Plane.on(
        sheet, second, UNIT, UNIT, titles=("share of rows flagged", "Gains: share of them found")
    )
    gains.curve([UNIT[:1] * 2, UNIT[1:] * 2], "rule")
    gains.curve(zip(curve["flagged"], true, strict=True), "curve")
    return sheet.markup()


def _draw_widest(roc: Plane, found: Mapping[str, Any], false: Any, true: Any) -> None:
    """Where the curve is farthest above the diagonal."""
    i = max(range(len(true)), key=lambda i: true[i] - false[i])
    if found["ks"] <= 0:
        return
    at = roc.x(false[i])
    roc.sheet.line(at, roc.y(true[i]), at, roc.y(false[i]), "leader chosen")
    text = f"KS {decimals(found['ks'])}"
    # To the right, below the curve, where there is room unless the point is far right.
    end = false[i] > 0.6
    place = (at - 6, "end halo") if end else (at + 6, "halo")
    roc.sheet.text(place[0], roc.y((true[i] + false[i]) / 2) + 4, text, place[1])


def _spoken(found: Mapping[str, Any]) -> str:
    curve = found["curve"]
    tenth = next(i for i, share in enumerate(curve["flagged"]) if share >= 0.1 - 1e-9)
    return (
        f"Two line charts. ROC curve: area {decimals(found['auc']['value'])}, KS "
        f"{decimals(found['ks'])}. Gains curve: the {percent(curve['flagged'][tenth])} of the rows "
        f"with the highest scores hold {percent(curve['true_positive_rate'][tenth])} of the "
        "positive ones."
    )
