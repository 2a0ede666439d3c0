"""Which rows are held out: some at random, or the latest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.choices import Choices
from safdr._old_table.errors import ColumnUseError, TableError, counted
from safdr._old_table.kinds import TargetKind, Totals
from safdr._old_table.row_values import row_groups
from safdr._old_table.target import Target, label_text
from safdr._old_table.times import Order

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]
# A quarter of the groups is scored, and a fifth held out: of fewer, none may be left.
MIN_GROUPS = 10
RowNumbers = NDArray[np.intp]


@dataclass(frozen=True)
class Since:
    """The latest rows; those without a time are not."""

    order: Order
    first: float
    # The first time that is held out, as the table has it.
    label: str

    @property
    def words(self) -> str:
        """From when on."""
        return f"of {self.order.column} from {self.label} on"

    @property
    def columns(self) -> frozenset[str]:
        """The time."""
        return frozenset([self.order.column])

    def held_out(self, table: pa.Table) -> Mask:
        """Rows since the first."""
        import pyarrow.compute as pc

        later = pc.greater_equal(self.order.keys(table), self.first)
        return np.asarray(pc.fill_null(later, False).to_numpy(), dtype=bool)


def learn_rule(table: pa.Table, choices: Choices) -> Since | None:
    """The rule that was asked for, by some rows; None holds out a random share."""
    if choices.split_by is None:
        return None
    column = table.column(choices.split_by)
    order = Order.of(choices.split_by, column)
    keys = order.keys(table).to_numpy()
    known = np.flatnonzero(~np.isnan(keys))
    times, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
    if len(times) < 2:
        raise ColumnUseError(
            f"The column {choices.split_by!r} has {counted(len(times), 'value')}: there is no "
            "earlier and later."
        )
    # Of all later times, beginning with the second, those nearest to the share that is wanted.
    later = counts[::-1].cumsum()[::-1][1:] / counts.sum()
    cut = 1 + int(np.argmin(np.abs(later - choices.test_size)))
    value = column[int(known[first[cut]])].as_py()
    return Since(order, float(times[cut]), label_text(value))


def split_rows(
    table: pa.Table, target: Target, choices: Choices
) -> tuple[RowNumbers, RowNumbers, list[str]]:
    """Row numbers to learn from and to hold out, and what to say about them."""
    rows = np.arange(len(target.values))
    groups = row_groups(table, choices.group_by)
    if groups is not None and len(np.unique(groups)) < MIN_GROUPS:
        raise ColumnUseError(
            f"The column {choices.group_by!r} names {counted(len(np.unique(groups)), 'group')} of "
            f"rows; at least {MIN_GROUPS} are needed to keep some apart."
        )
    if choices.test_size == 0:
        return rows, rows[:0], []
    rule = learn_rule(table, choices)
    if rule is None:
        train, test = _at_random(target, choices, groups)
    else:
        held_out = rule.held_out(table)
        train, test = rows[~held_out], rows[held_out]
    check_parts(target.kind, target.take(train).totals, target.take(test).totals, rule, choices)
    notes = about(rule, len(test), len(rows))
    if rule is not None and groups is not None:
        notes += _about_groups(groups[train], groups[test], choices)
    return train, test, notes


def check_parts(
    kind: TargetKind, learnt: Totals, tested: Totals, rule: Since | None, choices: Choices
) -> None:
    """Refuse parts that can't be learnt from, or tested on."""
    share = f"A share of {choices.test_size:g} of the rows"
    what = share if rule is None else f"What is held out ({rule.words})"
    kind.check(learnt, "After rows were held out: ")
    kind.check_held_out(tested, what)


def about(rule: Since | None, n_held_out: int, n_rows: int) -> list[str]:
    """Say which rows a rule holds out."""
    if rule is None:
        return []
    return [f"Held out are {n_held_out:,} of {counted(n_rows, 'row')}: those {rule.words}."]


def _about_groups(
    learnt: NDArray[np.int64], tested: NDArray[np.int64], choices: Choices
) -> list[str]:
    """Say how many groups are on both sides, where something else decides on the rows."""
    n_both = len(np.intersect1d(learnt, tested))
    if not n_both:
        return []
    verb = "is" if n_both == 1 else "are"
    return [
        f"{counted(n_both, 'group')} of {choices.group_by} {verb} among the rows held out and "
        "among those learnt from; validation splits keep groups apart."
    ]


def _at_random(
    target: Target, choices: Choices, groups: NDArray[np.int64] | None
) -> tuple[RowNumbers, RowNumbers]:
    """A random share: whole groups, or rows with equal shares of the classes."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    rows = np.arange(len(target.values))
    try:
        if groups is not None:
            how = GroupShuffleSplit(1, test_size=choices.test_size, random_state=choices.seed)
            return next(how.split(rows, groups=groups))
        train, test = train_test_split(
            rows,
            test_size=choices.test_size,
            stratify=target.kind.strata(target.values),
            random_state=choices.seed,
        )
    except ValueError as error:
        raise TableError(
            f"A share of {choices.test_size:g} of the {len(rows)} rows can't be held out: {error}"
        ) from None
    return np.sort(train), np.sort(test)
