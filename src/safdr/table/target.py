"""The column to predict: classes or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from safdr.table.columns import learn_column, missing_words
from safdr.table.errors import ColumnError, TableError, listed
from safdr.table.missing import complete_rows
from safdr.table.types import is_number, value_label

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr.table.columns import Column

Task = Literal["classification", "regression"]

# Fewer rows of a class cannot be split for cross-validation.
MIN_CLASS_ROWS = 10
# Text with more values names things; with `task` given, more classes are allowed.
MAX_CLASSES, MAX_CLASSES_ASKED = 20, 50
# Whole numbers with more values are quantities.
MAX_WHOLE_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Target:
    """The target of some rows."""

    name: str
    task: Task
    # Labels; of two, the one whose odds are modelled comes last. Empty for numbers.
    classes: tuple[str, ...]
    # Codes of classes, or numbers.
    values: NDArray[Any]
    # How the column is read, for other rows.
    column: Column
    positive: str | None = None

    def take(self, rows: Any) -> Target:
        """Return the target of some rows."""
        return replace(self, values=self.values[rows])

    def of(self, table: pa.Table) -> tuple[Target, NDArray[np.bool_]]:
        """Return the target of the rows of a table that have one, and which these are."""
        column = table.column(self.name)
        known = complete_rows([self.column.read(column)], len(column))
        return replace(self, values=self.read(column.filter(known))), known

    def read(self, column: pa.ChunkedArray) -> NDArray[Any]:
        """Return the codes or numbers of other rows, none of them missing."""
        values = self.column.read(column)
        if self.task == "regression":
            return np.array(values.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        labels, codes = _labels(values)
        unknown = [label for label in labels if label not in self.classes]
        if unknown and self.positive is None:
            raise TableError(
                f"The target {self.name!r} has the value {unknown[0]!r}, which is not among the "
                f"training rows: {listed(self.classes)}."
            )
        if self.positive is not None:
            code_of = [int(label == self.positive) for label in labels]
        else:
            code_of = [self.classes.index(label) for label in labels]
        return np.array(code_of, dtype=np.int64)[codes]

    def check(self, where: str = "training rows") -> None:
        """Refuse too few rows."""
        n_rows, least = len(self.values), 2 * MIN_CLASS_ROWS
        if n_rows < least:
            raise TableError(f"Only {n_rows} {where} have a value of {self.name!r}; use {least}.")
        counts = np.bincount(self.values, minlength=len(self.classes)) if self.classes else ()
        for label, count in zip(self.classes, counts, strict=True):
            if count < MIN_CLASS_ROWS:
                raise TableError(
                    f"Only {count} {where} have {self.name} = {label!r}. At least "
                    f"{MIN_CLASS_ROWS} are needed: add rows, or join the class with another one."
                )

    def describe(self) -> dict[str, Any]:
        """Return the target for the result."""
        found: dict[str, Any] = {"name": self.name}
        if self.task == "classification":
            found["classes"] = list(self.classes)
        return found


def learn_target(
    table: pa.Table,
    name: str,
    *,
    positive: str | None = None,
    task: Task | None = None,
    na: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Target:
    """Decide if a target is classes or numbers; `of` returns its values."""
    import pyarrow.compute as pc

    asked = "numbers" if task == "regression" or name in numbers else "keep"
    missing = missing_words(na, name, table.column_names)
    column = learn_column(name, table.column(name), asked, missing)
    if column.use is None:
        raise TableError(f"The target {name!r} cannot be predicted: {column.why}.")
    values = column.read(table.column(name))
    if column.example and asked == "keep" and len(_labels(values)[0]) <= MAX_CLASSES:
        # Few values with a unit, such as "< 5 %", are classes.
        column = replace(column, use="category", mark=".", example="", missing=())
        values = column.read(table.column(name))
    return _decide(name, column, pc.unique(values.drop_null()), positive, task)


def _decide(
    name: str, column: Column, distinct: pa.Array, positive: str | None, task: Task | None
) -> Target:
    """Decide if distinct values are classes or numbers."""
    numeric = is_number(distinct.type)
    # Two values, such as 0 and -0, may have one label.
    labels = sorted(set(_labels(distinct[:1000])[0]), key=float if numeric else None)
    whole = numeric and all("." not in label and "e" not in label for label in labels)
    few = len(labels) <= (MAX_WHOLE_CLASSES if numeric else MAX_CLASSES)
    if task is None and positive is None and numeric and len(labels) > 2 and not (few and whole):
        task = "regression"
    target = Target(name, task or "classification", (), np.array([]), column)
    if task == "regression":
        if not numeric:
            raise ColumnError(f"The target {name!r} holds text; --task regression needs numbers.")
        return target
    if positive is not None:
        return _one_class(target, labels, positive)
    most = MAX_CLASSES_ASKED if task else MAX_CLASSES
    if len(labels) > most:
        raise TableError(
            f"The target {name!r} has more than {most} values ({listed(labels[:5])}, …), "
            "too many for classes. Join rare ones, or predict another column."
        )
    return replace(target, classes=tuple(labels))


def _one_class(target: Target, labels: Sequence[str], positive: str) -> Target:
    """Return two classes: one label, and all others."""
    if positive not in labels:
        raise ColumnError(
            f"The target {target.name!r} has no value {positive!r}. It has {listed(labels)}."
        )
    rest = [label for label in labels if label != positive]
    other = rest[0] if len(rest) == 1 else f"not {positive}"
    return replace(target, classes=(other, positive), positive=positive)


def _labels(values: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return distinct labels, and the code of each row."""
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(values)
    coded = coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded
    codes = np.array(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return [value_label(each) for each in coded.dictionary.drop_null().to_pylist()], codes
