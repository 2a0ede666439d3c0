"""The data sets: where each file is, how it becomes numbers, and how to get it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from experiments import sources, synthetic
from experiments.errors import ExperimentError
from experiments.sources import TARGET, UCI, Archive, OpenML, Source

MADELON_TRAINING_ROWS = 2000
# Missing for nearly all defaulters: complete rows would have one class only.
LOAN_LEAKS = ("rate_of_interest", "Interest_rate_spread", "Upfront_charges")
# Rarer levels are constant in some splits.
MIN_LEVEL_SHARE = 1e-3
# Columns with a larger correlation are one column under two names.
SAME_COLUMN = 0.999


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of one data set; a float target is a regression target."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    # Training and test rows of a split; None leaves them to the protocol.
    n_train: int | None = None
    n_test: int | None = None

    @property
    def is_regression(self) -> bool:
        """Return True if the target is continuous."""
        return self.y.dtype.kind == "f"


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper: its file, its counts after cleaning, and its source."""

    title: str
    # Rows, features and rows of class 1.
    counts: tuple[int, int, int]
    clean: Callable[[pyarrow.Table], Data]
    source: Source | None = None
    how: str = ""


def numeric(table: pyarrow.Table, positive: object = 1, drop: Sequence[str] = ()) -> Data:
    """Convert all columns to numbers; the positive label becomes 1, all others 0."""
    names = [name for name in table.column_names if name != TARGET and name not in drop]
    X = np.column_stack([np.asarray(table.column(n).to_numpy(), dtype=float) for n in names])
    y = np.asarray(table.column(TARGET).to_numpy() == positive, dtype=np.int64)
    return Data("", X, y, tuple(names))


def ozone(table: pyarrow.Table) -> Data:
    """Drop the date and the incomplete rows."""
    data = numeric(table, drop=["date"])
    complete = ~np.isnan(data.X).any(axis=1)
    return replace(data, X=data.X[complete], y=data.y[complete])


def loan_default_kaggle(table: pyarrow.Table) -> Data:
    """Drop leaking columns and incomplete rows; encode text columns."""
    names = [TARGET if name == "Status" else name for name in table.column_names]
    table = table.rename_columns(names).drop_columns(["ID", "year", *LOAN_LEAKS]).drop_null()
    text = [n for n in table.column_names if table.column(n).to_numpy().dtype.kind not in "iuf"]
    data = numeric(table, drop=text)
    encoded = [_one_hot(np.asarray(table.column(name).to_numpy(), dtype=str)) for name in text]
    names = [*data.feature_names]
    for name, (_, levels) in zip(text, encoded, strict=True):
        names += [f"{name}={level}" for level in levels]
    X = np.column_stack([data.X, *(columns for columns, _ in encoded)])
    return _distinct_columns(replace(data, X=X, feature_names=tuple(names)))


def _one_hot(values: NDArray[np.str_]) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return a column for each level but the most frequent and the rare ones."""
    levels, counts = np.unique(values, return_counts=True)
    kept = counts >= MIN_LEVEL_SHARE * len(values)
    kept[counts.argmax()] = False
    return (values[:, None] == levels[kept]).astype(np.float64), levels[kept]


def _distinct_columns(data: Data) -> Data:
    """Drop constant columns, and columns that repeat an earlier one."""
    varying = np.flatnonzero(np.ptp(data.X, axis=0) > 0)
    correlation = np.abs(np.corrcoef(data.X[:, varying], rowvar=False))
    kept: list[int] = []
    for j in range(len(varying)):
        if not kept or correlation[j, kept].max() < SAME_COLUMN:
            kept.append(j)
    names = tuple(data.feature_names[j] for j in varying[kept])
    return replace(data, X=np.ascontiguousarray(data.X[:, varying[kept]]), feature_names=names)


def _uci(number: int, slug: str, read: Callable[..., pyarrow.Table]) -> Archive:
    return Archive(f"{UCI}/{number}/{slug}.zip", read)


# The counts are compared with every file that is read.
PAPER: dict[str, PaperSet] = {
    "heart": PaperSet(
        "Heart", (267, 44, 212), numeric, _uci(96, "spectf+heart", sources.read_heart)
    ),
    "cancer": PaperSet("Cancer", (569, 30, 357), numeric),
    "ozone": PaperSet(
        "Ozone 8",
        (1847, 72, 128),
        ozone,
        _uci(172, "ozone+level+detection", sources.read_ozone),
    ),
    "spambase": PaperSet(
        "Spambase", (4601, 57, 1813), numeric, _uci(94, "spambase", sources.read_spambase)
    ),
    "student": PaperSet(
        "Student",
        (4424, 36, 1421),
        lambda table: numeric(table, positive="Dropout"),
        _uci(697, "predict+students+dropout+and+academic+success", sources.read_student),
    ),
    "bankruptcy": PaperSet(
        "Bankruptcy",
        (6819, 95, 220),
        numeric,
        _uci(572, "taiwanese+bankruptcy+prediction", sources.read_bankruptcy),
    ),
    "madelon": PaperSet(
        "Madelon",
        (2000, 500, 1000),
        lambda table: numeric(table.slice(0, MADELON_TRAINING_ROWS)),
        _uci(171, "madelon", sources.read_madelon),
    ),
    "card_default": PaperSet(
        "Card Default", (30000, 23, 6636), numeric, OpenML(42477, sources.CARD_COLUMNS)
    ),
    "loan_default_kaggle": PaperSet(
        "Loan Default (Kaggle file)",
        (120526, 40, 19647),
        loan_default_kaggle,
        how="get the file from kaggle.com/datasets/yasserh/loan-default-dataset and save it as "
        "loan_default_kaggle.parquet",
    ),
}
# Under these names files of the data folder are read too.
OTHER_FILES = {"ozone": "ozone_8hr.parquet"}

SCIKIT_LEARN: dict[str, tuple[str, Callable[[], Data]]] = {
    "wine_1": ("Wine, class 1", lambda: _bundled("load_wine", label=1)),
    "digits_1": ("Digits, 1", lambda: _bundled("load_digits", label=1)),
    "digits_8": ("Digits, 8", lambda: _bundled("load_digits", label=8)),
    "wine": ("Wine, 3 classes", lambda: _bundled("load_wine")),
    "digits": ("Digits, 10 classes", lambda: replace(_bundled("load_digits"), n_train=300)),
    "diabetes": ("Diabetes, products", lambda: _measured("load_diabetes")),
    "wine_alcohol": ("Wine, alcohol, products", lambda: _measured("load_wine", "alcohol")),
    "cancer_concavity": (
        "Cancer, worst concavity, products",
        lambda: replace(_measured("load_breast_cancer", "worst concavity"), n_train=150),
    ),
    "cancer_area": (
        "Cancer, worst area",
        lambda: _measured("load_breast_cancer", "worst area", products=False),
    ),
    "digits_pixel": (
        "Digits, a pixel",
        lambda: replace(_measured("load_digits", "pixel_4_4", products=False), n_train=200),
    ),
}


def _bundled(loader: str, label: int | None = None) -> Data:
    """Return a set of scikit-learn; with a label, this class against all others."""
    bunch = getattr(sklearn.datasets, loader)()
    y = bunch.target if label is None else (bunch.target == label).astype(np.int64)
    return Data("", bunch.data, y, tuple(map(str, bunch.feature_names)))


def _measured(loader: str, target: str | None = None, products: bool = True) -> Data:
    """Return a regression set of scikit-learn; the target may be one of its columns."""
    bunch = getattr(sklearn.datasets, loader)()
    X, y, names = bunch.data, bunch.target, [str(name) for name in bunch.feature_names]
    if target is not None:
        column = names.index(target)
        y, X = X[:, column], np.delete(X, column, axis=1)
        names.pop(column)
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    X, names = X[:, varying], [names[j] for j in varying]
    if products:
        made = PolynomialFeatures(2, include_bias=False).fit(X)
        names = list(made.get_feature_names_out(names))
        X = made.transform(StandardScaler().fit_transform(X))
    return Data("", np.asarray(X, dtype=float), np.asarray(y, dtype=float), tuple(names))


TITLES: dict[str, str] = {
    **{name: each.title for name, each in PAPER.items()},
    **{name: title for name, (title, _) in SCIKIT_LEARN.items()},
    **{name: each.title for name, each in synthetic.SETS.items()},
}


def load(name: str) -> Data:
    """Return a data set by name."""
    if name in synthetic.SETS:
        each = synthetic.SETS[name]
        X, y = each.generate()
        names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
        return Data(name, X, y, names, each.n_train, each.n_test)
    if name in SCIKIT_LEARN:
        return replace(SCIKIT_LEARN[name][1](), name=name)
    if name == "cancer":
        return replace(_bundled("load_breast_cancer"), name=name)
    if name not in PAPER:
        raise ExperimentError(f"No data set is called {name!r}. Use: {', '.join(TITLES)}.")
    return _read(name)


def _read(name: str) -> Data:
    """Read the file of one of the paper's sets and compare its counts."""
    path = file_of(name)
    if not path.exists():
        raise ExperimentError(f"{path} does not exist. {how_to_get(name)}")
    data = replace(PAPER[name].clean(pyarrow.parquet.read_table(path)), name=name)
    counts = (*data.X.shape, int(data.y.sum()))
    if counts != PAPER[name].counts:
        raise ExperimentError(
            f"{path} has other rows than the {PAPER[name].title} data: rows, features and rows of "
            f"class 1 are {counts}, expected {PAPER[name].counts}. Move the file away. "
            f"{how_to_get(name)}"
        )
    return data


def folder() -> Path:
    """Return the data folder: $SAFDR_DATA, or a folder of the user's cache."""
    default = Path.home() / ".cache" / "safdr"
    return Path(os.environ.get("SAFDR_DATA") or default)


def file_of(name: str) -> Path:
    """Return the file of one of the paper's sets."""
    other = folder() / OTHER_FILES.get(name, f"{name}.parquet")
    return other if other.exists() else folder() / f"{name}.parquet"


def is_available(name: str) -> bool:
    """Return True if the set can be loaded without a download."""
    return name not in PAPER or name == "cancer" or file_of(name).exists()


def how_to_get(name: str) -> str:
    """Return what the user can do to get the file."""
    each = PAPER[name]
    if each.source is None:
        return f"To get it, {each.how}."
    return f"To get it, run: python -m experiments data --download {name}"


def download(name: str) -> Path:
    """Download one of the paper's sets; an existing file stays."""
    path, source = file_of(name), PAPER[name].source
    if path.exists() or name == "cancer":
        return path
    if source is None:
        raise ExperimentError(f"{PAPER[name].title} cannot be downloaded. {how_to_get(name)}")
    table = source.fetch()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    pyarrow.parquet.write_table(table, partial)
    partial.replace(path)
    return path
