"""Options that name features, as parameters of the selector."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from safdr.cli.errors import UsageError
from safdr.table.encoder import TableEncoder
from safdr.table.errors import listed, unknown_column

SIGNS = {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1}


def split_names(text: str) -> list[str]:
    """Return the names of a list with commas; a name in double quotes may hold commas."""
    return [name for row in csv.reader([text], skipinitialspace=True) for name in row]


def all_names(texts: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the names of an option that may be repeated; a column name may hold commas."""
    found: list[str] = []
    for text in texts:
        found += [text] if text in known else split_names(text)
    return found


class FeatureNames:
    """Indices of the features of an encoder by column, by name or by value of a category."""

    def __init__(self, encoder: TableEncoder, target: str) -> None:
        self.names = encoder.get_feature_names_out().tolist()
        self.categories = encoder.groups()
        self._columns = {each["name"]: each.get("why", "") for each in encoder.columns()}
        self._target = target
        self._of_column: dict[str, list[int]] = {}
        for j, term in enumerate(encoder.terms()):
            self._of_column.setdefault(term["column"], []).append(j)

    def find(self, option: str, name: str) -> list[int]:
        """Return the indices of a name; a value of a category stands for the category."""
        if name in self._of_column:
            return self._of_column[name]
        if name in self.names:
            j = self.names.index(name)
            return next((each for each in self.categories.values() if j in each), [j])
        if name == self._target:
            raise UsageError(f"{option}: the column {name!r} is the target.")
        if name in self._columns:
            raise UsageError(f"{option}: the column {name!r} is not used: {self._columns[name]}.")
        raise UsageError(f"{option}: {unknown_column(name, [*self._columns, *self.names])}")

    def constraints(self, options: Any) -> dict[str, Any]:
        """Return the parameters of `Constraints` that the options ask for."""
        groups = self._groups(options.as_one)
        found = {
            "always_include": self._included(options.include),
            "groups": groups,
            "at_most_one_of": [self._one_of(text, groups) for text in options.at_most_one_of],
            "signs": self._signs(options.sign),
        }
        return {name: value for name, value in found.items() if value}

    def n_features(self, groups: dict[str, list[int]]) -> int:
        """Return the number of features; a group counts as one."""
        return len(self.names) - sum(len(members) - 1 for members in groups.values())

    def costs(self, texts: Sequence[str]) -> dict[int, float]:
        """Return the cost of features; a category costs once."""
        found: dict[int, float] = {}
        for text in texts:
            name, number = _pair(text, "--cost", "NAME=NUMBER, such as height=2.5")
            try:
                cost = float(number)
            except ValueError:
                cost = math.nan
            if not math.isfinite(cost):
                raise UsageError(f"--cost must be NAME=NUMBER, such as height=2.5; got {text!r}.")
            j = self.find("--cost", name)[0]
            if j in found:
                raise UsageError(f"--cost is given twice for {name!r}.")
            found[j] = cost
        return found

    def _included(self, texts: Sequence[str]) -> list[int]:
        names = all_names(texts, {*self.names, *self._columns})
        return sorted({j for name in names for j in self.find("--include", name)})

    def _groups(self, texts: Sequence[str]) -> dict[str, list[int]]:
        """Return the groups that are asked for, and the categories in none of them."""
        found: dict[str, list[int]] = {}
        taken: set[int] = set()
        for text in texts:
            names = split_names(text)
            members = sorted({j for name in names for j in self.find("--as-one", name)})
            if len(names) < 2 or len(members) < 2:
                raise UsageError(f"--as-one needs at least two features: A,B; got {text!r}.")
            if taken & set(members):
                raise UsageError(f"--as-one: {listed(names)} share a feature with another group.")
            taken |= set(members)
            found[" + ".join(names)] = members
        rest = {n: each for n, each in self.categories.items() if not taken & set(each)}
        return found | rest

    def _one_of(self, text: str, groups: dict[str, list[int]]) -> list[int]:
        """Return one feature of each group of which at most one may be selected."""
        first = {j: members[0] for members in groups.values() for j in members}
        names = split_names(text)
        found = [first.get(j, j) for name in names for j in self.find("--at-most-one-of", name)[:1]]
        if len(names) < 2 or len(set(found)) < len(names):
            raise UsageError(
                f"--at-most-one-of needs at least two features that can be selected apart: A,B; "
                f"got {text!r}."
            )
        return sorted(found)

    def _signs(self, texts: Sequence[str]) -> dict[int, int]:
        found: dict[int, int] = {}
        for text in texts:
            name, sign = _pair(text, "--sign", "NAME=+ or NAME=-")
            if sign not in SIGNS:
                raise UsageError(f"--sign must be NAME=+ or NAME=-, such as age=-; got {text!r}.")
            members = self.find("--sign", name)
            if len(members) > 1:
                raise UsageError(
                    f"--sign: {name!r} is a category with a coefficient for each value; a sign "
                    "needs a number."
                )
            if found.setdefault(members[0], SIGNS[sign]) != SIGNS[sign]:
                raise UsageError(f"--sign gives {name!r} both signs.")
        return found


def _pair(text: str, option: str, wanted: str) -> tuple[str, str]:
    """Return the name and the value of a text; the name may hold "=" too."""
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} must be {wanted}; got {text!r}.")
    return name.strip(), value.strip()
