"""The model as a query in standard SQL."""

from __future__ import annotations

import math
import sqlite3
import sys
from contextlib import closing
from typing import Any

import numpy as np

from safdr.export.model import Columns, FloatArray, Model, Term, unused

# Infinity, and NaN, which some databases sort above all numbers, are missing values.
LARGEST = repr(sys.float_info.max)
# Databases differ in what exp() of more does.
LARGEST_EXPONENT = "700e0"


def to_sql(model: Model, table: str) -> bytes:
    """Write the model as a query that adds columns to a table."""
    labels = [f"score_{label}" for label in model.classes] or ["score"]
    scores, outputs = unused(labels, {*model.names, *model.outputs}), model.outputs
    if model.link == "logit":
        scores, outputs = outputs[:1], outputs[1:]
    sums = [_sum(model, i) for i in range(len(model.intercepts))]
    inner = _select("r.*", sums, scores, f"{_identifier(table)} AS r")
    values = _outputs(model, [f"s.{_identifier(score)}" for score in scores])
    query = _select("s.*", values, outputs, f"(\n{inner}\n) AS s")
    positive = f" = {model.classes[-1]!a}" if model.link == "logit" else ""
    remark = f"-- {model.remark}\n" if model.remark else ""
    listed = ascii(model.outputs)[1:-1]
    return (
        f"-- {model.target!a}{positive}: all columns, then {listed}.\n{remark}{query};\n".encode()
    )


def _select(star: str, values: list[str], names: list[str], source: str) -> str:
    pairs = zip(values, map(_identifier, names), strict=True)
    listed = "".join(f",\n  {value} AS {name}" for value, name in pairs)
    return f"SELECT {star}{listed}\nFROM {source}"


def _outputs(model: Model, scores: list[str]) -> list[str]:
    """Return the expressions of the outputs that are no scores."""
    score = scores[0]
    if model.link == "softmax":
        return _softmax(model, scores)
    if model.link == "logit":
        offset, factor = map(_number, model.points or (0, 0))
        outputs = [f"1 / (1 + {_power(f'-{score}')})", f"{offset} - {factor} * {score}"]
        return outputs if model.points else outputs[:1]
    if model.link == "log":
        return [_power(score)]
    if model.limits is None:
        return [score]
    # Without LEAST and GREATEST, which SQLite lacks.
    low, high = map(_number, model.limits)
    cases = f"WHEN {score} < {low} THEN {low} WHEN {score} > {high} THEN {high}"
    return [f"CASE {cases} ELSE {score} END"]


def _softmax(model: Model, scores: list[str]) -> list[str]:
    cases, shares = [], []
    for score, label in zip(scores, model.classes, strict=True):
        others = [other for other in scores if other != score]
        largest = " AND ".join(f"{score} >= {other}" for other in others)
        cases.append(f"WHEN {largest} THEN {_literal(label)}")
        shares.append(f"1 / (1 + {' + '.join(_power(f'{other} - {score}') for other in others)})")
    return [f"CASE {' '.join(cases)} END", *shares]


def _power(exponent: str) -> str:
    """Return the exponential, which must not overflow."""
    limit = LARGEST_EXPONENT
    return f"EXP(CASE WHEN {exponent} > {limit} THEN {limit} ELSE {exponent} END)"


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
    """Write a number with an exponent, or databases read a decimal of few digits."""
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def run_sql(model: Model, query: bytes, columns: Columns, table: str) -> FloatArray:
    """Return the numeric outputs of the query for rows, run in SQLite."""
    kinds = {term.column: "TEXT" if term.is_text else "NUMERIC" for term in model.terms}
    listed = ", ".join(f"{_identifier(name)} {kinds[name]}" for name in columns)
    with closing(sqlite3.connect(":memory:")) as database:
        # Not every SQLite has it.
        database.create_function("EXP", 1, lambda z: None if z is None else math.exp(z))
        database.execute(f"CREATE TABLE {_identifier(table)} ({listed})")
        insert = f"INSERT INTO {_identifier(table)} VALUES ({', '.join('?' * len(columns))})"
        values = (column.tolist() for column in columns.values())
        database.executemany(insert, zip(*values, strict=True))
        rows = database.execute(query.decode()).fetchall()
    # Columns, scores and the most probable class come before.
    first = len(columns) if model.link == "logit" else -len(model.intercepts)
    return np.array([row[first:] for row in rows], dtype=np.float64)
