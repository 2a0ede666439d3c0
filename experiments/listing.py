"""What the command `data` prints; it looks at files, and loads none."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from experiments.datasets import DATASETS, DataSet, data_folder, file_of, how_to_get, is_there
from experiments.errors import DataError
from experiments.parquet import parquet_shape


def print_data_sets(data_dir: Path | None) -> None:
    """Print which data sets are there, and how to get each."""
    table = Table(Column("Name", no_wrap=True), "Data", "Cleaned", "State", "In the file")
    for name, each in DATASETS.items():
        shape = "unknown" if each.counts is None else f"{each.counts[0]} × {each.counts[1]}"
        table.add_row(name, each.title, shape, *_state(each, data_dir))
    # Lines, not cells: a terminal wraps an address, but a narrow column would cut it up.
    print(f"Data folder: {data_folder(data_dir)}")
    Console().print(table)
    print("Rows × features after cleaning, and rows × columns in the file. How to get each:")
    for name, each in DATASETS.items():
        print(f"  {name}: {how_to_get(each)}")


def _state(data: DataSet, data_dir: Path | None) -> tuple[str, str]:
    """Whether the data set is there, and the rows and columns of its file where that is cheap."""
    path = file_of(data, data_dir)
    if path is None or not path.exists():
        return ("there", "no file") if is_there(data, data_dir) else ("missing", "")
    if path.suffix != ".parquet":
        return "there", ""
    try:
        rows, columns = parquet_shape(path)
    except DataError:
        return "damaged", ""
    return "there", f"{rows} × {columns}"
