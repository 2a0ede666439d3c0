"""Options that name features, as parameters of the selector."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable
from typing import Any

from safdr.cli.errors import UsageError
from safdr.table.encoder import TableEncoder
from safdr.table.errors import unknown_column


def split_names(text: str) -> list[str]:
    """Return the names of a list with commas; a name in double quotes may hold commas."""
    return [name for row in csv.reader([text], skipinitialspace=True) for name in row]


def all_names(texts: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the names of an option that may be repeated; a column name may hold commas."""
    return [name for t in texts for name in ([t] if t in known else split_names(t))]


class FeatureNames:
    """Indices of the features of an encoder by column, by name or by value of a category."""

    def __init__(self, encoder: TableEncoder, target: str) -> None:
        self._whys = {each["name"]: each.get("why", "") for each in encoder.columns()}
        self._whys[target] = "it is the target"
        self._of_column: dict[str, list[int]] = {}
        terms = encoder.terms()
        for j, term in enumerate(terms):
            self._of_column.setdefault(term["column"], []).append(j)
        # A value of a category stands for the category.
        of_value = {term["feature"]: self._of_column[term["column"]] for term in terms}
        self._found = of_value | self._of_column

    def find(self, option: str, name: str) -> list[int]:
        """Return the indices of a name."""
        if name in self._found:
            return self._found[name]
        if name in self._whys:
            raise UsageError(f"{option}: the column {name!r} is not used: {self._whys[name]}.")
        raise UsageError(f"{option}: {unknown_column(name, list(self._whys))}")

    def constraints(self, options: Namespace) -> dict[str, Any]:
        """Return the parameters of `Constraints` that the options ask for."""
        groups = dict(self._sets("--as-one", options.as_one))
        grouped = {j for members in groups.values() for j in members}
        categories = {n: each for n, each in self._of_column.items() if len(each) > 1}
        groups |= {n: each for n, each in categories.items() if not grouped & set(each)}
        # Of each group the first feature.
        first = {j: members[0] for members in groups.values() for j in members}
        apart = dict(self._sets("--at-most-one-of", options.at_most_one_of)).values()
        known = {*self._found, *self._whys}
        included = [self.find("--include", name)[0] for name in all_names(options.include, known)]
        found = {
            "always_include": included,
            "groups": groups,
            "at_most_one_of": [sorted({first.get(j, j) for j in members}) for members in apart],
            "signs": self.pairs("--sign", options.sign, "NAME=+ or NAME=-", _sign),
        }
        return {name: value for name, value in found.items() if value}

    def pairs(
        self, option: str, texts: Iterable[str], wanted: str, read: Callable[[str], Any]
    ) -> dict[int, Any]:
        """Return the values of NAME=VALUE by feature; the name may hold "=" too."""
        found: dict[int, Any] = {}
        for text in texts:
            name, equals, value = text.rpartition("=")
            try:
                number = read(value.strip())
            except (KeyError, ValueError):
                equals = ""
            if not equals:
                raise UsageError(f"{option} must be {wanted}; got {text!r}.")
            members = self.find(option, name.strip())
            if option == "--sign" and len(members) > 1:
                raise UsageError(f"--sign needs a number; {name.strip()!r} is a category.")
            found[members[0]] = number
        return found

    def _sets(self, option: str, texts: Iterable[str]) -> Iterable[tuple[str, list[int]]]:
        """Return the features of lists with commas, by name."""
        for text in texts:
            names = split_names(text)
            members = {j for name in names for j in self.find(option, name)}
            if len(members) < 2:
                raise UsageError(f"{option} needs at least two features: A,B; got {text!r}.")
            yield " + ".join(names), sorted(members)


def _sign(text: str) -> int:
    return {"+": 1, "-": -1}[text]
