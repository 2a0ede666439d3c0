"""The model as a query in standard SQL."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.export.model import ExportError, Model, Term, unused

# Infinity, and NaN, which some databases sort above all numbers, are missing values.
LARGEST = repr(sys.float_info.max)
# Databases differ in what exp() of more does.
LARGEST_EXPONENT = "700e0"


def to_sql(model: Model, table: str = "rows") -> str:
    """Write the model as a query that adds columns to a table."""
    _check_case(model)
    taken = {*model.names, *model.outputs}
    labels = model.classes if model.link == "softmax" else [""]
    scores = [_identifier(n) for n in unused((f"score_{each}" for each in labels), taken)]
    outputs = [_identifier(name) for name in model.outputs]
    if model.link == "logit":
        scores = outputs[:1]
    own = [f"s.{score}" for score in scores]
    if model.link == "logit":
        added = _of_log_odds(model, own[0])
        outputs = outputs[1:]
    else:
        added = [_limited(model, own[0])] if model.link == "identity" else _softmax(model, own)
    sums = [_sum(model, i) for i in range(len(model.intercepts))]
    label = f" = {model.classes[-1]!a}" if model.link == "logit" else ""
    inner = _select("r.*", sums, scores, f"{_identifier(table)} AS r")
    return (
        f"-- {model.target!a}{label}: the columns of the table, then {ascii(model.outputs)[1:-1]}.\n"
        f"{f'-- {model.numbers_in_text}{chr(10)}' if model.numbers_in_text else ''}"
        f"{_select('s.*', added, outputs, f'({chr(10)}{inner}{chr(10)}) AS s')};\n"
    )


def _select(star: str, values: list[str], names: list[str], source: str) -> str:
    pairs = zip(values, names, strict=True)
    listed = "".join(f",\n  {value} AS {name}" for value, name in pairs)
    return f"SELECT {star}{listed}\nFROM {source}"


def _of_log_odds(model: Model, score: str) -> list[str]:
    found = [f"1 / (1 + {_power(f'-{score}')})"]
    if model.points:
        offset, factor = map(_number, (model.points.offset, model.points.factor))
        found.append(f"{offset} - {factor} * {score}")
    return found


def _softmax(model: Model, scores: list[str]) -> list[str]:
    largest = (
        f"WHEN {' AND '.join(f'{each} >= {other}' for other in scores if other != each)} "
        f"THEN {_literal(label)}"
        for each, label in zip(scores, model.classes, strict=True)
    )
    shares = [
        f"1 / (1 + {' + '.join(_power(f'{other} - {each}') for other in scores if other != each)})"
        for each in scores
    ]
    return [f"CASE {' '.join(largest)} END", *shares]


def _power(exponent: str) -> str:
    """The exponential, which must not overflow."""
    limit = LARGEST_EXPONENT
    return f"EXP(CASE WHEN {exponent} > {limit} THEN {limit} ELSE {exponent} END)"


def _limited(model: Model, score: str) -> str:
    if model.limits is None:
        return score
    # Without LEAST and GREATEST, which SQLite lacks.
    low, high = map(_number, model.limits)
    return (
        f"CASE WHEN {score} < {low} THEN {low} WHEN {score} > {high} THEN {high} ELSE {score} END"
    )


def _sum(model: Model, i: int) -> str:
    terms = (f"\n  + {_number(term.coefficients[i])} * {_value(term)}" for term in model.terms)
    return _number(model.intercepts[i]) + "".join(terms)


def _value(term: Term) -> str:
    column = f"r.{_identifier(term.column)}"
    fill = "NULL" if term.fill is None else _number(term.fill)
    if term.equals is not None:
        one, zero = map(_number, (term.clip(1), term.clip(0)))
        test = column if term.equals is True else f"{column} = {_literal(term.equals)}"
        return f"CASE WHEN {column} IS NULL THEN {fill} WHEN {test} THEN {one} ELSE {zero} END"
    low, high = (_number(end) if math.isfinite(end) else "" for end in (term.low, term.high))
    first, last = low or f"-{LARGEST}", high or LARGEST
    cases = [f"WHEN {column} BETWEEN {first} AND {last} THEN {column}"]
    cases += [f"WHEN {column} BETWEEN -{LARGEST} AND {low} THEN {low}"] if low else []
    cases += [f"WHEN {column} BETWEEN {high} AND {LARGEST} THEN {high}"] if high else []
    return f"CASE {' '.join(cases)} ELSE {fill} END"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value) if isinstance(value, int) else _number(value)


def _number(value: float) -> str:
    """With an exponent, or databases read a decimal of few digits."""
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def _check_case(model: Model) -> None:
    for name in model.columns:
        same = sorted(other for other in model.names if other.casefold() == name.casefold())
        if len(same) > 1:
            raise ExportError(
                f"The columns {same[0]!r} and {same[1]!r} differ by case only, and most databases "
                "treat them as one. Rename one of them."
            )


def run_sql(
    model: Model, query: str, columns: Mapping[str, NDArray[Any]], table: str = "rows"
) -> NDArray[np.float64]:
    """Return the numeric outputs of the query for rows, run in SQLite."""
    texts = {term.column for term in model.terms if term.is_text}
    listed = ", ".join(
        f"{_identifier(name)} {'TEXT' if name in texts else 'NUMERIC'}" for name in columns
    )
    with closing(sqlite3.connect(":memory:")) as database:
        # Not every SQLite has it.
        database.create_function("EXP", 1, lambda z: None if z is None else math.exp(z))
        database.execute(f"CREATE TABLE {_identifier(table)} ({listed})")
        marks = ", ".join("?" * len(columns))
        database.executemany(
            f"INSERT INTO {_identifier(table)} VALUES ({marks})",
            zip(*(values.tolist() for values in columns.values()), strict=True),
        )
        rows = database.execute(query).fetchall()
    numbers = [row[len(columns) :] for row in rows]
    if model.link != "logit":
        # The scores, and the most probable class, come before.
        numbers = [row[-len(model.intercepts) :] for row in rows]
    return np.array(numbers, dtype=np.float64)
