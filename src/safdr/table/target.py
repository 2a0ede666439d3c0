"""The target column: two classes, or one against the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
class Target:
    """Two classes."""

    # The column.
    name: str
    # The labels, as people write them; the model gives the odds of the positive one.
    negative: str
    positive: str
    # One a row.
    is_positive: NDArray[np.bool_]

    @property
    def counts(self) -> tuple[int, int]:
        """Rows of the negative and of the positive class."""
        n_positive = int(self.is_positive.sum())
        return len(self.is_positive) - n_positive, n_positive

    def take(self, rows: NDArray[Any]) -> Target:
        """The target of some rows."""
        return replace(self, is_positive=self.is_positive[rows])

    def check_classes(self, after: str) -> None:
        """Refuse too few rows of a class."""
        for label, count in zip((self.negative, self.positive), self.counts, strict=True):
            if count < MIN_CLASS_ROWS:
                n_rows = f"{len(self.is_positive):,}"
                raise OneClassError(
                    f"{after}Of the {n_rows} rows of the target {self.name!r} {count} are of class "
                    f"{label!r}; at least {MIN_CLASS_ROWS} are needed to learn from."
                )


def read_target(column: pa.ChunkedArray, name: str, positive: str | None) -> Target:
    """Find the two classes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        # Or -0 would be a class beside 0.
        column = pc.add(column, pa.scalar(0, column.type))
    values, labels = _classes(column, name)
    if len(values) > MAX_CLASSES:
        first = ", ".join(labels[:5])
        raise TargetError(
            f"The target {name!r} has {len(values):,} values ({first}, …). A target has two, or up "
            f"to {MAX_CLASSES} of which one is set against the rest. To predict a quantity, cut it "
            "into two classes first."
        )
    if len(values) < 2:
        raise OneClassError(
            f"The target {name!r} has one value only, {labels[0]!r}: nothing can be told apart."
        )
    chosen = _chosen(name, labels, positive, column)
    is_positive = pc.equal(column, values[chosen]).to_numpy().astype(bool)
    rest = [label for i, label in enumerate(labels) if i != chosen]
    negative = rest[0] if len(rest) == 1 else f"not {shown(labels[chosen])}"
    return Target(name, negative, labels[chosen], is_positive)


def _classes(column: pa.ChunkedArray, name: str) -> tuple[list[pa.Scalar], list[str]]:
    """The different values in their order, as Arrow has them and as labels."""
    import pyarrow.compute as pc

    unique = list(pc.unique(column))
    try:
        values = [value.as_py() for value in unique]
    except (ValueError, OverflowError):
        # Years that Python has not, or a zone of time that nobody knows.
        raise TargetError(
            f"The target {name!r} holds values of type {column.type} that can't be shown as dates. "
            "Make it numbers, text or booleans first."
        ) from None
    order = sorted(range(len(values)), key=values.__getitem__)
    return [unique[i] for i in order], [label_text(values[i]) for i in order]


def _chosen(name: str, labels: Sequence[str], positive: str | None, column: pa.ChunkedArray) -> int:
    """Index of the positive label."""
    if positive is None:
        if len(labels) > 2:
            raise ManyClassesError(name, _counts(column, labels))
        return 1
    wanted = [positive, _as_number(positive)]
    found = [i for i, label in enumerate(labels) if label in wanted]
    if not found:
        raise UnknownLabelError(positive, name, labels)
    return found[0]


def _counts(column: pa.ChunkedArray, labels: Sequence[str]) -> Mapping[str, int]:
    import pyarrow.compute as pc

    counts = {
        label_text(each["values"]): each["counts"] for each in pc.value_counts(column).to_pylist()
    }
    return {label: counts[label] for label in labels}


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
