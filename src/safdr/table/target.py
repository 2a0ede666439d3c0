"""The column to predict: classes or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from safdr.table.columns import Wishes, is_number, learn_column, value_label
from safdr.table.errors import ColumnError, TableError, listed
from safdr.table.missing import complete_rows

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
    why: str
    # How the column is read, for other rows.
    column: Column
    positive: str | None = None

    def take(self, rows: Any) -> Target:
        """Return the target of some rows."""
        return replace(self, values=self.values[rows])

    def read(self, column: pa.ChunkedArray) -> NDArray[Any]:
        """Return the codes or numbers of other rows, none of them missing."""
        values = self.column.read(column)
        if self.task == "regression":
            return _numbers(values)
        labels, codes = _labels(values)
        if self.positive is not None:
            code_of = {label: int(label == self.positive) for label in labels}
        else:
            code_of = {label: code for code, label in enumerate(self.classes)}
        if unknown := [label for label in labels if label not in code_of]:
            raise TableError(
                f"The target {self.name!r} has the value {unknown[0]!r}, which is not among the "
                f"training rows: {listed(self.classes)}."
            )
        return np.array([code_of[label] for label in labels], dtype=np.int64)[codes]

    def check(self, where: str = "training rows") -> None:
        """Refuse too few rows."""
        if self.task == "regression":
            if len(self.values) < 2 * MIN_CLASS_ROWS:
                raise TableError(
                    f"Only {len(self.values)} {where} have a value of {self.name!r}. At least "
                    f"{2 * MIN_CLASS_ROWS} are needed."
                )
            if np.ptp(self.values) == 0:
                raise TableError(f"The target {self.name!r} has one value only in the {where}.")
            return
        counts = np.bincount(self.values, minlength=len(self.classes))
        for label, count in zip(self.classes, counts, strict=True):
            if count < MIN_CLASS_ROWS:
                raise TableError(
                    f"Only {count} {where} have {self.name} = {label!r}. At least "
                    f"{MIN_CLASS_ROWS} are needed: add rows, or join the class with another one."
                )

    def describe(self) -> dict[str, Any]:
        """Return the target for the result."""
        found: dict[str, Any] = {"name": self.name, "why": self.why}
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
) -> tuple[Target, NDArray[np.bool_]]:
    """Decide what a target is; also return which rows have a value of it."""
    from safdr.table.columns import UNTYPED

    names = table.column_names
    untyped = (table.schema.metadata or {}).items() >= UNTYPED.items()
    numeric = {name} if task == "regression" else set(numbers) & {name}
    column = learn_column(
        name,
        table.column(name),
        Wishes(keep={name}, numbers=numeric, na=na),
        names,
        untyped=untyped,
    )
    if column.use is None:
        raise TableError(f"The target {name!r} cannot be predicted: {column.why}.")
    if column.example and not numeric and len(set(_labels(table.column(name))[0])) <= MAX_CLASSES:
        # Few values with a unit, such as "< 5 %", are classes.
        column = replace(column, use="category", mark=None, example="", missing=())
    values = column.read(table.column(name))
    known = complete_rows([values], len(values))
    return _target(name, column, values.filter(known), positive, task), known


def _target(
    name: str, column: Column, values: pa.ChunkedArray, positive: str | None, task: Task | None
) -> Target:
    labels, codes = _labels(values, most=None if task == "classification" else 1000)
    numeric = is_number(values.type)
    whole = numeric and all("." not in label and "e" not in label for label in labels)
    few = len(labels) <= (MAX_WHOLE_CLASSES if numeric else MAX_CLASSES)
    if task is None and positive is None and numeric and len(labels) > 2 and not (few and whole):
        task = "regression"
    if task == "regression":
        if not numeric:
            raise ColumnError(f"The target {name!r} holds text; --task regression needs numbers.")
        return Target(name, "regression", (), _numbers(values), "numbers", column)
    most = MAX_CLASSES_ASKED if task else MAX_CLASSES
    if positive is None and len(labels) > most:
        raise TableError(
            f"The target {name!r} has more than {most} values ({listed(sorted(labels)[:5])}, …), "
            "too many for classes. Join rare ones, or predict another column."
        )
    # Two values, such as 0 and -0, may have one label.
    ordered = sorted(set(labels), key=float if numeric else None)
    if positive is not None:
        return _one_class(name, column, ordered, labels, codes, positive)
    code_of = {label: code for code, label in enumerate(ordered)}
    y = np.array([code_of[label] for label in labels], dtype=np.int64)[codes]
    why = f"{len(ordered)} {'whole numbers' if numeric and len(ordered) > 2 else 'values'}"
    return Target(name, "classification", tuple(ordered), y, why, column)


def _one_class(
    name: str,
    column: Column,
    ordered: Sequence[str],
    labels: Sequence[str],
    codes: NDArray[np.int64],
    positive: str,
) -> Target:
    """Return two classes: one label, and all others."""
    wanted = {positive, _as_number(positive)}
    found = next((label for label in ordered if label in wanted), None)
    if found is None:
        raise ColumnError(
            f"The target {name!r} has no value {positive!r}. It has {listed(ordered)}."
        )
    rest = [label for label in ordered if label != found]
    other = rest[0] if len(rest) == 1 else f"not {found}"
    y = np.array([int(label == found) for label in labels], dtype=np.int64)[codes]
    why = f"{found} against {other if len(rest) == 1 else 'the rest'}"
    return Target(name, "classification", (other, found), y, why, column, positive=found)


def _labels(
    values: pa.ChunkedArray, most: int | None = None
) -> tuple[list[str], NDArray[np.int64]]:
    """Return distinct labels and the code of each row; numbers beyond `most` are not labelled."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(values.type):
        values = pc.if_else(values, "True", "False")
    coded = pc.dictionary_encode(values).combine_chunks()
    codes = np.array(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    labels = [value_label(each) for each in coded.dictionary.to_pylist()[:most]]
    return labels, codes


def _numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.array(values.cast("float64", safe=False).to_numpy(), dtype=np.float64)


def _as_number(text: str) -> str | None:
    try:
        return value_label(float(text))
    except ValueError:
        return None
