"""CSV as people's programs write it: byte-order marks, semicolons, decimal commas, gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr._old_table.columns import code_example
from safdr._old_table.errors import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

GZIP = b"\x1f\x8b"
DELIMITERS = ",;\t|"
# Enough rows to tell what separates the values.
SAMPLE_CHARACTERS = 65536
SAMPLE_ROWS = 50
# Ways to write a missing value: those that pyarrow knows, and UCI's.
MISSING_TEXTS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "?"),
)
# A value that may be a code such as the postcode 02139.
LEADING_ZERO = re.compile(rb"""(?:^|[\r\n,;\t|"])0\d""")
DECIMAL_COMMA = re.compile(r"^\s*[-+]?\d+,\d+\s*$")
DECIMAL_POINT = re.compile(r"^\s*[-+]?\d+\.\d+\s*$")
# Under which a table remembers the mark of its file.
DECIMAL_MARK = b"safdr.decimal_mark"
# Column types are those of the first block, so the whole file is one; pyarrow allows no larger.
LARGEST_BLOCK = 2**31 - 2


def read_text(name: str, content: Any) -> pa.Table:
    """Read separated values with a line of names."""
    import pyarrow.csv as arrow_csv

    data = _to_utf8(name, _unpacked(name, content))
    if not data.strip():
        raise UnreadableError(f"{name} is empty.")
    sample = data[:SAMPLE_CHARACTERS].decode(errors="ignore")
    delimiter = _delimiter(name, sample)
    rows = _rows(sample, delimiter)
    _check_header(name, rows[0])
    if len(rows) == 1:
        # In a line that does not end pyarrow finds no columns.
        data += b"\n"
    comma = delimiter != "," and _has_decimal_commas(rows[1:])
    options = arrow_csv.ConvertOptions(
        strings_can_be_null=True, decimal_point="," if comma else "."
    )
    options.null_values = list(MISSING_TEXTS)
    has_codes = LEADING_ZERO.search(data) is not None
    text = owned_by_arrow(data)
    del data
    table = _parse(text, delimiter, options)
    if comma:
        table = table.replace_schema_metadata({DECIMAL_MARK: b","})
    return _with_codes(table, text, delimiter, options) if has_codes else table


def decimal_mark(table: pa.Table) -> str:
    """That of the file."""
    return ((table.schema.metadata or {}).get(DECIMAL_MARK) or b".").decode()


def owned_by_arrow(data: bytes) -> pa.Buffer:
    """A copy in Arrow's own memory.

    A thread of Arrow may let go of what it read when Python is ending, and of Python's bytes it
    can't: that would end the program with an abort.
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    return buffer


def _parse(text: pa.Buffer, delimiter: str, options: Any) -> pa.Table:
    import pyarrow
    import pyarrow.csv as arrow_csv

    return arrow_csv.read_csv(
        pyarrow.BufferReader(text),
        read_options=arrow_csv.ReadOptions(block_size=min(text.size + 1, LARGEST_BLOCK)),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=options,
    )


def _with_codes(table: pa.Table, text: pa.Buffer, delimiter: str, options: Any) -> pa.Table:
    """Columns of whole numbers again as text, where leading zeros say that they are codes."""
    import pyarrow as pa

    names = table.column_names
    whole = [
        each.name
        for each in table.schema
        if pa.types.is_integer(each.type) and names.count(each.name) == 1
    ]
    if not whole:
        return table
    options.include_columns = whole
    options.column_types = dict.fromkeys(whole, pa.string())
    texts = _parse(text, delimiter, options)
    for name in whole:
        if code_example(texts.column(name)) is not None:
            table = table.set_column(names.index(name), name, texts.column(name))
    return table


def _unpacked(name: str, content: Any) -> bytes:
    data = bytes(memoryview(content))
    if not data.startswith(GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise UnreadableError(f"{name} is a damaged gzip file: {error}.") from None


def _to_utf8(name: str, data: bytes) -> bytes:
    """Without a byte-order mark; what is not UTF-8 is taken for Excel's text on Windows."""
    # The tables of people begin, as JSON does, with a mark or with two characters of ASCII.
    encoding = json.detect_encoding(data)
    try:
        if not encoding.startswith("utf-8"):
            data = data.decode(encoding).encode()
    except UnicodeDecodeError:
        raise UnreadableError(
            f"{name} is no text: it begins like {encoding.upper()}, but is not. It is cut short, "
            "damaged, or no table."
        ) from None
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:SAMPLE_CHARACTERS]:
        raise UnreadableError(f"{name} is no text: it holds zero bytes. Pass a table.")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").encode()
    return data


def _rows(sample: str, delimiter: str) -> list[list[str]]:
    """The first rows; blank lines, which pyarrow skips, are none."""
    # Not splitlines, which ends lines at characters that end none in a table.
    lines = io.StringIO(sample, newline="")
    rows = (row for row in csv.reader(lines, delimiter=delimiter) if row)
    return list(islice(rows, SAMPLE_ROWS))


def _delimiter(name: str, sample: str) -> str:
    """What separates the values: the one that cuts all lines alike, into the most pieces."""
    if Path(name.removesuffix(".gz")).suffix.lower() == ".tsv":
        return "\t"

    def pieces(delimiter: str) -> tuple[bool, int]:
        counts = [len(row) for row in _rows(sample, delimiter)]
        # The last row of the sample may be cut.
        return len(set(counts[:-1] or counts)) == 1, counts[0]

    best = max(DELIMITERS, key=pieces)
    return best if pieces(best)[1] > 1 else ","


def _check_header(name: str, header: list[str]) -> None:
    """Refuse a first line of numbers: rows would pass for names."""

    def is_number(text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return False
        return True

    if all(is_number(text) for text in header):
        shown = ", ".join(header[:5])
        raise UnreadableError(
            f"{name} has no line of column names: its first line holds numbers only ({shown}). "
            "Add one."
        )


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    values = [value for row in rows for value in row]
    return any(map(DECIMAL_COMMA.match, values)) and not any(map(DECIMAL_POINT.match, values))
