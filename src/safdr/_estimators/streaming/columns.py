"""Columns of a source as numbers: features, target, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr.errors import ParameterError
from safdr.sources import Source

# Types of Arrow that convert to doubles, and types of text that few functions of Arrow take.
NUMBERS = "integer", "floating", "decimal", "boolean", "null"
TEXT = "large_string", "string_view"


class Rows(NamedTuple):
    """Rows as numbers."""

    X: FloatArray  # (n_features, n_rows)
    target: NDArray[Any]  # class codes, or outputs
    weight: FloatArray
    positions: IntArray

    def take(self, which: Any) -> Rows:
        """Return some of the rows."""
        some: list[Any] = [each[..., which] for each in self]
        return Rows(*some)

    def weighted(self) -> Rows:
        """Return the rows with a positive weight."""
        return self if self.weight.all() else self.take(self.weight > 0)


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
        """All columns."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.features, self.target, *weight]

    def read(self, table: Any, start: int) -> Rows:
        """Return the rows of a table; `start` is the position of the first one."""
        X = np.array([self.floats(table, name, start) for name in self.features])
        target: Any
        if self.classes is None:
            target = self.floats(table, self.target, start)
        else:
            target = self._codes(table, start)
        weight = np.ones(table.num_rows)
        if self.weight is not None:
            weight = self.floats(table, self.weight, start)
        if weight.min(initial=0.0) < 0:
            raise ValueError(f"Weights must not be negative; {self.weight!r} has {weight.min()}.")
        return Rows(X, target, weight, np.arange(start, start + table.num_rows))

    def given(self, target: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of codes; outputs as they are."""
        return target if self.classes is None else self.classes[target]

    def codes(self, rows: Rows) -> IntArray:
        """Return class codes; in a regression, all rows are of one class."""
        return np.zeros(len(rows.weight), dtype=np.int64) if self.classes is None else rows.target

    def floats(self, table: Any, name: str, start: int) -> FloatArray:
        """Return a column as doubles; refuse missing and infinite values."""
        values: FloatArray = table[name].cast("double", safe=False).to_numpy()
        self._refuse(~np.isfinite(values), name, start, "Fill it, or leave the column out")
        return values

    def labels(self, table: Any, start: int) -> Any:
        """Return the labels as an Arrow array; refuse missing ones."""
        column = table[self.target]
        if _is(column.type, "dictionary"):
            column = column.cast(column.type.value_type)
        if _is(column.type, *TEXT):
            column = column.cast("string")
        missing = column.is_null(nan_is_null=True).to_numpy()
        self._refuse(missing, self.target, start, "Remove rows without a label")
        return column

    def _codes(self, table: Any, start: int) -> IntArray:
        """Return positions in the classes; a new label is -1."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = self.labels(table, start)
        codes = pc.index_in(labels, value_set=pa.array(self.classes, type=labels.type))
        return pc.fill_null(codes, -1).to_numpy().astype(np.int64)

    def _refuse(self, wrong: NDArray[np.bool_], name: str, start: int, advice: str) -> None:
        if wrong.any():
            raise ValueError(
                f"Column {name!r} of {self.source} has a missing or infinite value in row "
                f"{start + int(wrong.argmax())}. {advice}."
            )


def find_columns(source: Source, target: Any, weight: Any, *, regression: bool) -> Columns:
    """Check the names of target and weight; all other columns are features."""
    given = {"y": target} if weight is None else {"y": target, "sample_weight": weight}
    for parameter, name in given.items():
        if not isinstance(name, str) or name not in source.schema.names:
            what = repr(name) if isinstance(name, str) else type(name).__name__
            raise ParameterError(
                parameter,
                f"must be the name of a column of {source.name}; got {what}. It has "
                f"{_listed(source.schema.names)}.",
            )
        if parameter == "sample_weight" or regression:
            check_numbers(source, [name])
    features = [name for name in source.schema.names if name not in given.values()]
    check_numbers(source, features)
    return Columns(source.name, features, target, weight)


def check_numbers(source: Source, names: list[str]) -> None:
    """Refuse columns that are missing, or no numbers."""
    if not names:
        raise ValueError(f"{source.name} has no column except the target.")
    if missing := [name for name in names if name not in source.schema.names]:
        raise ValueError(f"{source.name} lacks columns of the fit: {_listed(missing)}.")
    if text := [name for name in names if not _is(source.schema.field(name).type, *NUMBERS)]:
        raise ValueError(
            f"{source.name} has columns that are not numbers: {_listed(text)}. Encode them, or "
            "leave them out: Stream(source, columns=[...])."
        )


def _is(kind: Any, *kinds: str) -> bool:
    from pyarrow import types

    return any(getattr(types, f"is_{each}")(kind) for each in kinds)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
