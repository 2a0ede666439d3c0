"""Tables in files of all kinds against their values, one cell at a time."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz.exports import random_name
from safdr import TableEncoder
from safdr.export.model import as_array, read_model
from safdr.table.read import read_table

MARKS = {",": ".", ".": ","}
UNITS = ("", "", "%", "€", "EUR", "$")


def check(rng: np.random.Generator) -> None:
    """Write a random table to files, and encode what is read."""
    values = random_values(rng)
    expected = TableEncoder(missing="median").fit(typed_table(values))
    matrix = expected.transform(typed_table(values))
    check_terms(expected, values, matrix)
    check_rows(expected, values, matrix, rng)
    with TemporaryDirectory() as folder:
        path = write_typed(typed_table(values), Path(folder), rng)
        check_same(path, expected, matrix)
        path = write_csv(values, Path(folder), rng)
        check_same(path, expected, matrix)


def check_same(path: Path, expected: TableEncoder, matrix: np.ndarray) -> None:
    """A file gives the features and numbers of the table."""
    table, _ = read_table(path)
    encoder = TableEncoder(missing="median").fit(table)
    names, wanted = encoder.get_feature_names_out(), expected.get_feature_names_out()
    assert list(names) == list(wanted), f"{path.name}: {list(names)}, should be {list(wanted)}"
    found = encoder.transform(table)
    np.testing.assert_allclose(found, matrix, rtol=1e-12, err_msg=path.name)
    assert encoder.groups() == expected.groups()


def check_terms(encoder: TableEncoder, values: dict[str, list[Any]], matrix: np.ndarray) -> None:
    """The matrix is that of the terms, evaluated on the values."""
    terms = encoder.terms()
    used = {name: values[name] for name in {term["column"] for term in terms}}
    for j, term in enumerate(terms):
        model = {"link": "identity", "intercepts": [0.0], "terms": [term | {"coefficients": [1]}]}
        formula = read_model({"model": model, "target": {"name": "y"}})
        found = formula.sums({name: as_array(used[name]) for name in formula.columns})
        np.testing.assert_allclose(found[:, 0], matrix[:, j], rtol=1e-12, err_msg=term["feature"])


def check_rows(
    encoder: TableEncoder, values: dict[str, list[Any]], matrix: np.ndarray, rng: Any
) -> None:
    """Some rows in another order, from another kind of frame, have the same numbers."""
    rows = rng.permutation(len(matrix))[: int(rng.integers(1, len(matrix)))]
    table = typed_table(values).take(rows)
    frame = table.to_pandas() if rng.random() < 0.5 else table
    np.testing.assert_allclose(encoder.transform(frame), matrix[rows], rtol=1e-12)


# ---- Tables --------------------------------------------------------------------------------------


def random_values(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return columns of numbers, flags and categories by name."""
    n_rows = int(rng.integers(60, 200))
    found: dict[str, list[Any]] = {}
    for i in range(int(rng.integers(1, 7))):
        # A letter first, so that names differ and are not numbers.
        name = f"c{i} {random_name(rng)}".strip().replace("\n", " ").replace("\u202e", "")
        column = random_column(rng, n_rows)
        if rng.random() < 0.3:
            column = [None if rng.random() < 0.1 else value for value in column]
        found[name] = column
    # At least one column that is used.
    return found | {"number": rng.normal(size=n_rows).round(4).tolist()}


def random_column(rng: np.random.Generator, n_rows: int) -> list[Any]:
    """Return values of one kind."""
    kind = rng.integers(4)
    if kind == 0:
        return (rng.normal(size=n_rows) * 10.0 ** rng.integers(0, 6)).round(3).tolist()
    if kind == 1:
        return (rng.random(n_rows) < 0.5).tolist()
    if kind == 2:
        return rng.integers(0, 4, n_rows).tolist()
    texts = ["red", "green;1", 'a "b"', "x, y", "ünï", "None of it"]
    return [texts[i] for i in rng.integers(int(rng.integers(2, 7)), size=n_rows)]


def typed_table(values: dict[str, list[Any]]) -> pa.Table:
    """Return the table with the types of the values."""
    return pa.table({name: pa.array(column) for name, column in values.items()})


def write_typed(table: pa.Table, folder: Path, rng: np.random.Generator) -> Path:
    """Write a file that keeps types."""
    ending = str(rng.choice([".parquet", ".feather", ".arrow"]))
    path = folder / f"rows{ending}"
    if ending == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=int(rng.integers(10, 200)))
    elif ending == ".feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def write_csv(values: dict[str, list[Any]], folder: Path, rng: np.random.Generator) -> Path:
    """Write text in one of the ways that programs write it."""
    mark = str(rng.choice([".", ","]))
    delimiter = str(rng.choice([";", "\t"] if mark == "," else [",", ";", "\t", "|"]))
    missing = str(rng.choice(["", "NA", "n/a", "NULL"]))
    text = io.StringIO(newline="")
    ends = str(rng.choice(["\n", "\r\n"]))
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ends)
    writer.writerow(values)
    writers = [write_values(column, mark, missing, rng) for column in values.values()]
    writer.writerows(zip(*writers, strict=True))
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    content = text.getvalue().encode(encoding)
    packed = rng.random() < 0.3
    path = folder / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def write_values(column: list[Any], mark: str, missing: str, rng: Any) -> list[str]:
    """Write a column: numbers in one format, flags in another."""
    unit, grouped = str(rng.choice(UNITS)), rng.random() < 0.5
    yes, no = (("True", "False"), ("true", "false"), ("TRUE", "FALSE"))[rng.integers(3)]

    def write(value: Any) -> str:
        if value is None:
            return missing
        if isinstance(value, bool):
            return yes if value else no
        if isinstance(value, float):
            return write_number(value, mark, unit, grouped)
        return str(value)

    return [write(value) for value in column]


def write_number(value: float, mark: str, unit: str, grouped: bool) -> str:
    """Write a number with a decimal mark, groups of digits and a unit."""
    text = f"{value:,.4f}" if grouped else f"{value:.4f}"
    if mark == ",":
        text = text.translate(str.maketrans(MARKS))
    if unit in ("€", "$"):
        return f"{unit}{text}"
    return f"{text} {unit}".strip() if unit else text
