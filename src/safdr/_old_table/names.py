"""Names that people write, of columns or of single features, become places among the features."""

from __future__ import annotations

from safdr._old_table.errors import ColumnUseError, UnknownColumnError
from safdr._old_table.prepare import Prepared
from safdr._old_table.recipe import level_name


class FeaturePlaces:
    """Where the features of a column are, and that of a single feature."""

    def __init__(self, prepared: Prepared) -> None:
        features = prepared.recipe.features
        self.names = tuple(feature.name for feature in features)
        self.categories: dict[str, tuple[int, ...]] = {}
        self._of_column: dict[str, tuple[int, ...]] = {}
        for place, feature in enumerate(features):
            # Both are in the order of the table, and a column has its features side by side.
            self._of_column[feature.column] = (*self._of_column.get(feature.column, ()), place)
        for coding in prepared.recipe.codings:
            self.categories[coding.column] = self._of_column[coding.column]
        self._prepared = prepared

    @property
    def known(self) -> set[str]:
        """All names that stand for something, columns that are left out among them."""
        left_out = (each.column for each in self._prepared.left_out)
        return {*self._of_column, *self.names, *left_out}

    def find(self, name: str) -> tuple[int, ...]:
        """Places of what a name stands for."""
        if name in self._of_column:
            return self._of_column[name]
        if name in self.names:
            return (self.names.index(name),)
        self._explain(name)
        left_out = (each.column for each in self._prepared.left_out)
        columns = [*self._of_column, *left_out, self._prepared.target.kind.name]
        raise UnknownColumnError(name, columns, also=self.names)

    def _explain(self, name: str) -> None:
        """Say why a column, or a value of one, has no feature."""
        if name == self._prepared.target.kind.name:
            raise ColumnUseError(f"The column {name!r} is the target.")
        for each in self._prepared.left_out:
            if name == each.column:
                raise ColumnUseError(f"The column {name!r} is left out ({each.reason}).")
        for coding in self._prepared.recipe.codings:
            if name == level_name(coding.column, coding.reference):
                raise ColumnUseError(
                    f"{name!r} is what the other values of {coding.column!r} are compared with: it "
                    "has no feature of its own."
                )
            if name in (level_name(coding.column, level) for level in coding.pooled):
                raise ColumnUseError(f"{name!r} is too rare for a feature of its own.")
