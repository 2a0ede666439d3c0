"""A sheet to draw on. All text goes through ElementTree, which escapes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

# Of labels; the style sheet sets the same.
FONT = 13
# Bold letters are broader by this factor.
BOLD = 1.12
# Between a name and what it names.
GAP = 12


class Sheet:
    """An SVG image of a fixed width.

    Colours come from the classes of the style sheet, so that one image serves light, dark and
    paper.
    """

    def __init__(self, width: float, height: float, label: str) -> None:
        self.root = ElementTree.Element(
            "svg",
            {
                "viewBox": f"0 0 {_written(width)} {_written(height)}",
                "width": _written(width),
                "height": _written(height),
                "role": "img",
                "aria-label": label,
            },
        )

    def add(
        self,
        tag: str,
        style: str = "",
        *,
        text: str | None = None,
        title: str | None = None,
        within: ElementTree.Element | None = None,
        **attributes: Any,
    ) -> ElementTree.Element:
        """Draw an element."""
        plain = {name.replace("_", "-"): _written(value) for name, value in attributes.items()}
        parent = self.root if within is None else within
        element = ElementTree.SubElement(parent, tag, {"class": style} if style else {}, **plain)
        if title is not None:
            ElementTree.SubElement(element, "title").text = title
        if text is not None and title is None:
            element.text = text
        elif text is not None:
            element[0].tail = text
        return element

    def text(self, x: float, y: float, text: str, style: str = "", **options: Any) -> None:
        """Write a line whose baseline begins, ends or has its middle at a point."""
        self.add("text", style, text=text, x=x, y=y, **options)

    def rect(
        self, x: float, y: float, width: float, height: float, style: str, **options: Any
    ) -> None:
        """Draw a rectangle."""
        self.add("rect", style, x=x, y=y, width=width, height=height, **options)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """Draw a straight line."""
        self.add("line", style, x1=x1, y1=y1, x2=x2, y2=y2)

    def polyline(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """Draw a line through points."""
        listed = " ".join(f"{_written(x)},{_written(y)}" for x, y in points)
        self.add("polyline", style, points=listed)

    def markup(self) -> str:
        """Give the image as text, safe to put into a page."""
        return ElementTree.tostring(self.root, encoding="unicode")


def _written(value: Any) -> str:
    """A tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
