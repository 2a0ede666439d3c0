"""From the result dictionary to the page: the only module that knows Jinja."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from safdr import text
from safdr.report.figures import figures

Result = Mapping[str, Any]

# Rows and columns that a table shows; the dictionary has all.
MAX_NEAR, MAX_HEAT, MAX_CLASSES = 20, 25, 12


def render(result: Result) -> str:
    """Return the page of a result."""
    panel, script = result.get("what_if"), _file("what_if.js")
    classes = [text.one_line(label) for label in result["target"].get("classes", [])]
    n_outputs = len(result["model"].get("intercepts", []))
    terms = result["model"].get("terms", [])
    page = _environment().get_template("page.html.j2")
    return page.render(
        r=result,
        script=Markup(script),
        script_hash=_hash(script),
        style=Markup(_file("style.css")),
        panel=None if panel is None else _panel(panel, text.criterion_name(result)),
        figures={name: Markup(svg) for name, svg in figures(result).items()},
        near=_near(result),
        heat=_heat(result),
        largest=max((abs(e) for term in terms for e in term["per_sd"]), default=1.0) or 1.0,
        classes=classes,
        outputs=classes or [f"output {i + 1}" for i in range(n_outputs)],
        max_classes=MAX_CLASSES,
    )


def _panel(panel: Mapping[str, Any], criterion: str) -> dict[str, Any]:
    """Return what the script reads, with names that are safe to show."""
    features = [{**each, "name": text.one_line(each["name"])} for each in panel["features"]]
    return {**panel, "features": features, "criterion": criterion}


def _near(result: Result) -> list[dict[str, Any]]:
    """Return near-optimal subsets by what they have instead of the selected features."""
    selected = text.selected(result)
    subsets = result["search"].get("near", {}).get("subsets", [])
    return [
        {
            "below": each["below"],
            "added": [name for name in each["features"] if name not in selected],
            "removed": [name for name in selected if name not in each["features"]],
        }
        for each in subsets[:MAX_NEAR]
    ]


def _heat(result: Result) -> list[tuple[str, list[float]]]:
    """Return the share of splits that selected each feature at each size."""
    sizes = result.get("sizes", [])
    names = dict.fromkeys(name for each in sizes for name in each["features"])
    shares = {name: [each["features"].get(name, 0.0) for each in sizes] for name in names}
    order = sorted(names, key=lambda name: -sum(shares[name]))[:MAX_HEAT]
    return [(name, shares[name]) for name in order]


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _name(value: Any) -> Markup:
    """Write an untrusted name: its direction ends with it, and hovering shows all of it.

    Lines break at spaces and underscores.
    """
    whole, short = text.one_line(value), text.shortened(value)
    title = Markup(' title="{}"').format(whole) if short != whole else Markup("")
    return Markup("<bdi{}>{}</bdi>").format(title, escape(short).replace("_", Markup("_<wbr>")))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = ("fixed", "number", "signed", "percent", "p_value", "seconds", "one_line", "count")
    environment.filters.update({name: getattr(text, name) for name in numbers})
    environment.filters["name"] = _name
    environment.filters["shortfall"] = text.shortfall
    environment.globals["text"] = text
    return environment
