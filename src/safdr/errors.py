"""Errors about parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Columns in a message; the rest is counted.
MAX_NAMED = 5


@dataclass(frozen=True)
class Columns:
    """Columns in a message, by name if they have names."""

    indices: Any
    labels: Sequence[str] | None = None

    def __str__(self) -> str:
        shown = [int(j) for j in self.indices[:MAX_NAMED]]
        names = [f"column {j}" if self.labels is None else repr(self.labels[j]) for j in shown]
        more = len(self.indices) - len(shown)
        return ", ".join(names) + (f" and {more} more" if more else "")


class ParameterError(ValueError):
    """Raise for a parameter whose value cannot be used.

    Parameters
    ----------
    parameter : str
        Name of the parameter, with which the message begins.
    text : str
        Rest of the message.

    Attributes
    ----------
    parameter : str
        Name of the parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from safdr import AnnealingSelector, ParameterError
    >>> try:
    ...     AnnealingSelector(5).fit(*load_iris(return_X_y=True))
    ... except ParameterError as error:
    ...     error.parameter
    'n_features_to_select'
    """

    def __init__(self, parameter: str, text: str) -> None:
        super().__init__(parameter, text)
        self.parameter = parameter

    def __str__(self) -> str:
        return f"{self.parameter} {self.args[1]}"


class NoSubsetError(ParameterError):
    """Raise if a search of one size finds no subset with the required signs."""
