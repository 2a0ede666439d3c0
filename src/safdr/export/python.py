"""The formula as a Python file without imports from outside the standard library."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.export.formula import Formula
from safdr.table.recipe import FloatArray
from safdr.table.text import MISSING_TEXTS

if TYPE_CHECKING:
    import pyarrow as pa

# Names and labels come in as literals only; nothing of the table is ever part of the code.
TEMPLATE = '''\
"""Scores rows of a table: the log-odds and the probability of one class.

    from {module} import probability
    probability({{"column": value, ...}})

or, for all rows of a CSV file:  python {module}.py < rows.csv
"""

import csv
import io
import math
import os
import re
import sys

TARGET = {target}
CLASSES = ({negative}, {positive})  # the probability is that of the second
INTERCEPT = {intercept}
# Column, coefficient, level of a text column (None: the number itself), and what the term is where
# the value is missing (None: it must be there).
TERMS = [
{terms}
]


def log_odds(row):
    """Log-odds of CLASSES[1] for a row, a mapping from column to value."""
    terms = (c * _feature(row, column, level, fill) for column, c, level, fill in TERMS)
    return math.fsum([INTERCEPT, *terms])


def probability(row):
    """Probability of CLASSES[1] for a row, a mapping from column to value."""
    z = log_odds(row)
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _feature(row, column, level, fill):
    try:
        value = row[column]
    except KeyError:
        value = None
    if _is_missing(value):
        if fill is None:
            raise ValueError(f"{{column!r}} has no value")
        return fill
    if level is not None:
        return float(value == level)
    return _number(value)


def _is_missing(value):
    return value is None or value == "" or value != value


def _number(value):
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return float(value.lower() == "true")
    return float(value)


# The rest reads CSV files, as they were read for the model.
MISSING = {missing}


def main():
    """Print the probability of each row of the CSV file on standard input."""
    try:
        for i, row in enumerate(_rows(_decoded(sys.stdin.buffer.read())), start=1):
            try:
                print(probability(row))
            except ValueError as error:
                sys.exit(f"Row {{i}}: {{error}}.")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has seen enough. What is left to flush must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _decoded(data):
    if data.startswith((b"\\xff\\xfe", b"\\xfe\\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _rows(text):
    """Rows as mappings: values that say "missing" are None, decimal commas are points."""
    delimiter = _delimiter(text)
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    for row in rows:
        row.update({{column: None for column, *_ in TERMS if row[column] in MISSING}})
    numbers = {{column for column, _, level, _ in TERMS if level is None}}
    if delimiter != "," and _has_decimal_commas(rows, numbers):
        for row in rows:
            row.update({{c: row[c].replace(",", ".") for c in numbers if row[c] is not None}})
    return rows


def _delimiter(text):
    """What separates the names of the first line so that all columns of TERMS are there."""
    names = {{d: next(csv.reader(io.StringIO(text), delimiter=d), []) for d in ",;\\t|"}}
    wanted = dict.fromkeys(column for column, *_ in TERMS)
    best = max(names, key=lambda d: (sum(c in names[d] for c in wanted), len(names[d])))
    missing = [column for column in wanted if column not in names[best]]
    if missing:
        there = ", ".join(map(repr, names[best])) or "none"
        sys.exit(f"The file has no column {{', '.join(map(repr, missing))}}. It has: {{there}}.")
    return best


def _has_decimal_commas(rows, columns):
    values = [row[column] for row in rows for column in columns if row[column] is not None]
    commas = any(re.fullmatch(r"\\s*[-+]?\\d+,\\d+\\s*", value) for value in values)
    return commas and not any("." in value for value in values)


if __name__ == "__main__":
    main()
'''


def to_python(formula: Formula, module: str = "model") -> str:
    """Write the formula down as a Python file.

    Parameters
    ----------
    formula : Formula
        The model.
    module : str, default="model"
        Name of the file without its ending, for its own description; one that is no identifier is
        not shown.

    Returns
    -------
    str
        Its content: plain ASCII, whatever names the table has.
    """
    terms = [
        f"    ({term.feature.column!a}, {term.coefficient!r}, {term.feature.level!a}, "
        f"{term.feature.fill!r}),"
        for term in formula.terms
    ]
    return TEMPLATE.format(
        module=module if module.isidentifier() and module.isascii() else "model",
        target=ascii(formula.target),
        negative=ascii(formula.negative),
        positive=ascii(formula.positive),
        intercept=repr(formula.intercept),
        terms="\n".join(terms),
        missing=_missing_lines(),
    )


def _missing_lines() -> str:
    """What a CSV file may write for a missing value, as a set in lines of code."""
    listed = ", ".join(map(repr, MISSING_TEXTS))
    lines = wrap(listed, 90, break_on_hyphens=False, break_long_words=False)
    return "{\n" + "\n".join(f"    {line}" for line in lines) + "\n}"


def run_python(code: str, table: pa.Table) -> FloatArray:
    """Score rows with the file itself.

    Parameters
    ----------
    code : str
        From `to_python`.
    table : pyarrow.Table
        Rows.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Log-odds and probability.
    """
    module: dict[str, Any] = {"__name__": "model"}
    exec(compile(code, "model.py", "exec"), module)
    rows = table.to_pylist()
    return np.array([[module["log_odds"](row), module["probability"](row)] for row in rows])
