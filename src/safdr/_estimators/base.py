"""Base classes of the selectors: parameters, the final search, attributes and predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.rows import take_columns
from safdr._estimators.counts import DEVIANCE_SCORERS
from safdr._estimators.data import Problem
from safdr._estimators.inputs import device_rows, is_on_device, is_source
from safdr._estimators.options import PARAMETER_OBJECTS, PUBLISHED
from safdr._estimators.parallel import n_workers
from safdr._estimators.search import duplicate_pairs, make_search, model_of, warn_separated
from safdr.errors import ParameterError

Method = TypeVar("Method", bound=Callable[..., Any])


def typed(decorator: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Return a decorator of scikit-learn that keeps the type of a method."""
    return decorator


def model_has(method: str) -> Callable[[Any], bool]:
    """Return a check that the final model has a method; the default model has all methods."""

    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", self.estimator)
        return model is None or hasattr(model, method)

    return check


class AnnealingSelectorBase(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    _is_regression: ClassVar[bool] = False
    _is_survival: ClassVar[bool] = False
    _criterion: ClassVar[str] = "fisher"  # the built-in one
    support_: NDArray[np.bool_]
    subset_: IntArray

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of `annealing` and `constraints`.

        Parameters
        ----------
        **params : dict
            Such as ``annealing__n_replicas=20``, also if `annealing` is None.

        Returns
        -------
        self
            The selector.
        """
        for name, kind in PARAMETER_OBJECTS.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and params.get(name, getattr(self, name)) is None:
                params[name] = kind()
        selector: Self = super().set_params(**params)
        return selector

    @classmethod
    def as_published(cls, *args: Any, **params: Any) -> Self:
        """Make a selector that uses the method of the paper.

        It has no screen, no shrinkage, Fisher's ratio (R² for regression), 50 replicas, models
        without a penalty, and the rule "one_sd".

        Parameters
        ----------
        *args, **params
            Parameters of the selector, which override those of the paper. `annealing` gets no
            screen.

        Returns
        -------
        selector

        Examples
        --------
        >>> from safdr import AnnealingSelectorCV
        >>> AnnealingSelectorCV.as_published(sizes=10).rule
        'one_sd'
        """
        published = {"criterion": cls._criterion, "shrinkage": None, "C": np.inf}
        if "rule" in cls._parameter_constraints:
            published["rule"] = "one_sd"
        annealing = clone(params.get("annealing") or PUBLISHED).set_params(screen=None)
        return cls(*args, **published | params | {"annealing": annealing})

    def _validate_params(self) -> None:
        super()._validate_params()
        for part in (self.annealing, self.constraints):
            if part is not None:
                params, name = part.get_params(deep=False), type(part).__name__
                validate_parameter_constraints(part._parameter_constraints, params, name)
        kind = "regressor" if self._is_regression else "classifier"
        is_wrong = is_classifier if self._is_regression else is_regressor
        if self.estimator is not None and is_wrong(self.estimator):
            raise ParameterError("estimator", f"must be a {kind}; got {self.estimator!r}.")

    # ---- The search of one size ---------------------------------------------------------------

    def _fit_size(self, problem: Problem, size: int, seed: int) -> None:
        """Search at one size on all rows, and set the attributes of a fit."""
        jobs = n_workers(self.n_jobs)
        result = make_search(self, problem, seed, jobs).run(size, n_threads=jobs)
        model, separated = model_of(self, problem, result, seed)
        if separated:
            warn_separated(size)
        is_custom = callable(self.criterion)
        self._seed = seed
        self.n_features_ = size
        self.criterion_ = self.criterion if is_custom else problem.criterion_name
        self.criterion_value_ = result.criterion_value
        self.shrinkage_ = None if is_custom else result.shrinkage
        self.duplicates_ = duplicate_pairs(self, problem)
        self.result_ = replace(result, feature_names=problem.names)
        self.estimator_ = model
        self.subset_ = result.subset
        self.support_ = np.zeros(problem.n_features, dtype=bool)
        self.support_[self.subset_] = True

    # ---- Predictions --------------------------------------------------------------------------

    def _default_scoring(self) -> Any:
        raise NotImplementedError

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _selected_columns(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_source(X, None):
            from safdr._estimators.streaming import read_columns

            return read_columns(self, X, self.subset_)
        if is_on_device(X):
            return device_rows(X)[:, self.subset_]
        kinds = [np.float64, np.float32]  # all columns are checked, and the selected ones copied
        rows: Any = validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=False)
        return take_columns(rows, self.subset_)

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like, sparse matrix or source of shape (n_samples, n_features)
            Rows with all features of the fit.

        Returns
        -------
        ndarray, sparse matrix or DataFrame of shape (n_samples, n_selected)
        """
        return self._selected_columns(X) if is_source(X, None) else super().transform(X)

    def _predict(self, method: str, X: Any) -> NDArray[Any]:
        rows = self._selected_columns(X)
        return np.asarray(getattr(self.estimator_, method)(rows))

    @typed(available_if(model_has("predict")))
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the target of each row from the selected features.

        Parameters
        ----------
        X : array-like, sparse matrix or source of shape (n_samples, n_features)
            Rows with all features of the fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels or values.
        """
        return self._predict("predict", X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


class ClassSelectorBase(ClassifierMixin, AnnealingSelectorBase):
    classes_: NDArray[Any]

    def _default_scoring(self) -> str:
        return "roc_auc_ovr" if len(getattr(self, "classes_", ())) > 2 else "roc_auc"

    @typed(available_if(model_has("predict_proba")))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array-like, sparse matrix or source of shape (n_samples, n_features)
            Rows with all features of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict("predict_proba", X)

    @typed(available_if(model_has("predict_log_proba")))
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict("predict_log_proba", X)

    @typed(available_if(model_has("decision_function")))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the score of each row; for the default model and two classes, the log-odds of the
        second.

        Parameters
        ----------
        X
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._predict("decision_function", X)


class RegressorSelectorBase(RegressorMixin, AnnealingSelectorBase):
    _is_regression = True
    _criterion = "r2"
    family: str

    def _default_scoring(self) -> Any:
        return DEVIANCE_SCORERS.get(self.family, "r2")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.family == "gaussian"
        tags.target_tags.positive_only = self.family != "gaussian"
        return tags
