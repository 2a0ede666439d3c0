"""The model as a Python file that needs the standard library only."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr.export.model import Columns, FloatArray, Model, Term

TEMPLATE = '''\
"""Score rows of a table. In Python: score({{"column": value, ...}}).

Score a CSV file: python THIS_FILE.py < rows.csv > scored.csv
"""

import csv
import math
import sys

TARGET = {target}
OUTPUTS = {outputs}
INTERCEPTS = {intercepts}
# Column, value that it equals (None: the number itself), coefficients, ends of the training
# range, and what stands for a missing value (None: a value is required).
{remark}TERMS = [
{terms}
]


def term(row, column, equals, low, high, missing):
    value = row[column]
    if not isinstance(equals, str):
        value = {{"true": 1, "false": 0}}.get(str(value).lower(), value)
        value = math.nan if value in (None, "") else float(value)
    if value in (None, "") or value != value or value in (math.inf, -math.inf):
        if missing is None:
            raise ValueError(f"{{column!r}} has no value")
        return missing
    return min(max(float(value if equals is None else value == equals), low), high)


def sums(row):
    x = [term(row, column, equals, *rest) for column, equals, _, *rest in TERMS]
    weights = zip(*(coefficients for _, _, coefficients, *_ in TERMS))
    return [b + sum(w * v for w, v in zip(each, x)) for b, each in zip(INTERCEPTS, weights)]


def score(row):
{score}


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8-sig", newline="")
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    reader = csv.DictReader(sys.stdin)
    writer = csv.DictWriter(sys.stdout, [*reader.fieldnames, *OUTPUTS], lineterminator="\\n")
    writer.writeheader()
    writer.writerows(row | score(row) for row in reader)
'''
SCORES = {
    "identity": """\
    (value,) = sums(row)
    return {{OUTPUTS[0]: {value}}}""",
    "logit": """\
    # The probability of {positive}.
    (value,) = sums(row)
    return dict(zip(OUTPUTS, [value, 0.5 * (1 + math.tanh(value / 2)){points}]))""",
    "softmax": """\
    values = sums(row)
    powers = [math.exp(value - max(values)) for value in values]
    best = {classes}[values.index(max(values))]
    return dict(zip(OUTPUTS, [best, *(each / sum(powers) for each in powers)]))""",
}


def to_python(model: Model, _: str) -> bytes:
    """Write the model as a Python file; names and labels are ASCII literals."""
    value, points = "value", ""
    if model.link == "log":
        value = "math.exp(value)"
    if model.limits:
        low, high = model.limits
        value = f"min(max(value, {low!r}), {high!r})"
    if model.points:
        offset, factor = model.points
        points = f", {offset!r} - {factor!r} * value"
    score = SCORES.get(model.link, SCORES["identity"]).format(
        value=value,
        points=points,
        positive=ascii(model.classes[-1:])[1:-2],
        classes=ascii(list(model.classes)),
    )
    return TEMPLATE.format(
        target=ascii(model.target),
        outputs=ascii(model.outputs),
        intercepts=list(model.intercepts),
        remark=f"# {model.remark}\n" if model.remark else "",
        terms="\n".join(f"    {_row(term)}," for term in model.terms),
        score=score,
    ).encode()


def _row(term: Term) -> str:
    """Return a row of TERMS; an infinite end has no literal."""
    ends = (repr(end).replace("inf", "math.inf") for end in (term.low, term.high))
    first = (ascii(term.column), ascii(term.equals), repr(list(term.coefficients)))
    return f"({', '.join([*first, *ends, repr(term.fill)])})"


def run_python(model: Model, code: bytes, columns: Columns, _: str) -> FloatArray:
    """Return the numeric outputs of the file for rows."""
    module: dict[str, Any] = {"__name__": "model"}
    exec(compile(code, "model.py", "exec"), module)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    skip = int(model.link == "softmax")
    return np.array([[*module["score"](row).values()][skip:] for row in rows], dtype=np.float64)
