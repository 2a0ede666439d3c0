"""Moments: what a search needs of rows, made anywhere, added in any order, kept in a file."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target

from safdr._atomic import write_atomically
from safdr._engine.arrays import FloatArray
from safdr._engine.criterion import (
    FisherCriterion,
    R2Criterion,
    Ridge,
    fisher_criterion,
    r2_criterion,
)
from safdr._engine.moments import ClassMoments, JointMoments, class_moments, joint_moments
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.streamed.tables import columns_of
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import MANY_CLASSES, shown
from safdr.errors import ParameterError

# Labels and names in a text; the rest are dots.
MOST_SHOWN = 5

TASKS = ("auto", "classification", "regression")

# The arrays in a file, by their shapes: features, classes, outputs.
SHAPES = {
    "classification": {"weight": "c", "mean": "cf", "scatter": "cff"},
    "regression": {
        "weight": "",
        "mean": "f",
        "output_mean": "o",
        "output_variance": "o",
        "cross": "fo",
        "covariance": "ff",
    },
}

# What files say about themselves. A file of a later version is refused.
FORMAT = "safdr.Moments"
VERSION = 1

# What reading raises where a file is damaged, or no archive at all.
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weights, means and covariances of rows: all that the built-in criteria need of them.

    Make them where the rows are, with `from_rows`: of a file, a day, a partition. Add them in any
    order: ``a + b`` is, to rounding, what the rows of both together give. Keep them in a file of
    some (number of classes) × (number of features)² numbers, however many rows there were.

    Attributes
    ----------
    task : {"classification", "regression"}
        Whether they are of each class, or of features and outputs together.
    n_samples : int
        Rows with a weight.
    n_features : int
        Number of features.
    feature_names : tuple of str or None
        Names of the features, if the rows had any.
    classes : ndarray of shape (n_classes,) or None
        The labels, sorted; None for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import Moments
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> first, rest = Moments.from_rows(X[:200], y[:200]), Moments.from_rows(X[200:], y[200:])
    >>> first + rest
    Moments(classification, 569 rows, 30 features, classes 0, 1)
    """

    task: str
    n_samples: int
    feature_names: tuple[str, ...] | None
    classes: NDArray[Any] | None
    _arrays: Any  # ClassMoments or JointMoments

    @classmethod
    def from_rows(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        task: str = "auto",
    ) -> Self:
        """Moments of rows in memory, each read once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of finite numbers; a data frame gives its names. One row will do.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or measured outputs.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; one of weight 0 counts as absent.

        task : {"auto", "classification", "regression"}, default="auto"
            What y holds. "auto" takes text, booleans and whole numbers for labels, and other
            numbers, or several columns, for measured outputs; more than 20 different whole numbers
            could be either, and it asks. Say it where measured outputs may happen to be whole
            numbers in some part of the rows.

        Returns
        -------
        Moments

        Examples
        --------
        >>> from safdr import Moments
        >>> Moments.from_rows([[0, 1], [2, 3], [4, 6]], [0.5, 1.5, 3.0])
        Moments(regression, 3 rows, 2 features, 1 output)
        """
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(map(repr, TASKS))}; got {task!r}.")
        if task == "auto":
            task = _task_of(y)
        table = BaseEstimator()
        make = _of_classes if task == "classification" else _of_outputs
        n_samples, classes, arrays = make(table, X, y, sample_weight)
        names = getattr(table, "feature_names_in_", None)
        names = None if names is None else tuple(names.tolist())
        return cls(task, n_samples, names, classes, arrays)

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[Any],
        target: str,
        *,
        sample_weight: str | None = None,
        task: str = "auto",
    ) -> Self:
        """Moments of tables that come one after the other, each read once and let go.

        Parameters
        ----------
        batches : iterable of tables
            Arrow record batches or tables, pandas or polars data frames, all with the same columns
            of numbers: those of a file, a query, a queue.

        target : str
            Name of the column of labels or measured outputs.

        sample_weight : str, default=None
            Name of the column of weights.

        task : {"auto", "classification", "regression"}, default="auto"
            What the target holds, as in `from_rows`; "auto" looks at the first table that has rows.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import pyarrow as pa
        >>> from sklearn.datasets import load_iris
        >>> from safdr import Moments
        >>> table = pa.Table.from_pandas(load_iris(as_frame=True).frame)
        >>> Moments.from_batches(table.to_batches(max_chunksize=40), "target")
        Moments(classification, 150 rows, 4 features, classes 0, 1, 2)
        """
        total: Any = 0
        for batch in batches:
            X, y, weight = columns_of(batch, target, sample_weight)
            if len(y) == 0 or not (weight is None or np.any(weight)):
                continue
            task = _task_of(y) if task == "auto" else task
            total = total + cls.from_rows(X, y, weight, task=task)
        if total == 0:
            raise ValueError("There are no rows in the batches: nothing to make moments of.")
        return total

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self._arrays.mean.shape[-1])

    def __add__(self, other: Any) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        _check_addable(self, other)
        ours, theirs, classes = self._arrays, other._arrays, None
        if self.classes is not None and other.classes is not None:
            classes = np.union1d(self.classes, other.classes)
            ours, theirs = _under(classes, self), _under(classes, other)
        n_samples = self.n_samples + other.n_samples
        return Moments(self.task, n_samples, self.feature_names, classes, ours + theirs)

    def __radd__(self, other: Any) -> Moments:
        # So that sum(parts) works, which starts at 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        if self.classes is None:
            n_outputs = len(self._arrays.output_mean)
            target = f"{n_outputs} output{'s' if n_outputs > 1 else ''}"
        else:
            some = ", ".join(shown(label) for label in self.classes[:MOST_SHOWN])
            target = f"classes {some}{', …' if len(self.classes) > MOST_SHOWN else ''}"
        return f"Moments({self.task}, {self.n_samples} rows, {self.n_features} features, {target})"

    def save(self, path: str | PathLike[str]) -> None:
        """Write to one file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to; a file that is there is replaced. It is an archive of NumPy's (npz) without
            pickled objects, whatever its name.
        """
        about = {
            "format": FORMAT,
            "version": VERSION,
            "task": self.task,
            "n_samples": self.n_samples,
            "feature_names": self.feature_names,
            "classes": None if self.classes is None else self.classes.tolist(),
            "class_type": None if self.classes is None else self.classes.dtype.str,
        }
        arrays = {name: getattr(self._arrays, name) for name in SHAPES[self.task]}
        content = io.BytesIO()
        np.savez(content, about=np.array(json.dumps(about)), **arrays)
        write_atomically(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Moments:
        """Read what `save` has written; nothing in a file is ever run.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Moments

        Raises
        ------
        ValueError
            Where the file is damaged, of another kind, or of a later version of safdr.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                about = json.loads(str(archive["about"]))
                if about["format"] != FORMAT:
                    raise ValueError(f"its format is {about['format']!r}")
                if about["version"] > VERSION:
                    raise ValueError(
                        f"it has version {about['version']}, and this safdr reads up to {VERSION}"
                    )
                return _restored(about, archive)
        except UNREADABLE as error:
            raise ValueError(
                f"{str(path)!r} can't be read as Moments: {error}. It must be a whole file that "
                "Moments.save has written."
            ) from None

    def _criterion(
        self, ridge: Ridge, rank: FloatArray | None = None
    ) -> FisherCriterion | R2Criterion:
        """What a search on these moments alone maximises."""
        if self.task == "regression":
            return r2_criterion(self._arrays, ridge=ridge)
        if len(self._arrays.weight) < 2:
            raise ValueError(f"A search needs moments of 2 or more classes; got {self!r}.")
        return fisher_criterion(self._arrays.within(), ridge=ridge, rank=rank, overwrite=True)

    def _total_covariance(self) -> FloatArray:
        """Return the covariance of the features over all rows."""
        arrays: Any = self._arrays
        if self.task == "regression":
            return np.asarray(arrays.covariance)
        share = arrays.weight / arrays.weight.sum()
        deviation = (arrays.mean - share @ arrays.mean) * np.sqrt(share)[:, None]
        within = arrays.scatter.sum(axis=0) / arrays.weight.sum()
        return np.asarray(within + deviation.T @ deviation)


def _task_of(y: Any) -> str:
    """What y holds, by its looks."""
    looks = type_of_target(y, input_name="y")
    if looks.startswith("continuous") or np.ndim(y) > 1:
        return "regression"
    values = np.asarray(y)
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MANY_CLASSES:
        raise ParameterError(
            "task",
            "must be said: y holds {n} different whole numbers, which may be labels or measured "
            "outputs. Pass {task}='classification' or {task}='regression'.",
            n=len(np.unique(values)),
        )
    return "classification"


def _of_classes(
    table: BaseEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[int, NDArray[Any], ClassMoments]:
    """Rows, labels and moments of rows with labels."""
    rows = ClassData.validate(table, X, y, sample_weight, min_rows=1)
    if rows.sample_weight is not None:
        rows = rows.take(rows.sample_weight > 0)
    present, codes = np.unique(rows.codes, return_inverse=True)
    moments = class_moments(rows.X, codes.astype(np.int64), len(present), rows.sample_weight)
    labels = rows.classes[present]
    if labels.dtype == object:
        labels = np.array(labels.tolist())
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"y must hold labels that are text, numbers or booleans, which a file can keep; got "
            f"{shown(rows.classes[0])}."
        )
    return len(codes), labels, moments


def _of_outputs(
    table: BaseEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[int, None, JointMoments]:
    """Rows and moments of rows with measured outputs."""
    rows = MeasuredData.validate(table, X, y, sample_weight, min_rows=1)
    if rows.sample_weight is not None:
        rows = rows.take(rows.sample_weight > 0)
    outputs = rows.y.reshape(len(rows.y), -1)
    return len(outputs), None, joint_moments(rows.X, outputs, rows.sample_weight)


def _check_addable(a: Moments, b: Moments) -> None:
    """Refuse moments of different tasks, features, outputs or kinds of labels."""
    if a.task != b.task:
        raise ValueError(
            f"Moments of one task can be added; got {a.task} and {b.task}. Say task= in from_rows "
            "where whole numbers are measured outputs."
        )
    if a.n_features != b.n_features or a.feature_names != b.feature_names:
        raise ValueError(
            "Moments of the same features, in the same order and with the same names, can be "
            f"added; got {_features(a)} and {_features(b)}."
        )
    if a.classes is None or b.classes is None:
        ours, theirs = len(a._arrays.output_mean), len(b._arrays.output_mean)
        if ours != theirs:
            raise ValueError(
                f"Moments of the same outputs can be added; got {ours} and {theirs} outputs."
            )
    elif _kind(a.classes) != _kind(b.classes):
        raise ValueError(
            f"Moments with labels of one type can be added; got {shown(a.classes[0])} and "
            f"{shown(b.classes[0])}."
        )


def _features(moments: Moments) -> str:
    """How many features, and the first names."""
    if moments.feature_names is None:
        return f"{moments.n_features} without names"
    some = ", ".join(map(repr, moments.feature_names[:MOST_SHOWN]))
    return f"{moments.n_features} ({some}{', …' if moments.n_features > MOST_SHOWN else ''})"


def _kind(labels: NDArray[Any]) -> str:
    """Text, booleans or numbers."""
    return {"U": "text", "b": "boolean"}.get(labels.dtype.kind, "number")


def _under(classes: NDArray[Any], moments: Moments) -> ClassMoments:
    """The moments of each class of a longer list; zero where they have none."""
    arrays: ClassMoments = moments._arrays
    assert moments.classes is not None
    if len(classes) == len(moments.classes):
        return arrays
    return arrays.spread_over(np.searchsorted(classes, moments.classes), len(classes))


def _restored(about: dict[str, Any], archive: Any) -> Moments:
    """Moments out of a file; an error says what doesn't fit."""
    task, names, classes = about["task"], about["feature_names"], None
    if about["classes"] is not None:
        classes = np.array(about["classes"], dtype=about["class_type"])
    arrays = {name: archive[name] for name in SHAPES[task]}
    sizes = {"f": arrays["mean"].shape[-1], "c": 0 if classes is None else len(classes)}
    sizes["o"] = len(arrays.get("output_mean", ()))
    for name, shape in SHAPES[task].items():
        array = arrays[name]
        if array.shape != tuple(sizes[axis] for axis in shape) or array.dtype != np.float64:
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
        arrays[name] = array if shape else float(array)
    if names is not None and len(names) != sizes["f"]:
        raise ValueError(f"it has {len(names)} names for {sizes['f']} features")
    kind = ClassMoments if task == "classification" else JointMoments
    names = None if names is None else tuple(map(str, names))
    return Moments(task, int(about["n_samples"]), names, classes, kind(**arrays))
