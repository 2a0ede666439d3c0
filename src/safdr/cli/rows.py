"""Rows to learn from and rows held out: all in memory, or read in passes where they are many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.cli.errors import UsageError
from safdr.cli.progress import SearchProgress
from safdr.sources.local import Readable
from safdr._old_table.choices import Choices
from safdr._old_table.errors import TableError, counted
from safdr._old_table.kinds import MIN_CLASS_ROWS, Task, Totals
from safdr._old_table.passes import TARGET, WEIGHT, Numbers, PreparedPasses, prepare_in_passes
from safdr._old_table.prepare import Prepared, prepare

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr import Moments
    from safdr.sources.parquet import ParquetFiles

NO_GROUPS = (
    "--group-by needs all rows in memory: of rows that are read in passes, validation splits are "
    "made by position. Take fewer rows (--sample N), or leave it out."
)
# Values of a table that are always in memory without a thought (160 MB).
FEW_VALUES = 20_000_000


@dataclass(frozen=True, eq=False)
class SplitRows:
    """What a selector learns from, and what it is tested on."""

    # Rows at hand: all, or a sample.
    prepared: Prepared
    # Arrays; or a source, and the name of its column with the target.
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    # What rows to learn from add up to: those of each class, or their number and sums.
    totals: Totals
    # Rows held out; those to be tested on may be a sample of them.
    n_held_out: int
    notes: tuple[str, ...] = ()

    @property
    def in_passes(self) -> bool:
        """Whether rows are read in passes."""
        return isinstance(self.y, str)

    @property
    def lacks_a_class(self) -> bool:
        """Whether the rows at hand, a sample, have too few of a class to search again."""
        target = self.prepared.target.kind
        counts = target.add_up(self.prepared.train.y)
        return target.task == "classification" and bool(counts.min() < MIN_CLASS_ROWS)

    @property
    def weight(self) -> Any:
        """Weights of the rows to learn from: an array; or the name of a column of the source."""
        of_sample = self.prepared.train.weight
        return WEIGHT if self.in_passes and of_sample is not None else of_sample

    def fit_parameters(self, *, splits: bool) -> dict[str, Any]:
        """What a selector, which may split rows, has to know of them besides."""
        given = {"sample_weight": self.weight}
        if splits and not self.in_passes:
            given["groups"] = self.prepared.train.groups
        return {name: value for name, value in given.items() if value is not None}

    def splitter(self, seed: int) -> Any:
        """How to validate: as selectors do by themselves, but for groups that stay together."""
        if self.prepared.train.groups is None:
            return None
        from sklearn.model_selection import GroupShuffleSplit

        return GroupShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)

    def moments(self, class_weight: str | None, limits: NDArray[np.float64] | None) -> Moments:
        """Of the rows to learn from, whose values may count between limits alone."""
        task = self.prepared.target.kind.task
        weights = None if class_weight is None else self._balanced()
        if not self.in_passes:
            X = self.X if limits is None else np.clip(self.X, *limits)
            return _moments(X, self.y, self.weight, weights, task)
        total: Moments = self.X.run(_MomentsPass(list(self.X.schema), weights, task))
        return total

    def _balanced(self) -> NDArray[np.float64]:
        """Weights of the classes, as scikit-learn balances them, by the weight of their rows."""
        totals = self.totals
        if self.weight is not None:
            n = len(totals)
            totals = (
                self.X.run(_WeightPass([TARGET, WEIGHT], n))
                if self.in_passes
                else np.bincount(self.y, self.weight, n)
            )
        balanced: NDArray[np.float64] = totals.sum() / (len(totals) * totals)
        return balanced


def rows_in_memory(table: pa.Table, choices: Choices) -> SplitRows:
    """All rows."""
    prepared = prepare(table, choices)
    train, test = prepared.train, prepared.test
    X_test, y_test = (None, None) if test is None else (test.X, test.y)
    totals = prepared.target.kind.add_up(train.y)
    n_held_out = 0 if test is None else len(test.y)
    return SplitRows(prepared, train.X, train.y, X_test, y_test, totals, n_held_out)


def most_rows_at_hand(files: ParquetFiles, sample_rows: int) -> int:
    """A table with no more rows than that is read into memory in any case."""
    return max(1, min(sample_rows, FEW_VALUES // len(files.schema)))


def rows_in_passes(
    files: ParquetFiles, choices: Choices, sample_rows: int, progress: SearchProgress, why: str
) -> SplitRows:
    """All rows, in sources; at hand is a sample."""
    import narwhals as nw

    if choices.group_by is not None:
        raise UsageError(NO_GROUPS)
    table = files.source(sample_rows=sample_rows)
    table.tell = progress.passing
    n_rows = files.n_rows()
    # Half of that is at hand of a larger one: the selector has a sample of its own.
    share = 0.5 * most_rows_at_hand(files, sample_rows) / n_rows
    kinds = (nw.String, nw.Categorical, nw.Enum)
    texts = [name for name, kind in files.schema.items() if isinstance(kind, kinds)]
    found = prepare_in_passes(table.run, list(files.schema), texts, choices, share)
    kind = found.sample.target.kind
    views = [
        _NumbersView(found.numbers, kind.task, kind.n_rows(found.counts[test]), test)
        for test in (0, 1)
    ]
    train, test = (files.source(sample_rows=sample_rows, view=view) for view in views)
    train.tell = test.tell = progress.passing
    X_test, y_test = _tested(found, test) if choices.test_size else (None, None)
    notes = [_note(n_rows, found, why)]
    if choices.test_size and X_test is None:
        notes.append("The sample has too few held-out rows of a class to test the model on.")
    learnt, held_out = found.counts
    n_held_out = kind.n_rows(held_out)
    return SplitRows(found.sample, train, TARGET, X_test, y_test, learnt, n_held_out, tuple(notes))


def _tested(found: PreparedPasses, source: Any) -> tuple[Any, Any]:
    """Held-out rows: all where scores can be counted, which is with two classes; or a sample."""
    target, part = found.sample.target.kind, found.sample.test
    if target.task == "classification" and len(target.totals) == 2:
        return source, TARGET
    try:
        target.check_held_out(target.add_up(part.y if part else np.array([], int)), "")
    except TableError:
        return None, None
    assert part is not None
    return part.X, part.y


def _note(n_rows: int, found: PreparedPasses, why: str) -> str:
    parts = (found.sample.train, found.sample.test)
    n_sample = sum(len(part.y) for part in parts if part is not None)
    target = found.sample.target.kind
    if target.task == "regression":
        of_all, of_sample = ", the model and validation scores", "the held-out score, "
    elif len(target.totals) == 2:
        of_all, of_sample = ", the model and AUC", ""
    else:
        of_all, of_sample = " and the model", "scores, "
    return (
        f"{why}: its {counted(n_rows, 'row')} are read in passes. Counts, the criterion{of_all} "
        f"are of all rows. Of a sample ({n_sample:,} rows) are {of_sample}what columns hold, "
        "values of categories, medians, the comparison of candidates, effects per standard "
        "deviation, and what was asked about replacements and half-samples."
    )


@dataclass(frozen=True, eq=False)
class _NumbersView:
    """Numbers of the rows to learn from, or of those held out."""

    numbers: Numbers
    task: Task
    n_rows: int
    test: int

    @property
    def schema(self) -> dict[str, Any]:
        import narwhals as nw

        target = nw.Int64() if self.task == "classification" else nw.Float64()
        weight = {WEIGHT: nw.Float64()} if self.numbers.has_weight else {}
        return {**dict.fromkeys(self.numbers.names, nw.Float64()), TARGET: target, **weight}

    def of(self, part: Readable, start: int) -> Readable:
        return _NumbersOfPart(part, start, self.numbers, self.test)


@dataclass(frozen=True, eq=False)
class _NumbersOfPart:
    """The same of a part of the table."""

    part: Readable
    start: int
    numbers: Numbers
    test: int

    def tables(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        start = self.start
        for table in self.part.tables(self.numbers.reads(columns), n_rows):
            yield self.numbers.follow(table, start, columns, test=bool(self.test))
            start += table.num_rows


@dataclass(frozen=True, eq=False)
class _MomentsPass:
    """Adds up moments."""

    columns: list[str]
    weights: NDArray[np.float64] | None
    task: Task

    def empty(self) -> Any:
        return 0

    def add(self, total: Any, table: pa.Table, start: int) -> Any:
        found = {name: table.column(name).to_numpy() for name in self.columns}
        y, row_weight = found.pop(TARGET), found.pop(WEIGHT, None)
        X = np.column_stack(list(found.values()))
        return total + _moments(X, y, row_weight, self.weights, self.task)

    def merge(self, first: Any, second: Any) -> Any:
        return first + second if second else first


@dataclass(frozen=True, eq=False)
class _WeightPass:
    """Adds up the weight of each class."""

    columns: list[str]
    n_classes: int

    def empty(self) -> Any:
        return np.zeros(self.n_classes)

    def add(self, total: Any, table: pa.Table, start: int) -> Any:
        y, weight = (table.column(name).to_numpy() for name in self.columns)
        return total + np.bincount(y, weight, self.n_classes)

    def merge(self, first: Any, second: Any) -> Any:
        return first + second


def _moments(
    X: NDArray[np.float64],
    y: NDArray[Any],
    row_weight: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    task: Task,
) -> Moments:
    from safdr import Moments

    sample_weight = row_weight if weights is None else weights[y]
    if row_weight is not None and weights is not None:
        sample_weight = row_weight * weights[y]
    return Moments.from_rows(X, y, sample_weight, task=task)
