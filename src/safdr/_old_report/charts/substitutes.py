"""What replacing or leaving out each chosen feature does to the held-out score, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr._old_report.charts.alternatives import difference
from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import FONT, GAP, Sheet
from safdr._old_report.numbers import signed
from safdr._old_report.text import column_width, fit

ROW, BAR = 36, 10
NAMES = 330
FOOT = 44
# Half of a number below the scale, and room for a whole one.
EDGE = 22
TICK = 70


def draw_substitutes(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw two bars for each chosen feature: replaced by the best, and left out."""
    pairs = [_best_and_without(rows) for rows in by_feature(content["substitutes"])]
    texts = [_text(best, without, labels, NAMES) for best, without in pairs]
    names = column_width((short for short, _ in texts), NAMES, FONT)
    left = names + GAP
    bottom = ROW * len(pairs) + 2
    values = [each["score_difference"] or 0.0 for pair in pairs for each in pair if each]
    scale = _scale(values, left, width)
    sheet = Sheet(width, bottom + FOOT, _spoken(texts))
    _draw_axis(sheet, scale, bottom, content)
    for i, ((short, full), pair) in enumerate(zip(texts, pairs, strict=True)):
        top = ROW * i + 5
        group = sheet.add("g", "mark", title=full)
        sheet.text(names, top + BAR + 5, short, "name end", within=group)
        for each, place, style in zip(pair, (top, top + BAR + 2), ("often", "seldom"), strict=True):
            if each is not None and each["score_difference"] is not None:
                start, end = sorted((scale(0.0), scale(each["score_difference"])))
                sheet.rect(start, place, max(end - start, 1.5), BAR, style, within=group, rx=2)
    return sheet.markup()


def by_feature(rows: list[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rows of each chosen feature together."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for each in rows:
        found.setdefault(each["chosen_index"], []).append(each)
    return list(found.values())


def _best_and_without(
    rows: list[Mapping[str, Any]],
) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The best replacement, and leaving the feature out; None where it is not possible."""
    replaced = [each for each in rows if each["replacement_index"] is not None]
    without = [each for each in rows if each["replacement_index"] is None and each["allowed"]]
    return next(iter(replaced), None), next(iter(without), None)


def _text(
    best: Mapping[str, Any] | None,
    without: Mapping[str, Any] | None,
    labels: Mapping[int, str],
    room: float,
) -> tuple[str, str]:
    """What replaces what, in a line; and with the numbers."""
    lines = []
    if best is None:
        chosen = labels[without["chosen_index"]] if without else ""
        short = fit(chosen, room, FONT)
    else:
        pair = [best["replacement_index"]], [best["chosen_index"]]
        short, full = difference(pair, labels, room)
        lines.append(f"{full}: {signed(best['score_difference'])}")
    if without is not None:
        name = labels[without["chosen_index"]]
        lines.append(f"without {name}: {signed(without['score_difference'])}")
    return short, "\n".join(lines)


def _scale(values: list[float], left: float, width: float) -> Scale:
    """From the worst change to the best; nothing is always on it."""
    low, high = min(0.0, *values), max(0.0, *values)
    if high == low:
        low = -1e-3
    return Scale(low, high, left + EDGE, width - EDGE)


def _draw_axis(sheet: Sheet, scale: Scale, bottom: float, content: Mapping[str, Any]) -> None:
    room = scale.stop - scale.start
    ticks = scale.ticks(max(2, int(room / TICK)))
    for value in ticks:
        sheet.line(scale(value), 0, scale(value), bottom, "grid")
        sheet.text(scale(value), bottom + 16, tick_text(value, ticks), "tick middle")
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    scoring = content["scores"]["scoring"]
    text = f"change of the {'ROC AUC' if scoring == 'roc_auc' else scoring}"
    sheet.text((scale.start + scale.stop) / 2, bottom + 36, text, "tick middle")


def _spoken(texts: list[tuple[str, str]]) -> str:
    """What the chart says, in words."""
    first = "; ".join(" ".join(full.split())[:200] for _, full in texts[:3])
    return f"Bars: change of the held-out score where a feature is replaced or left out. {first}."
