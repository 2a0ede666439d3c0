"""From a table and a few choices to rows of numbers, some of them held out."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.choices import Choices, check_columns
from safdr._old_table.columns import (
    Kind,
    LeftOut,
    code_example,
    few_codes,
    names_groups,
    sort_columns,
)
from safdr._old_table.errors import (
    MOST_NAMED,
    ClassLostError,
    ColumnUseError,
    MissingValuesError,
    OneClassError,
    TableError,
    TargetError,
    counted,
    named,
)
from safdr._old_table.holdout import split_rows
from safdr._old_table.missing import (
    MissingReport,
    TableWarning,
    complete_rows,
    look_for_missing,
    warnings_about,
)
from safdr._old_table.plain import plain
from safdr._old_table.readings import Readings, given_readings, learn_readings
from safdr._old_table.recipe import Coding, FloatArray, Recipe, learn_recipe
from safdr._old_table.row_values import row_groups, row_weights
from safdr._old_table.target import Target, label_text, read_target
from safdr._old_table.text import decimal_mark
from safdr._old_table.times import REASONS as TIMES

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows: as they are in the table, and as numbers."""

    table: pa.Table
    X: FloatArray
    # Codes of classes, or numbers.
    y: NDArray[Any]
    weight: FloatArray | None
    groups: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows of numbers, and how they came about."""

    # To learn from.
    train: Part
    # Held out.
    test: Part | None
    # Of all rows that are used.
    target: Target
    # From columns to features.
    recipe: Recipe
    # Columns that took no part.
    left_out: tuple[LeftOut, ...]
    # What was done, and what stands in the way of trusting the model.
    notes: tuple[str, ...]
    warnings: tuple[TableWarning, ...]


def prepare(table: pa.Table, choices: Choices) -> Prepared:
    """Turn a table into rows of numbers.

    What is learnt from rows, such as medians, is learnt from those that are not held out.
    """
    check_columns(table.column_names, choices)
    mark = decimal_mark(table)
    table, unreadable = plain(table)
    check_readable(unreadable, choices)
    given = given_readings(table.column_names, choices)
    readings, read = learn_readings(given, table, choices, mark)
    table, target, notes = _with_target(readings.apply(table), choices)
    notes += read
    kinds, left_out = usable_columns(table, unreadable, choices, readings)
    report = look_for_missing(table, list(kinds), target)
    gapless = without_gaps(table, kinds, report, choices, read)
    if not gapless.kept.all():
        table, target = table.filter(gapless.kept), target.take(gapless.kept)
    train, test, held_out = split_rows(table, target, choices)
    notes += [*held_out, *_about_groups(table, choices)]
    return prepared_rows(
        table, target, train, test, gapless, choices, readings, left_out=left_out, notes=notes
    )


def prepared_rows(
    table: pa.Table,
    target: Target,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    gapless: Gapless,
    choices: Choices,
    readings: Readings,
    *,
    left_out: Sequence[LeftOut],
    notes: Sequence[str],
) -> Prepared:
    """Learn the recipe from the rows to learn from, and follow it on all."""
    fill = choices.missing == "median"
    recipe, uncoded = learn_recipe(table.take(train), gapless.kinds, readings, fill=fill)
    left_out = [*left_out, *gapless.left_out, *uncoded]
    if not recipe.features:
        raise TableError(
            f"No column is left to choose from: {len(left_out)} {are(len(left_out))} left out. "
            + "; ".join(f"{each.column!r}: {each.reason}" for each in left_out[:12])
            + "."
        )
    return Prepared(
        train=_part(table, train, recipe, target, choices),
        test=_part(table, test, recipe, target, choices) if len(test) else None,
        target=target,
        recipe=recipe,
        left_out=tuple(left_out),
        notes=(
            *notes,
            *_about_weight(choices),
            *_about_time(left_out, choices),
            *_about_codes(table, gapless.kinds, choices),
            *_about_rare_codes(recipe),
            *gapless.notes,
        ),
        warnings=tuple(gapless.warnings),
    )


def check_readable(unreadable: Sequence[LeftOut], choices: Choices) -> None:
    """Refuse a target that can't be read."""
    for each in unreadable:
        if each.column == choices.target:
            raise TargetError(
                f"The target {each.column!r} can't be read: {each.reason}. Make it numbers, text "
                "or booleans, or predict another column."
            )


def _with_target(table: pa.Table, choices: Choices) -> tuple[pa.Table, Target, list[str]]:
    """The rows whose target is known."""
    known = complete_rows(table, [choices.target])
    n_unknown = int((~known).sum())
    notes = about_unknown(choices.target, n_unknown, len(known))
    table = table.filter(known) if n_unknown else table
    column = table.column(choices.target)
    target = read_target(column, choices.target, choices.positive, choices.task)
    target.kind.check(target.totals)
    return table, target, notes


def about_unknown(target: str, n_unknown: int, n_rows: int) -> list[str]:
    """Say how many rows have no value of the target, which can't be all."""
    if n_unknown == n_rows:
        raise TableError(f"The target {target!r} has no values.")
    text = f"{_rows(n_unknown)} without a value of the target {are(n_unknown)} left out."
    return [text] if n_unknown else []


def usable_columns(
    table: pa.Table,
    unreadable: Sequence[LeftOut],
    choices: Choices,
    readings: Readings,
    without_gap: Collection[str] = (),
) -> tuple[dict[str, Kind], list[LeftOut]]:
    """The columns that can be features, and why not the others."""
    asked = choices.left_out
    candidates = [n for n in table.column_names if n != choices.target and n not in asked]
    kept = (*choices.keep, *choices.numbers)
    kinds, left_out = sort_columns(
        readings.whole(table), candidates, kept, choices.categories, without_gap
    )
    left_out = [*(each for each in unreadable if each.column not in asked), *left_out]
    for each in left_out:
        if each.column in (*kept, *choices.categories):
            raise ColumnUseError(f"The column {each.column!r} can't be kept: {each.reason}.")
    return kinds, [*(LeftOut(column, reason) for column, reason in asked.items()), *left_out]


@dataclass(frozen=True, eq=False)
class Gapless:
    """What is left of a table when something was done about missing values."""

    # Rows that are.
    kept: NDArray[np.bool_]
    # Columns that are.
    kinds: dict[str, Kind]
    left_out: Sequence[LeftOut] = ()
    # What was done, and what stands in the way of trusting the rest.
    notes: Sequence[str] = ()
    warnings: Sequence[TableWarning] = ()


def without_gaps(
    table: pa.Table,
    kinds: dict[str, Kind],
    report: MissingReport,
    choices: Choices,
    read: Sequence[str],
) -> Gapless:
    """Do about missing values what was chosen; the report may be about more rows than these."""
    kept = np.ones(table.num_rows, dtype=bool)
    if not report.columns:
        return Gapless(kept, kinds)
    if choices.missing is None:
        raise MissingValuesError(report, read)
    left_out: list[LeftOut] = []
    notes: list[str] = []
    if choices.missing == "drop-columns":
        left_out = [
            LeftOut(m.column, counted(m.n_missing, "missing value")) for m in report.columns
        ]
        gone = {each.column for each in left_out}
        kinds = {name: kind for name, kind in kinds.items() if name not in gone}
    elif choices.missing == "drop-rows":
        n_rows = report.target.n_rows
        n_gone = n_rows(report.target.totals) - n_rows(report.complete)
        text = f"{_rows(n_gone)} with missing values {are(n_gone)} left out."
        notes = [text]
        try:
            report.target.check(report.complete, f"{text} ")
        except OneClassError as error:
            raise ClassLostError(str(error), report) from None
        kept = complete_rows(table, list(kinds))
        # Without those rows a column may have one value only.
        kinds, left_out = sort_columns(
            table.filter(kept), kinds, (*choices.keep, *choices.numbers), choices.categories
        )
    else:
        listed = counted(report.n_missing, "missing value")
        where = f"in {counted(len(report.columns), 'column')} {are(report.n_missing)} filled"
        notes = [f"{listed} {where}: numbers by the median, text by the commonest."]
    return Gapless(kept, kinds, left_out, notes, warnings_about(report, choices.missing))


def _about_weight(choices: Choices) -> list[str]:
    if choices.weight is None:
        return []
    return [
        f"Rows count by {choices.weight} (--weight) in the search, the model and its scores; "
        "numbers of rows are not weighted."
    ]


def _about_time(left_out: Sequence[LeftOut], choices: Choices) -> list[str]:
    """Name the columns that are times, and say what they are good for."""
    times = [each.column for each in left_out if each.reason in TIMES]
    if not times or choices.split_by is not None:
        return []
    return [
        f"Time, and no feature: {named(times)}. To learn from the earlier rows and test on the "
        f"latest: --split-by {shlex.quote(times[0])}."
    ]


def _about_groups(table: pa.Table, choices: Choices) -> list[str]:
    """Name the columns by whose values rows may belong together."""
    pairs = zip(table.column_names, table.columns, strict=True)
    ids = [
        name for name, column in pairs if name not in choices.keep and names_groups(name, column)
    ]
    if not ids or choices.group_by is not None:
        return []
    return [
        f"Several rows each have the values of {named(ids)}. To keep such rows on one side of all "
        f"splits: --group-by {shlex.quote(ids[0])}."
    ]


def _about_codes(table: pa.Table, kinds: dict[str, Kind], choices: Choices) -> list[str]:
    """Name the columns that look like numbers and are taken as text, or the other way round."""
    texts = [name for name, kind in kinds.items() if kind == "text"]
    notes = [
        f"{name} holds whole numbers with leading zeros, such as {code!r}: codes, taken as text."
        for name in texts
        if (code := code_example(table.column(name))) is not None
    ]
    numbers = [n for n, kind in kinds.items() if kind == "number" and n not in choices.numbers]
    if codes := [name for name in numbers if few_codes(table.column(name))]:
        notes.append(
            f"Few whole numbers, that may be codes and not amounts, are in {named(codes)}. Make "
            "codes categories with --categorical NAME."
        )
    return notes


def _about_rare_codes(recipe: Recipe) -> list[str]:
    """Name numbers that count as the commonest one, which may be far from them."""
    rare = [each for each in recipe.codings if each.pooled and isinstance(each.reference, float)]
    return [
        f"Rare codes of {coding.column!r} count as its commonest, {label_text(coding.reference)}, "
        f"and are predicted like it: {_with_rows(coding)}. Where that is wrong, put them together "
        "with codes that are like them in the file, or leave the column a number."
        for coding in rare
    ]


def _with_rows(coding: Coding) -> str:
    pairs = list(zip(coding.pooled, coding.pooled_rows, strict=True))
    more = f" and {len(pairs) - MOST_NAMED:,} more" if len(pairs) > MOST_NAMED else ""
    return ", ".join(f"{label_text(code)} ({_rows(n)})" for code, n in pairs[:MOST_NAMED]) + more


def _rows(number: int) -> str:
    return counted(number, "row")


def are(number: int) -> str:
    """The verb that goes with a number."""
    return "is" if number == 1 else "are"


def _part(
    table: pa.Table, rows: NDArray[np.intp], recipe: Recipe, target: Target, choices: Choices
) -> Part:
    some = table.take(rows)
    # Of all rows, so that an error counts them all.
    weight = row_weights(table, choices.weight)
    groups = row_groups(some, choices.group_by)
    return Part(
        some,
        recipe.follow(some),
        target.values[rows],
        None if weight is None else weight[rows],
        groups,
    )
