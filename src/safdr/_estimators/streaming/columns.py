"""Columns of a source as numbers: features, target, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr.errors import ParameterError
from safdr.sources import Source


class Batch(NamedTuple):
    """Rows as numbers."""

    columns: list[FloatArray]
    target: NDArray[Any]  # class codes, or outputs
    codes: IntArray  # class codes; zeros in a regression
    weight: FloatArray
    positions: IntArray

    def weighted(self) -> Batch:
        """Return the rows with a positive weight."""
        if self.weight.all():
            return self
        kept = self.weight > 0
        rows: list[Any] = [each[kept] for each in self[1:]]
        return Batch([column[kept] for column in self.columns], *rows)


@dataclass(frozen=True, eq=False)
class Columns:
    """Names of the columns of a source, and the classes of its target."""

    source: str
    features: list[str]
    target: str
    weight: str | None
    classes: list[Any] | None = None  # sorted; None in a regression, or if unknown

    @property
    def names(self) -> list[str]:
        """All columns."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.features, self.target, *weight]

    def read(self, table: Any, start: int) -> Batch:
        """Return the rows of a table; `start` is the position of the first one."""
        columns = [self.floats(table, name, start) for name in self.features]
        if self.classes is None:
            target: Any = self.floats(table, self.target, start)
            codes = np.zeros(len(target), dtype=np.int64)
        else:
            target = codes = self._codes(table, start)
        weight = self.weights(table, start)
        positions = np.arange(start, start + len(weight))
        return Batch(columns, target, codes, weight, positions)

    def floats(self, table: Any, name: str, start: int) -> FloatArray:
        """Return a column as doubles; refuse missing and infinite values."""
        import pyarrow as pa

        values: FloatArray = table[name].cast(pa.float64(), safe=False).to_numpy()
        if not np.isfinite(values).all():
            row = start + int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"Column {name!r} of {self.source} has a missing or infinite value in row {row}. "
                "Fill it, or leave the column out: Stream(source, columns=[...])."
            )
        return values

    def weights(self, table: Any, start: int) -> FloatArray:
        """Return weights of rows."""
        if self.weight is None:
            return np.ones(table.num_rows)
        weight = self.floats(table, self.weight, start)
        if weight.min(initial=0.0) < 0:
            raise ValueError(
                f"Weights must not be negative; column {self.weight!r} of {self.source} has "
                f"{weight.min()} in row {start + int(weight.argmin())}."
            )
        return weight

    def labels(self, table: Any, start: int) -> Any:
        """Return the labels as an Arrow array; refuse missing ones."""
        import pyarrow as pa

        column = table[self.target]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            column = column.cast(pa.string())
        missing = column.is_null(nan_is_null=True).to_numpy()
        if missing.any():
            row = start + int(np.argmax(missing))
            raise ValueError(
                f"The target {self.target!r} of {self.source} is missing in row {row}. Remove rows "
                "without a label."
            )
        return column

    def _codes(self, table: Any, start: int) -> IntArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = self.labels(table, start)
        known = pa.array(self.classes, type=labels.type)
        codes: IntArray = pc.fill_null(pc.index_in(labels, value_set=known), -1).to_numpy()
        if codes.min(initial=0) < 0:
            raise ValueError(
                f"The target {self.target!r} of {self.source} has a label that the pass before did "
                "not see: the source must not change while it is read."
            )
        return codes.astype(np.int64)


def find_columns(source: Source, target: Any, weight: Any, *, regression: bool) -> Columns:
    """Check the names of target and weight; all other columns are features."""
    schema = source.schema
    for parameter, name in {"y": target, "sample_weight": weight}.items():
        if name is None and parameter == "sample_weight":
            continue
        if not isinstance(name, str) or name not in schema.names:
            given = repr(name) if isinstance(name, str) else type(name).__name__
            raise ParameterError(
                parameter,
                f"must be the name of a column of {source.name}; got {given}. It has "
                f"{_listed(schema.names)}.",
            )
        if (parameter == "sample_weight" or regression) and not is_number(schema.field(name).type):
            kind = schema.field(name).type
            raise ParameterError(parameter, f"must name a column of numbers; {name!r} is {kind}.")
    features = [name for name in schema.names if name not in {target, weight}]
    check_numbers(source, features)
    return Columns(source.name, features, target, weight)


def check_numbers(source: Source, names: list[str]) -> None:
    """Refuse columns that are missing, or no numbers."""
    if not names:
        raise ValueError(f"{source.name} has no column except the target.")
    if missing := [name for name in names if name not in source.schema.names]:
        raise ValueError(f"{source.name} lacks columns of the fit: {_listed(missing)}.")
    text = [name for name in names if not is_number(source.schema.field(name).type)]
    if text:
        raise ValueError(
            f"{source.name} has columns that are not numbers: {_listed(text)}. Encode them, or "
            "leave them out: Stream(source, columns=[...])."
        )


def is_number(kind: Any) -> bool:
    """Return True if a type of Arrow converts to doubles."""
    import pyarrow.types as types

    kinds = types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null
    return any(is_kind(kind) for is_kind in kinds)


def is_text(kind: Any) -> bool:
    """Return True for the types of text that few functions of Arrow take."""
    import pyarrow.types as types

    return types.is_large_string(kind) or types.is_string_view(kind)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
