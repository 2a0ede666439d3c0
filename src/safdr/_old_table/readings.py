"""What values mean: texts that are numbers, words for missing values, numbers that are codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from safdr._old_table.arrow_types import is_number, is_text
from safdr._old_table.errors import ColumnUseError, named
from safdr._old_table.kinds import percent
from safdr._old_table.numbers import MOST, Written, as_numbers, how_written
from safdr._old_table.target import MAX_CLASSES, label_text

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr._old_table.choices import Choices

# So many words that are no numbers show what kind they are.
MOST_WORDS = 4


@dataclass(frozen=True)
class Reading:
    """How the values of a column are read, where that is not as they are."""

    # Decimal mark of texts that are numbers; None where they are what they are.
    mark: str | None = None
    # Such a text.
    example: str = ""
    # Texts, and numbers, that are missing values.
    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()

    @property
    def shown(self) -> str:
        """How the texts were read, for people who have numbers to pass."""
        import pyarrow as pa

        number = as_numbers(pa.chunked_array([[self.example]]), self.mark or ".")[0].as_py()
        return f"{self.example!r} is {label_text(number)}"


PLAIN = Reading()


@dataclass(frozen=True)
class Readings:
    """How the columns of a table are read."""

    columns: Mapping[str, Reading] = field(default_factory=dict)
    # Columns whose numbers are codes.
    categories: frozenset[str] = frozenset()

    def of(self, column: str) -> Reading:
        """That of a column."""
        return self.columns.get(column, PLAIN)

    def apply(self, table: pa.Table) -> pa.Table:
        """The table as it is meant; columns are of plain types."""
        import pyarrow as pa

        pairs = zip(table.column_names, table.columns, strict=True)
        columns = [self._read(name, column) for name, column in pairs]
        return pa.Table.from_arrays(columns, names=table.column_names)

    def _read(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        reading = self.of(name)
        if is_text(column.type):
            column = _without(column, reading.words)
            if reading.mark is not None:
                column = as_numbers(column, reading.mark)
        numbers = is_number(column.type)
        if name in self.categories and numbers:
            column = column.cast("float64", safe=False)
        if numbers:
            column = _without(column, reading.numbers)
        return column

    def whole(self, table: pa.Table) -> pa.Table:
        """Texts that are whole numbers as such, by which identifiers are told."""
        import pyarrow as pa

        for i, name in enumerate(table.column_names):
            if self.of(name).mark is not None:
                try:
                    table = table.set_column(i, name, table.column(i).cast("int64"))
                except pa.ArrowInvalid:
                    continue
        return table


def given_readings(names: Sequence[str], choices: Choices) -> Readings:
    """What was said about values, before any is seen."""
    asked = {name: _missing_values(name, names, choices.na) for name in names} if choices.na else {}
    return Readings(asked, frozenset(choices.categories))


def learn_readings(
    given: Readings, table: pa.Table, choices: Choices, mark: str = "."
) -> tuple[Readings, list[str]]:
    """Decide how to read columns, by rows of those that are text, and say so."""
    skipped = {*choices.drop, *choices.identifiers, *choices.categories}
    if not _may_be_quantity(table, choices):
        skipped.add(choices.target)
    skipped -= set(choices.numbers)
    readings, notes = dict(given.columns), _Notes()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in skipped or not is_text(column.type):
            continue
        words = given.of(name).words
        valid = _without(column, words)
        has_gap_words = valid.null_count > column.null_count
        written = how_written(valid, mark, has_gap_words=has_gap_words)
        asked = name in choices.numbers
        if written is None and asked:
            raise ColumnUseError(_no_numbers(name, valid))
        if written is not None and (asked or written.doubt is None):
            readings[name] = replace(
                given.of(name),
                mark=written.mark,
                example=written.example,
                words=(*words, *written.odd),
            )
            notes.add(name, written, readings[name])
        elif written is not None and written.share >= MOST:
            notes.keep(name, written)
    return replace(given, columns=readings), notes.texts()


def _may_be_quantity(table: pa.Table, choices: Choices) -> bool:
    """Whether a target of text could be numbers: as asked, or of too many values for classes."""
    import pyarrow.compute as pc

    if choices.target not in table.column_names or choices.positive is not None:
        return False
    if choices.task is not None:
        return choices.task == "regression"
    n_values: int = pc.count_distinct(table.column(choices.target)).as_py()
    return n_values > MAX_CLASSES


def _missing_values(name: str, names: Sequence[str], asked: Iterable[str]) -> Reading:
    """What counts as missing in a column: VALUE anywhere, COLUMN=VALUE in that column."""
    words = []
    for each in asked:
        column, _, value = each.partition("=")
        if column not in names:
            words.append(each)
        elif column == name:
            words.append(value)
    return Reading(words=tuple(words), numbers=tuple(_finite(words)))


def _finite(words: Iterable[str]) -> Iterator[float]:
    """The words that are numbers, as such."""
    for word in words:
        with suppress(ValueError):
            if math.isfinite(number := float(word)):
                yield number


def _without(column: pa.ChunkedArray, values: Sequence[str] | Sequence[float]) -> pa.ChunkedArray:
    """The column with some values missing; numbers are compared as doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not values:
        return column
    kind = column.type if is_text(column.type) else pa.float64()
    gone = pc.is_in(column.cast(kind, safe=False), value_set=pa.array(values, kind))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _no_numbers(name: str, column: pa.ChunkedArray) -> str:
    values = column.drop_null()
    such = f" such as {values[0].as_py()!r}" if len(values) else ""
    return f"The column {name!r} holds no numbers, but text{such}: it can't be read as numbers."


class _Notes:
    """Columns that are read as numbers, and columns that are not although most of them are."""

    def __init__(self) -> None:
        self._odd: list[str] = []
        self._written: list[str] = []
        self._kept: list[str] = []

    def add(self, name: str, written: Written, reading: Reading) -> None:
        """A column that is read as numbers."""
        if written.odd:
            self._odd.append(f"{_share(name, written)} read as missing")
        if _is_plain(written.example):
            if not (written.odd or written.is_plain):
                self._written.append(name)
        else:
            self._written.append(f"{name} ({reading.shown})")

    def keep(self, name: str, written: Written) -> None:
        """A column that stays text; codes are told elsewhere, and few of digits are categories."""
        if written.doubt == "words":
            self._kept.append(f"{_share(name, written)} not")
        elif written.doubt == "units":
            self._kept.append(f"numbers of {name} have different units")

    def texts(self) -> list[str]:
        """One note on each kind."""
        notes = []
        if self._odd:
            notes.append(
                f"{'; '.join(self._odd)}. Name such texts with --na TEXT, or keep a column as text "
                "with --text NAME."
            )
        if self._written:
            notes.append(
                f"Read as numbers: {', '.join(self._written)}. Keep a column as text with --text "
                "NAME."
            )
        if self._kept:
            notes.append(
                f"Taken as text: {'; '.join(self._kept)}. Read a column as numbers with --number "
                "NAME."
            )
        return notes


def _is_plain(text: str) -> bool:
    """Whether a number is written as programs do, so that nobody could read it otherwise."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _share(name: str, written: Written) -> str:
    verb = "is" if len(written.odd) == 1 else "are"
    odd = named(written.odd, most=MOST_WORDS)
    return f"{percent(written.share)} of {name} are numbers, {odd} {verb}"
