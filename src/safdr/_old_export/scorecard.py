"""Scorecard: the model of a selector in points, for those who work in Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safdr._atomic import write_all_atomically
from safdr._frames import kind_of, to_frame
from safdr.errors import ParameterError
from safdr._old_export.card import HEAD, card_rows, to_csv
from safdr._old_export.errors import WrongFormulaError
from safdr._old_export.formula import Formula, Term, value_limits
from safdr._old_export.points import Points, Scale, typical_values
from safdr._old_table.recipe import Feature, FloatArray


@dataclass(frozen=True, eq=False)
class Scorecard:
    """A model of two classes in points, as credit scoring has them.

    Points are linear in the log-odds: ``offset + factor · log(odds)``, where the odds are those of
    the first class against the second (of good against bad) and ``factor = pdo / log(2)``. They are
    shared out over the features: a typical row has `base` points, and a feature adds so many points
    for each unit that it is above its typical value, its median in the rows (0, if it is 0 or 1).

    Attributes
    ----------
    base : float
        Points of a typical row.
    points_per_unit, typical : ndarray of shape (n_chosen,)
        Of each chosen feature.
    names : tuple of str
        The chosen features.
    factor, offset : float
        Points for a unit of the log-odds, and where both classes are as likely.
    largest_rounding, mean_rounding : float
        By how many points whole ones differ from exact ones, on the rows; 0 unless `whole`.
    """

    names: tuple[str, ...]
    base: float
    points_per_unit: FloatArray
    typical: FloatArray
    factor: float
    offset: float
    largest_rounding: float
    mean_rounding: float
    _formula: Formula
    _selector: Any
    _backend: Any

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any,
        *,
        pdo: float = 20.0,
        base_points: float = 600.0,
        base_odds: float = 50.0,
        whole: bool = False,
    ) -> Scorecard:
        """Make the card of a fitted selector.

        Parameters
        ----------
        selector : fitted AnnealingSelector or AnnealingSelectorCV
            Of two classes, with the built-in logistic model.

        X : array-like of shape (n_samples, n_features)
            Rows that typical values are taken from, such as the training rows; the card is checked
            on them.

        pdo : float, default=20.0
            Points that double the odds of the first class; negative, if points are to rise with the
            odds of the second.

        base_points, base_odds : float, default=600.0 and 50.0
            Points at odds of so many of the first class to one of the second.

        whole : bool, default=False
            Whether the points of each feature are rounded to whole ones. `largest_rounding` and
            `mean_rounding` tell what that costs.

        Returns
        -------
        Scorecard

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from safdr import AnnealingSelector, Scorecard
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> selector = AnnealingSelector(2, random_state=0).fit(X, y)
        >>> card = Scorecard.from_estimator(selector, X, pdo=-20, base_odds=1)
        >>> card.score(X.head(3)).round().tolist()
        [271.0, 367.0, 333.0]
        """
        scale = Scale(float(pdo), float(base_points), float(base_odds), bool(whole))
        names, formula = _formula_of(selector)
        values = _values(selector, formula, X)
        model = selector.estimator_
        own = model.coef_[0].tolist(), typical_values(values).tolist()
        points = Points.of_model(scale, float(model.intercept_[0]), *own)
        exact = scale.of_log_odds(np.ravel(selector.decision_function(X)))
        largest, mean = points.rounding(values, exact)
        if not scale.whole and largest > 1e-6 * (1.0 + np.abs(exact).max()):
            raise WrongFormulaError("The points are not those of the model. Please report this.")
        return cls(
            names,
            points.base,
            np.array(points.per_unit),
            np.array(points.typical),
            scale.factor,
            scale.offset,
            largest if scale.whole else 0.0,
            mean if scale.whole else 0.0,
            formula.with_these(points),
            selector,
            kind_of(X),
        )

    def __repr__(self) -> str:
        whole = self._points.scale.whole
        return f"Scorecard(features={list(self.names)}, base={self.base:.6g}, whole={whole})"

    def __str__(self) -> str:
        """Say what points stand for."""
        return self._points.scale.in_words(*map(repr, self._formula.classes))

    @property
    def _points(self) -> Points:
        assert self._formula.points is not None
        return self._formula.points

    def score(self, X: Any) -> FloatArray:
        """Give the points of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that the selector saw.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._points.total(_values(self._selector, self._formula, X))

    def to_frame(self, backend: Any = None) -> Any:
        """Give the card as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            Kind of the frame; None is that of the rows, or pandas.

        Returns
        -------
        DataFrame
            The base points first; of each feature `points_per_unit`, from which value on they are
            counted, between which values (beyond, the nearest counts), and the points there.
        """
        rows = [*card_rows(self._formula)]
        columns = {
            name: [row.get(name) for row in rows] for name in HEAD if any(name in r for r in rows)
        }
        backend = self._backend if backend is None else backend
        return to_frame(columns, backend, "Scorecard.to_frame")

    def to_csv(self, path: Any) -> None:
        """Write the card to a CSV file.

        Parameters
        ----------
        path : str or path
            Where to; what is there is replaced.
        """
        content = to_csv([*card_rows(self._formula)]).encode()
        write_all_atomically({Path(path): content})


def _formula_of(selector: Any) -> tuple[tuple[str, ...], Formula]:
    """The names of the chosen features, and the model on them."""
    model = getattr(selector, "estimator_", None)
    if model is None or not hasattr(selector, "subset_"):
        raise ParameterError(
            "selector",
            "must be a fitted AnnealingSelector or AnnealingSelectorCV; got {kind}. Call fit "
            "first.",
            kind=type(selector).__name__,
        )
    classes = getattr(selector, "classes_", ())
    if len(classes) != 2 or np.shape(getattr(model, "coef_", ())) != (1, len(selector.subset_)):
        raise ParameterError(
            "selector",
            "must have a linear model of two classes, whose odds points stand for; got {model!r} "
            "of {n} classes.",
            model=model,
            n=len(classes) or "no",
        )
    names = tuple(map(str, selector.get_feature_names_out()))
    terms = (
        Term(Feature(name, name, "number"), (float(own),), *limits)
        for name, own, limits in zip(names, model.coef_[0], value_limits(selector), strict=True)
    )
    labels = tuple(map(str, classes))
    return names, Formula(tuple(terms), (float(model.intercept_[0]),), "y", labels, "X")


def _values(selector: Any, formula: Formula, X: Any) -> FloatArray:
    """The chosen features of rows, as the model takes them."""
    columns = selector.transform(X)
    columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns, dtype=float)
    low, high = np.array([(term.low, term.high) for term in formula.terms]).T
    values: FloatArray = np.clip(columns, low, high)
    return values
