"""Rows that are read in passes: a sample says what columns are, and all rows are counted.

Which rows are sampled and which are held out depends on their positions and the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.choices import Choices, check_columns
from safdr._old_table.columns import LeftOut
from safdr._old_table.errors import TargetError
from safdr._old_table.holdout import Since, about, check_parts, learn_rule
from safdr._old_table.kinds import TargetKind, Totals
from safdr._old_table.missing import complete_rows, gaps_of, missing_report
from safdr._old_table.plain import plain
from safdr._old_table.prepare import (
    Prepared,
    about_unknown,
    check_readable,
    prepared_rows,
    usable_columns,
    without_gaps,
)
from safdr._old_table.readings import Readings, given_readings, learn_readings
from safdr._old_table.recipe import Recipe
from safdr._old_table.row_values import row_weights
from safdr._old_table.target import Target, TargetValues

if TYPE_CHECKING:
    import pyarrow as pa

# What draws rows to be held out, and rows of the sample.
FOR_TEST, FOR_SAMPLE = 1, 2

# The target among the numbers; features are called by their places.
TARGET = "target"
# And the weight, if rows have one.
WEIGHT = "weight"

# What rows add up to, by part: to learn from, held out.
Counts = NDArray[Any]

Run = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class PreparedPasses:
    """How rows that pass by become numbers, and what is known of all of them."""

    # The rows of the sample, prepared.
    sample: Prepared
    numbers: Numbers
    # Of all rows that are used.
    counts: Counts


def prepare_in_passes(
    run: Run, columns: Sequence[str], texts: Sequence[str], choices: Choices, share: float
) -> PreparedPasses:
    """Learn from a share of the rows how to turn all of them into numbers.

    `texts` are the columns that hold text.

    `run` has a task read all rows once: its `columns`, table by table with the position of the
    first row, by ``sums = task.add(sums, table, start)`` from ``task.empty()`` on; sums over
    parts that are read apart become one by ``task.merge(first, second)``.
    """
    check_columns(columns, choices)
    if choices.target in texts and choices.target in choices.numbers:
        raise TargetError(
            f"The target {choices.target!r} is text, which can't be read as numbers where rows are "
            "read in passes. Make it numbers first."
        )
    asked = {*choices.drop, *choices.identifiers} - choices.read_anyway
    reads = [name for name in columns if name not in asked]
    given = given_readings(columns, choices)
    looked_at = [name for name in reads if name in texts or name == choices.split_by]
    labels: _Labels = run(_LabelPass(choices, given, looked_at, share))
    some_rows = labels.table()
    readings, read_as = learn_readings(given, some_rows, choices)
    rule = learn_rule(readings.apply(some_rows), choices) if choices.test_size else None
    notes = [*about_unknown(choices.target, labels.n_unknown, labels.n_rows), *read_as]
    kind = labels.found.kind(choices.positive, choices.task)
    kind.check(kind.totals)
    rows = _Rows(choices, readings, rule, kind)
    read: _Sampled = run(_SamplePass(rows, reads, share))
    table, target = read.table(), Target(kind, np.concatenate(read.values))
    kinds, left_out = usable_columns(table, read.unreadable, choices, readings, read.without_gap())
    counts: dict[tuple[str, ...], Counts] = {(): read.counts}

    def complete(names: Sequence[str]) -> Totals:
        key = tuple(names)
        if key not in counts:
            counts[key] = run(_CompletePass(rows, key))
        return counts[key].sum(axis=0)

    report = missing_report({name: read.gaps[name] for name in kinds}, kind, complete)
    gapless = without_gaps(table, kinds, report, choices, read_as)
    held_out = np.concatenate(read.held_out)[gapless.kept]
    table, target = table.filter(gapless.kept), target.take(gapless.kept)
    gaps = tuple(name for name in kinds if read.gaps[name].any())
    needed = gaps if choices.missing == "drop-rows" else ()
    learnt, tested = counts[needed]
    if choices.test_size:
        check_parts(kind, learnt, tested, rule, choices)
        notes += about(rule, kind.n_rows(tested), kind.n_rows(learnt + tested))
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    sample = prepared_rows(
        table, target, train, test, gapless, choices, readings, left_out=left_out, notes=notes
    )
    return PreparedPasses(sample, Numbers(rows, sample.recipe, needed), counts[needed])


@dataclass(frozen=True, eq=False)
class Numbers:
    """Rows as they pass by, made numbers."""

    rows: _Rows
    recipe: Recipe
    # Columns that rows without a value in them are left out for.
    needed: Sequence[str]

    @property
    def names(self) -> list[str]:
        """Of the columns of numbers but target and weight."""
        return [str(j) for j in range(len(self.recipe.features))]

    @property
    def has_weight(self) -> bool:
        """Whether rows have one."""
        return self.rows.choices.weight is not None

    def reads(self, names: Iterable[str]) -> list[str]:
        """Columns of the table that some columns of numbers are made from."""
        places = [int(name) for name in names if name not in (TARGET, WEIGHT)]
        columns = [self.recipe.features[place].column for place in places]
        return list(dict.fromkeys([*self.rows.columns, *self.needed, *columns]))

    def follow(self, table: pa.Table, start: int, names: Sequence[str], *, test: bool) -> pa.Table:
        """Columns of numbers of the rows to learn from, or of those held out."""
        import pyarrow as pa

        table, _ = self.rows.read(table)
        kept = self.rows.held_out(table, start) == test
        kept &= complete_rows(table, [self.rows.choices.target, *self.needed])
        table = table.filter(kept)
        return pa.table({name: self._column(table, name) for name in names})

    def _column(self, table: pa.Table, name: str) -> Any:
        if name == TARGET:
            return self.rows.target(table).values
        if name == WEIGHT:
            return row_weights(table, self.rows.choices.weight)
        return self.recipe.features[int(name)].values(table)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is known of rows before anything is learnt from them."""

    choices: Choices
    readings: Readings
    rule: Since | None
    kind: TargetKind

    def read(self, table: pa.Table) -> tuple[pa.Table, list[LeftOut]]:
        """The table as it is meant, and the columns that can't be read."""
        table, unreadable = plain(table)
        return self.readings.apply(table), unreadable

    def target(self, table: pa.Table) -> Target:
        """Of rows whose target is known."""
        return Target(self.kind, self.kind.read(table.column(self.choices.target)))

    @property
    def columns(self) -> list[str]:
        """What has to be read of each row, whatever is asked."""
        weight = [self.choices.weight] if self.choices.weight is not None else []
        return [self.choices.target, *weight, *(self.rule.columns if self.rule else ())]

    def held_out(self, table: pa.Table, start: int) -> NDArray[np.bool_]:
        """Which rows take no part in the search."""
        if self.rule is not None:
            return self.rule.held_out(table)
        draws = _draws(self.choices.seed, FOR_TEST, start, table.num_rows)
        return draws < self.choices.test_size

    def counted(self, target: Target, held_out: NDArray[np.bool_]) -> Counts:
        """What rows add up to, by part."""
        return np.array([target.take(part).totals for part in (~held_out, held_out)])

    def none(self) -> Counts:
        """What no rows add up to."""
        return np.zeros((2, *self.kind.totals.shape), dtype=self.kind.totals.dtype)


def _draws(seed: int, stream: int, start: int, n_rows: int) -> NDArray[np.float64]:
    """Random numbers from 0 to 1 of the rows at some positions."""
    bits = np.random.PCG64([seed, stream]).advance(start)
    return np.random.Generator(bits).random(n_rows)


# ---- Passes --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Labels:
    """Values of the target."""

    found: TargetValues
    n_rows: int = 0
    n_unknown: int = 0
    # A sample of the rows of some columns.
    sample: list[pa.Table] = field(default_factory=list)

    def table(self) -> pa.Table:
        """The sample."""
        import pyarrow as pa

        return pa.concat_tables(self.sample)


@dataclass(frozen=True, eq=False)
class _LabelPass:
    """Counts the values of the target, and takes a sample of other columns."""

    choices: Choices
    given: Readings
    others: Sequence[str]
    share: float

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([self.choices.target, *self.others]))

    def empty(self) -> _Labels:
        return _Labels(TargetValues(self.choices.target))

    def add(self, labels: _Labels, table: pa.Table, start: int) -> _Labels:
        table, unreadable = plain(table)
        check_readable(unreadable, self.choices)
        sampled = _draws(self.choices.seed, FOR_SAMPLE, start, table.num_rows) < self.share
        readable = [name for name in self.others if name in table.column_names]
        labels.sample.append(table.select(readable).filter(sampled))
        column = self.given.apply(table.select([self.choices.target])).column(0)
        labels.n_rows += len(column)
        labels.n_unknown += column.null_count
        labels.found.add(column.drop_null())
        labels.found.check_so_far(self.choices.positive, self.choices.task)
        return labels

    def merge(self, first: _Labels, second: _Labels) -> _Labels:
        # Anew, here and below: on a cluster what was added up once may be asked for again.
        total = self.empty()
        for part in (first, second):
            total.found.include(part.found)
            total.n_rows += part.n_rows
            total.n_unknown += part.n_unknown
            total.sample += part.sample
        total.found.check_so_far(self.choices.positive, self.choices.task)
        return total


class _Sampled:
    """Rows of the sample as they are in the table, and counts of all."""

    def __init__(self, names: Sequence[str], rows: _Rows) -> None:
        self.tables: list[pa.Table] = []
        self.values: list[NDArray[Any]] = []
        self.held_out: list[NDArray[np.bool_]] = []
        self.unreadable: list[LeftOut] = []
        self.gaps = {name: rows.none()[0] for name in names}
        self.counts = rows.none()
        # Of columns of whole numbers, on all rows: how many values, the least and the largest.
        self.spans: dict[str, tuple[int, int, int]] = {}

    def span(self, table: pa.Table) -> None:
        """Stretch the spans over more rows."""
        import pyarrow.compute as pc
        from pyarrow import types

        for name, column in zip(table.column_names, table.columns, strict=True):
            n_values = len(column) - column.null_count
            if n_values and types.is_integer(column.type):
                ends = pc.min_max(column).as_py()
                self._stretch(name, (n_values, ends["min"], ends["max"]))

    def _stretch(self, name: str, span: tuple[int, int, int]) -> None:
        n, low, high = self.spans.get(name, (0, *span[1:]))
        self.spans[name] = n + span[0], min(low, span[1]), max(high, span[2])

    def include(self, other: _Sampled) -> None:
        """Go on with rows that come after these."""
        self.tables += other.tables
        self.values += other.values
        self.held_out += other.held_out
        self.unreadable = other.unreadable or self.unreadable
        self.counts += other.counts
        for name, gaps in other.gaps.items():
            self.gaps[name] += gaps
        for name, span in other.spans.items():
            self._stretch(name, span)

    def without_gap(self) -> set[str]:
        """Columns that number the rows, unless they have a value twice."""
        return {name for name, (n, low, high) in self.spans.items() if high - low + 1 == n}

    def table(self) -> pa.Table:
        """The sample."""
        import pyarrow as pa

        return pa.concat_tables(self.tables)


@dataclass(frozen=True, eq=False)
class _SamplePass:
    """Takes a sample of the rows whose target is known, and counts gaps and spans of all."""

    rows: _Rows
    columns: Sequence[str]
    share: float

    def empty(self) -> _Sampled:
        return _Sampled(self.columns, self.rows)

    def add(self, found: _Sampled, table: pa.Table, start: int) -> _Sampled:
        choices = self.rows.choices
        table, found.unreadable = self.rows.read(table)
        found.span(table)
        known = complete_rows(table, [choices.target])
        held_out = self.rows.held_out(table, start)[known]
        sampled = (_draws(choices.seed, FOR_SAMPLE, start, len(known)) < self.share)[known]
        table = table if known.all() else table.filter(known)
        target = self.rows.target(table)
        for name in table.column_names:
            found.gaps[name] += gaps_of(table, name, target)
        found.counts += self.rows.counted(target, held_out)
        found.tables.append(table.filter(sampled))
        found.values.append(target.values[sampled])
        found.held_out.append(held_out[sampled])
        return found

    def merge(self, first: _Sampled, second: _Sampled) -> _Sampled:
        total = self.empty()
        total.include(first)
        total.include(second)
        return total


@dataclass(frozen=True, eq=False)
class _CompletePass:
    """Counts the rows without a gap in some columns."""

    rows: _Rows
    names: Sequence[str]

    @property
    def columns(self) -> list[str]:
        return [*self.rows.columns, *self.names]

    def empty(self) -> Counts:
        return self.rows.none()

    def add(self, counts: Counts, table: pa.Table, start: int) -> Counts:
        table, _ = self.rows.read(table)
        complete = complete_rows(table, [self.rows.choices.target, *self.names])
        held_out = self.rows.held_out(table, start)[complete]
        counts += self.rows.counted(self.rows.target(table.filter(complete)), held_out)
        return counts

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second
