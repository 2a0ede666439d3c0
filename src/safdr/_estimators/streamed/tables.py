"""Tables that pass by, and what is read from them: features, target, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.validation import LARGEST
from safdr.errors import ParameterError
from safdr.sources.arrow import as_table


class TablePass(Protocol):
    """Something that is added up over all rows. It is sent to where the rows are."""

    @property
    def columns(self) -> list[str]:
        """What it reads."""

    def empty(self) -> Any:
        """Sums over no rows."""

    def add(self, sums: Any, table: Any, start: int) -> Any:
        """Sums with the rows of a table, the first of which stands at `start`."""

    def merge(self, first: Any, second: Any) -> Any:
        """Sums over the rows of both, those of the first coming first."""


class Source(Protocol):
    """Rows that can be read any number of times."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def schema(self) -> dict[str, Any]:
        """Types of its columns."""

    @property
    def sample_rows(self) -> int:
        """Rows that candidates are compared on, at most."""

    def run(self, task: TablePass) -> Any:
        """Read all rows once, and return what they add up to."""


class Chunk(NamedTuple):
    """Some rows, as numbers."""

    columns: list[FloatArray]
    target: NDArray[Any]  # codes of classes, or (n_outputs, n_rows) numbers
    weight: FloatArray | None
    positions: IntArray


@dataclass(frozen=True, eq=False)
class Layout:
    """Which columns are what."""

    source_name: str
    features: tuple[str, ...]
    target: str
    weight: str | None = None
    classes: NDArray[Any] | None = None  # None where the target was measured

    @property
    def besides(self) -> list[str]:
        """What every pass reads."""
        return [self.target, *([] if self.weight is None else [self.weight])]

    def chunk(self, table: Any, start: int, features: tuple[str, ...]) -> Chunk:
        """Some features of the rows that have a weight, with their target."""
        frame = as_frame(table)
        several = frame.select(list(features)).iter_columns()
        columns = [as_floats(series, self.source_name) for series in several]
        target = self._target(frame, start)
        positions = np.arange(start, start + len(frame))
        if self.weight is None:
            return Chunk(columns, target, None, positions)
        weight = weights_of(frame, self.weight, self.source_name, start)
        if weight.all():
            return Chunk(columns, target, weight, positions)
        present = np.flatnonzero(weight)
        columns = [column[present] for column in columns]
        return Chunk(columns, target[..., present], weight[present], positions[present])

    def _target(self, frame: Any, start: int) -> NDArray[Any]:
        if self.classes is None:
            return outputs_of(frame, self.target, self.source_name, start)[None]
        return codes_of(frame[self.target], self.classes)

    def check_finite(self, low: FloatArray, high: FloatArray) -> None:
        """Refuse columns with values that no criterion can take."""
        for name, least, most in zip(self.features, low, high, strict=True):
            if np.isfinite([least, most]).all() and max(-least, most) <= LARGEST:
                continue
            if np.isnan([least, most]).any():
                what, advice = "missing values", "Fill them, or leave the column out."
            else:
                what = "values that are infinite, or too large to be squared"
                advice = f"Sizes up to {LARGEST:.0e} are allowed."
            raise ValueError(f"Column {name!r} of {self.source_name} holds {what}. {advice}")


def as_frame(table: Any) -> Any:
    """A table of any kind, with the methods of narwhals."""
    return nw.from_native(as_table(table), eager_only=True)


def columns_of(table: Any, target: str, weight: str | None) -> tuple[Any, Any, Any]:
    """Features as a table, the target, and the weights if there are any."""
    frame = as_frame(table)
    besides = [target] if weight is None else [target, weight]
    for name in besides:
        if name not in frame.columns:
            raise ValueError(f"A table has no column {name!r}; it has {_listed(frame.columns)}.")
    of_rows = None if weight is None else numbers_of(frame[weight])
    return frame.drop(besides).to_native(), frame[target].to_numpy(), of_rows


def numbers_of(series: Any) -> NDArray[Any]:
    """Values of a column as numbers, not a number where they are missing."""
    if series.dtype == nw.Boolean or series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    return np.asarray(series.to_numpy())


def as_floats(series: Any, source_name: str) -> FloatArray:
    """Values of a column as doubles; an error names it."""
    try:
        return np.asarray(numbers_of(series), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {series.name!r} of {source_name} must hold numbers: {error}."
        ) from None


def weights_of(frame: Any, column: str, source_name: str, start: int) -> FloatArray:
    """Weights of rows: finite, none negative."""
    weight = as_floats(frame[column], source_name)
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if wrong.size:
        raise ValueError(
            f"The weights in column {column!r} of {source_name} must be finite and not negative; "
            f"row {start + int(wrong[0])} has {weight[wrong[0]]}."
        )
    return weight


def outputs_of(frame: Any, column: str, source_name: str, start: int) -> FloatArray:
    """Measured outputs: finite numbers."""
    outputs = as_floats(frame[column], source_name)
    wrong = np.flatnonzero(~(np.abs(outputs) <= LARGEST))
    if wrong.size:
        raise ValueError(
            f"The target {column!r} of {source_name} must hold finite numbers up to "
            f"{LARGEST:.0e}; row {start + int(wrong[0])} has {outputs[wrong[0]]}."
        )
    return outputs


def codes_of(series: Any, classes: NDArray[Any]) -> IntArray:
    """Places of labels among the classes, which are sorted."""
    if classes.dtype.kind in "biuf":
        values = numbers_of(series)
        codes = np.minimum(np.searchsorted(classes, values), len(classes) - 1).astype(np.int64)
        known = bool(np.all(classes[codes] == values))
    else:
        text, new = series.cast(nw.String), list(range(len(classes)))
        known = bool(text.is_in(classes.tolist()).all())
        if known:
            codes = text.replace_strict(classes.tolist(), new, return_dtype=nw.Int64).to_numpy()
    if not known:
        raise ValueError(
            f"The target {series.name!r} holds a label that it did not hold in the first pass: "
            "rows must not change while they are read."
        )
    return codes


def check_columns(
    source: Source, target: Any, weight: Any, *, measured: bool = False
) -> tuple[str, ...]:
    """Names of the features: all columns but target and weight, each of them of numbers."""
    schema = source.schema
    for parameter, name in {"y": target, "sample_weight": weight}.items():
        if name is None and parameter == "sample_weight":
            continue
        if not isinstance(name, str):
            raise ParameterError(
                parameter,
                "must be the name of a column of {source}; got {kind}.",
                source=source.name,
                kind=type(name).__name__,
            )
        if name not in schema:
            raise ParameterError(
                parameter,
                "must name a column of {source}; it has no {given!r}. Its columns are {known}.",
                source=source.name,
                given=name,
                known=_listed(list(schema)),
            )
        if (parameter == "sample_weight" or measured) and not _is_number(schema[name]):
            raise ParameterError(
                parameter,
                "must name a column of numbers; {given!r} of {source} holds {kind}.",
                source=source.name,
                given=name,
                kind=schema[name],
            )
    names = [name for name in schema if name not in {target, weight}]
    text = [name for name in names if not _is_number(schema[name])]
    if text:
        raise ValueError(
            f"{source.name} has {len(text)} column(s) that are not numbers: {_listed(text)}. "
            "Choose columns (safdr.Stream(source, columns=[…])), encode them, or let `safdr select "
            "--stream` do that."
        )
    if not names:
        raise ValueError(f"{source.name} has no column besides the target: nothing to choose from.")
    return tuple(names)


def _is_number(kind: Any) -> bool:
    return kind.is_numeric() or kind in (nw.Boolean, nw.Unknown, nw.Object)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
