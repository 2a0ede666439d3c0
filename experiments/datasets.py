"""The data sets of the paper: where each is, what it must look like, how to get it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments import cleaning, sources
from experiments.errors import DataError, UnknownDataError
from experiments.parquet import parquet_bytes, read_table
from experiments.sources import Archive, OpenML, Source
from experiments.standin import loan_default_synthetic
from experiments.task_data import TaskData
from experiments.whole_files import write_whole


@dataclass(frozen=True)
class DataSet:
    """One data set: what is known about it, and how it becomes numbers."""

    name: str
    title: str
    # Rows, features and rows of class 1 after cleaning; None where nobody could check.
    counts: tuple[int, int, int] | None
    # In the data folder, and a name under which people may have it.
    file: str | None = None
    original: str | None = None
    clean: Callable[[Any], TaskData] = cleaning.numeric
    source: Source | None = None
    # Of the cleaned values; None where the public copy has more digits than ours.
    sha256: str | None = None
    # Makes the values where no file is needed.
    generate: Callable[[], TaskData] | None = None
    # To get it by hand.
    how: str = ""
    # Made up, so that its scores mean nothing.
    is_stand_in: bool = False


def _cancer() -> TaskData:
    """scikit-learn's own copy, equal to UCI's cell by cell."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return TaskData(bunch.data, bunch.target, tuple(str(name) for name in bunch.feature_names))


# Those that a first look takes: all methods do a repeat of each in less than half a minute.
SMALL = ("heart", "cancer", "ozone", "spambase", "student")


def _uci(number: int, slug: str, read: Callable[[sources.Members], Any]) -> Archive:
    return Archive(f"{sources.UCI}/{number}/{slug}.zip", read)


_ALL = (
    DataSet(
        "heart",
        "Heart",
        (267, 44, 212),
        "heart.parquet",
        source=_uci(96, "spectf+heart", sources.read_heart),
        sha256="7df381dcdca5ae95eb81e1be1ede6d13688ff27addb9d5e11d9f6c941dc40a07",
    ),
    DataSet(
        "cancer",
        "Cancer",
        (569, 30, 357),
        "cancer.parquet",
        generate=_cancer,
        how="comes with scikit-learn",
    ),
    DataSet(
        "ozone",
        "Ozone 8",
        (1847, 72, 128),
        "ozone_8hr.parquet",
        clean=cleaning.ozone,
        source=_uci(172, "ozone+level+detection", sources.read_ozone),
        sha256="7f487c38f09ca549881e4e33439ecd36ec3eb44e9e341e5470abd365d4b8b46f",
    ),
    DataSet(
        "spambase",
        "Spambase",
        (4601, 57, 1813),
        "spambase.parquet",
        source=_uci(94, "spambase", sources.read_spambase),
        sha256="ac5f1044ec0e8fcde656ad01b11dcb23b294c852a64c1a0ca68be767a5e1e790",
    ),
    DataSet(
        "student",
        "Student",
        (4424, 36, 1421),
        "student.parquet",
        clean=cleaning.student,
        source=_uci(697, "predict+students+dropout+and+academic+success", sources.read_student),
        sha256="72d79b411b936a011b6d116067b2a7b6872a03943df4effd0ecb1c3e78ad7173",
    ),
    DataSet(
        "bankruptcy",
        "Bankruptcy",
        (6819, 95, 220),
        "bankruptcy.parquet",
        source=_uci(572, "taiwanese+bankruptcy+prediction", sources.read_bankruptcy),
    ),
    DataSet(
        "madelon",
        "Madelon",
        (2000, 500, 1000),
        "madelon.parquet",
        clean=cleaning.madelon,
        source=_uci(171, "madelon", sources.read_madelon),
        sha256="adca19364c75a1715abedd97544332669c4133136291b15bea8bd39a4496f546",
    ),
    DataSet(
        "card_default",
        "Card Default",
        (30000, 23, 6636),
        "card_default.parquet",
        source=OpenML(42477, sources.CARD_COLUMNS),
        sha256="59ffef19b83b06bcfa4907b441944011246487e4a7312fea627a9f1fd2beaba2",
    ),
    DataSet(
        "loan_default_kaggle",
        "Loan Default (Kaggle file)",
        (120526, 40, 19647),
        "loan_default_kaggle.parquet",
        original="Loan_Default.csv",
        clean=cleaning.loan_default_kaggle,
        how="kaggle.com/datasets/yasserh/loan-default-dataset; put its Loan_Default.csv here",
    ),
    DataSet(
        "loan_default_synthetic",
        "Loan Default (synthetic stand-in)",
        (103302, 397, 9582),
        generate=loan_default_synthetic,
        how="made up on the spot; for cost only, not the paper's data",
        is_stand_in=True,
    ),
    DataSet(
        "loan_default_imperial",
        "Loan Default (competition file)",
        None,
        "train_v2.csv",
        clean=cleaning.loan_default_imperial,
        how="kaggle.com/competitions/loan-default-prediction; put its train_v2.csv here",
    ),
)

DATASETS: Mapping[str, DataSet] = {data.name: data for data in _ALL}


def get_dataset(name: str) -> DataSet:
    """A data set by name."""
    if name not in DATASETS:
        raise UnknownDataError(f"No data set is called {name!r}. There are: {', '.join(DATASETS)}.")
    return DATASETS[name]


def data_folder(data_dir: Path | None = None) -> Path:
    """The folder with the data: the one given, else $SAFDR_DATA, else a cache folder."""
    if data_dir is not None:
        return data_dir
    if from_environment := os.environ.get("SAFDR_DATA"):
        return Path(from_environment)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "safdr"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safdr"


def load(name: str, data_dir: Path | None = None) -> TaskData:
    """Read, clean and check a data set."""
    data = get_dataset(name)
    path = file_of(data, data_dir)
    if path is not None and path.exists():
        return _checked(data, partial(data.clean, read_table(path)), str(path))
    if data.generate is not None:
        return _checked(data, data.generate, data.how)
    raise DataError(f"{path} is not there. To get it: {how_to_get(data)}.")


def fetch(name: str, data_dir: Path | None = None) -> Path | None:
    """Download a data set into the data folder, if it is not there yet.

    What arrives is checked before it is kept. A file that is there is never replaced.
    """
    data = get_dataset(name)
    path = file_of(data, data_dir)
    if path is None or path.exists() or data.generate is not None:
        return path
    if data.source is None:
        raise DataError(f"{data.title} can't be fetched. To get it: {how_to_get(data)}.")
    table = data.source.fetch()
    values = _checked(data, partial(data.clean, table), data.source.address)
    if data.sha256 is not None and values.sha256() != data.sha256:
        raise DataError(
            f"{data.source.address} has other values than it used to: checksum "
            f"{values.sha256()}, expected {data.sha256}. Nothing was kept. If you trust it, save "
            f"the table as {path} yourself."
        )
    write_whole(path, parquet_bytes(table))
    return path


def file_of(data: DataSet, data_dir: Path | None = None) -> Path | None:
    """Where the file of a data set is, or would be; None where there is none."""
    if data.file is None:
        return None
    path = data_folder(data_dir) / data.file
    if data.original is not None and not path.exists():
        original = data_folder(data_dir) / data.original
        return original if original.exists() else path
    return path


def is_there(data: DataSet, data_dir: Path | None = None) -> bool:
    """Whether it can be loaded without a download."""
    path = file_of(data, data_dir)
    return data.generate is not None or (path is not None and path.exists())


def how_to_get(data: DataSet) -> str:
    """What a user can do to get the data."""
    if data.source is None:
        return data.how
    return f"python -m experiments data --fetch {data.name} (from {data.source.address})"


def _checked(data: DataSet, clean: Callable[[], TaskData], origin: str) -> TaskData:
    """The cleaned values, if they have the known counts."""
    try:
        cleaned = clean()
    except (KeyError, ValueError) as error:
        raise DataError(
            f"{origin} is not the {data.title} data: {error}. It is left as it is: move it away, "
            f"then get it anew: {how_to_get(data)}."
        ) from None
    if data.counts is not None and cleaned.counts != data.counts:
        raise DataError(
            f"{origin} gives {_in_words(cleaned.counts)} after cleaning; the {data.title} data "
            f"has {_in_words(data.counts)}. It is left as it is: move it away, then get the right "
            f"one: {how_to_get(data)}."
        )
    return replace(cleaned, name=data.name)


def _in_words(counts: tuple[int, int, int]) -> str:
    rows, features, positive = counts
    return f"{rows} rows, {features} features and {positive} rows of class 1"
