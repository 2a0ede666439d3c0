"""The formula as a query in standard SQL."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._old_export.errors import ExportError
from safdr._old_export.formula import Formula, Term, unused_names, whole_text
from safdr._old_export.outputs import output_of
from safdr._old_export.points import Points

if TYPE_CHECKING:
    import pyarrow as pa

# Beyond this exp() leaves the range of doubles, which some databases call an error.
LARGEST_EXPONENT = 700
# What is larger in size is infinite, or not a number, which some databases hold to be the largest.
LARGEST = repr(sys.float_info.max)
# Databases limit how deep an expression is (1000 in SQLite and DuckDB); a sum is as deep as long.
LONGEST_SUM = 100
# A quoted text that holds this ends elsewhere where the backslash escapes, as in ClickHouse.
ESCAPED_QUOTE = re.compile(r'(?<!\\)(\\\\)*\\("|\Z)')
# One backslash, whether or not the database reads two in quotes as one.
BACKSLASH = "SUBSTR('\\\\', 1, 1)"
# One that the text does not have stands for a backslash in it.
STAND_INS = "/|~#^" + "".join(map(chr, range(0xE000, 0xF8FF)))
ABOUT_ENDS = "-- A number beyond all that the model was fitted to counts as the nearest of them.\n"
ABOUT_NUMBERS = "-- A column of numbers, not of text, is expected where texts were read as such: "
ABOUT_TEXT = "-- Text that the model never saw counts as the commonest value.\n"


class Query:
    """Parts of a query that outputs put together."""

    largest_exponent = LARGEST_EXPONENT
    largest = LARGEST

    def __init__(self, formula: Formula, columns: set[str]) -> None:
        self._formula = formula
        added = unused_names(output_of(formula).added_by_queries, columns)
        self.names = [_identifier(name) for name in added]
        self.table = _identifier(formula.table)
        listed = f"{', '.join(added[:-1])} and {added[-1]}" if len(added) > 1 else added[0]
        has_text = any(term.feature.kind == "level" for term in formula.terms)
        self.head = (
            f"-- Query: all columns of {self.comment(formula.table)} plus {listed}; change the "
            "table name in FROM.\n"
            + (ABOUT_ENDS if any(term.is_clipped for term in formula.terms) else "")
            + (ABOUT_TEXT if has_text else "")
            + _about_numbers(formula)
        )

    @staticmethod
    def comment(text: str) -> str:
        """As JSON in ASCII, which has no line breaks to leave the comment by."""
        return json.dumps(text)

    @staticmethod
    def string(text: str) -> str:
        """A literal."""
        return _string(text)

    def total(self, i: int) -> str:
        """One of the sums."""
        terms = [
            f"{_number(term.coefficients[i])} * {_value(term)}" for term in self._formula.terms
        ]
        return f"{_number(self._formula.intercepts[i])}\n{_sum(terms)}"

    def points(self, points: Points) -> str:
        """The points of a scorecard."""
        exact = [
            f"{_number(per_unit)} * ({_value(term)} - {_number(typical)})"
            for term, (per_unit, typical) in zip(self._formula.terms, points.pairs, strict=True)
        ]
        terms = [f"FLOOR({each} + 0.5e0)" for each in exact] if points.scale.whole else exact
        return f"{_number(points.base)}\n{_sum(terms)}"


def to_sql(formula: Formula, columns: set[str]) -> str:
    """Write the formula down as a query."""
    columns = columns | set(formula.columns)
    _check_case(formula, columns)
    return output_of(formula).select(Query(formula, columns))


def run_sql(query: str, table: pa.Table, name: str) -> list[Sequence[Any]]:
    """Score rows with the query itself, in SQLite."""
    columns = table.column_names
    listed = ", ".join(f"{_identifier(column)} {_affinity(table, column)}" for column in columns)
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            # Not every SQLite is built with it.
            database.create_function("EXP", 1, _exp, deterministic=True)
            database.create_function("FLOOR", 1, _floor, deterministic=True)
            database.execute(f"CREATE TABLE {_identifier(name)} ({listed})")
            database.executemany(
                f"INSERT INTO {_identifier(name)} VALUES ({', '.join('?' * len(columns))})",
                zip(*(table.column(column).to_pylist() for column in columns), strict=True),
            )
            # The query adds its columns behind those of the table.
            return [row[len(columns) :] for row in database.execute(query)]
    except sqlite3.Error as error:
        raise ExportError(f"SQLite can't run the query that was made: {error}.") from None


def _exp(z: float | None) -> float | None:
    return None if z is None else float(np.exp(z))


def _floor(z: float | None) -> float | None:
    return None if z is None else float(np.floor(z))


def _affinity(table: pa.Table, column: str) -> str:
    """What SQLite needs to know, so that text of digits stays text."""
    return "TEXT" if "string" in str(table.schema.field(column).type) else "NUMERIC"


def _value(term: Term) -> str:
    """The feature of a row; unknown where the column is, unless there is something to fill in."""
    feature = term.feature
    # Without the table SQLite takes the name of a column that is not there for a text.
    column = f"rows_to_score.{_identifier(feature.column)}"
    if feature.is_of_numbers:
        number = f"CAST({column} AS DOUBLE PRECISION)"
        for value in feature.reading.numbers:
            number = f"NULLIF({number}, {_number(value)})"
    if feature.kind == "number":
        if feature.fill is None and not term.is_clipped:
            return number
        missing = "NULL" if feature.fill is None else _number(feature.fill)
        if not term.is_clipped:
            return f"CASE WHEN ABS({number}) <= {LARGEST} THEN {number} ELSE {missing} END"
        low, high = _number(term.low), _number(term.high)
        return (
            f"CASE WHEN {number} BETWEEN {low} AND {high} THEN {number}"
            f" WHEN {number} BETWEEN -{LARGEST} AND {low} THEN {low}"
            f" WHEN {number} BETWEEN {high} AND {LARGEST} THEN {high} ELSE {missing} END"
        )
    unknown = "NULL" if feature.fill is None else _number(feature.fill)
    test = column
    if isinstance(feature.level, float):
        column, test = number, f"{number} = {_number(feature.level)}"
    elif feature.level is not None:
        for word in feature.reading.words:
            column = f"NULLIF({column}, {_string(word)})"
        test = f"{column} = {_string(feature.level)}"
    return f"CASE WHEN {column} IS NULL THEN {unknown} WHEN {test} THEN 1.0e0 ELSE 0.0e0 END"


def _about_numbers(formula: Formula) -> str:
    """A comment, in JSON as all that comes from the table."""
    listed = (f"{json.dumps(name)} ({json.dumps(how)})" for name, how in formula.expected().items())
    text = ", ".join(listed)
    return f"{ABOUT_NUMBERS}{text}; what is no number is NULL.\n" if text else ""


def _sum(terms: list[str]) -> str:
    """All terms added, a line each; very many in brackets, some at a time."""
    if len(terms) <= LONGEST_SUM:
        return "\n".join(f"    + {term}" for term in terms)
    parts = [terms[i : i + LONGEST_SUM] for i in range(0, len(terms), LONGEST_SUM)]
    return _sum([f"(\n    0.0e0\n{_sum(part)}\n    )" for part in parts])


def _check_case(formula: Formula, columns: set[str]) -> None:
    """Refuse columns that databases would take for each other."""
    for name in formula.columns:
        for other in sorted(columns - {name}):
            if other.casefold() == name.casefold():
                raise ExportError(
                    f"The columns {name!r} and {other!r} differ by case only, and most databases "
                    "don't tell them apart. Rename one of them."
                )


def _identifier(name: str) -> str:
    if ESCAPED_QUOTE.search(name):
        raise ExportError(
            f"SQL has no safe way to write the name {name!r}: with a backslash before a quote, or "
            "at the end, it ends elsewhere in databases where the backslash escapes. Rename it."
        )
    return '"' + _writable(name).replace('"', '""') + '"'


def _string(text: str) -> str:
    """A literal that is the same text whether or not the database has backslash escapes."""
    quoted = "'" + _writable(text).replace("'", "''") + "'"
    if "\\" not in text:
        return quoted
    stand_in = next(each for each in STAND_INS if each not in text)
    replaced = quoted.replace("\\", stand_in)
    return f"REPLACE({replaced}, '{stand_in}', {BACKSLASH})"


def _writable(text: str) -> str:
    """The text, if a file can hold it."""
    if "\0" in text:
        raise ExportError(f"SQL has no way to write the zero character in {text!r}.")
    return whole_text(text)


def _number(value: float) -> str:
    """With an exponent, or databases would take it for a decimal of few digits."""
    text = repr(float(value))
    return f"({text if 'e' in text else text + 'e0'})"
