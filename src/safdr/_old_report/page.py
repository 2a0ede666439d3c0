"""From the content to the page: the only file that knows Jinja."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from safdr._old_report import charts, claims, numbers, words
from safdr._old_report.charts.alternatives import differing
from safdr._old_report.charts.by_class import MOST_CLASSES
from safdr._old_report.charts.selection import MOST_ROWS
from safdr._old_report.folding import dominated, effect_rows, grouped, is_folded, member_label
from safdr._old_report.risk import words as risk_words
from safdr._old_report.tasks import score_name, task_of
from safdr._old_report.text import feature_labels_of, labels_of, quoted, tidied
from safdr._old_report.what_if import panel_of, program, program_hash

# Of a chart, in pixels; on a phone it scrolls.
WIDTH = 720

# A number and its percent sign, which stay on one line; programs, whose hash is told, as they are.
NUMBER_PERCENT = re.compile(r"(<script\b.*?</script>)|(?<=\d) %", re.DOTALL)

# Near-ties in the table; the dict has more.
MOST_NEAR = 20

Draw = Callable[[Mapping[str, Any], Mapping[int, str], int], str]


def render(content: Mapping[str, Any]) -> str:
    """Make the page."""
    classes = [quoted(label) for label in content["target"]["classes"]]
    content = tidied({**content, "target": {**content["target"], "classes": classes}})
    labels, features = labels_of(content), feature_labels_of(content)

    def chart(draw: Draw) -> Markup:
        # Coefficients are those of columns; elsewhere a group is one feature.
        of_columns = (
            *(charts.draw_coefficients, charts.draw_coefficients_by_class),
            charts.draw_estimates,
        )
        names = labels if draw in of_columns else features
        return Markup(draw(content, names, WIDTH))

    template = environment().get_template("template.html.j2")
    page = template.render(
        report=content,
        labels=labels,
        feature_labels=features,
        rows=grouped(content),
        chart=chart,
        charts=charts,
        task=task_of(content),
        in_words=partial(words.in_words, content),
        score=score_name(content),
        headline=words.headline(content, features),
        counting=words.counting(content),
        explanation=words.explanation(content),
        constraints=words.constraints(content),
        is_linear=all(feature["strength"] is not None for feature in content["features"]),
        compared=_compared(content, content["alternatives"]),
        certainty=words.certainty(content),
        near=_near(content),
        panel=panel_of(content, features, score_name(content)),
        program=Markup(program()),
        program_hash=program_hash(),
        n_folded=sum(is_folded(*group) for group in grouped(content)),
        is_cut=_is_cut(content),
        n_classes_hidden=max(0, len(content["target"]["classes"]) - MOST_CLASSES),
        n_hidden=max(0, len(content["selection"]["indices"]) - MOST_ROWS),
    )
    return NUMBER_PERCENT.sub(lambda match: match[1] or "\u00a0%", page)


def _is_cut(content: Mapping[str, Any]) -> bool:
    """Whether the chart of coefficients cuts a bar short."""
    if content["intercepts"] is not None or content["intercept"] is None:
        return False
    pairs = effect_rows(content)
    values = [own["effects"][0] if f is None else own["strength"] for f, own in pairs]
    return dominated(values) is not None


def _near(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Subsets that come near the best; nothing where there is one alone."""
    subsets = (content["near_ties"] or {}).get("sets", [])
    return _compared(content, subsets[:MOST_NEAR]) if len(subsets) > 1 else []


def _compared(content: Mapping[str, Any], subsets: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The subsets, each with what it has instead of the chosen features."""
    pairs = (differing(each, content) for each in subsets)
    return [
        {**each, "gained": gained, "lost": lost}
        for each, (gained, lost) in zip(subsets, pairs, strict=True)
    ]


def _standardised(feature: Mapping[str, Any], place: int | None) -> dict[str, Any]:
    """Coefficients of a feature per standard deviation; of one class in the place of lists."""
    return {
        key: each if place is None or not isinstance(each, list) else each[place]
        for key, each in {**feature["standardised"], "p_value": feature["p_value"]}.items()
    }


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Where templates are, with the ways to write names and numbers."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        significant=numbers.significant,
        decimals=numbers.decimals,
        percent=numbers.percent,
        excess=numbers.excess,
        signed=numbers.signed,
        change=numbers.change,
        counted=numbers.counted,
        p_value=numbers.p_value,
        weight=numbers.weight,
        even=numbers.even,
        ratio=numbers.ratio,
        inline=words.inline,
        setting=words.setting,
    )
    environment.globals.update(rule=words.rule, listed=words.listed, claims=claims)
    environment.globals.update(
        risk_words=risk_words, standardised=_standardised, span=numbers.span, reach=numbers.reach
    )
    environment.globals.update(is_folded=is_folded, member_label=member_label)
    return environment
