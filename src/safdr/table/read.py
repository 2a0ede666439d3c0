"""Read a file or standard input into an Arrow table."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._memory import available_memory
from safdr.table.errors import TableError, listed
from safdr.table.numbers import plain_numbers, preferred_mark
from safdr.table.types import decode_table, is_plain_number
from safdr.text import count

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_INPUT = "-"
PARQUET, ARROW, GZIP = b"PAR1", b"ARROW1", b"\x1f\x8b"
# Other files by their first bytes, and what to do with them.
NOT_TABLES = {
    b"PK\x03\x04": "a zip or Excel file. Save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file. Save the sheet as CSV",
}
BINARY_NAMES = {".parquet", ".pq", ".arrow", ".feather", ".ipc"}
# The first of those that cut alike: a comma may also be the decimal mark.
DELIMITERS = ";\t|,"
SAMPLE_CHARACTERS, SAMPLE_ROWS = 65_536, 50
# Memory at the peak for each byte of numbers, measured on a million rows of 60: the file, the
# table, its two parts, their doubles, and standardised columns. Other programs need memory too.
PEAK, SHARE, NUMBER_BYTES = 6, 0.5, 8
# The largest block that pyarrow reads at once.
MAX_BLOCK = 2**31 - 2


def read_table(source: str | Path) -> tuple[pa.Table, list[str]]:
    """Read CSV or TSV (also gzipped), Parquet (a file or a folder), Arrow or Feather.

    Of Parquet that does not fit in memory, it reads random rows. A note says so.
    """
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    name = "Standard input" if str(source) == STANDARD_INPUT else str(source)
    notes: list[str] = []
    try:
        if Path(source).is_dir() or _head(source) == PARQUET:
            table, notes = _read_parquet(Path(source))
        else:
            table = _parse(name, _content(name, source))
        # Text of a damaged file could point anywhere in memory.
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise TableError(f"{name} cannot be read: {text}. It is cut short or damaged.") from None
    if not names or table.num_rows == 0:
        raise TableError(f"{name} has {count(len(names), 'column')} and no rows.")
    if repeated := sorted(name for name, n in Counter(names).items() if n > 1):
        raise TableError(f"{name} has several columns of the same name: {listed(repeated)}.")
    return decode_table(table), notes


def _head(source: str | Path) -> bytes:
    """Return the first four bytes of a file; nothing of standard input."""
    if not Path(source).is_file():
        return b""
    with Path(source).open("rb") as file:
        return file.read(4)


def _read_parquet(path: Path) -> tuple[pa.Table, list[str]]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    files = sorted(map(str, path.rglob("*.parquet"))) if path.is_dir() else [str(path)]
    if not files:
        raise TableError(f"The folder {str(path)!r} has no file that ends in .parquet.")
    where: dict[str, Any] = {"partitioning": "hive", "partition_base_dir": str(path)}
    dataset = ds.dataset(files, format="parquet", **where)
    n_rows, n_columns = dataset.count_rows(), max(1, len(dataset.schema))
    fitting = int(available_memory() * SHARE / (PEAK * NUMBER_BYTES * n_columns))
    if n_rows <= fitting:
        return dataset.to_table(), []
    rng = np.random.default_rng(0)
    batches = (
        batch.filter(pa.array(rng.random(len(batch)) < fitting / n_rows))
        for batch in dataset.to_batches(batch_readahead=1, fragment_readahead=1)
    )
    table = pa.Table.from_batches(batches, dataset.schema)
    return table, [
        f"The {n_rows:,} rows do not fit in memory: the result is of {table.num_rows:,} random "
        "ones. safdr.Stream in Python reads all rows."
    ]


def _content(name: str, source: str | Path) -> pa.Buffer:
    """Return the bytes of a file."""
    try:
        is_stdin = str(source) == STANDARD_INPUT
        data = sys.stdin.buffer.read() if is_stdin else Path(source).read_bytes()
    except FileNotFoundError:
        raise TableError(f"There is no file {name!r}.") from None
    except OSError as error:
        raise TableError(f"{name!r} cannot be opened: {error.strerror}.") from None
    return _copied(data)


def _copied(data: bytes) -> pa.Buffer:
    """Copy bytes to memory of Arrow, whose threads may outlive those of Python."""
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    return buffer


def _parse(name: str, content: Any) -> pa.Table:
    """Read a file by what its first bytes say."""
    import pyarrow as pa

    head = bytes(content[:8])
    if not head:
        raise TableError(f"{name} is empty (0 bytes).")
    for start, what in NOT_TABLES.items():
        if head.startswith(start):
            raise TableError(f"{name} is {what}.")
    if head.startswith(PARQUET):
        return pa.parquet.ParquetFile(pa.BufferReader(content)).read()
    if head.startswith(ARROW):
        return pa.feather.read_table(pa.BufferReader(content))
    if Path(name).suffix.lower() in BINARY_NAMES:
        raise TableError(f"{name} is not what its name says: its first bytes are {head[:4]!r}.")
    return _read_csv(name, content)


# ---- CSV -----------------------------------------------------------------------------------------


def _read_csv(name: str, content: Any) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    data = _utf8(name, content)
    if not data.strip():
        raise TableError(f"{name} is empty.")
    sample = data[:SAMPLE_CHARACTERS].decode(errors="ignore")
    delimiter = _delimiter(name, sample)
    header = _rows(sample, delimiter)[0]
    if all(is_plain_number(text) for text in header):
        raise TableError(
            f"{name} has no line of column names: its first line is {', '.join(header[:5])}. "
            "Add one."
        )
    options = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=True
    )
    # As the UCI repository writes missing values.
    options.null_values = [*options.null_values, "?"]
    # pyarrow finds no columns in a line without an end.
    text = _copied(data if data.endswith(b"\n") else data + b"\n")
    del data
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        arrow_csv.ReadOptions(block_size=min(text.size + 1, MAX_BLOCK)),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        options,
    )
    return _with_numbers(table)


def _with_numbers(table: pa.Table) -> pa.Table:
    """Turn columns of plain numbers into numbers; codes, dates and other text stay."""
    import pyarrow as pa

    mark = preferred_mark(table.columns)
    columns = []
    for column in table.columns:
        numbers = plain_numbers(column, mark)
        columns.append(column if numbers is None else numbers)
    return pa.table(columns, table.column_names)


def _utf8(name: str, content: Any) -> bytes:
    """Return text as UTF-8, without a byte-order mark. Other text counts as that of Windows."""
    data = bytes(memoryview(content))
    if data.startswith(GZIP):
        data = gzip.decompress(data)
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        data = data.decode(encoding).encode()
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:SAMPLE_CHARACTERS]:
        raise TableError(f"{name} is not text: it holds zero bytes.")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").encode()
    return data


def _rows(sample: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(sample, newline="")
    return list(islice((row for row in csv.reader(lines, delimiter=delimiter) if row), SAMPLE_ROWS))


def _delimiter(name: str, sample: str) -> str:
    """Return what separates values: the character that cuts all lines alike, into most pieces.

    Beside another one, commas are decimal marks, or in names.
    """
    if Path(name.removesuffix(".gz")).suffix.lower() == ".tsv":
        return "\t"

    def pieces(delimiter: str) -> tuple[bool, bool, int]:
        counts = [len(row) for row in _rows(sample, delimiter)]
        # The last row of the sample may be cut.
        alike = len(set(counts[:-1] or counts)) == 1
        # A quotation mark inside a name may take in all lines.
        is_table = alike and len(counts) > 1 and counts[0] > 1
        return alike, is_table and delimiter != ",", counts[0]

    best = max(DELIMITERS, key=pieces)
    return best if pieces(best)[2] > 1 else ","
