"""Random CSV files: separators, line ends, quotes, encodings, and numbers as text."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa

NUMBERS = [
    *("1", "-2.5", "+3", " 4", "5 ", "\t6", ".5", "7.", "1e3", "1E-3", "007", "1e-400", "-0"),
    *("9007199254740993", "99999999999999999999", "1" * 300, "0." + "3" * 400),
]
MISSING = ["", "NA", "nan", "NaN", "inf", "-Infinity", "INF", "?", "#N/A", "1e400", "NULL", " nan"]
# Few of them, since one makes the whole column text.
NO_NUMBERS = ["1_000", "\x1c5", "5\x0b", "\xa05", "١", "0x10", "one", " NA", "1d5", "--1", "true"]


def make_csv(rng: np.random.Generator, table: pa.Table, filled: set[str]) -> bytes:
    """A file with the columns of the table, its texts, and numbers of its own.

    Most files lack values only where they can be filled, or few would have scores to compare.
    """
    gaps = filled if rng.random() < 0.8 else set(table.column_names)
    delimiter = str(rng.choice(list(",;\t|")))
    mark = "," if delimiter != "," and rng.random() < 0.3 else "."
    ending = str(rng.choice(["\n", "\r\n", "\r"]))
    columns = [_cells(rng, field, table, mark, field.name in gaps) for field in table.schema]
    rows = [table.column_names, *zip(*columns, strict=True)]
    lines = [delimiter.join(_cell(rng, value, delimiter) for value in row) for row in rows]
    for _ in range(rng.integers(3)):
        lines.insert(int(rng.integers(len(lines) + 1)), "")
    return _encoded(rng, ending.join(lines) + ending * int(rng.integers(2)))


def _cells(
    rng: np.random.Generator, field: pa.Field, table: pa.Table, mark: str, gaps: bool
) -> list[str]:
    """A column, with or without missing values."""
    n = table.num_rows
    if field.type == pa.string():
        texts = [value or "" for value in table.column(field.name).to_pylist()]
        return [text if gaps or text not in MISSING else "other" for text in texts]
    if field.type == pa.bool_():
        return list(rng.choice(["true", "False", "TRUE", "0", "1", *[""] * gaps], size=n))
    usual = [repr(float(x)) for x in rng.normal(size=n) * 10.0 ** rng.integers(-5, 20, size=n)]
    odd = rng.choice([*NUMBERS, *(MISSING if gaps else [])], size=n)
    cells = [str(odd[i]) if rng.random() < 0.3 else usual[i] for i in range(n)]
    if rng.random() < 0.1:
        cells[int(rng.integers(n))] = str(rng.choice(NO_NUMBERS))
    return [cell.replace(".", mark) for cell in cells]


def _cell(rng: np.random.Generator, value: str, delimiter: str) -> str:
    must = not {'"', "\n", "\r", delimiter}.isdisjoint(value)
    if must or rng.random() < 0.1:
        return '"' + value.replace('"', '""') + '"'
    return value


def _encoded(rng: np.random.Generator, text: str) -> bytes:
    ways = ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "gzip"]
    way = rng.choice(ways) if rng.random() < 0.4 else "utf-8"
    if way == "gzip":
        return gzip.compress(text.encode(), mtime=0)
    return text.encode(str(way), errors="replace")
