"""The formula as a Python file without imports from outside the standard library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.export.formula import Formula
from safdr.table.recipe import FloatArray

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
import math
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
    value = row[column]
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


if __name__ == "__main__":
    for row in csv.DictReader(sys.stdin):
        print(probability(row))
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
    )


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
