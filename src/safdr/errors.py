"""Errors about parameters, which every room can say in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from typing import Any

# Columns in a message; the rest is counted.
MOST_NAMED = 5
# Of the letters of two names that differ by a slip of the hand: one in six, or two that changed
# places. `--weight` is no slip of `--class-weight` (0.67), nor `sample` of `sample-rows` (0.71).
ALIKE = 0.8


@dataclass(frozen=True)
class Columns:
    """Columns in a message, by name where they have names."""

    indices: Any
    labels: Sequence[str] | None = None

    def __str__(self) -> str:
        shown = [int(j) for j in self.indices[:MOST_NAMED]]
        words = [f"column {j}" if self.labels is None else repr(self.labels[j]) for j in shown]
        more = len(self.indices) - len(shown)
        return ", ".join(words) + (f" and {more} more" if more else "")

    def __format__(self, _: str) -> str:
        return str(self)


class ParameterError(ValueError):
    """A parameter has a value that can't work.

    Parameters
    ----------
    parameter : str
        Its name.
    text : str
        What follows the name in the message. Fields in braces are values, or else names of other
        parameters.
    **values
        Values of fields, such as what was given.

    Attributes
    ----------
    parameter : str
        Name of the parameter.

    Examples
    --------
    >>> from safdr import AnnealingSelector, ParameterError
    >>> try:
    ...     AnnealingSelector(ridge=-1.0).check_params()
    ... except ParameterError as error:
    ...     error.parameter
    'ridge'
    """

    def __init__(self, parameter: str, text: str, /, **values: Any) -> None:
        super().__init__(parameter, text)
        self.parameter = parameter
        self._values = values

    def __str__(self) -> str:
        return self.in_words({})

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._values), self.args

    def in_words(self, names: Mapping[str, str], column_names: Sequence[str] | None = None) -> str:
        """Say the message with other names for parameters and columns.

        Parameters
        ----------
        names : mapping
            From parameters to what to call them; others keep their names.
        column_names : sequence of str, default=None
            What to call the columns of X; None leaves it.

        Returns
        -------
        str
        """
        values = {
            name: replace(value, labels=column_names)
            if column_names is not None and isinstance(value, Columns)
            else value
            for name, value in self._values.items()
        }
        subject = names.get(self.parameter, self.parameter)
        return f"{subject} {self.args[1].format_map(_Names({**names, **values}))}"


class NoSubsetError(ParameterError):
    """No subset of a size was found that keeps to what a parameter asks for; others may be."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """The one known name that a name is a slip of; None where none is, or more than one.

    Names with other numbers, or another first letter, are other names: PAY_7 is no slip of PAY_6,
    nor weight of height.
    """
    likeness = {each: _likeness(name, each) for each in known}
    best = max(likeness.values(), default=0.0)
    near = [each for each, share in likeness.items() if share == best]
    return near[0] if best >= ALIKE and len(near) == 1 else None


def _likeness(one: str, other: str) -> float:
    """Share of the letters that two names have in common, in this order; capitals are no matter."""
    one, other = one.casefold(), other.casefold()
    if one[:1] != other[:1] or re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return 0.0
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


class _Names(dict[str, Any]):
    """What is called otherwise; everything else keeps its name."""

    def __missing__(self, name: str) -> str:
        return name
