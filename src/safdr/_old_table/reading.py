"""A file, or bytes from a pipe, becomes an Arrow table; what it is, its first bytes say.

pyarrow reads CSV, Parquet and Feather alike, in C++ and with column types, so that pandas is not
needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr._old_table.errors import DuplicateColumnsError, UnreadableError, counted
from safdr._old_table.text import owned_by_arrow, read_text

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_INPUT = "-"

# First bytes of files: a name may lie.
PARQUET, ARROW = b"PAR1", b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
NOT_TABLES = {
    b"PK\x03\x04": "a zip or Excel file. Save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file. Save the sheet as CSV",
    b"%PDF": "a PDF file",
    # What is wrong in one is not found out before it crashes the program.
    b"FEA1": "a Feather file of the old version 1. Save it as version 2, or as Parquet",
    b"BZh": "a bzip2 file. Unpack it",
    b"\xfd7zXZ": "an xz file. Unpack it",
    b"\x28\xb5\x2f\xfd": "a zstd file. Unpack it",
}
BINARY_NAMES = {".parquet", ".pq", ".arrow", ".feather", ".ipc"}


def read_table(source: str | Path) -> pa.Table:
    """Read CSV or TSV (with or without gzip), Parquet, or Arrow/Feather."""
    arrow = _require_pyarrow()
    name, content = _content(arrow, source)
    head = bytes(content[:8])
    if not head:
        raise UnreadableError(f"{name} is empty (0 bytes).")
    for magic, what in NOT_TABLES.items():
        if head.startswith(magic):
            raise UnreadableError(f"{name} is {what}.")
    try:
        table = _parse(arrow, name, head, content)
        # Or text of a damaged file would be read from anywhere in memory.
        table.validate(full=True)
        # Names are not validated; to ask for them decodes them.
        _ = table.column_names
    except (arrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"{name} can't be read: {_one_line(error)}. It is cut short or damaged."
        ) from None
    return checked_table(name, table)


def is_parquet(source: str | Path) -> bool:
    """Whether a file, by its first bytes, is Parquet; a folder may hold such files."""
    path = Path(source)
    if path.is_dir():
        return True
    if str(source) == STANDARD_INPUT or not path.is_file():
        return False
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET
    return False


def check_names(names: Sequence[str], ignored: set[str]) -> None:
    """Refuse columns that share a name, unless all of them are ignored."""
    twice = sorted({name for name in names if names.count(name) > 1} - ignored)
    if twice:
        raise DuplicateColumnsError(twice)


def _require_pyarrow() -> Any:
    """Pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise UnreadableError(
            "Reading tables needs pyarrow, which is not installed. Install it with: "
            "pip install 'safdr[cli]'"
        ) from None
    return pyarrow


def _content(arrow: Any, source: str | Path) -> tuple[str, Any]:
    """What to call the source, and all of its bytes; a regular file is mapped, not copied."""
    if str(source) == STANDARD_INPUT:
        return "Standard input", owned_by_arrow(sys.stdin.buffer.read())
    path = Path(source)
    try:
        if path.is_file() and path.stat().st_size:
            with arrow.memory_map(str(path)) as file:
                return str(path), file.read_buffer()
        return str(path), owned_by_arrow(path.read_bytes())
    except FileNotFoundError:
        raise UnreadableError(f"There is no file {str(path)!r}.") from None
    except IsADirectoryError:
        raise UnreadableError(f"{str(path)!r} is a folder, not a file.") from None
    except OSError as error:
        raise UnreadableError(f"{str(path)!r} can't be opened: {error.strerror}.") from None


def _parse(arrow: Any, name: str, head: bytes, content: Any) -> pa.Table:
    """Read by what the first bytes say."""
    if head.startswith(PARQUET):
        # Unlike read_table it reads columns that share a name, which are told later.
        return arrow.parquet.ParquetFile(arrow.BufferReader(content)).read()
    if head.startswith(ARROW):
        return arrow.feather.read_table(arrow.BufferReader(content))
    if head.startswith(ARROW_STREAM):
        return arrow.ipc.open_stream(arrow.BufferReader(content)).read_all()
    suffix = Path(name).suffix.lower()
    if suffix in BINARY_NAMES:
        raise UnreadableError(
            f"{name} is not what its name says: its first bytes are {head[:4]!r}. It is damaged, "
            "or some other kind of file."
        )
    return read_text(name, content)


def checked_table(name: str, table: pa.Table) -> pa.Table:
    """A table with rows and columns."""
    if table.num_columns == 0:
        raise UnreadableError(f"{name} has no columns.")
    if table.num_rows == 0:
        names = counted(table.num_columns, "column")
        raise UnreadableError(f"{name} has no rows: only a line with the names of {names}.")
    return table


def _one_line(error: BaseException) -> str:
    """The message, on one line and without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
