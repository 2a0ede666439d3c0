"""The target column: two classes, or one against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.table.errors import ManyClassesError, OneClassError, TargetError, UnknownLabelError

if TYPE_CHECKING:
    import pyarrow as pa

# With more values it is a quantity or a name, not a class.
MAX_CLASSES = 20
# Fewer rows of a class can't be split for validation, let alone be learnt from.
MIN_CLASS_ROWS = 10


@dataclass(frozen=True, eq=False)
class Classes:
    """Two classes, and how many rows there are of each."""

    # The column.
    name: str
    # The labels, as people write them; the model gives the odds of the positive one.
    negative: str
    positive: str
    # Rows of the negative and of the positive class.
    counts: tuple[int, int]

    def check_classes(self, after: str) -> None:
        """Refuse too few rows of a class."""
        for label, count in zip((self.negative, self.positive), self.counts, strict=True):
            if count < MIN_CLASS_ROWS:
                n_rows = f"{sum(self.counts):,}"
                raise OneClassError(
                    f"{after}Of the {n_rows} rows of the target {self.name!r} {count} are of class "
                    f"{label!r}; at least {MIN_CLASS_ROWS} are needed to learn from."
                )


@dataclass(frozen=True, eq=False)
class Target(Classes):
    """Two classes, and which of them each row has."""

    is_positive: NDArray[np.bool_]

    @classmethod
    def of_rows(cls, classes: Classes, is_positive: NDArray[np.bool_]) -> Target:
        """The target of some rows."""
        n_positive = int(is_positive.sum())
        counts = len(is_positive) - n_positive, n_positive
        return cls(classes.name, classes.negative, classes.positive, counts, is_positive)

    def take(self, rows: NDArray[Any]) -> Target:
        """The target of some of the rows."""
        return self.of_rows(self, self.is_positive[rows])


def read_target(column: pa.ChunkedArray, name: str, positive: str | None) -> Target:
    """Find the two classes."""
    labels = LabelCounts(name)
    labels.add(column)
    classes, value = labels.classes(positive)
    return Target.of_rows(classes, equals(column, value))


def equals(column: pa.ChunkedArray, value: pa.Scalar) -> NDArray[np.bool_]:
    """Rows that have a value; none of them is missing."""
    import pyarrow.compute as pc

    found: NDArray[np.bool_] = pc.equal(column, value).to_numpy().astype(bool)
    return found


class LabelCounts:
    """The different values of a target column, which may come in parts, and their rows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[Any, int] = {}
        self._scalars: dict[Any, pa.Scalar] = {}

    def add(self, column: pa.ChunkedArray) -> None:
        """Count more rows; none of them is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(column.type):
            # Or -0 would be a class beside 0.
            column = pc.add(column, pa.scalar(0, column.type))
        counted = pc.value_counts(column)
        values, counts = counted.field("values"), counted.field("counts").to_pylist()
        for value, count in zip(values, counts, strict=True):
            key = self._in_python(value)
            self._rows[key] = self._rows.get(key, 0) + count
            self._scalars.setdefault(key, value)

    def _in_python(self, value: pa.Scalar) -> Any:
        try:
            return value.as_py()
        except (ValueError, OverflowError):
            # Years that Python has not, or a zone of time that nobody knows.
            raise TargetError(
                f"The target {self.name!r} holds values of type {value.type} that can't be shown "
                "as dates. Make it numbers, text or booleans first."
            ) from None

    def check(self, so_far: str = "") -> None:
        """Refuse more values than classes may have."""
        if len(self._rows) > MAX_CLASSES:
            first = ", ".join(label_text(value) for value in sorted(self._rows)[:5])
            raise TargetError(
                f"The target {self.name!r} has {len(self._rows):,} values{so_far} ({first}, …). A "
                f"target has two, or up to {MAX_CLASSES} of which one is set against the rest. To "
                "predict a quantity, cut it into two classes first."
            )

    def classes(self, positive: str | None) -> tuple[Classes, pa.Scalar]:
        """The two classes, and the value of the positive one."""
        self.check()
        values = sorted(self._rows)
        labels = [label_text(value) for value in values]
        if len(values) < 2:
            raise OneClassError(
                f"The target {self.name!r} has one value only, {labels[0]!r}: nothing can be told "
                "apart."
            )
        counts = {label: self._rows[value] for label, value in zip(labels, values, strict=True)}
        chosen = _chosen(self.name, counts, positive)
        rest = [label for i, label in enumerate(labels) if i != chosen]
        negative = rest[0] if len(rest) == 1 else f"not {shown(labels[chosen])}"
        n_positive = self._rows[values[chosen]]
        n_negative = sum(self._rows.values()) - n_positive
        found = Classes(self.name, negative, labels[chosen], (n_negative, n_positive))
        return found, self._scalars[values[chosen]]


def _chosen(name: str, counts: Mapping[str, int], positive: str | None) -> int:
    """Index of the positive label."""
    if positive is None:
        if len(counts) > 2:
            raise ManyClassesError(name, counts)
        return 1
    wanted = [positive, _as_number(positive)]
    found = [i for i, label in enumerate(counts) if label in wanted]
    if not found:
        raise UnknownLabelError(positive, name, list(counts))
    return found[0]


def label_text(value: Any) -> str:
    """A label as people write it: 1 for 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def shown(label: str) -> str:
    """A label within a sentence: in quotes where it begins or ends with a space."""
    return label if label == label.strip() else f'"{label}"'


def _as_number(text: str) -> str | None:
    """The same number as labels write it, if it is one."""
    try:
        return label_text(float(text))
    except ValueError:
        return None
