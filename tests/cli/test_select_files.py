"""Every kind of file that people have, good and bad."""

import codecs
import csv
import gzip
import io
import sys

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

FEATURES = {"height", "weight", "noise", "colour = red", "colour = green"}


def csv_bytes(columns, delimiter=",", comma=False):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    rows = zip(*columns.values(), strict=True)
    for row in rows:
        writer.writerow(
            [str(v).replace(".", ",") if comma and isinstance(v, float) else v for v in row]
        )
    return text.getvalue().encode()


def arrow_bytes(columns, kind):
    import pyarrow.feather as feather
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq

    table, sink = pa.table(columns), io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink)
    elif kind == "feather":
        feather.write_feather(table, sink, compression="uncompressed")
    else:
        make = ipc.new_stream if kind == "stream" else ipc.new_file
        with make(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


GOOD = {
    "plain.csv": csv_bytes,
    "packed.csv.gz": lambda c: gzip.compress(csv_bytes(c)),
    "tabs.tsv": lambda c: csv_bytes(c, "\t"),
    "packed.tsv.gz": lambda c: gzip.compress(csv_bytes(c, "\t")),
    "semicolons.csv": lambda c: csv_bytes(c, ";"),
    "german.csv": lambda c: csv_bytes(c, ";", comma=True),
    "bars.txt": lambda c: csv_bytes(c, "|"),
    "mark.csv": lambda c: b"\xef\xbb\xbf" + csv_bytes(c),
    "wide.csv": lambda c: csv_bytes(c).decode().encode("utf-16"),
    "wide_marked.csv": lambda c: codecs.BOM_UTF16_BE + csv_bytes(c).decode().encode("utf-16-be"),
    "wider.csv": lambda c: csv_bytes(c).decode().encode("utf-32"),
    "wider_marked.csv": lambda c: codecs.BOM_UTF32_BE + csv_bytes(c).decode().encode("utf-32-be"),
    "wide_le.csv": lambda c: csv_bytes(c).decode().encode("utf-16-le"),
    "wide_be.csv": lambda c: csv_bytes(c).decode().encode("utf-16-be"),
    "wider_le.csv": lambda c: csv_bytes(c).decode().encode("utf-32-le"),
    "wider_be.csv": lambda c: csv_bytes(c).decode().encode("utf-32-be"),
    "wide.csv.gz": lambda c: gzip.compress(csv_bytes(c).decode().encode("utf-16")),
    "late.csv": lambda c: b"\n\r\n" + csv_bytes(c),
    "mac.csv": lambda c: csv_bytes(c).replace(b"\r\n", b"\r"),
    "dos.csv": lambda c: csv_bytes(c).replace(b"\n", b"\r\n"),
    "table.parquet": lambda c: arrow_bytes(c, "parquet"),
    "table.feather": lambda c: arrow_bytes(c, "feather"),
    "table.arrow": lambda c: arrow_bytes(c, "file"),
    "stream.arrow": lambda c: arrow_bytes(c, "stream"),
    "no_ending": lambda c: arrow_bytes(c, "parquet"),
}


@pytest.fixture(scope="module")
def known():
    """What was found out once."""
    return {}


@pytest.fixture
def answer(known, select_two, write, columns):
    """What the table as Parquet gives."""
    if not known:
        known |= select_two(write(columns, "reference.parquet"), "-t", "late", "--json").json
    return known


@pytest.mark.parametrize("name", GOOD)
def test_all_kinds_of_files_give_the_same_answer(select_two, tmp_path, columns, answer, name):
    path = tmp_path / name
    path.write_bytes(GOOD[name](columns))
    found = select_two(path, "--target", "late", "--json").json
    assert found["features"] == answer["features"]
    assert found["data_fingerprint"] == answer["data_fingerprint"]
    assert {f["name"] for f in found["features"]} <= FEATURES


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_standard_input_is_read(select_two, monkeypatch, columns, answer, kind):
    content = {
        "csv": csv_bytes(columns),
        "csv.gz": gzip.compress(csv_bytes(columns)),
        "parquet": arrow_bytes(columns, "parquet"),
    }[kind]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = select_two("-", "--target", "late", "--json").json
    assert found["features"] == answer["features"]


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_threads_of_arrow_hold_nothing_of_python(
    select_two, tmp_path, columns, monkeypatch, source
):
    """Or one that lets go of it when Python is ending aborts the program."""
    path, held, reader = tmp_path / "loans.csv", [], pa.BufferReader
    path.write_bytes(csv_bytes(columns))
    monkeypatch.setattr(pa, "BufferReader", lambda data: held.append(data) or reader(data))
    if source == "pipe":
        content = io.BytesIO(arrow_bytes(columns, "parquet"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    select_two(path if source == "file" else "-", "-t", "late")
    # What Python lends can't be written to.
    assert held
    assert all(isinstance(data, pa.Buffer) and data.is_mutable for data in held)


def test_without_a_file_the_built_in_data_are_used(select_two):
    found = select_two("--json").json
    assert found["n_features"] == 30
    assert found["target"]["name"] == "diagnosis"
    assert found["target"]["classes"] == ["benign", "malignant"]


def test_windows_text_is_read(select, tmp_path, columns):
    columns["größe"] = columns.pop("height")
    path = tmp_path / "excel.csv"
    path.write_bytes(csv_bytes(columns).decode().encode("cp1252"))
    names = [f["name"] for f in select(path, "-t", "late", "-k", 3, "--json").json["features"]]
    assert "größe" in names


@pytest.mark.parametrize("name", ["a\x1cb", "a\x0bb", "a\x85b", "a\u2028b"])
def test_a_character_that_only_python_takes_for_the_end_of_a_line_is_none(
    select, tmp_path, columns, name
):
    columns[name] = columns.pop("height")
    path = tmp_path / "lines.csv"
    path.write_bytes(csv_bytes(columns, ";"))
    names = [f["name"] for f in select(path, "-t", "late", "-k", 3, "--json").json["features"]]
    assert name in names


def test_a_column_is_what_its_last_rows_say(select_two, tmp_path, columns):
    # Whole numbers for longer than pyarrow's block, and then not.
    n = 60_000
    rows = "".join(f"{i % 7},{i % 2},{'x' * 20}{i % 3}\n" for i in range(n))
    path = tmp_path / "long.csv"
    path.write_text(f"a,late,text\n{rows}2.5,1,last\n")
    names = [f["name"] for f in select_two(path, "-t", "late", "--json").json["features"]]
    assert names


BAD = {
    "empty.csv": (b"", "is empty (0 bytes)"),
    "blank.csv": (b"\n\n", "is empty"),
    "zero.parquet": (b"", "is empty (0 bytes)"),
    "header.csv": (b"a,b,late\n", "has no rows: only a line with the names of 3 columns"),
    "line.csv": (b"a,b,late", "has no rows: only a line with the names of 3 columns"),
    "numbers.csv": (b"1,2,3\n4,5,6\n", "no line of column names"),
    "ragged.csv": (b"a,late\n1,0\n1,2,3\n", "Expected 2 columns, got 3"),
    "false.parquet": (b"a,b\n1,2\n", "not what its name says"),
    "book.csv": (b"PK\x03\x04rest", "Excel file. Save the sheet as CSV"),
    "old.feather": (b"FEA1\0\0\0\0FEA1", "old version 1. Save it as version 2, or as Parquet"),
    "separator.csv": (b"\x1c", "has no rows"),
    "separators.csv": (b"\x1d\x1c\n", "has no rows"),
    "zeros.csv": (b"\0\0\0\0\0\0", "is no text"),
    "cut_wide.csv": ("a,late\n1,0\n".encode("utf-16-le")[:-1], "is no text"),
    "zero_wide.csv": ("a,late\n1,\0\n".encode("utf-16"), "is no text"),
    "image.csv": (b"\x89PNG\0\0\0\0", "is no text"),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 50)[:-12], "damaged gzip"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_its_trouble_told(select_two, tmp_path, name):
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    error = select_two(path, "-t", "late", code=1).err
    assert name in error
    assert message in error


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_file_is_an_error(select_two, tmp_path, columns, kind, share):
    whole = arrow_bytes(columns, kind)
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(whole[: int(share * len(whole))])
    error = select_two(path, "-t", "late", code=1).err
    assert "can't be read" in error
    assert "cut short or damaged" in error


@pytest.mark.parametrize("kind", ["feather", "file", "stream"])
def test_text_that_points_outside_of_a_damaged_file_is_an_error(
    select_two, tmp_path, columns, kind
):
    # A segmentation fault would end this process.
    whole = arrow_bytes(columns, kind)
    lengths = np.cumsum([0, *map(len, columns["colour"])]).astype("<i4")
    start = whole.index(lengths.tobytes())
    lengths[10:] += 2**28
    path = tmp_path / "damaged.arrow"
    path.write_bytes(whole[:start] + lengths.tobytes() + whole[start + lengths.nbytes :])
    error = select_two(path, "-t", "late", code=1).err
    assert "damaged.arrow can't be read" in error
    assert "cut short or damaged" in error


@pytest.mark.parametrize("kind", ["feather", "parquet"])
def test_text_that_is_no_text_is_an_error(select_two, tmp_path, columns, kind):
    columns["colour"] = pa.array([b"\xff\xfe"] * len(columns["late"])).view(pa.string())
    path = tmp_path / f"bytes.{kind}"
    path.write_bytes(arrow_bytes(columns, kind))
    error = select_two(path, "-t", "late", code=1).err
    assert f"bytes.{kind} can't be read" in error


def test_a_column_name_that_is_no_text_is_an_error(select_two, tmp_path, columns):
    path = tmp_path / "names.feather"
    path.write_bytes(arrow_bytes(columns, "feather").replace(b"noise", b"\xffoise"))
    error = select_two(path, "-t", "late", code=1).err
    assert "names.feather can't be read" in error


def test_a_file_of_one_column_has_nothing_to_choose_from(select_two, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("late\n" + "0\n1\n" * 20)
    assert "No column is left to choose from" in select_two(path, "-t", "late", code=1).err


@pytest.mark.parametrize(("name", "message"), [("none.csv", "no file"), (".", "no Parquet file")])
def test_what_is_not_a_file_is_an_error(select_two, tmp_path, name, message):
    assert message in select_two(tmp_path / name, "-t", "late", code=1).err


def test_empty_standard_input_is_an_error(select_two, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "Standard input is empty" in select_two("-", "-t", "late", code=1).err
