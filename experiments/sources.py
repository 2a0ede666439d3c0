"""Download the data sets of the paper and convert them to Arrow tables."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow
import pyarrow.csv

from experiments.errors import ExperimentError

# Name of the last column of every table.
TARGET = "target"
UCI = "https://archive.ics.uci.edu/static/public"
TIMEOUT_SECONDS = 60.0
CARD_COLUMNS = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)

Members = Mapping[str, bytes]


class Source(Protocol):
    """A place to download a table from."""

    @property
    def address(self) -> str:
        """Return the address for messages."""

    def fetch(self) -> pyarrow.Table:
        """Return the table; its last column is the target."""


@dataclass(frozen=True)
class Archive:
    """A zip archive and the function that reads its members."""

    address: str
    read: Callable[[Members], pyarrow.Table]

    def fetch(self) -> pyarrow.Table:
        """Return the table in the archive."""
        try:
            with urllib.request.urlopen(self.address, timeout=TIMEOUT_SECONDS) as answer:
                content = answer.read()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                # Some archives keep their files in a folder.
                members = {
                    info.filename.rsplit("/", 1)[-1]: archive.read(info)
                    for info in archive.infolist()
                }
            return self.read(members)
        except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
            raise ExperimentError(f"{self.address} cannot be downloaded: {error!r}.") from None


@dataclass(frozen=True)
class OpenML:
    """A data set of openml.org, downloaded by scikit-learn."""

    data_id: int
    columns: tuple[str, ...]

    @property
    def address(self) -> str:
        """Return the page of the data set."""
        return f"https://www.openml.org/d/{self.data_id}"

    def fetch(self) -> pyarrow.Table:
        """Return the table; scikit-learn compares the checksum."""
        from sklearn.datasets import fetch_openml

        try:
            bunch = fetch_openml(data_id=self.data_id, as_frame=False, parser="liac-arff")
            return _table(bunch.data, bunch.target, self.columns)
        except (OSError, ValueError) as error:
            raise ExperimentError(f"{self.address} cannot be downloaded: {error!r}.") from None


def _table(X: Any, y: Any, names: tuple[str, ...] | list[str]) -> pyarrow.Table:
    """Return a table of arrays with integer labels."""
    columns = np.asarray(X, dtype=np.float64)
    if columns.shape[1] != len(names):
        raise ValueError(f"{columns.shape[1]} columns where {len(names)} were expected")
    arrays = dict(zip(names, columns.T, strict=True))
    labels = np.asarray(y, dtype=np.float64).astype(np.int64)
    return pyarrow.table({**arrays, TARGET: labels})


def _matrix(content: bytes, delimiter: str | None = ",") -> Any:
    """Parse numbers; "?" is a missing value."""
    return np.genfromtxt(io.BytesIO(content), delimiter=delimiter, missing_values="?")


def _declared_names(content: bytes) -> list[str]:
    """Return the names in a UCI .names file: the lines that end in "continuous."."""
    lines = content.decode("latin-1").splitlines()
    return [line.split(":")[0].strip() for line in lines if line.strip().endswith("continuous.")]


def _csv_table(content: bytes, delimiter: str, target: str) -> pyarrow.Table:
    """Read a CSV file with a header; the target becomes the last column."""
    options = pyarrow.csv.ParseOptions(delimiter=delimiter)
    table = pyarrow.csv.read_csv(io.BytesIO(content), parse_options=options)
    table = table.rename_columns([name.strip() for name in table.column_names])
    names = [name for name in table.column_names if name != target]
    return table.select([*names, target]).rename_columns([*names, TARGET])


def read_heart(members: Members) -> pyarrow.Table:
    """Read SPECTF: the label, then rest and stress of 22 regions."""
    rows = np.vstack([_matrix(members["SPECTF.train"]), _matrix(members["SPECTF.test"])])
    names = [f"F{region}{state}" for region in range(1, 23) for state in "RS"]
    return _table(rows[:, 1:], rows[:, 0], names)


def read_ozone(members: Members) -> pyarrow.Table:
    """Read the eight-hour file: date, features, label."""
    rows = _matrix(members["eighthr.data"])
    table = _table(rows[:, 1:-1], rows[:, -1], _declared_names(members["eighthr.names"]))
    dates = [line.split(",")[0] for line in members["eighthr.data"].decode().split()]
    return table.add_column(0, "date", [dates])


def read_spambase(members: Members) -> pyarrow.Table:
    """Read features, then the label."""
    rows = _matrix(members["spambase.data"])
    return _table(rows[:, :-1], rows[:, -1], _declared_names(members["spambase.names"]))


def read_student(members: Members) -> pyarrow.Table:
    """Read a CSV file with semicolons."""
    return _csv_table(members["data.csv"], ";", "Target")


def read_bankruptcy(members: Members) -> pyarrow.Table:
    """Read a CSV file with the label first."""
    return _csv_table(members["data.csv"], ",", "Bankrupt?")


def read_madelon(members: Members) -> pyarrow.Table:
    """Read training rows, then validation rows; labels are in files of their own."""
    parts = [f"madelon_{part}" for part in ("train", "valid")]
    X = np.vstack([_matrix(members[f"{part}.data"], None) for part in parts])
    y = np.concatenate([_matrix(members[f"{part}.labels"], None) for part in parts])
    return _table(X, y, [f"f{j + 1}" for j in range(X.shape[1])])
