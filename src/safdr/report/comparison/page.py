"""The comparison as one HTML page, in the look of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from safdr.report.comparison import words
from safdr.report.comparison.chart import MOST, draw_effects
from safdr.report.page import NARROW, WIDE, environment
from safdr.report.text import tidied


def render(content: Mapping[str, Any]) -> str:
    """Make the page."""
    content = tidied(dict(content))
    drawn = [each for each in content["features"] if any(e is not None for e in each["effects"])]
    pair = [Markup(draw_effects(drawn, width)) for width in (WIDE, NARROW)] if drawn else []
    chart = Markup('<div class="wide">{}</div><div class="narrow">{}</div>').format(*pair or "  ")
    return (
        environment()
        .get_template("comparison/comparison.html.j2")
        .render(
            found=content,
            words=words,
            chart=chart if drawn else None,
            n_hidden=max(0, len(drawn) - MOST),
            verdicts=words.verdicts(content),
            has_frequencies=any(
                share is not None for each in content["features"] for share in each["frequencies"]
            ),
        )
    )
