"""Exports run by what people run them with: databases, a bare Python, onnxruntime."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa

# What each row gets; None where it can't be scored.
Rows = list[Sequence[Any] | None]
# Scores rows as mappings; rows that it says no to are None.
DRIVER = """
import json, sys
code, rows = json.load(sys.stdin)
module = {"__name__": "score"}
exec(compile(code, "score.py", "exec"), module)
scores = []
for row in rows:
    try:
        scores.append(module["outputs"](row))
    except ValueError as error:
        assert "has no value" in str(error), error
        scores.append(None)
json.dump(scores, sys.stdout)
"""


def quoted(name: str) -> str:
    """A name in standard SQL."""
    return '"' + name.replace('"', '""') + '"'


def in_sqlite(query: str, table: pa.Table, name: str) -> Rows:
    """The columns that the query adds."""
    affinities = {"double": "REAL", "bool": "INTEGER", "string": "TEXT"}
    listed = ", ".join(f"{quoted(f.name)} {affinities[str(f.type)]}" for f in table.schema)
    database = sqlite3.connect(":memory:")
    try:
        database.create_function("EXP", 1, lambda z: None if z is None else float(np.exp(z)))
        database.execute(f"CREATE TABLE {quoted(name)} ({listed})")
        marks = ", ".join("?" * table.num_columns)
        rows = [tuple(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]
        database.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)
        return [row[table.num_columns :] for row in database.execute(query)]
    finally:
        database.close()


def in_duckdb(query: str, table: pa.Table, name: str) -> Rows:
    """The columns that the query adds."""
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("given", table)
        database.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM given")
        return [row[table.num_columns :] for row in database.execute(query).fetchall()]


def in_python(code: str, table: pa.Table) -> Rows:
    """Rows as mappings, in another process."""
    done = _python(["-c", DRIVER], json.dumps([code, table.to_pylist()]).encode())
    assert done.returncode == 0, done.stderr.decode()
    return list(json.loads(done.stdout))


def csv_in_python(code: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    """The file itself on a CSV file; its first line must not be read from standard input."""
    return _python(["-c", code], data)


def in_onnxruntime(content: bytes, table: pa.Table) -> Rows:
    """All outputs; missing text is empty."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for each in session.get_inputs():
        values = table.column(each.name).to_pylist()
        if each.type == "tensor(string)":
            texts = ["" if value is None else value for value in values]
            feeds[each.name] = np.array(texts, dtype=object)[:, None]
        else:
            feeds[each.name] = np.array(values, dtype=np.float64)[:, None]
    parts = [part.tolist() for part in session.run(None, feeds)]
    return [[value for part in row for value in part] for row in zip(*parts, strict=True)]


def _python(arguments: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False)
