"""Columns of a source as numbers: features, target, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr.errors import ParameterError
from safdr.sources import Source, SourceError

# Types of Arrow that convert to doubles.
NUMBERS = "integer", "floating", "decimal", "boolean", "null"


class Rows(NamedTuple):
    """Rows as numbers."""

    X: FloatArray  # (n_features, n_rows)
    y: NDArray[Any]  # labels or outputs
    codes: IntArray  # of the labels; 0 in a regression
    weight: FloatArray
    buckets: IntArray

    def take(self, which: Any) -> Rows:
        some: list[Any] = [each[..., which] for each in self]
        return Rows(*some)


@dataclass(frozen=True, eq=False)
class Columns:
    """Names of the columns of a source, and the classes of its target."""

    source: str
    features: list[str]
    target: str
    weight: str | None = None
    classes: NDArray[Any] | None = None  # sorted; None in a regression

    @property
    def names(self) -> list[str]:
        return [*self.features, self.target, *([] if self.weight is None else [self.weight])]

    def read(self, table: Any, buckets: IntArray) -> Rows:
        X = np.array([self.numbers(table, name) for name in self.features])
        weight = np.ones(len(buckets))
        if self.weight is not None:
            weight = self.numbers(table, self.weight)
            if weight.min(initial=0.0) < 0:
                raise ValueError(f"Weights must not be negative; {self.weight!r} has some.")
        if self.classes is None:
            outputs = self.numbers(table, self.target)
            return Rows(X, outputs, np.zeros_like(buckets), weight, buckets)
        places = {label: i for i, label in enumerate(self.classes.tolist())}
        labels = table[self.target].to_pylist()
        codes = np.array([places.get(label, -1) for label in labels], dtype=np.int64)
        if codes.min(initial=0) < 0:
            raise SourceError(f"{self.source} changed while it was read: it has new labels.")
        return Rows(X, self.classes[codes], codes, weight, buckets)

    def numbers(self, table: Any, name: str) -> FloatArray:
        """Return a column as doubles; refuse missing and infinite values."""
        values: FloatArray = table[name].cast("double", safe=False).to_numpy()
        if not np.isfinite(values).all():
            raise ValueError(
                f"Column {name!r} of {self.source} has missing or infinite values. Fill them, or "
                "leave the column out."
            )
        return values


def find_columns(source: Source, target: Any, weight: Any, *, regression: bool) -> Columns:
    """Check the names of target and weight; all other columns are features."""
    check_column(source, "y", target)
    if weight is not None:
        check_column(source, "sample_weight", weight)
    names = source.schema.names
    features = [name for name in names if name not in (target, weight)]
    if not features:
        raise ValueError(f"{source.name} has no column except the target.")
    check_numbers(source, [name for name in names if regression or name != target])
    return Columns(source.name, features, target, weight)


def check_column(source: Source, parameter: str, name: Any) -> None:
    """Refuse what is not the name of a column."""
    if not isinstance(name, str) or name not in source.schema.names:
        given = repr(name) if isinstance(name, str) else type(name).__name__
        raise ParameterError(
            parameter,
            f"must be the name of a column of {source.name}; got {given}. It has "
            f"{source.schema.names[:5]} ….",
        )


def check_numbers(source: Source, names: list[str]) -> None:
    """Refuse columns that are missing, or no numbers."""
    from pyarrow import types

    if missing := [name for name in names if name not in source.schema.names]:
        raise ValueError(f"{source.name} lacks columns of the fit: {missing[:5]}.")
    is_number = [getattr(types, f"is_{kind}") for kind in NUMBERS]
    kinds = {name: source.schema.field(name).type for name in names}
    if text := [name for name in names if not any(test(kinds[name]) for test in is_number)]:
        raise ValueError(
            f"{source.name} has columns that are not numbers: {text[:5]}. Encode them, or "
            "leave them out: Stream(source, columns=[...])."
        )
