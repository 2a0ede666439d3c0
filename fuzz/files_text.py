"""Random CSV files with what is in them, as programs write them; and some that none does."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass, field

import numpy as np

from safdr._old_table.text import MISSING_TEXTS

# Nothing that csv.writer would not quote, but all that a terminal or a reader may stumble over.
NASTY = (
    *("\x1b[31m", "\x9b1m", "\r", "\n", "\r\n", "\u202e", "\x1c", "\x0b", "\x85", "\u2028", "\x07"),
    *('"', "'", '""', "=", " ", "  ", "<b>", "[red]", "é", "ß", "🦊", "日本", "\u200d", "#", "\\"),
    *("%", "{x}", "$", "\x7f", "x" * 300, "\u0301", "\ue000"),
)
ENCODINGS = (
    *(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "cp1252"]),
    *("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"),
)


@dataclass
class Column:
    """Cells as text; None where there is no value."""

    name: str
    kind: str
    cells: list[str | None]


@dataclass
class TextTable:
    """A table, and the bytes of the file that holds it."""

    columns: list[Column]
    target: Column
    content: bytes = b""
    # Nothing about it should keep a model from being found.
    is_fair: bool = True
    n_rows: int = 0
    by_name: dict[str, Column] = field(default_factory=dict)


def nasty_text(rng: np.random.Generator, longest: int = 4) -> str:
    """Some pieces that are hard to read, after a letter that makes it text."""
    pieces = rng.choice(len(NASTY), size=rng.integers(0, longest))
    return str(rng.choice(list("vwzé"))) + "".join(NASTY[i] for i in pieces)


def random_text_table(rng: np.random.Generator) -> TextTable:
    """A table that can be read in one way only, written in one of many."""
    n_rows = int(rng.choice([0, 1, 9, 25, 60, 90], p=[0.03, 0.03, 0.04, 0.2, 0.5, 0.2]))
    delimiter = str(rng.choice(list(",;\t|")))
    comma = delimiter != "," and rng.random() < 0.3
    y = rng.permutation(n_rows) % 2
    columns = [_column(rng, n_rows, y, comma) for _ in range(rng.integers(0, 6))]
    # One that is always of use.
    numbers = [_decimal(v, comma) for v in rng.normal(size=n_rows) + y]
    columns.append(Column(_name(rng), "float", numbers))
    target = _target(rng, y)
    columns.insert(int(rng.integers(len(columns) + 1)), target)
    table = TextTable(columns, target, n_rows=n_rows)
    table.by_name = {each.name: each for each in columns}
    known = [cell for cell in target.cells if cell is not None]
    counts = [known.count(label) for label in set(known)]
    table.is_fair = len(counts) == 2 and min(counts) >= 20 and len(table.by_name) == len(columns)
    table.content = _write(rng, table, delimiter)
    return table


def wild_text(rng: np.random.Generator) -> bytes:
    """A file that was a table before something happened to it; or never."""
    way = rng.integers(4)
    if way == 0:
        return rng.bytes(int(rng.integers(0, 40)))
    if way == 1:
        soup = [*NASTY, ",", ";", "\t", "|", "\n", "a", "1", "0", '"', "\0", "late", "2.5", "1,5"]
        picked = rng.choice(len(soup), size=rng.integers(0, 60))
        return "".join(soup[i] for i in picked).encode(str(rng.choice(ENCODINGS)), "replace")
    content = bytearray(random_text_table(rng).content)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(content) + 1))
        if way == 2:
            content[place:place] = rng.choice([b'"', b"\n", b"\r", b",", b";", b"\0", b"\xff"])
        else:
            del content[place : place + int(rng.integers(1, 30))]
    return bytes(content)


def _name(rng: np.random.Generator) -> str:
    if rng.random() < 0.02:
        return "twice"
    return f"{nasty_text(rng, 3)}{rng.integers(10**6)}" if rng.random() < 0.9 else nasty_text(rng)


def _decimal(value: float, comma: bool) -> str:
    return f"{value:.6f}".replace(".", "," if comma else ".")


def _column(rng: np.random.Generator, n_rows: int, y: np.ndarray, comma: bool) -> Column:
    kind = str(rng.choice(["float", "int", "text", "bool", "same", "id", "date", "code", "none"]))
    cells: list[str | None]
    if kind == "float":
        scale = 10.0 ** rng.integers(-3, 9)
        cells = [_decimal(scale * v, comma) for v in rng.normal(size=n_rows) + y]
    elif kind == "int":
        cells = [str(v) for v in rng.integers(-5, 6, size=n_rows)]
    elif kind == "text":
        levels = [nasty_text(rng) for _ in range(rng.integers(1, 7))]
        cells = [str(levels[i]) for i in rng.integers(len(levels), size=n_rows)]
    elif kind == "bool":
        cells = [str(rng.choice(["true", "false"])) for _ in range(n_rows)]
    elif kind == "same":
        cells = [nasty_text(rng)] * n_rows
    elif kind == "id":
        cells = [f"row {i}" for i in range(n_rows)]
    elif kind == "date":
        cells = [f"2024-01-{1 + i % 28:02}" for i in range(n_rows)]
    elif kind == "code":
        cells = [f"0{v}" for v in rng.integers(1, 9, size=n_rows)]
    else:
        cells = [None] * n_rows
    if rng.random() < 0.2:
        gaps = rng.random(n_rows) < 0.15
        cells = [None if gap else cell for cell, gap in zip(cells, gaps, strict=True)]
    return Column(_name(rng), kind, cells)


def _target(rng: np.random.Generator, y: np.ndarray) -> Column:
    labels = [nasty_text(rng), nasty_text(rng)]
    if rng.random() < 0.3:
        pairs = [("0", "1"), ("no", "yes"), ("1.5", "2"), ("true", "false"), ("01", "02")]
        labels = list(pairs[rng.integers(len(pairs))])
        if labels[0] == "1.5":
            # Or a comma for the point in other columns would make it text.
            labels = ["-1", "7"]
    cells: list[str | None] = [labels[v] for v in y]
    odd = rng.random()
    if odd < 0.05:
        cells = [None if rng.random() < 0.1 else cell for cell in cells]
    elif odd < 0.08:
        cells = [nasty_text(rng) if rng.random() < 0.1 else cell for cell in cells]
    return Column(f"late{nasty_text(rng, 2)}", "target", cells)


def _write(rng: np.random.Generator, table: TextTable, delimiter: str) -> bytes:
    text = io.StringIO()
    missing = str(rng.choice(MISSING_TEXTS))
    columns = [[column.name, *column.cells] for column in table.columns]
    rows = [
        [missing if cell is None else cell for cell in row] for row in zip(*columns, strict=True)
    ]
    # csv.writer leaves ends of lines other than its own without quotes.
    has_lines = any("\r" in cell or "\n" in cell for row in rows for cell in row)
    csv.writer(
        text,
        delimiter=delimiter,
        lineterminator=str(rng.choice(["\n", "\r\n", "\r"])),
        quoting=csv.QUOTE_ALL if has_lines or rng.random() < 0.3 else csv.QUOTE_MINIMAL,
    ).writerows(rows)
    written = text.getvalue()
    if rng.random() < 0.2:
        written = "\n" * int(rng.integers(1, 3)) + written
    if rng.random() < 0.2:
        written = written.rstrip("\r\n")
    content = _encoded(str(rng.choice(ENCODINGS)), written)
    return gzip.compress(content) if rng.random() < 0.1 else content


def _encoded(encoding: str, text: str) -> bytes:
    """In an encoding that can be told from the bytes, or else in UTF-8."""
    try:
        content = text.encode(encoding)
        if encoding == "cp1252":
            content.decode()
    except UnicodeEncodeError:
        return text.encode()
    except UnicodeDecodeError:
        return content
    guessable = encoding != "cp1252" and (encoding[-3:] not in ("-le", "-be") or text[:2].isascii())
    return content if guessable else text.encode()
