"""Constraints in names of the table become parameters of the selector, or errors for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safdr.cli.errors import UsageError
from safdr.cli.lists import one_by_one, split_costs, split_names, split_signs
from safdr.cli.options import ConstraintOptions
from safdr._old_table.errors import TableError, named
from safdr._old_table.names import FeaturePlaces
from safdr._old_table.prepare import Prepared

BALANCED = (
    "All classes count alike (--class-weight balanced): probabilities and intercept are those of "
    "equal shares of all classes, not of the shares in the table."
)
USELESS_STRENGTH = "--cost-strength has no effect: no feature costs anything (--cost)."


@dataclass(frozen=True)
class Constraining:
    """What the constraints come to."""

    # Of the selector.
    parameters: dict[str, Any]
    # Features there are, a group counted as one.
    n_features: int
    # What was asked for, in names of the table.
    settings: dict[str, Any]
    # What to know about it.
    notes: list[str]


def constrain(options: ConstraintOptions, prepared: Prepared) -> Constraining:
    """Find the features that constraints name."""
    from safdr import Constraints

    target = prepared.target.kind
    if options.class_weight and target.task == "regression":
        raise UsageError(
            f"--class-weight is for classes, and {target.name!r} is a quantity. Leave it out, or "
            "say --task classification."
        )
    places = FeaturePlaces(prepared)
    finder = _Finder(places, split=options.split_categories)
    included, excluded = (
        one_by_one(names, places.known) for names in (options.always_include, options.never_include)
    )
    groups = finder.groups([split_names(text) for text in options.group or []])
    sets = [split_names(text) for text in options.at_most_one_of or []]
    costs = split_costs(options.cost or [])
    signs = split_signs(options.sign or [])
    constraints = {
        "always_include": finder.columns("--always-include", included),
        "never_include": finder.excluded(excluded, included, groups),
        "groups": groups,
        "at_most_one_of": [finder.one_of(names, groups) for names in sets],
        "signs": finder.signs(signs),
    }
    parameters = {
        "feature_cost": finder.costs(costs),
        "cost_strength": options.cost_strength,
        "class_weight": options.class_weight,
    }
    given = _given(parameters)
    if limits := _given(constraints):
        given["constraints"] = Constraints(**limits)
    joined = sum(len(columns) - 1 for columns in groups.values())
    return Constraining(
        parameters=given,
        n_features=len(prepared.recipe.features) - joined,
        settings={
            "always_include": included or None,
            "never_include": excluded or None,
            "groups": [split_names(text) for text in options.group or []] or None,
            "split_categories": options.split_categories,
            "at_most_one_of": sets or None,
            "signs": signs or None,
            "feature_cost": costs or None,
        },
        notes=_notes(options),
    )


def _given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What is not given is left to the selector."""
    return {name: value for name, value in parameters.items() if value not in (None, [], {})}


def _notes(options: ConstraintOptions) -> list[str]:
    notes = [BALANCED] if options.class_weight else []
    if options.cost_strength is not None and not options.cost:
        notes.append(USELESS_STRENGTH)
    return notes


class _Finder:
    """Finds features by name; those of a category are one, unless they are to be split."""

    def __init__(self, places: FeaturePlaces, *, split: bool) -> None:
        self._places = places
        self._categories = {} if split else places.categories

    def _find(self, option: str, name: str) -> tuple[int, ...]:
        try:
            return self._places.find(name)
        except TableError as error:
            raise UsageError(f"{option}: {error}") from None

    def _whole(self, option: str, name: str) -> tuple[int, ...]:
        """Features of a name; one value of a category stands for all of them."""
        found = self._find(option, name)
        for members in self._categories.values():
            if set(found) <= set(members):
                return members
        return found

    def columns(self, option: str, names: Iterable[str]) -> list[int]:
        """All features that the names stand for."""
        return sorted({j for name in names for j in self._find(option, name)})

    def groups(self, asked: Sequence[Sequence[str]]) -> dict[str, list[int]]:
        """Features that enter together: those asked for, and categories that are in none."""
        found: dict[str, list[int]] = {}
        taken: dict[int, str] = {}
        for names in asked:
            columns = sorted({j for name in names for j in self._whole("--group", name)})
            if len(columns) < 2:
                raise UsageError(
                    f"--group needs at least two features, as in --group A,B; got {_listed(names)}."
                )
            if shared := [self._places.names[j] for j in columns if j in taken]:
                raise UsageError(
                    f"--group: {named(shared)} can't be in two groups. Make one group of both, or "
                    "take it out of one."
                )
            title = " + ".join(names)
            # A column may have this very name.
            title = f"{title} (group)" if title in self._categories and len(names) > 1 else title
            found[title] = columns
            taken |= dict.fromkeys(columns, title)
        for column, members in self._categories.items():
            if len(members) > 1 and members[0] not in taken:
                found[column] = list(members)
        return found

    def excluded(
        self,
        names: Sequence[str],
        included: Sequence[str],
        groups: Mapping[str, list[int]],
    ) -> list[int]:
        """Features to leave out: whole groups only, and none that must be in."""
        columns = set(self.columns("--never-include", names))
        if both := [name for name in names if name in included]:
            raise UsageError(f"{named(both)} is in --always-include and in --never-include.")
        for title, members in groups.items():
            rest = [self._places.names[j] for j in members if j not in columns]
            if 0 < len(rest) < len(members):
                raise UsageError(
                    f"--never-include names a part of {title!r}, which enters as a whole: "
                    f"{named(rest)} would be left. {self._way_out(title)}"
                )
        if len(columns) == len(self._places.names):
            raise UsageError(
                "--never-include leaves no feature to choose from. Take some out of it."
            )
        return sorted(columns)

    def one_of(self, names: Sequence[str], groups: Mapping[str, list[int]]) -> list[int]:
        """One feature for each group, of which a set may have one."""
        group_of = {j: title for title, members in groups.items() for j in members}
        found: dict[int, str] = {}
        for name in names:
            columns = self._find("--at-most-one-of", name)
            for j in {groups[group_of[j]][0] if j in group_of else j for j in columns}:
                if j in found:
                    raise UsageError(
                        f"--at-most-one-of: {found[j]!r} and {name!r} enter together, so that one "
                        f"alone is never in. {self._way_out(group_of.get(j, name))}"
                    )
                found[j] = name
        if len(found) < 2:
            raise UsageError(
                "--at-most-one-of needs at least two features, as in --at-most-one-of A,B; got "
                f"{_listed(names)}."
            )
        return sorted(found)

    def _way_out(self, title: str) -> str:
        if title in self._categories:
            return f"Name {title!r} itself, or let each value stand alone: --split-categories."
        return "Name all of it, or change --group."

    def costs(self, costs: Mapping[str, float]) -> dict[int, float]:
        """Cost of each feature; a category, which enters as a whole, costs once."""
        found: dict[int, float] = {}
        for name, cost in costs.items():
            columns = self._find("--cost", name)
            once = columns[:1] if name in self._categories else columns
            for j in once:
                found[j] = found.get(j, 0.0) + cost
        return found

    def signs(self, signs: Mapping[str, int]) -> dict[int, int]:
        """Sign of the coefficient of each feature; a category as a whole has none."""
        found: dict[int, int] = {}
        for name, sign in signs.items():
            for column, members in self._categories.items():
                if set(columns := self._find("--sign", name)) <= set(members):
                    raise UsageError(
                        f"--sign: {column!r} is text that enters as a whole, with a coefficient "
                        "for each value but one: no sign is that of all. Leave it out, or let each "
                        f"value stand alone: --split-categories --sign '{column} = …=+'."
                    )
            if len(columns := self._find("--sign", name)) > 1:
                raise UsageError(
                    f"--sign: {name!r} is text, with a coefficient for each value but one. Name a "
                    f"value, as in --sign '{name} = …=+'."
                )
            found[columns[0]] = sign
        return found


def _listed(names: Sequence[str]) -> str:
    return named(names) if names else "none"
