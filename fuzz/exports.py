"""Exports against the formula in exact fractions, on rows that nobody would expect."""

from __future__ import annotations

import csv
import io
import math
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from scipy.special import expit, softmax

from fuzz.exports_csv import make_csv
from fuzz.exports_run import (
    Rows,
    csv_in_python,
    in_duckdb,
    in_onnxruntime,
    in_python,
    in_sqlite,
    quoted,
)
from fuzz.exports_tables import Case, make_case
from safdr._old_export.errors import ExportError, WrongFormulaError
from safdr._old_export.formula import Formula
from safdr._old_export.write import export
from safdr._old_table.errors import TableError
from safdr._old_table.plain import plain
from safdr._old_table.recipe import Feature
from safdr._old_table.text import read_text

EPS = float(np.finfo(float).eps)
# Beyond this a product or a sum may leave the range of doubles, and any way to say so will do.
HUGE = 1e300


def check(rng: np.random.Generator) -> None:
    """One formula, exported in all ways, each run on usual and on odd rows."""
    case = make_case(rng)
    both = pa.concat_tables([case.usual, case.odd])
    code = _exported(case, "m.py", refused=None)
    assert code is not None
    _compare("python", case.formula, both, in_python(code.decode(), both))
    _check_csv(rng, case.formula, code.decode(), both)
    query = _exported(case, "m.sql", refused=_no_query(case.formula))
    if query is not None:
        _check_query(rng, case.formula, query.decode(), both)
    graph = _exported(case, "m.onnx", refused=_no_graph(case.formula))
    if graph is not None:
        found = in_onnxruntime(graph, both)
        _compare("onnxruntime", case.formula, _without_null_text(both), found)


def _exported(case: Case, path: str, *, refused: str | None) -> bytes | None:
    """The content; none where it is refused, for the reason that it has to be."""
    terms = case.formula.terms
    # No usual row is beyond the ends.
    X = np.column_stack([term.feature.values(case.usual) for term in terms])
    sums = X @ [term.coefficients for term in terms] + case.formula.intercepts
    try:
        content = export(Path(path), case.formula, case.usual, sums)
    except WrongFormulaError:
        raise
    except ExportError as error:
        if refused is None or refused not in str(error):
            raise AssertionError(f"{path} is to be refused for {refused!r}") from error
        return None
    assert refused is None, f"{path} should be refused for {refused!r}"
    return content


# ---- What each form can't hold ------------------------------------------------------------------


def _no_query(formula: Formula) -> str | None:
    names = [*formula.columns, formula.table]
    levels = [term.feature.level or "" for term in formula.terms] + _labels(formula)
    columns = list(formula.columns)
    if len({name.casefold() for name in columns}) < len(columns):
        return "by case only"
    if any(_end(quoted(name)) != len(quoted(name)) for name in names):
        return "backslash" if not any("\0" in text for text in [*names, *levels]) else ""
    if any("\0" in text for text in [*names, *levels]):
        return "zero character"
    return None


def _end(text: str) -> int:
    """Where a name in double quotes ends for a database in which the backslash escapes."""
    i = 1
    while i < len(text):
        if text[i] == "\\" or text[i : i + 2] == '""':
            i += 2
        elif text[i] == '"':
            return i + 1
        else:
            i += 1
    return -1


def _no_graph(formula: Formula) -> str | None:
    features = [term.feature for term in formula.terms]
    has_zero = any("\0" in text for text in [*(f.level or "" for f in features), *_labels(formula)])
    if any(f.level == "" and f.fill is not None for f in features):
        return "both empty and missing" if not has_zero else ""
    return "zero character" if has_zero else None


def _labels(formula: Formula) -> list[str]:
    """Labels that outputs hold."""
    return list(formula.classes) if len(formula.classes) > 2 else []


# ---- The formula, slowly ------------------------------------------------------------------------


def _compare(where: str, formula: Formula, table: pa.Table, found: Rows) -> None:
    """What each row gets is what the formula says, or unknown with it."""
    rows = [dict(zip(table.column_names, row, strict=True)) for row in _rows(table)]
    assert len(found) == len(rows), f"{where}: {len(found)} scores for {len(rows)} rows"
    judge = JUDGES.get(len(formula.classes), _judge_classes)
    for row, given in zip(rows, found, strict=True):
        said = f"{where}: {given!r} for {row!r} by {formula!r}"
        terms = _terms(formula, row)
        if terms is None:
            assert all(_is_unknown(each) for each in given or ()), said
            continue
        sizes = [float(min(sum(map(abs, each)), Fraction(HUGE))) for each in terms]
        wanted = [
            float(sum(each)) if size < HUGE else HUGE
            for each, size in zip(terms, sizes, strict=True)
        ]
        allowed = [
            1e-12 * max(1, abs(total)) + 4 * (len(terms[0]) + 1) * EPS * size
            for total, size in zip(wanted, sizes, strict=True)
        ]
        assert given is not None, said
        judge(formula, given, wanted, allowed, f"{said}; wanted {wanted!r}")


def _judge_number(_: Formula, given: Any, wanted: Any, allowed: Any, said: str) -> None:
    (prediction,) = given
    assert wanted[0] >= HUGE or abs(prediction - wanted[0]) <= allowed[0], said


def _judge_odds(_: Formula, given: Any, wanted: Any, allowed: Any, said: str) -> None:
    log_odds, probability = given
    if wanted[0] >= HUGE:
        assert _is_unknown(probability) or 0 <= probability <= 1, said
        return
    assert abs(log_odds - wanted[0]) <= allowed[0], said
    assert abs(probability - expit(wanted[0])) <= 1e-12 + allowed[0], said


def _judge_classes(formula: Formula, given: Any, wanted: Any, allowed: Any, said: str) -> None:
    label, *probabilities = given[-1 - len(formula.classes) :]
    if max(wanted) >= HUGE:
        assert all(_is_unknown(each) or 0 <= each <= 1 for each in probabilities), said
        return
    off = 1e-12 + max(allowed)
    assert np.all(np.abs(np.array(probabilities) - softmax(wanted)) <= off), said
    second, first = sorted(wanted)[-2:]
    if first - second > 2 * off:
        assert label == formula.classes[int(np.argmax(wanted))], said


JUDGES = {0: _judge_number, 2: _judge_odds}


def _is_unknown(given: Any) -> bool:
    """Nothing, an empty text, or a number that is none; sums may be infinite."""
    return given is None or given == "" or (isinstance(given, float) and not math.isfinite(given))


def _terms(formula: Formula, row: dict[str, Any]) -> list[list[Fraction]] | None:
    """All terms of each sum of a row; None if one is unknown."""
    sums = [[Fraction(intercept)] for intercept in formula.intercepts]
    for term in formula.terms:
        value = _value(term.feature, row[term.feature.column])
        if value is None:
            return None
        within = Fraction(min(max(value, term.low), term.high))
        for terms, coefficient in zip(sums, term.coefficients, strict=True):
            terms.append(Fraction(coefficient) * within)
    return sums


def _value(feature: Feature, value: Any) -> float | None:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return feature.fill
    return float(value == feature.level) if feature.kind == "level" else float(value)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _without_null_text(table: pa.Table) -> pa.Table:
    """ONNX has no missing text but the empty one."""
    for i, field in enumerate(table.schema):
        if field.type == pa.string():
            table = table.set_column(i, field.name, table.column(i).fill_null(""))
    return table


# ---- Queries ------------------------------------------------------------------------------------


def _check_query(rng: np.random.Generator, formula: Formula, query: str, table: pa.Table) -> None:
    _compare("sqlite", formula, table, in_sqlite(query, table, formula.table))
    _compare("duckdb", formula, table, in_duckdb(query, table, formula.table))
    lost = str(rng.choice(np.array(table.column_names, dtype=object)))
    less = table.drop_columns([lost]).append_column("unrelated", pa.nulls(len(table), pa.string()))
    for run in (in_sqlite, in_duckdb):
        try:
            run(query, less, formula.table)
        except (sqlite3.OperationalError, duckdb.Error):
            continue
        raise AssertionError(f"{run.__name__} scores a table without {lost!r}")


# ---- CSV ----------------------------------------------------------------------------------------


def _check_csv(rng: np.random.Generator, formula: Formula, code: str, table: pa.Table) -> None:
    """What the exported file reads is what the library reads."""
    filled = {name for name, feature in formula.columns.items() if feature.fill is not None}
    data = make_csv(rng, table, filled)
    done = csv_in_python(code, data)
    assert b"Traceback" not in done.stderr, f"{data!r}: {done.stderr.decode()}"
    assert not (done.returncode and done.stdout), f"half a result for {data!r}"
    read = _read(formula, data)
    if read is None:
        return
    rows = [dict(zip(read.column_names, row, strict=True)) for row in _rows(read)]
    if any(_terms(formula, row) is None for row in rows):
        assert b"has no value" in done.stderr, f"{data!r}: {done.stderr.decode()}"
        return
    assert done.returncode == 0, f"{data!r}: {done.stderr.decode()}"
    n_added = max(1, len(formula.classes)) + (len(formula.classes) > 2)
    _compare("csv", formula, read, _scores(done.stdout.decode(), read.num_columns, n_added))


def _read(formula: Formula, data: bytes) -> pa.Table | None:
    """The file as the library reads it; None if its columns are not those of the formula."""
    try:
        table, _ = plain(read_text("rows.csv", data))
    except (TableError, pa.ArrowException):
        return None
    kinds = {"number": ("double", "int64"), "boolean": ("bool", "int64"), "level": ("string",)}
    for name, feature in formula.columns.items():
        if table.column_names.count(name) != 1:
            return None
        if str(table.schema.field(name).type) not in kinds[feature.kind]:
            return None
    return table


def _scores(printed: str, n_columns: int, n_added: int) -> Rows:
    """The columns behind those of the file, whatever separates them; the first may be text."""
    n_numbers = n_added - (n_added > 2)
    for delimiter in ",;\t|":
        reader = csv.reader(io.StringIO(printed, newline=""), delimiter=delimiter)
        rows = list(reader)
        if all(len(row) == n_columns + n_added for row in rows):
            return [
                [
                    *row[n_columns:-n_numbers],
                    *(float(v.replace(",", ".")) for v in row[-n_numbers:]),
                ]
                for row in rows[1:]
            ]
    raise AssertionError(f"not {n_columns} columns and {n_added} more: {printed!r}")
