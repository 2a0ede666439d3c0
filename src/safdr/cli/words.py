"""Text of tables on a terminal: names that can do no harm, numbers that can be read."""

from __future__ import annotations

from rich.text import Text

LONGEST_NAME = 60


def safe(name: object, longest: int | None = LONGEST_NAME) -> str:
    """A name as one line, in quotes where it begins or ends with a space, which none would see."""
    text = printable(name)
    if text != text.strip():
        text = f'"{text}"'
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    return text or "(no name)"


def printable(name: object) -> str:
    """A name that neither moves the cursor nor turns the writing around."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(name))


def printable_lines(text: object) -> str:
    """A message in lines of its own that is printable otherwise, whatever names it quotes."""
    return "\n".join(map(printable, str(text).split("\n")))


def name_text(name: object, style: str = "") -> Text:
    """A name for rich, which would take brackets in plain strings for markup."""
    return Text(safe(name), style=style)


def number(value: float | None, digits: int = 4) -> str:
    """A number in few digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}"


def ratio(value: float | None) -> str:
    """An odds ratio; one that is nearly 1 shows by how little it differs."""
    if value is not None and value != 1 and abs(value - 1) < 5e-4:
        return f"1 {'+' if value > 1 else '-'} {abs(value - 1):.1e}"
    return number(value)


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {round(seconds % 60)} s"
