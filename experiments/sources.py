"""The public homes of the data: what to download, and how it becomes a table."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from experiments.cleaning import TARGET
from experiments.errors import DataError
from experiments.parquet import require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

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
    """A place that a table can be fetched from."""

    @property
    def address(self) -> str:
        """For people: where it is."""

    def fetch(self) -> pa.Table:
        """Download the table; the last column is the target."""


@dataclass(frozen=True)
class Archive:
    """A zip archive on the web, and what reads its members."""

    address: str
    read: Callable[[Members], pa.Table]

    def fetch(self) -> pa.Table:
        """Download, unpack in memory, read."""
        try:
            with urllib.request.urlopen(self.address, timeout=TIMEOUT_SECONDS) as answer:
                content = answer.read()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                # Some archives keep their files in a folder; the file names alone are known.
                members = {
                    info.filename.rsplit("/", 1)[-1]: archive.read(info)
                    for info in archive.infolist()
                }
            return self.read(members)
        except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
            raise DataError(f"{self.address} can't be fetched: {error!r}.") from None


@dataclass(frozen=True)
class OpenML:
    """A data set of openml.org, through scikit-learn."""

    data_id: int
    columns: tuple[str, ...]

    @property
    def address(self) -> str:
        """Its page."""
        return f"https://www.openml.org/d/{self.data_id}"

    def fetch(self) -> pa.Table:
        """Download by scikit-learn, which checks OpenML's own checksum."""
        from sklearn.datasets import fetch_openml

        try:
            bunch = fetch_openml(data_id=self.data_id, as_frame=False, parser="liac-arff")
            return _table(bunch.data, bunch.target, self.columns)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.address} can't be fetched: {error!r}.") from None


def _table(X: Any, y: Any, names: tuple[str, ...] | list[str]) -> pa.Table:
    """A table out of arrays; the target's labels are whole numbers."""
    columns = np.asarray(X, dtype=np.float64)
    if columns.shape[1] != len(names):
        raise ValueError(f"{columns.shape[1]} columns where {len(names)} were expected")
    arrays = dict(zip(names, columns.T, strict=True))
    labels = np.asarray(y, dtype=np.float64).astype(np.int64)
    return require_pyarrow().table({**arrays, TARGET: labels})


def _matrix(content: bytes, delimiter: str | None = ",") -> Any:
    """Plain numbers, with "?" for a missing one."""
    return np.genfromtxt(io.BytesIO(content), delimiter=delimiter, missing_values="?")


def _declared_names(content: bytes) -> list[str]:
    """Names out of a UCI .names file: its lines that end in "continuous."."""
    lines = content.decode("latin-1").splitlines()
    return [line.split(":")[0].strip() for line in lines if line.strip().endswith("continuous.")]


def _csv_table(content: bytes, delimiter: str, target: str) -> pa.Table:
    """A CSV file with a header; blanks around names go, the target goes last."""
    arrow = require_pyarrow()
    options = arrow.csv.ParseOptions(delimiter=delimiter)
    table = arrow.csv.read_csv(io.BytesIO(content), parse_options=options)
    table = table.rename_columns([name.strip() for name in table.column_names])
    names = [name for name in table.column_names if name != target]
    return table.select([*names, target]).rename_columns([*names, TARGET])


def read_heart(members: Members) -> pa.Table:
    """SPECTF: label first, then rest and stress of 22 regions."""
    rows = np.vstack([_matrix(members["SPECTF.train"]), _matrix(members["SPECTF.test"])])
    names = [f"F{region}{state}" for region in range(1, 23) for state in "RS"]
    return _table(rows[:, 1:], rows[:, 0], names)


def read_ozone(members: Members) -> pa.Table:
    """Eight-hour file: date, features, label."""
    rows = _matrix(members["eighthr.data"])
    table = _table(rows[:, 1:-1], rows[:, -1], _declared_names(members["eighthr.names"]))
    dates = [line.split(",")[0] for line in members["eighthr.data"].decode().split()]
    return table.add_column(0, "date", [dates])


def read_spambase(members: Members) -> pa.Table:
    """Features, then label."""
    rows = _matrix(members["spambase.data"])
    return _table(rows[:, :-1], rows[:, -1], _declared_names(members["spambase.names"]))


def read_student(members: Members) -> pa.Table:
    """A CSV file with semicolons."""
    return _csv_table(members["data.csv"], ";", "Target")


def read_bankruptcy(members: Members) -> pa.Table:
    """A CSV file with the label first."""
    return _csv_table(members["data.csv"], ",", "Bankrupt?")


def read_madelon(members: Members) -> pa.Table:
    """Training rows, then validation rows; labels are apart."""
    parts = [f"madelon_{part}" for part in ("train", "valid")]
    X = np.vstack([_matrix(members[f"{part}.data"], None) for part in parts])
    y = np.concatenate([_matrix(members[f"{part}.labels"], None) for part in parts])
    return _table(X, y, [f"f{j + 1}" for j in range(X.shape[1])])
