"""recalibrate: predictions of a fitted selector, moved to what happens on rows held out of fits."""

from __future__ import annotations

import warnings
from copy import copy, deepcopy
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray
from safdr._estimators.base import AnnealingSelectorBase, ClassSelectorBase
from safdr._estimators.parameters import check_values
from safdr._estimators.selector import AnnealingRegressorSelector, AnnealingSelector
from safdr._estimators.validation import SeparationWarning
from safdr.errors import ParameterError
from safdr.measures.recalibration import PIECES, Curve, fit_curve, fit_line, fit_shifts

N_FOLDS = 5


def recalibrate(
    selector: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    shape: str = "auto",
) -> Any:
    """Give a copy of a fitted selector whose predictions are moved to what happens.

    The rows are divided into five folds, and each is predicted by a selector that chose as many
    features, and fitted its model, on the other four: what the model says of rows that it never
    saw. On these predictions and the outcomes a map is fitted, and the model's own predictions go
    through it from then on. Of two classes it is a curve of the log-odds that never falls, of as
    many straight pieces as the rows ask for (Schwarz's criterion); one piece is a slope and an
    intercept. Of more classes it is a slope and a shift for each class, of a quantity a slope and
    an intercept. Class weights don't count for it, so that probabilities become rates again.

    Parameters
    ----------
    selector : AnnealingSelectorCV, AnnealingSelector or their kind for regression
        Fitted to these rows, with the built-in model; it is not changed.

    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that it was fitted to. Rows held out for a test stay held out.

    y : array-like of shape (n_samples,)
        Their labels, or measured outputs.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay in one fold.

    shape : {"auto", "line"}, default="auto"
        Whether two classes may get a curve; a line keeps the model a sum of features, as points of
        a scorecard need it.

    Returns
    -------
    selector
        A copy with another `estimator_`. `recalibration_` says what was fitted, and
        `uncalibrated_estimator_` is the model as it was.

    See Also
    --------
    SelectionReport : Shows whether probabilities hold on held-out rows, before and after.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, recalibrate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(2, class_weight="balanced", random_state=0).fit(X, y)
    >>> round(float(selector.predict_proba(X)[:, 1].mean()), 3), round(float(y.mean()), 3)
    (0.604, 0.627)
    >>> again = recalibrate(selector, X, y)
    >>> round(float(again.predict_proba(X)[:, 1].mean()), 3)
    0.627
    >>> again.recalibration_["kind"]
    'line'
    """
    check_values("recalibrate", {"shape": shape}, {"shape": [StrOptions({"auto", "line"})]})
    _check(selector, y)
    labels = np.asarray(y)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight is not None and weight.shape != labels.shape:
        raise ParameterError(
            "sample_weight",
            "must hold one number for each of the {n} rows; got shape {shape}.",
            n=len(labels),
            shape=weight.shape,
        )
    scores, n_folds = _out_of_fold(selector, X, labels, weight, groups)
    ones = np.ones(len(labels)) if weight is None else weight
    kept = ones > 0
    new = copy(selector)
    new.uncalibrated_estimator_ = selector.estimator_
    told = {"shape": shape, "n_rows": int(kept.sum()), "n_folds": n_folds}
    most = 1 if shape == "line" else max(PIECES)
    new.estimator_, how = _moved(selector, scores[kept], labels[kept], ones[kept], most)
    new.recalibration_ = {**how, **told}
    return new


def _check(selector: Any, y: Any) -> None:
    if not isinstance(selector, AnnealingSelectorBase):
        raise ParameterError(
            "selector",
            "must be an AnnealingSelector, an AnnealingSelectorCV or one of those for regression; "
            "got {kind}.",
            kind=type(selector).__name__,
        )
    check_is_fitted(selector)
    if selector.estimator is not None:
        raise ParameterError(
            "selector",
            "must have the built-in model; got the estimator {kind}. Wrap that in scikit-learn's "
            "CalibratedClassifierCV, and fit the selector with it.",
            kind=type(selector.estimator).__name__,
        )
    if hasattr(selector, "recalibration_"):
        raise ParameterError("selector", "is recalibrated already. Pass it as `fit` left it.")
    if np.ndim(y) != 1:
        raise ParameterError(
            "y", "must hold one label or number for each row; got shape {shape}.", shape=np.shape(y)
        )
    unknown = np.setdiff1d(y, getattr(selector, "classes_", y))
    if len(unknown):
        raise ParameterError(
            "y",
            "must hold the labels that the selector was fitted to, {classes}; got {label!r} too.",
            classes=selector.classes_.tolist(),
            label=unknown[0],
        )


def _out_of_fold(
    selector: Any, X: Any, y: NDArray[Any], weight: FloatArray | None, groups: Any
) -> tuple[FloatArray, int]:
    """What selectors of the same size, fitted to other rows, say of each row."""
    by_class = isinstance(selector, ClassSelectorBase)
    kind = AnnealingSelector if by_class else AnnealingRegressorSelector
    names = [name for name in signature(kind).parameters if name != "n_features_to_select"]
    given = {name: getattr(selector, name) for name in names} | {"prove": None}
    scores: Any = None
    splits = _folds(y, by_class, groups)
    for train, test in splits:
        again = kind(int(selector.n_features_), **given)
        some = None if weight is None else weight[train]
        with warnings.catch_warnings():
            # Of models that nobody will use.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", SeparationWarning)
            again.fit(_safe_indexing(X, train), y[train], sample_weight=some)
        rows = _safe_indexing(X, test)
        found = again.decision_function(rows) if by_class else again.predict(rows)
        if scores is None:
            scores = np.empty((len(y), *found.shape[1:]))
        scores[test] = found
    return scores, len(splits)


def _folds(y: NDArray[Any], by_class: bool, groups: Any) -> list[Any]:
    """Five folds, or as many as the rarest class has rows, or as there are groups."""
    rarest = int(np.unique(y, return_counts=True)[1].min()) if by_class else len(y)
    if rarest < 2:
        raise ParameterError(
            "y", "must have two rows of each class, or none can be held out; got one of a class."
        )
    n = min(N_FOLDS, rarest)
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ParameterError(
                "groups", "must be two at least, or none can be held out; all rows are of one."
            )
        n = min(n, n_groups)
        ways: Any = (StratifiedGroupKFold if by_class else GroupKFold)(n)
    else:
        ways = (StratifiedKFold if by_class else KFold)(n, shuffle=True, random_state=0)
    return list(ways.split(np.zeros((len(y), 1)), y, groups))


def _moved(
    selector: Any, scores: FloatArray, y: NDArray[Any], weight: FloatArray, most_pieces: int
) -> tuple[Any, dict[str, Any]]:
    """The model with its predictions moved, and how."""
    model = deepcopy(selector.estimator_)
    if not isinstance(selector, ClassSelectorBase):
        slope, shift = fit_line(scores, y.astype(np.float64), weight)
        return _scaled(model, slope, shift), _told(Curve(shift, (slope,)))
    codes = np.searchsorted(selector.classes_, y)
    if scores.ndim == 2:
        slope, shifts = fit_shifts(scores, codes, weight)
        how = {**_told(Curve(0.0, (slope,))), "intercept": None, "shifts": shifts.tolist()}
        return _scaled(model, slope, shifts), how
    curve = fit_curve(scores, codes == 1, weight, most_pieces)
    if curve.is_line:
        return _scaled(model, curve.slopes[0], curve.intercept), _told(curve)
    return CurvedModel(model, curve), _told(curve)


def _scaled(model: Any, slope: float, shift: Any) -> Any:
    """A linear model with other coefficients."""
    model.coef_ = slope * model.coef_
    model.intercept_ = slope * model.intercept_ + shift
    return model


def _told(curve: Curve) -> dict[str, Any]:
    return {
        "kind": "line" if curve.is_line else "curve",
        "intercept": curve.intercept,
        "slopes": list(curve.slopes),
        "knots": list(curve.knots),
        "shifts": None,
    }


class CurvedModel(ClassifierMixin, BaseEstimator):
    """A linear model of two classes whose log-odds go through a curve."""

    def __init__(self, model: Any, curve: Curve) -> None:
        self.model = model
        self.curve = curve

    def __getattr__(self, name: str) -> Any:
        """Coefficients, classes and ends of columns are those of the model."""
        if name.startswith("__") or not name.endswith("_") or "model" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.model, name)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of each row."""
        return self.curve(np.asarray(self.model.decision_function(X), dtype=np.float64))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of both classes."""
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of them."""
        odds = self.decision_function(X)
        return np.column_stack([log_expit(-odds), log_expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class."""
        classes: NDArray[Any] = self.model.classes_
        return classes[(self.decision_function(X) > 0).astype(np.intp)]
