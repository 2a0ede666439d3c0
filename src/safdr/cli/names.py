"""Options that name features, as parameters of the selector."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from safdr.cli.errors import UsageError
from safdr.table.encoder import TableEncoder
from safdr.table.errors import listed, unknown_column
from safdr.table.types import is_plain_number

SIGNS = {"+": 1, "-": -1}


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
        self._columns = {each["name"]: each.get("why", "") for each in encoder.columns()}
        self._target = target
        terms = encoder.terms()
        of_column: dict[str, list[int]] = {}
        for j, term in enumerate(terms):
            of_column.setdefault(term["column"], []).append(j)
        self._found = {term["feature"]: of_column[term["column"]] for term in terms} | of_column
        self._categories = {name: each for name, each in of_column.items() if len(each) > 1}

    def find(self, option: str, name: str) -> list[int]:
        """Return the indices of a name; a value of a category stands for the category."""
        if name in self._found:
            return self._found[name]
        if name == self._target:
            raise UsageError(f"{option}: the column {name!r} is the target.")
        if name in self._columns:
            raise UsageError(f"{option}: the column {name!r} is not used: {self._columns[name]}.")
        raise UsageError(f"{option}: {unknown_column(name, list(self._columns))}")

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
            if not is_plain_number(number):
                raise UsageError(f"--cost must be NAME=NUMBER, such as height=2.5; got {text!r}.")
            found[self.find("--cost", name)[0]] = float(number)
        return found

    def _included(self, texts: Sequence[str]) -> list[int]:
        names = all_names(texts, {*self.names, *self._columns})
        return sorted({j for name in names for j in self.find("--include", name)})

    def _groups(self, texts: Sequence[str]) -> dict[str, list[int]]:
        """Return the groups that are asked for, and the categories in none of them."""
        found: dict[str, list[int]] = {}
        for text in texts:
            names = split_names(text)
            members = sorted({j for name in names for j in self.find("--as-one", name)})
            if len(names) < 2 or len(members) < 2:
                raise UsageError(f"--as-one needs at least two features: A,B; got {text!r}.")
            if any(set(members) & set(each) for each in found.values()):
                raise UsageError(f"--as-one: {listed(names)} share a feature with another group.")
            found[" + ".join(names)] = members
        grouped = {j for members in found.values() for j in members}
        rest = {n: each for n, each in self._categories.items() if not grouped & set(each)}
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
                raise UsageError(f"--sign needs a number; {name!r} is a category.")
            found[members[0]] = SIGNS[sign]
        return found


def _pair(text: str, option: str, wanted: str) -> tuple[str, str]:
    """Return the name and the value of a text; the name may hold "=" too."""
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} must be {wanted}; got {text!r}.")
    return name.strip(), value.strip()
