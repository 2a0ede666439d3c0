"""How columns of a table become features, learnt from some rows and followed on any others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.columns import Kind, LeftOut
from safdr._old_table.readings import PLAIN, Reading, Readings
from safdr._old_table.target import label_text

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float64]

# A rarer level is constant in some splits of the rows, and separates the classes in others.
MIN_LEVEL_SHARE = 1e-3
MIN_LEVEL_ROWS = 10
# The commonest levels of a column that get a feature.
MAX_LEVELS = 30


@dataclass(frozen=True)
class Feature:
    """One column of numbers, made from one column of the table."""

    # For people.
    name: str
    # Of the table.
    column: str
    # The number itself; 1 for true; or 1 where the value is `level`. Otherwise 0.
    kind: Literal["number", "boolean", "level"]
    # A text; or a number that is a code.
    level: str | float | None = None
    # What the feature is where the column has no value; None says that it must have one.
    fill: float | None = None
    # How values of the column were read.
    reading: Reading = PLAIN

    @property
    def is_of_numbers(self) -> bool:
        """Whether the column holds numbers."""
        return self.kind == "number" or isinstance(self.level, float)

    def values(self, table: pa.Table) -> FloatArray:
        """The feature of each row of a table; not a number where it is unknown."""
        import pyarrow.compute as pc

        column = table.column(self.column)
        if self.kind == "level":
            column = pc.equal(column, self.level)
        if self.kind != "number":
            column = column.cast("int8")
        numbers = np.array(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        if self.fill is not None:
            numbers[np.isnan(numbers)] = self.fill
        return numbers


@dataclass(frozen=True)
class Coding:
    """How a text column is coded."""

    # Its name.
    column: str
    # Values that have a feature each.
    levels: tuple[str | float, ...]
    # The commonest value: all features are 0.
    reference: str | float
    # Values too rare for a feature; they count as the reference, as do values never seen.
    pooled: tuple[str | float, ...]
    # Rows of each of these.
    pooled_rows: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """For the report."""
        return {
            "column": self.column,
            "kind": "one-hot",
            "names": [level_name(self.column, level) for level in self.levels],
            "reference": label_text(self.reference),
            "pooled": [label_text(level) for level in self.pooled],
            "pooled_rows": list(self.pooled_rows),
        }


@dataclass(frozen=True)
class Recipe:
    """All features, and how text was coded."""

    features: tuple[Feature, ...]
    codings: tuple[Coding, ...]

    def follow(self, table: pa.Table) -> FloatArray:
        """The features of each row of a table."""
        if not self.features:
            return np.empty((table.num_rows, 0))
        return np.column_stack([feature.values(table) for feature in self.features])


def learn_recipe(
    table: pa.Table, kinds: Mapping[str, Kind], readings: Readings, *, fill: bool
) -> tuple[Recipe, list[LeftOut]]:
    """Decide on the features."""
    features: list[Feature] = []
    codings, left_out = [], []
    for column, kind in kinds.items():
        if kind != "text":
            middle = _median(table.column(column)) if fill else None
            features.append(Feature(column, column, kind, fill=middle, reading=readings.of(column)))
            continue
        coding = _code(column, table.column(column))
        if not coding.levels:
            left_out.append(LeftOut(column, _why_uncoded(coding)))
            continue
        codings.append(coding)
        features.extend(_level_features(coding, readings.of(column), fill))
    return Recipe(tuple(features), tuple(codings)), left_out


def level_name(column: str, level: str | float) -> str:
    """What the feature of a level is called."""
    return f"{column} = {label_text(level)}"


def _level_features(coding: Coding, reading: Reading, fill: bool) -> Iterable[Feature]:
    for level in coding.levels:
        name = level_name(coding.column, level)
        # A gap counts as the commonest level, which is the reference.
        yield Feature(name, coding.column, "level", level, 0.0 if fill else None, reading)


def _median(column: pa.ChunkedArray) -> float:
    values = column.drop_null().cast("float64" if column.type != "bool" else "int8", safe=False)
    # Of no value at all in these rows anything is as good as anything else.
    return float(np.median(values.to_numpy())) if len(values) else 0.0


def _code(column: str, values: pa.ChunkedArray) -> Coding:
    """Features for the levels that are common enough, but not for the commonest.

    Texts come with the commonest first, codes in their own order, which people look for.
    """
    counts = _level_counts(values)
    least = max(MIN_LEVEL_ROWS, MIN_LEVEL_SHARE * len(values))
    kept = {level for level, count in counts[1 : MAX_LEVELS + 1] if count >= least}
    reference = counts[0][0] if counts else ""
    rest = sorted(counts[1:]) if isinstance(reference, float) else counts[1:]
    levels = tuple(level for level, _ in rest if level in kept)
    pooled = [(level, count) for level, count in rest if level not in kept]
    rare, rows = zip(*pooled, strict=True) if pooled else ((), ())
    return Coding(column, levels, reference, rare, rows)


def _level_counts(values: pa.ChunkedArray) -> Sequence[tuple[Any, int]]:
    """Levels and their rows, the commonest first; ties by the alphabet."""
    import pyarrow.compute as pc

    counted = pc.value_counts(values.drop_null()).to_pylist()
    pairs = [(each["values"], each["counts"]) for each in counted]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def _why_uncoded(coding: Coding) -> str:
    if len(coding.pooled) < MIN_LEVEL_ROWS:
        return "nearly always the same text"
    return f"text with {1 + len(coding.pooled):,} values, each of them rare"
