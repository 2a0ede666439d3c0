"""Conditions on columns, such as ``month >= '2024-07' and region = 'north'``: never run as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr.table.arrow_types import is_number, is_text, type_words
from safdr.table.errors import ConditionError
from safdr.table.times import SORTED, are_written, in_order, time_in_texts

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]

# By Arrow's names.
COMPARISONS = {
    **{"=": "equal", "==": "equal", "!=": "not_equal", "<>": "not_equal"},
    **{"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"},
}
JOINED: dict[str, Callable[[Any, Any], Any]] = {"or": operator.or_, "and": operator.and_}
TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*"|`[^`]*`)
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<sign><=|>=|!=|<>|==|[=<>()])
    | (?P<word>[^\W\d][\w.]*)
    )""",
    re.VERBOSE,
)
# Nobody writes more by hand; and brackets can't be nested deeper than Python can follow.
MOST_TOKENS = 200
GRAMMAR = (
    "Write COLUMN OPERATOR VALUE, such as month >= '2024-07' or \"net income\" < 1000, joined by "
    "and, or, not and brackets; operators are =, !=, <, <=, >, >="
)


class _Token(NamedTuple):
    kind: str
    text: str
    # Where it begins, for errors.
    place: int


@dataclass(frozen=True)
class Comparison:
    """A column against a value."""

    column: str
    sign: str
    value: str | float | bool

    @property
    def columns(self) -> frozenset[str]:
        """The column."""
        return frozenset([self.column])

    def holds(self, table: pa.Table) -> Mask:
        """Rows where it is so; not where the value is missing."""
        import pyarrow.compute as pc

        column = table.column(self.column)
        if column.null_count == len(column):
            return np.zeros(len(column), dtype=bool)
        found = pc.call_function(COMPARISONS[self.sign], self._alike(column))
        return np.asarray(pc.fill_null(found, False).to_numpy(), dtype=bool)

    def _alike(self, column: pa.ChunkedArray) -> list[Any]:
        """The column and the value as one type."""
        import pyarrow as pa
        from pyarrow import types

        kind, value = column.type, self.value
        if types.is_boolean(kind) and isinstance(value, bool):
            return [column, pa.scalar(value)]
        if is_number(kind):
            if isinstance(value, str):
                value = _as_number(value)
            if isinstance(value, float):
                return [column.cast("float64", safe=False), pa.scalar(value)]
        is_moment = types.is_date(kind) or types.is_timestamp(kind)
        if is_moment and (moment := _as_moment(value)) is not None:
            return [column.cast(pa.timestamp("us"), safe=False), moment]
        if isinstance(value, str) and is_text(kind):
            return self._texts(column, value)
        if isinstance(value, str) and types.is_integer(kind):
            found = in_order(self.column, column, value)
            if found is not None:
                return list(found)
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        raise ConditionError(
            f"{self.column!r} holds {type_words(kind)}, which can't be compared with {shown}. "
            "Numbers are written plainly, text and dates (2024-07-31) in single quotes."
        )

    def _texts(self, column: pa.ChunkedArray, value: str) -> list[Any]:
        """As they are, or in order of time where that is another."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values, plain = pc.unique(column.drop_null()), [column, pa.scalar(value, column.type)]
        if time_in_texts(values) is None:
            return plain
        has_clock = ":" in value or pc.any(pc.match_substring(values, ":")).as_py()
        if has_clock and are_written(values, SORTED) and re.match(SORTED, value):
            return plain
        if (found := in_order(self.column, column, value)) is not None:
            return list(found)
        if COMPARISONS[self.sign] in ("equal", "not_equal"):
            return plain
        raise ConditionError(
            f"{self.column!r} holds times such as {values[0].as_py()!r}, and {value!r} is none. "
            "Write 2024-07-31, or as the column does."
        )


@dataclass(frozen=True)
class Joined:
    """Two conditions."""

    how: str
    left: Condition
    right: Condition

    @property
    def columns(self) -> frozenset[str]:
        """Those of both."""
        return self.left.columns | self.right.columns

    def holds(self, table: pa.Table) -> Mask:
        """Rows where both, or one of them, are so."""
        found: Mask = JOINED[self.how](self.left.holds(table), self.right.holds(table))
        return found


@dataclass(frozen=True)
class Not:
    """A condition that must not be so."""

    negated: Condition

    @property
    def columns(self) -> frozenset[str]:
        """Its own."""
        return self.negated.columns

    def holds(self, table: pa.Table) -> Mask:
        """The other rows."""
        return ~self.negated.holds(table)


Condition = Comparison | Joined | Not


def parse_condition(text: str) -> Condition:
    """Read a condition, or say where it ends to be one."""
    return _Parser(text).parse()


class _Parser:
    """Reads from left to right; each rule of the grammar is a method."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._cut(text))
        self._next = 0

    def parse(self) -> Condition:
        """All of the text."""
        found = self._any_of()
        if self._peek() is not None:
            raise self._error("and, or, or the end")
        return found

    def _cut(self, text: str) -> Iterator[_Token]:
        place = n_tokens = 0
        text = text.rstrip()
        while place < len(text):
            n_tokens += 1
            if n_tokens > MOST_TOKENS:
                raise ConditionError(f"The condition has more than {MOST_TOKENS} words: too many.")
            found = TOKEN.match(text, place)
            if found is None:
                raise ConditionError(
                    f"The condition can't be read at {text[place:].lstrip()!r}. {GRAMMAR}."
                )
            kind = str(found.lastgroup)
            yield _Token(kind, found[kind], found.start(kind))
            place = found.end()

    def _any_of(self) -> Condition:
        found = self._all_of()
        while self._takes("or"):
            found = Joined("or", found, self._all_of())
        return found

    def _all_of(self) -> Condition:
        found = self._one()
        while self._takes("and"):
            found = Joined("and", found, self._one())
        return found

    def _one(self) -> Condition:
        if self._takes("not"):
            return Not(self._one())
        if self._takes("("):
            found = self._any_of()
            if not self._takes(")"):
                raise self._error("a closing bracket")
            return found
        column = self._take("a column", "word", "quoted")
        sign = self._take("an operator", "sign")
        if sign.text not in COMPARISONS:
            self._next -= 1
            raise self._error("an operator")
        value = self._take("a value", "text", "quoted", "number", "word")
        return Comparison(_unquoted(column), sign.text, self._value(value))

    def _value(self, token: _Token) -> str | float | bool:
        if token.kind == "number":
            return float(token.text)
        if token.kind != "word":
            return _unquoted(token)
        if token.text.lower() in ("true", "false"):
            return token.text.lower() == "true"
        self._next -= 1
        raise self._error("a number, or a text in single quotes")

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _takes(self, text: str) -> bool:
        token = self._peek()
        found = token is not None and token.kind in ("word", "sign") and token.text.lower() == text
        self._next += found
        return found

    def _take(self, what: str, *kinds: str) -> _Token:
        token = self._peek()
        if token is None or token.kind not in kinds:
            raise self._error(what)
        self._next += 1
        return token

    def _error(self, wanted: str) -> ConditionError:
        token = self._peek()
        where = "at its end" if token is None else f"at {self._text[token.place :]!r}"
        return ConditionError(f"The condition can't be read {where}: {wanted} is due. {GRAMMAR}.")


def _unquoted(token: _Token) -> str:
    """A name, or a text."""
    if token.kind == "word":
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


def _as_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _as_moment(text: object) -> Any:
    """A date, of which the day may be left out, or a time; None if it is neither."""
    import pyarrow as pa

    if not isinstance(text, str):
        return None
    whole = f"{text}-01" if re.fullmatch(r"\d{4}-\d{2}", text) else text
    try:
        return pa.scalar(whole).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
