"""What a target can be: classes, two or more, or measured numbers; all that differs is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.errors import OneClassError, RareClassError, TableError

if TYPE_CHECKING:
    import pyarrow as pa

# As elsewhere in the library.
Task = Literal["classification", "regression"]

# What rows add up to: rows of each class; or how many, their sum and their sum of squares.
Totals = NDArray[Any]

# Fewer rows of a class can't be split for validation, let alone be learnt from.
MIN_CLASS_ROWS = 10
# As many as two classes have at least.
MIN_ROWS = 2 * MIN_CLASS_ROWS

# What no chance makes (in standard errors), and what matters: a difference between classes, or a
# correlation with numbers.
SURE = 5.0
MATTERS = 0.05
# Dropping rows bends the classes when one keeps less than this share of what another keeps, and
# numbers when their mean moves by more than this share of their deviation.
BENDS = 0.8
MOVES = 0.2


@dataclass(frozen=True)
class Hint:
    """What the gaps of a column tell about the target."""

    # More than chance, and enough to matter.
    depends: bool
    # How well the mere gap predicts: AUC, or R².
    strength: float
    # For a table: what `TargetKind.gap_headings` names.
    cells: tuple[str, str]
    # In brackets behind the name of the column, and behind "Whether it is missing".
    words: str
    claim: str


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetKind(ABC):
    """The target of a table, and what all its rows add up to."""

    # The column.
    name: str
    totals: Totals
    # Why it is taken for this, and what else it could be.
    why: str
    otherwise: Task | None = None

    task: ClassVar[Task]
    # What leaving out rows by what they lack does, and filling in.
    dropping_bends: ClassVar[str]
    filling_tells: ClassVar[str]

    @abstractmethod
    def read(self, column: pa.ChunkedArray) -> NDArray[Any]:
        """Codes of classes, or numbers; no value is missing."""

    @abstractmethod
    def add_up(self, values: NDArray[Any]) -> Totals:
        """What some rows add up to."""

    @abstractmethod
    def n_rows(self, totals: Totals) -> int:
        """How many they are."""

    @abstractmethod
    def check(self, totals: Totals, after: str = "") -> None:
        """Refuse rows that are too few to learn from."""

    @abstractmethod
    def check_held_out(self, totals: Totals, what: str) -> None:
        """Refuse rows that nothing can be tested on, in words for them."""

    @abstractmethod
    def strata(self, values: NDArray[Any]) -> NDArray[Any] | None:
        """What to split rows by in equal shares."""

    @property
    @abstractmethod
    def gap_headings(self) -> tuple[str, str]:
        """What a table of gaps compares."""

    @abstractmethod
    def hint(self, gaps: Totals) -> Hint:
        """What rows with a gap tell."""

    @abstractmethod
    def left(self, totals: Totals) -> str:
        """Of some of the rows, how many are left."""

    @abstractmethod
    def bent(self, totals: Totals) -> str | None:
        """What leaving out all but some rows does to the target, if it does much."""

    @abstractmethod
    def to_dict(self, totals: Totals) -> dict[str, Any]:
        """For the report."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(TargetKind):
    """Two classes or more, and how many rows there are of each."""

    # As people write them, sorted; of two, the one whose odds the model gives comes last.
    labels: tuple[str, ...]
    # The values of the column that have these labels; of two, that of the last is enough.
    values: tuple[pa.Scalar, ...]

    task = "classification"
    dropping_bends = "Leaving out incomplete rows leaves out one class more than the other."
    filling_tells = "the fill value itself may then tell the classes apart"

    def read(self, column: pa.ChunkedArray) -> NDArray[np.int64]:
        """The place of each row's label; of two, whether it is the last."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(self.labels) == 2:
            codes = pc.equal(column, self.values[-1])
        else:
            known = pa.array(list(self.values), column.type)
            codes = pc.index_in(without_minus_zero(column), known)
        return np.asarray(codes.to_numpy()).astype(np.int64)

    def add_up(self, values: NDArray[Any]) -> Totals:
        """Rows of each class."""
        return np.bincount(values, minlength=len(self.labels))

    def n_rows(self, totals: Totals) -> int:
        """Of all classes."""
        return int(totals.sum())

    def check(self, totals: Totals, after: str = "") -> None:
        """Refuse too few rows of a class."""
        for label, count in zip(self.labels, totals, strict=True):
            if count < MIN_CLASS_ROWS:
                error = OneClassError if len(self.labels) == 2 else RareClassError
                raise error(
                    f"{after}Of the {self.n_rows(totals):,} rows of the target {self.name!r} "
                    f"{count} are of class {label!r}; at least {MIN_CLASS_ROWS} are needed to "
                    "learn from."
                )

    def check_held_out(self, totals: Totals, what: str) -> None:
        """All classes must be there."""
        if not totals.any():
            raise TableError(f"{what} is not a single row. Hold out more, or none.")
        if not totals.all():
            lost = (
                "holds one class only"
                if np.count_nonzero(totals) == 1
                else f"has no row of class {self.labels[int(np.argmin(totals))]!r}"
            )
            raise TableError(f"{what} {lost}. Hold out more, or none.")

    def strata(self, values: NDArray[Any]) -> NDArray[Any]:
        """Equal shares of the classes; of two the same rows whichever is the positive one."""
        return values == values[0] if len(self.labels) == 2 else values

    @property
    def gap_headings(self) -> tuple[str, str]:
        """Of two classes both; of more, those with the smallest and the largest share."""
        if len(self.labels) > 2:
            return "least in class", "most in class"
        negative, positive = (f"of class {shown(label)}" for label in self.labels)
        return negative, positive

    def hint(self, gaps: Totals) -> Hint:
        """Shares of gaps, each class against the rest; most telling is the largest difference."""
        n, all_rows, all_gaps = self.totals, self.totals.sum(), gaps.sum()
        share, rest = gaps / n, (all_gaps - gaps) / (all_rows - n)
        overall = all_gaps / all_rows
        error = np.sqrt(overall * (1 - overall) * (1 / n + 1 / (all_rows - n)))
        difference = np.abs(share - rest)
        depends = bool((difference > np.maximum(MATTERS, SURE * error)).any())
        worst, auc = int(np.argmax(difference)), float(0.5 + difference.max() / 2)
        two = len(self.labels) == 2
        low, high = (0, 1) if two else (int(np.argmin(share)), int(np.argmax(share)))
        apart = "the classes apart" if two else f"class {shown(self.labels[worst])} from the rest"
        cells = tuple(
            percent(share[i]) if two else f"{shown(self.labels[i])} {percent(share[i])}"
            for i in (low, high)
        )
        return Hint(
            depends,
            auc,
            (cells[0], cells[1]),
            f"{self._of_class(share, high)}, {self._of_class(share, low)}",
            f"tells {apart} with an AUC of {auc:.3f}",
        )

    def left(self, totals: Totals) -> str:
        """Rows, and those of the positive or the rarest class."""
        rarest = 1 if len(self.labels) == 2 else int(np.argmin(totals))
        of = f"{totals[rarest]:,} of {self.totals[rarest]:,} of class {shown(self.labels[rarest])}"
        return f"{totals.sum():,} of {self.totals.sum():,} rows, {of}"

    def bent(self, totals: Totals) -> str | None:
        """Whether a class keeps much less than another."""
        shares = totals / self.totals
        if shares.min() >= BENDS * shares.max():
            return None
        two = len(self.labels) == 2
        first, second = (1, 0) if two else (int(np.argmax(shares)), int(np.argmin(shares)))
        return (
            f"Leaving out incomplete rows keeps {self._of_class(shares, first)} and "
            f"{self._of_class(shares, second)}: probabilities and intercept"
            f"{'' if two else 's'} are those of the rows that are left, not of all."
        )

    def _of_class(self, shares: NDArray[np.float64], i: int) -> str:
        return f"{percent(shares[i])} of class {shown(self.labels[i])}"

    def to_dict(self, totals: Totals) -> dict[str, Any]:
        """Classes and their rows."""
        counts = dict(zip(self.labels, totals.tolist(), strict=True))
        return {"name": self.name, "classes": list(self.labels), "counts": counts}


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(TargetKind):
    """Numbers; sums are of numbers less the mean of all rows, in units of their deviation."""

    mean: float
    deviation: float

    task = "regression"
    dropping_bends = "Leaving out incomplete rows leaves out some numbers more than others."
    filling_tells = "the fill value itself may then predict the target"

    def read(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """The numbers."""
        return as_numbers(column)

    def add_up(self, values: NDArray[Any]) -> Totals:
        """How many, their sum, their sum of squares."""
        units = (values - self.mean) / self.deviation
        return np.array([len(units), units.sum(), units @ units])

    def n_rows(self, totals: Totals) -> int:
        """The first of the sums."""
        return int(totals[0])

    def check(self, totals: Totals, after: str = "") -> None:
        """Refuse too few rows, and rows that are all the same."""
        n, total, squares = totals
        if n < MIN_ROWS:
            raise OneClassError(
                f"{after}The target {self.name!r} has {int(n)} rows; at least {MIN_ROWS} are "
                "needed to learn from."
            )
        if squares - total**2 / n <= 1e-12 * squares:
            raise OneClassError(f"{after}The target {self.name!r} is the same in all rows.")

    def check_held_out(self, totals: Totals, what: str) -> None:
        """A spread needs two rows."""
        if totals[0] < 2:
            raise TableError(
                f"{what} is {int(totals[0])} rows, too few to test on. Hold out more, or none."
            )

    def strata(self, values: NDArray[Any]) -> None:
        """None: any rows will do."""

    @property
    def gap_headings(self) -> tuple[str, str]:
        """Means."""
        return f"mean {shown(self.name)} there", "elsewhere"

    def hint(self, gaps: Totals) -> Hint:
        """Means of rows with a gap and without, and the correlation of gaps with the numbers."""
        n, known = self.totals[0], self.totals - gaps
        there = gaps[1] / gaps[0]
        elsewhere = known[1] / known[0] if known[0] else 0.0
        share = gaps[0] / n
        correlation = abs(there - elsewhere) * np.sqrt(share * (1 - share))
        depends = bool(correlation > max(MATTERS, SURE / np.sqrt(n)))
        means = tuple(f"{self._number(mean):.4g}" for mean in (there, elsewhere))
        r2 = float(correlation**2)
        return Hint(
            depends,
            r2,
            (means[0], means[1] if known[0] else "–"),
            f"mean {shown(self.name)} {means[0]} where it is missing, {means[1]} elsewhere",
            f"explains {percent(r2)} of the variance of {shown(self.name)}",
        )

    def left(self, totals: Totals) -> str:
        """Rows."""
        return f"{int(totals[0]):,} of {int(self.totals[0]):,} rows"

    def bent(self, totals: Totals) -> str | None:
        """Whether the mean moves."""
        moved = totals[1] / max(totals[0], 1)
        if abs(moved) <= MOVES:
            return None
        return (
            f"Leaving out incomplete rows moves the mean of {shown(self.name)} from "
            f"{self.mean:.4g} to {self._number(moved):.4g}: predictions are those of the rows "
            "that are left, not of all."
        )

    def _number(self, units: float) -> float:
        return float(self.mean + self.deviation * units)

    def to_dict(self, totals: Totals) -> dict[str, Any]:
        """Mean and deviation; there are no classes."""
        n, total, squares = totals
        deviation = np.sqrt(max(squares / n - (total / n) ** 2, 0.0))
        return {
            "name": self.name,
            "classes": [],
            "counts": {},
            "mean": self._number(total / n),
            "standard_deviation": float(self.deviation * deviation),
        }


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Doubles."""
    if str(column.type) == "bool":
        column = column.cast("int8")
    return np.array(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)


def without_minus_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same numbers; or -0 would be a class beside 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0, column.type))
    return column


def shown(label: str) -> str:
    """A label within a sentence: in quotes where it begins or ends with a space."""
    return label if label == label.strip() else f'"{label}"'


def percent(share: float) -> str:
    """A share for people: never 0 % or 100 % unless it is exactly that."""
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        return "under 0.1 %"
    if text == "100.0" and share < 1:
        return "over 99.9 %"
    return f"{text.removesuffix('.0')} %"
