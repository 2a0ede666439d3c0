"""Queries that say no to a table that lacks a column, and that no text can break out of."""

import re
import sqlite3

import numpy as np
import pytest
from scipy.special import expit

pa = pytest.importorskip("pyarrow")

from safdr._old_export.errors import ExportError
from safdr._old_export.formula import Formula, Term
from safdr._old_export.sql import run_sql, to_sql
from safdr._old_table.recipe import Feature


def on_text(level, column="t", fill=None):
    term = Term(Feature("t", column, "level", level, fill), (2.0,))
    return Formula((term,), (0.5,), "late", ("no", "yes"), "rows")


def on_number(column="a", fill=None, coefficient=2.0):
    term = Term(Feature("a", column, "number", fill=fill), (coefficient,))
    return Formula((term,), (0.5,), "late", ("no", "yes"), "rows")


@pytest.mark.parametrize("formula", [on_number(), on_number(fill=1.0), on_text("x", "a")])
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_a_table_that_lacks_a_column_is_an_error(formula, database):
    query = to_sql(formula, {"a"})
    if database == "sqlite":
        connection, error = sqlite3.connect(":memory:"), sqlite3.OperationalError
    else:
        duckdb = pytest.importorskip("duckdb")
        connection, error = duckdb.connect(), duckdb.Error
    connection.execute("CREATE TABLE rows (b DOUBLE PRECISION)")
    connection.execute("INSERT INTO rows VALUES (1.0)")
    with pytest.raises(error, match=r'(?s)rows_to_score.*a|"a"'):
        connection.execute(query).fetchall()
    connection.close()


# ---- Text in both readings of a backslash -------------------------------------------------------


def end_of_quoted(text, start, *, escapes):
    """Where a quoted text that starts there ends, with or without backslash escapes."""
    quote, i = text[start], start + 1
    while True:
        is_escape = escapes and text[i] == "\\"
        if is_escape or text[i : i + 2] == 2 * quote:
            i += 2
        elif text[i] == quote:
            return i + 1
        else:
            i += 1


def outside_quotes(query, *, escapes):
    """What a database takes for code, and not for names and values."""
    code, i = "", 0
    body = re.sub(r"(?m)^--.*\n", "", query)
    while i < len(body):
        if body[i] in "'\"":
            i = end_of_quoted(body, i, escapes=escapes)
            code += "?"
        else:
            code += body[i]
            i += 1
    return code


NASTY = [
    "\\",
    "a\\",
    "\\' OR 1=1 --",
    "\\\\' OR 1=1 --",
    "\\'",
    "'\\''",
    "C:\\new",
    "/|~#^\\",
    "a\\\nb",
    "\\N",
    "é\\🦊",
]


@pytest.mark.parametrize("level", NASTY)
def test_text_with_a_backslash_ends_where_it_ends_in_every_database(level):
    query = to_sql(on_text(level), {"t"})
    code = outside_quotes(query, escapes=False)
    assert outside_quotes(query, escapes=True) == code
    assert "OR" not in code
    # The only backslashes are two in quotes, of which one is taken: one or both are there.
    assert query.replace("SUBSTR('\\\\', 1, 1)", "").count("\\") == 0


@pytest.mark.parametrize("level", [*NASTY, "", "'", "''", "new\nline", "NULL", "1", "x\r\ny"])
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_a_nasty_level_is_found(level, database):
    texts = [level, level + "x", "other", level.replace("\\", "\\\\") + "y", level.upper() + "z"]
    wanted = np.array([2.5, 0.5, 0.5, 0.5, 0.5])
    table = pa.table({"t": texts})
    query = to_sql(on_text(level), {"t"})
    if database == "sqlite":
        found = np.array(run_sql(query, table, "rows"), dtype=float)
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as connection:
            connection.register("rows", table)
            found = np.array([row[-2:] for row in connection.execute(query).fetchall()])
    np.testing.assert_allclose(found, np.column_stack([wanted, expit(wanted)]))


@pytest.mark.parametrize("name", ["a\\", 'a\\"', 'x\\" + 1 AS "y', '\\\\\\"'])
def test_a_name_that_would_end_elsewhere_with_escapes_is_refused(name):
    with pytest.raises(ExportError, match="backslash before a quote"):
        to_sql(on_number(name), {name})


@pytest.mark.parametrize("name", ["a\\b", "\\\\HOST\\Processor(_Total)\\% Time", 'a\\\\"', "\\x"])
def test_a_name_with_other_backslashes_is_fine(name):
    query = to_sql(on_number(name), {name})
    assert outside_quotes(query, escapes=True) == outside_quotes(query, escapes=False)
    assert np.array(run_sql(query, pa.table({name: [1.0]}), "rows"), dtype=float)[0, 0] == 2.5


def test_names_that_differ_by_case_only_are_refused():
    with pytest.raises(ExportError, match="'a' and 'A' differ by case only"):
        to_sql(on_number(), {"a", "A"})
    # Not where neither matters.
    to_sql(on_number(), {"a", "b", "B"})


def test_text_that_no_file_can_hold_is_refused():
    with pytest.raises(ExportError, match="zero character"):
        to_sql(on_text("x\0"), {"t"})
    with pytest.raises(ExportError, match="half a character"):
        to_sql(on_text("x\udc80"), {"t"})


# ---- Numbers that are none ----------------------------------------------------------------------


def test_what_is_no_number_is_unknown_or_filled():
    duckdb = pytest.importorskip("duckdb")
    rows = "CREATE TABLE rows AS SELECT unnest(['nan', 'inf', '-inf', NULL, '1'])::DOUBLE AS a"
    with duckdb.connect() as connection:
        connection.execute(rows)
        unknown = connection.execute(to_sql(on_number(), {"a"})).fetchall()
        filled = connection.execute(to_sql(on_number(fill=3.0), {"a"})).fetchall()
    assert [row[-1] for row in unknown] == [None] * 4 + [pytest.approx(expit(2.5))]
    assert [row[-2] for row in filled] == [6.5] * 4 + [2.5]


def test_infinity_is_unknown_or_filled_in_sqlite():
    table = pa.table({"a": [np.inf, -np.inf, 1.0]})
    unknown = np.array(run_sql(to_sql(on_number(), {"a"}), table, "rows"), dtype=float)
    assert np.isnan(unknown[:, 1]).tolist() == [True, True, False]
    filled = np.array(run_sql(to_sql(on_number(fill=3.0), {"a"}), table, "rows"), dtype=float)
    assert filled[:, 0].tolist() == [6.5, 6.5, 2.5]


def test_a_long_sum_is_not_too_deep():
    names = [f"x{i}" for i in range(1200)]  # DuckDB goes a thousand deep
    terms = tuple(Term(Feature(name, name, "number"), (0.001,)) for name in names)
    query = to_sql(Formula(terms, (0.5,), "late", ("no", "yes"), "rows"), set(names))
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        listed = ", ".join(f"1.0::DOUBLE AS {name}" for name in names)
        connection.execute(f"CREATE TABLE rows AS SELECT {listed}")
        assert connection.execute(query).fetchone()[-2] == pytest.approx(1.7)
