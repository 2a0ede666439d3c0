"""The formula as a Python file without imports from outside the standard library."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from safdr._old_export.formula import Formula, Term
from safdr._old_export.outputs import output_of
from safdr._old_table.numbers import MARKS, number_pattern, unwanted_pattern
from safdr._old_table.recipe import Feature
from safdr._old_table.text import MISSING_TEXTS

if TYPE_CHECKING:
    import pyarrow as pa

# Names and labels come in as literals only; nothing of the table is ever part of the code.
TEMPLATE = '''\
"""Scores rows of a table: {about}.

    from {module} import {function}
    {function}({{"column": value, ...}})

scores one row. Numbers may be text, as in a CSV file; None, NaN and infinity are missing values.

    python {module}.py < rows.csv > scored.csv

scores a CSV file (of gzip, too): all its columns, then those of ADDED, with an underscore more
where it has such a column. The separator and the decimal mark are those of the file, the text
is UTF-8. A row that can't be scored is named, and nothing is printed.
"""

import csv
import gzip
import io
import json
import math
import os
import re
import sys

TARGET = {target}
ADDED = {added}
# Column, coefficients, the text or code that the feature is 1 for (None: the number itself; True: 1
# for true), what the feature is where the value is missing (None: it must be there), and the least
# and the largest that the model was fitted to: what lies beyond counts as that.
TERMS = [
{terms}
]
# Columns of text that are numbers: their decimal mark. And values that are missing ones, by column.
MARKS = {marks}
GAPS = {gaps}
WRITTEN = {{mark: re.compile(pattern) for mark, pattern in {patterns}}}
UNWANTED = {unwanted}
NUMBER = re.compile(
    r"[ \\t]*[-+]?((\\d+\\.?\\d*|\\.\\d+)(e[-+]?\\d+)?|nan|inf|infinity)[ \\t]*",
    re.ASCII | re.IGNORECASE,
)
TRUTHS = {{"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}}
{output}


def total(intercept, terms):
    try:
        return math.fsum([intercept, *terms])
    except (OverflowError, ValueError):  # beyond the largest number
        return sum(terms, intercept)


def _feature(row, column, level, fill, ends):
    value = _value(row, column)
    if isinstance(value, str) and level is True:
        value = TRUTHS.get(value, value)
    if value is not None:
        value = _same(column, value, level) if isinstance(level, str) else _number(column, value)
    if value is None:
        if fill is None:
            raise ValueError(f"{{column!r}} has no value")
        return fill
    if isinstance(level, float):
        return float(value == level)
    if level is True and value not in (0, 1):
        raise ValueError(f"{{column!r}} must be true or false; got {{row[column]!r}}")
    return value if ends is None else min(max(value, ends[0]), ends[1])


def _value(row, column):
    """What a row has in a column; None where it is missing."""
    try:
        value = row[column]
    except (KeyError, IndexError):
        return None
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        raise TypeError(
            f"{{column!r}} holds a {{type(value).__name__}}, not one value. Score row by row; "
            'those of a data frame are frame.to_dict("records")'
        )
    is_missing = value is None or type(value).__name__ == "NAType" or value != value
    return None if is_missing or value in GAPS.get(column, ()) else value


def _same(column, value, level):
    if not isinstance(value, str):
        raise ValueError(f"{{column!r}} must be text; got {{value!r}}")
    return float(value == level)


def _number(column, value):
    """A float, from text as it is read for the model; None where it is missing."""
    if value == "":
        return None
    try:
        number = float(_plain(column, value) if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{{column!r}} must be a number; got {{value!r}}") from None
    return number if math.isfinite(number) and number not in GAPS.get(column, ()) else None


def _plain(column, text):
    """The number without units and groups of digits."""
    mark = MARKS.get(column)
    if not (WRITTEN[mark] if mark else NUMBER).fullmatch(text):
        raise ValueError
    if mark is None:
        return text
    return re.sub(UNWANTED[mark], "", text.replace("\u2212", "-")).replace(mark, ".")


# The rest reads CSV files, as they were read for the model.
MISSING = {missing}


def main():
    """Print the CSV file on standard input with more columns: those of ADDED."""
    # The default is a limit of 131,072 characters a value.
    csv.field_size_limit(2**31 - 1)
    text = _decoded(sys.stdin.buffer.read())
    names, delimiter = _header(text)
    rows = _rows(text, delimiter, len(names))
    mark = "," if delimiter != "," and _has_decimal_commas(names, rows) else "."
    table = [[*names, *_added(names)]]
    for i, row in enumerate(rows, start=1):
        try:
            found = outputs(_mapping(names, row, mark))
        except ValueError as error:
            sys.exit(f"Row {{i}}: {{error}}.")
        table.append([*row, *(x if isinstance(x, str) else _text(x, mark) for x in found)])
    _print(table, delimiter)


def _decoded(data):
    if data.startswith(b"\\x1f\\x8b"):
        data = gzip.decompress(data)
    encoding = json.detect_encoding(data)
    try:
        if not encoding.startswith("utf-8"):
            data = data.decode(encoding).encode()
    except UnicodeDecodeError:
        sys.exit(f"Standard input is no text: it begins like {{encoding.upper()}}, but is not.")
    if data.startswith(b"\\xef\\xbb\\xbf"):
        data = data[3:]
    if b"\\0" in data[:65536]:
        sys.exit("Standard input is no text: it holds zero bytes. Pass a CSV file.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _reader(text, delimiter):
    # Lines end in any way, and line ends within quotes stay as they are.
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _header(text):
    """The names in the first line that is not blank, and what separates them."""
    names = {{d: next(filter(None, _reader(text, d)), []) for d in ",;\\t|"}}
    wanted = dict.fromkeys(column for column, *_ in TERMS)
    best = max(names, key=lambda d: (sum(c in names[d] for c in wanted), len(names[d])))
    missing = [column for column in wanted if column not in names[best]]
    if missing:
        there = ", ".join(map(repr, names[best])) or "none"
        sys.exit(f"The file has no column {{', '.join(map(repr, missing))}}. It has: {{there}}.")
    twice = [column for column in wanted if names[best].count(column) > 1]
    if twice:
        sys.exit(f"The file has more than one column {{', '.join(map(repr, twice))}}.")
    return names[best], best


def _rows(text, delimiter, n_columns):
    """All rows but the names; empty lines are none."""
    rows = [row for row in _reader(text, delimiter) if row][1:]
    for i, row in enumerate(rows, start=1):
        if len(row) != n_columns:
            sys.exit(f"Row {{i}} has {{len(row)}} values for {{n_columns}} columns.")
    return rows


def _has_decimal_commas(names, rows):
    numbers = [c for c, _, level, *_ in TERMS if not isinstance(level, str) and c not in MARKS]
    places = [names.index(column) for column in numbers]
    values = [row[place] for row in rows for place in places]
    return any("," in value for value in values) and not any("." in value for value in values)


def _mapping(names, row, mark):
    """The columns of TERMS: values that say "missing" are None, decimal commas are points."""
    found = dict(zip(names, row))
    mapping = {{}}
    for column, _, level, *_ in TERMS:
        value = None if found[column] in MISSING else found[column]
        is_number = value is not None and not isinstance(level, str) and column not in MARKS
        mapping[column] = value.replace(mark, ".") if is_number else value
    return mapping


def _text(number, mark):
    return repr(number).replace(".", mark)


def _added(names):
    taken = {{name.casefold() for name in names}}
    for name in ADDED:
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        yield name


def _print(table, delimiter):
    # Of the two characters that end a line the writer by itself quotes only the one it uses.
    has_returns = any("\\r" in value for row in table for value in row)
    quoting = csv.QUOTE_ALL if has_returns else csv.QUOTE_MINIMAL
    try:
        sys.stdout.reconfigure(encoding="utf-8", newline="")
        writer = csv.writer(
            sys.stdout, delimiter=delimiter, lineterminator="\\n", quoting=quoting
        )
        writer.writerows(table)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has seen enough. What is left to flush must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
'''


def to_python(formula: Formula, module: str = "model") -> str:
    """Write the formula down as a Python file."""
    terms = [
        f"    ({term.feature.column!a}, {term.coefficients!r}, {_level(term.feature)}, "
        f"{term.feature.fill!r}, {_ends(term)}),"
        for term in formula.terms
    ]
    output = output_of(formula)
    return TEMPLATE.format(
        about=output.about,
        function=output.function,
        added=ascii(tuple(output.added)),
        output=output.python.format(**output.constants()),
        module=module if module.isidentifier() and module.isascii() else "model",
        target=ascii(formula.target),
        terms="\n".join(terms),
        missing=_missing_lines(),
        marks=_marks(formula),
        gaps=_gaps(formula),
        patterns=ascii([(mark, number_pattern(mark)) for mark in MARKS]),
        unwanted={mark: unwanted_pattern(mark) for mark in MARKS},
    )


def _level(feature: Feature) -> str:
    """What the value is compared with, as code."""
    return "True" if feature.kind == "boolean" else ascii(feature.level)


def _ends(term: Term) -> str:
    """The least and the largest value that count, as code."""
    return repr((term.low, term.high)) if term.is_clipped else "None"


def _marks(formula: Formula) -> str:
    """Decimal marks of texts that are numbers, as code."""
    return ascii({name: f.reading.mark for name, f in formula.columns.items() if f.reading.mark})


def _gaps(formula: Formula) -> str:
    """Values that are missing ones, as code."""
    found = {}
    for name, feature in formula.columns.items():
        values = (*feature.reading.words, *feature.reading.numbers)
        if values and feature.kind != "boolean":
            found[name] = values
    return ascii(found)


def _missing_lines() -> str:
    """What a CSV file may write for a missing value, as a set in lines of code."""
    listed = ", ".join(map(repr, MISSING_TEXTS))
    lines = wrap(listed, 90, break_on_hyphens=False, break_long_words=False)
    return "{\n" + "\n".join(f"    {line}" for line in lines) + "\n}"


def run_python(code: str, table: pa.Table) -> list[Sequence[Any]]:
    """Score rows with the file itself."""
    module: dict[str, Any] = {"__name__": "model"}
    exec(compile(code, "model.py", "exec"), module)
    return [module["outputs"](row) for row in table.to_pylist()]
