"""Reading and writing tables with pyarrow, which the library does without."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def require_pyarrow() -> Any:
    """Pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "The data files are Parquet, and reading them needs pyarrow, which is not installed. "
            "Install it with: pip install --group experiments"
        ) from None
    return pyarrow


def read_table(path: Path) -> pa.Table:
    """Read a Parquet or CSV file whole."""
    arrow = require_pyarrow()
    try:
        if path.suffix == ".csv":
            return arrow.csv.read_csv(path, convert_options=_csv_options(arrow))
        return arrow.parquet.read_table(path)
    except (arrow.ArrowInvalid, OSError) as error:
        raise DataError(
            f"{path} can't be read: {error} The file is cut short or not what its name says. "
            "It is left as it is: move it away, then get it anew: "
            "'python -m experiments data' says how."
        ) from None


def parquet_shape(path: Path) -> tuple[int, int]:
    """Rows and columns of a Parquet file, from its footer alone."""
    arrow = require_pyarrow()
    try:
        footer = arrow.parquet.read_metadata(path)
    except (arrow.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} can't be read: {error}") from None
    return footer.num_rows, footer.num_columns


def _csv_options(arrow: Any) -> Any:
    """R's and Kaggle's way to write a missing value."""
    return arrow.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)


def parquet_bytes(table: pa.Table) -> bytes:
    """The Parquet file of a table."""
    sink = BytesIO()
    require_pyarrow().parquet.write_table(table, sink)
    return sink.getvalue()
