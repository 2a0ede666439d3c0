"""`TableEncoder`: the columns of a table as columns of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from safdr.table.columns import Column, asked_uses, few_whole_numbers, learn_columns
from safdr.table.errors import MissingValuesError, TableError, unknown_column
from safdr.table.missing import MissingReport, count_missing
from safdr.table.types import decode_table, value_label
from safdr.text import count

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr.table.target import Target

# Values of a category in fewer rows have no feature: they would be constant in some splits.
MIN_VALUE_ROWS, MIN_VALUE_SHARE = 10, 1e-3
MAX_VALUES = 30
MISSING = (None, "median", "drop-columns")


@dataclass(frozen=True)
class Feature:
    """A feature: a number of a column, or 1 where the column equals a value."""

    feature: str
    column: str
    equals: str | float | bool | None = None
    # The value of the feature where the column has none.
    missing: float | None = None

    def values(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the feature of each row; NaN where it is missing."""
        import pyarrow.compute as pc

        if self.equals is not None:
            column = pc.equal(column, self.equals)
        found = np.array(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        if self.missing is not None:
            found[np.isnan(found)] = self.missing
        return found


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers.

    Numbers, also in text such as ``"9.1%"`` or ``"1.234,56 EUR"``, stay numbers. Categories become
    one column per frequent value. Identifiers, dates, constant columns and free text are dropped;
    `columns` says why. ``Constraints(groups=encoder.groups())`` selects the columns of a category
    together.

    Parameters
    ----------
    drop : list of str, default=None
        Columns to drop.

    keep : list of str, default=None
        Columns to use although they look like identifiers or dates.

    categories : list of str, default=None
        Columns whose values are categories, also if they are numbers.

    numbers : list of str, default=None
        Columns of text to read as numbers; other text counts as missing. By default, columns that
        are almost all numbers are.

    na : list of str, default=None
        Values that mean missing: ``"VALUE"`` in all columns, ``"COLUMN=VALUE"`` in one.

    missing : {"median", "drop-columns"}, default=None
        Fill missing values with the median (categories: the most frequent value), or drop columns
        with missing values. By default, missing values raise `MissingValuesError`.

    Attributes
    ----------
    missing_ : MissingReport
        Missing values by column and class.

    See Also
    --------
    Constraints : Select the columns of a category together.

    Examples
    --------
    >>> import pandas as pd
    >>> from safdr import TableEncoder
    >>> table = pd.DataFrame({"rate": ["9.1%", "8%"] * 10, "city": ["Bonn", "Rome"] * 10})
    >>> encoder = TableEncoder(numbers=["rate"]).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['rate', 'city = Rome']
    >>> encoder.transform(table)[0].tolist()
    [9.1, 0.0]
    """

    def __init__(
        self,
        *,
        drop: Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        numbers: Sequence[str] | None = None,
        na: Sequence[str] | None = None,
        missing: str | None = None,
    ) -> None:
        self.drop = drop
        self.keep = keep
        self.categories = categories
        self.numbers = numbers
        self.na = na
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns are.

        Parameters
        ----------
        X : data frame, Arrow table or 2-D array
            The table: of pandas, polars, pyarrow or anything with ``__arrow_c_stream__``.
        y : array-like, default=None
            The target. Missing values are compared with it.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        if self.missing not in MISSING:
            raise ValueError(f"missing must be one of {MISSING}; got {self.missing!r}.")
        table = as_table(X)
        self.feature_names_in_ = np.array(table.column_names, dtype=object)
        self.n_features_in_ = table.num_columns
        asked = asked_uses(
            table.column_names,
            drop=self.drop,
            keep=self.keep,
            categories=self.categories,
            numbers=self.numbers,
        )
        columns = learn_columns(table, asked, self.na)
        read = {each.name: each.read(table.column(each.name)) for each in columns if each.use}
        self.missing_ = count_missing(read, table.num_rows, _target_of(y))
        if self.missing_.columns and self.missing is None:
            self._columns = columns
            raise MissingValuesError(self.missing_)
        if self.missing == "drop-columns":
            columns = list(_without_missing(columns, self.missing_))
        self._learn(columns, read)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table with these columns.

        Parameters
        ----------
        X : data frame, Arrow table or 2-D array
            The table. Columns that are not used may be absent.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features_out)
            The features.
        """
        check_is_fitted(self)
        table = as_table(X)
        read = self.read(table)
        found = np.empty((table.num_rows, len(self._features)))
        for j, feature in enumerate(self._features):
            found[:, j] = feature.values(read[feature.column])
        if np.isnan(found).any():
            used = {feature.column: read[feature.column] for feature in self._features}
            raise MissingValuesError(count_missing(used, table.num_rows, None))
        return found

    def read(self, X: Any) -> dict[str, Any]:
        """Read the used columns of a table.

        Parameters
        ----------
        X : data frame, Arrow table or 2-D array
            The table.

        Returns
        -------
        columns : dict of str to pyarrow.ChunkedArray
            Doubles, booleans or text, with missing values.
        """
        table = as_table(X)
        names = table.column_names
        used = [each for each in self._columns if each.use]
        for each in used:
            if each.name not in names:
                raise unknown_column(each.name, names)
        return {each.name: each.read(table.column(each.name)) for each in used}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            Columns, or ``"column = value"``.
        """
        check_is_fitted(self)
        return np.array([each.feature for each in self._features], dtype=object)

    def groups(self, input_features: Sequence[Any] | None = None) -> dict[str, list[int]]:
        """Return the features of each category that has several, for `Constraints`.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of features, in their order; None means those of this encoder.

        Returns
        -------
        groups : dict of str to list of int
            Indices of features by column.
        """
        columns = {each.feature: each.column for each in getattr(self, "_features", ())}
        names = list(columns if input_features is None else input_features)
        if not all(isinstance(name, str) for name in names):
            # Features without names are those of this encoder, as in a pipeline of arrays.
            if len(names) != len(columns):
                raise ValueError(
                    "The features need names. Use encoder.set_output(transform='pandas')."
                )
            names = list(columns)
        found: dict[str, list[int]] = {}
        for j, name in enumerate(names):
            found.setdefault(columns.get(name, name.partition(" = ")[0]), []).append(j)
        return {column: members for column, members in found.items() if len(members) > 1}

    def terms(self) -> list[dict[str, Any]]:
        """Return the meaning of each feature.

        Returns
        -------
        terms : list of dict
            ``feature``, ``column``, ``equals`` (the feature is 1 where the column has this value)
            and ``missing`` (the value of the feature where the column has none).
        """
        return [
            {key: value for key, value in asdict(each).items() if value is not None}
            for each in self._features
        ]

    def columns(self) -> list[dict[str, Any]]:
        """Return how each column is used, or why it is not.

        Returns
        -------
        columns : list of dict
            ``name``, ``used``, ``why``, ``read_as``, ``example``, ``reference``,
            ``n_missing``, ``few_values``; keys that do not apply are absent.
        """
        n_missing = {each.column: each.n_missing for each in self.missing_.columns}
        return [self._describe(each, n_missing.get(each.name, 0)) for each in self._columns]

    def _describe(self, column: Column, n_missing: int) -> dict[str, Any]:
        name = column.name
        if column.use is None:
            return {"name": name, "used": False, "why": column.why}
        reference = self._references.get(name)
        found = {
            "example": column.example,
            "reference": None if reference is None else value_label(reference),
            "n_missing": n_missing,
            "few_values": name in self._few_values,
        }
        given = {key: value for key, value in found.items() if value not in (None, "", [], 0)}
        return {"name": name, "used": True, "read_as": column.use, **given}

    def _learn(self, columns: Sequence[Column], read: dict[str, pa.ChunkedArray]) -> None:
        """Learn the features of all columns."""
        self._references: dict[str, Any] = {}
        self._features: list[Feature] = []
        self._columns = [self._learn_features(each, read) for each in columns]
        self._few_values = [
            each.name
            for each in self._columns
            if each.use == "number" and few_whole_numbers(read[each.name])
        ]
        if not self._features:
            whys = "; ".join(f"{each.name!r}: {each.why}" for each in self._columns[:12])
            raise TableError(f"No column can be a feature. {whys}.")

    def _learn_features(self, column: Column, read: dict[str, pa.ChunkedArray]) -> Column:
        """Add the features of a column."""
        if column.use is None:
            return column
        name, values, fill = column.name, read[column.name], self.missing == "median"
        if column.use != "category":
            equals = True if column.use == "boolean" else None
            middle = _median(values) if fill else None
            self._features.append(Feature(name, name, equals, middle))
            return column
        found, reference = _frequent_values(values)
        if not found:
            return replace(column, use=None, why="almost always the same, or all values are rare")
        self._references[name] = reference
        for value in found:
            label = f"{name} = {value_label(value)}"
            self._features.append(Feature(label, name, value, 0.0 if fill else None))
        return column

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


def as_table(X: Any) -> pa.Table:
    """Return a frame, an Arrow table or an array as an Arrow table."""
    import pyarrow as pa

    if isinstance(X, pa.Table) or hasattr(X, "__arrow_c_stream__"):
        return decode_table(pa.table(X))
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be a table or have 2 dimensions; got {array.ndim}.")
    columns = [pa.array(each.tolist(), from_pandas=True) for each in array.T]
    return decode_table(pa.table(columns, [f"x{j}" for j in range(len(columns))]))


def _target_of(y: Any) -> Target | None:
    """Return the target to compare missing values with."""
    import pyarrow as pa

    from safdr.table.target import Target, learn_target

    if y is None or isinstance(y, Target):
        return y
    values = np.asarray(y)
    table = pa.table({"target": pa.array(values.tolist() if values.dtype == object else values)})
    return learn_target(table, "target").of(table)[0]


def _without_missing(columns: Sequence[Column], report: MissingReport) -> Iterator[Column]:
    n_missing = {each.column: each.n_missing for each in report.columns}
    for each in columns:
        if each.name in n_missing:
            why = count(n_missing[each.name], "missing value")
            yield replace(each, use=None, why=why)
        else:
            yield each


def _median(values: pa.ChunkedArray) -> float:
    return float(np.median(values.drop_null().cast("float64").to_numpy()))


def _frequent_values(values: pa.ChunkedArray) -> tuple[list[Any], Any]:
    """Return values that have a feature, and the reference, which is the most frequent value."""
    import pyarrow.compute as pc

    counts = pc.value_counts(values.drop_null()).to_pylist()
    counts.sort(key=lambda each: (-each["counts"], each["values"]))
    least = max(MIN_VALUE_ROWS, MIN_VALUE_SHARE * len(values))
    reference = counts[0]["values"]
    kept = [each["values"] for each in counts[1 : MAX_VALUES + 1] if each["counts"] >= least]
    # People look for codes in their own order.
    return sorted(kept) if isinstance(reference, float) else kept, reference
