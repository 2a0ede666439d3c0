"""Exported formulas, each run on a table by what people run it with.

Each runner returns for each row what the formula adds to the columns of the table.
"""

import csv
import io
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest


def quoted(name):
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def in_python(path, table, name="rows"):
    """The file by itself, on a CSV file, in a Python that knows nothing else."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.column_names)
    writer.writerows(["" if v is None else v for v in row.values()] for row in table.to_pylist())
    done = subprocess.run(
        [sys.executable, "-I", str(path)],
        input=text.getvalue().encode(),
        capture_output=True,
        check=True,
    )
    _, *rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return [row[table.num_columns :] for row in rows]


def in_sqlite(path, table, name="rows"):
    """A query on a table of this name."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, lambda z: None if z is None else float(np.exp(z)))
        listed = ", ".join(map(quoted, table.column_names))
        database.execute(f"CREATE TABLE {quoted(name)} ({listed})")
        marks = ", ".join("?" * table.num_columns)
        database.executemany(
            f"INSERT INTO {quoted(name)} VALUES ({marks})",
            [tuple(row.values()) for row in table.to_pylist()],
        )
        # sqlite3 refuses more than one statement.
        rows = database.execute(path.read_text(encoding="utf-8")).fetchall()
    return [row[table.num_columns :] for row in rows]


def in_duckdb(path, table, name="rows"):
    """A query on a table of this name."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("given", table)
        database.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM given")
        found = database.execute(path.read_text(encoding="utf-8")).fetchall()
    return [row[table.num_columns :] for row in found]


def in_onnxruntime(path, table, name="rows"):
    """A graph, whose inputs are the columns that it needs."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    feeds = {}
    for each in session.get_inputs():
        values = table[each.name].to_pylist()
        if each.type == "tensor(string)":
            feeds[each.name] = np.array([[v or ""] for v in values], dtype=object)
        else:
            feeds[each.name] = np.array(values, dtype=float)[:, None]
    parts = [part.tolist() for part in session.run(None, feeds)]
    return [[value for part in row for value in part] for row in zip(*parts, strict=True)]


# By the endings of the files; SQL in two databases.
RUNS = {"py": in_python, "sql": in_sqlite, "SQL": in_duckdb, "onnx": in_onnxruntime}
