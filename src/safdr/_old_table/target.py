"""The target column: what its values are, by their type and number or as someone says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.arrow_types import is_number, type_words
from safdr._old_table.errors import (
    ManyLabelsError,
    NoClassesError,
    OneClassError,
    TargetError,
    TaskError,
    UnknownLabelError,
)
from safdr._old_table.kinds import (
    Classes,
    Measured,
    TargetKind,
    Task,
    Totals,
    as_numbers,
    shown,
    without_minus_zero,
)

if TYPE_CHECKING:
    import pyarrow as pa

# Text with more values names things. Who knows better may say so, up to a formula that can be read.
MAX_CLASSES = 20
MOST_CLASSES = 50
# Whole numbers: grades, ratings and digits have up to ten values; ages, counts and years have more.
MAX_WHOLE = 10


@dataclass(frozen=True, eq=False)
class Target:
    """The target of some rows: codes of classes, or numbers."""

    kind: TargetKind
    values: NDArray[Any]

    @property
    def totals(self) -> Totals:
        """What the rows add up to."""
        return self.kind.add_up(self.values)

    def take(self, rows: NDArray[Any]) -> Target:
        """The target of some of the rows."""
        return Target(self.kind, self.values[rows])


def read_target(
    column: pa.ChunkedArray, name: str, positive: str | None, task: Task | None
) -> Target:
    """Find out what the target is."""
    values = TargetValues(name)
    values.add(column)
    kind = values.kind(positive, task)
    return Target(kind, kind.read(column))


class TargetValues:
    """The different values of a target column, which may come in parts; many are not kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[Any, int] = {}
        self._scalars: dict[Any, pa.Scalar] = {}
        # At least so many.
        self._n_values = 0
        self._type: Any = None
        self._has_fraction = False
        # Rows, their mean, and the sum of squares about it.
        self._n, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, column: pa.ChunkedArray) -> None:
        """Count more rows; none of them is missing."""
        import pyarrow.compute as pc

        self._type = column.type
        if len(column) == 0:
            return
        if self._are_numbers:
            self._add_numbers(as_numbers(column))
        column = without_minus_zero(column)
        self._n_values = max(self._n_values, pc.count_distinct(column).as_py())
        if self._n_values > MOST_CLASSES and self._rows:
            return
        counted = pc.value_counts(column)
        values, counts = counted.field("values"), counted.field("counts").to_pylist()
        # The first will do for a message.
        for value, count in zip(values[: MOST_CLASSES + 1], counts, strict=False):
            key = self._in_python(value)
            self._rows[key] = self._rows.get(key, 0) + count
            self._scalars.setdefault(key, value)
        self._n_values = max(self._n_values, len(self._rows))

    @property
    def _are_numbers(self) -> bool:
        return is_number(self._type) or str(self._type) == "bool"

    def _add_numbers(self, numbers: NDArray[np.float64]) -> None:
        mean = float(numbers.mean())
        self._add_sums(len(numbers), mean, float(((numbers - mean) ** 2).sum()))
        self._has_fraction |= bool((numbers != np.floor(numbers)).any())

    def _add_sums(self, n: int, mean: float, squares: float) -> None:
        step, total = mean - self._mean, self._n + n
        self._squares += squares + step**2 * self._n * n / total
        self._mean += step * n / total
        self._n = total

    def include(self, other: TargetValues) -> None:
        """Count the rows of another part."""
        self._type = other._type if self._type is None else self._type
        if other._n:
            self._add_sums(other._n, other._mean, other._squares)
        self._has_fraction |= other._has_fraction
        for key, count in other._rows.items():
            self._rows[key] = self._rows.get(key, 0) + count
            self._scalars.setdefault(key, other._scalars[key])
        self._n_values = max(self._n_values, other._n_values, len(self._rows))

    def _in_python(self, value: pa.Scalar) -> Any:
        try:
            return value.as_py()
        except (ValueError, OverflowError, LookupError):
            # Years that Python has not, or a zone of time that nobody knows (pytz: a LookupError).
            raise TargetError(
                f"The target {self.name!r} holds values of type {value.type} that can't be shown "
                "as dates. Make it numbers, text or booleans first."
            ) from None

    def check_classes(self, task: Task | None, so_far: str = "") -> None:
        """Refuse more values than classes may have."""
        most = MAX_CLASSES if task is None else MOST_CLASSES
        if self._n_values > most and self._are_numbers and task is None:
            raise NoClassesError(
                f"The target {self.name!r} holds numbers of {self._n_values:,} values{so_far}: a "
                "quantity, none of whose values can be the positive class."
            )
        if self._n_values > most:
            first = ", ".join(label_text(value) for value in sorted(self._rows)[:5])
            error = ManyLabelsError if task is None else TargetError
            raise error(
                f"The target {self.name!r} has {self._n_values:,} values{so_far} ({first}, …), too "
                f"many for classes: up to {most} are taken for that. Join rare ones, or predict "
                "another column."
            )

    def check_so_far(self, positive: str | None, task: Task | None) -> None:
        """Refuse them as soon as there are too many for what they must be."""
        must_be = positive is not None or task == "classification"
        if must_be or not (task or self._are_numbers):
            self.check_classes(task, " or more")

    def kind(self, positive: str | None, task: Task | None) -> TargetKind:
        """What they are; with a positive label, that one against the rest."""
        if self._n_values < 2:
            (label,) = map(label_text, self._rows)
            raise OneClassError(
                f"The target {self.name!r} has one value only, {label!r}: nothing can be told "
                "apart."
            )
        if positive is None and (task or self._guess()) == "regression":
            return self._measured(task)
        self.check_classes(task)
        return self._classes(positive, task)

    def _guess(self) -> Task:
        """By type and number of values; two values are always two classes."""
        if str(self._type) == "bool" or not self._are_numbers or self._n_values <= 2:
            return "classification"
        few = self._n_values <= MAX_WHOLE and not self._has_fraction
        return "classification" if few else "regression"

    def _measured(self, task: Task | None) -> Measured:
        if not self._are_numbers:
            raise TaskError(
                f"The target {self.name!r} holds {type_words(self._type)}, not numbers: there is "
                "nothing to regress on."
            )
        some = "more than " if self._n_values > MOST_CLASSES else ""
        whole = f"{some}{min(self._n_values, MOST_CLASSES)} different whole numbers"
        why = "numbers with fractions" if self._has_fraction else whole
        few = not self._has_fraction and self._n_values <= MOST_CLASSES
        deviation = float(np.sqrt(self._squares / self._n))
        kind = Measured(
            name=self.name,
            totals=np.array([self._n, 0.0, float(self._n)]),
            why="is a quantity, as asked for" if task else f"holds {why}",
            otherwise="classification" if few and task is None else None,
            mean=self._mean,
            # Numbers may differ by less than doubles tell apart from their mean.
            deviation=deviation or 1.0,
        )
        if deviation == 0:
            kind.check(np.array([self._n, 0.0, 0.0]))
        return kind

    def _classes(self, positive: str | None, task: Task | None) -> Classes:
        values = sorted(self._rows)
        labels = [label_text(value) for value in values]
        scalars = [self._scalars[value] for value in values]
        counts = [self._rows[value] for value in values]
        why = f"has {len(values)} values" + (": classes, as asked for" if task else "")
        are_numbers = self._are_numbers and str(self._type) != "bool"
        ambiguous = len(values) > 2 and are_numbers and not task
        otherwise: Task | None = "regression" if ambiguous else None
        if positive is not None or len(values) == 2:
            chosen = _chosen(self.name, dict(zip(labels, counts, strict=True)), positive)
            rest = [label for i, label in enumerate(labels) if i != chosen]
            if len(rest) > 1:
                why, otherwise = f"has {len(values)} values, one against the rest", None
            negative = rest[0] if len(rest) == 1 else f"not {shown(labels[chosen])}"
            labels, scalars = [negative, labels[chosen]], [scalars[chosen]]
            counts = [sum(counts) - counts[chosen], counts[chosen]]
        elif otherwise:
            why = f"{why}, all of them whole numbers"
        return Classes(
            name=self.name,
            totals=np.array(counts),
            why=why,
            otherwise=otherwise,
            labels=tuple(labels),
            values=tuple(scalars),
        )


def _chosen(name: str, counts: Mapping[str, int], positive: str | None) -> int:
    """Index of the positive label."""
    if positive is None:
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


def _as_number(text: str) -> str | None:
    """The same number as labels write it, if it is one."""
    try:
        return label_text(float(text))
    except ValueError:
        return None
