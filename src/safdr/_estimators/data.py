"""The rows of a problem, and what a search needs of them: criterion, batches, models, folds."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    validate_data,
)

from safdr._engine import wide
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import (
    ClassNoise,
    Noise,
    OutputNoise,
    Ridge,
    fisher_criterion,
    r2_criterion,
)
from safdr._engine.fits.columns_fitter import ColumnsFitter
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter
from safdr._engine.fits.working_response import working_response
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.screen import Duplicates, find_duplicates
from safdr._engine.taken_rows import TakenRows, take_columns, take_rows
from safdr._engine.wide.criterion import WideCriterion
from safdr._estimators.device import device_rows, is_on_device
from safdr._estimators.features import allowed_subsets, feature_cost, feature_names
from safdr._estimators.models import LinearModel, LogisticModel
from safdr._memory import check_products
from safdr.errors import ParameterError


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Rows, their target and weights, and which subsets of the columns are allowed."""

    X: Any  # array, CSR matrix, some rows of an array, or rows on a device
    y: NDArray[Any]
    row_weight: FloatArray | None  # without class weights
    allowed: AllowedSubsets
    cost: FloatArray | None = None
    names: tuple[str, ...] | None = None  # of the columns
    # Whether some of the columns were taken, so that a matrix of all of them can be formed.
    is_dense: bool = False

    criterion_name: ClassVar[str]
    is_regression: ClassVar[bool] = False
    default_C: ClassVar[float]
    default_scoring: ClassVar[str]

    # ---- Rows and columns ---------------------------------------------------------------------

    def take(self, rows: Any) -> Self:
        """Return the problem of some of the rows."""
        weight = None if self.row_weight is None else self.row_weight[rows]
        return replace(self, X=take_rows(self.X, rows), y=self.y[rows], row_weight=weight)

    def columns(self, which: IntArray) -> Self:
        """Return the problem of some of the columns, which are copied."""
        return replace(
            self,
            X=take_columns(self.X, which),
            allowed=self.allowed.among(which),
            cost=None if self.cost is None else self.cost[which],
            names=None if self.names is None else tuple(self.names[j] for j in which),
            is_dense=True,
        )

    def usable(self) -> Self:
        """Return the problem of the rows that have a weight; check that they can be searched."""
        weight = self.sample_weight
        if weight is not None and not weight.all():
            return self.take(weight > 0).usable()
        self.check()
        low, high = extremes(self.X)
        if np.array_equal(low, high):
            raise ValueError(f"All {self.n_features} feature(s) of X are constant.")
        return self

    def check(self) -> None:
        """Raise an error if the target cannot be learnt."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_units(self) -> int:
        """Number of units that `take` takes: rows, or buckets of a source."""
        return len(self.y)

    @property
    def constraints(self) -> AllowedSubsets | None:
        """Return what limits the subsets, or None if nothing does."""
        a = self.allowed
        limits = not a.swaps_alone or len(a.include) or len(a.exclude)
        return a if limits or a.conflicts is not None or a.signs is not None else None

    @property
    def rank(self) -> FloatArray | None:
        """Order in which columns may replace redundant ones; None if all are equal."""
        unlimited = self.constraints is None and self.cost is None
        return None if unlimited else self.allowed.rank(self.cost)

    @property
    def is_wide(self) -> bool:
        """Return True if A is formed for the screened columns only."""
        on_device = hasattr(self.X, "tensor")
        return not self.is_dense and (self.n_features > wide.WIDE or on_device)

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weights of rows and classes, multiplied."""
        return self.row_weight

    @cached_property
    def relative_weight(self) -> FloatArray | None:
        """Weights in units of the largest."""
        weight = self.sample_weight
        return None if weight is None else weight / weight.max()

    @property
    def rows_a_weight(self) -> float:
        """Number of rows that a relative weight of one stands for."""
        weight = self.sample_weight
        return 1.0 if weight is None else float(weight.max())

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights: a row of weight 2 counts as two rows."""
        weight = self.relative_weight
        return len(self.y) if weight is None else float(weight.sum()) * self.rows_a_weight

    @property
    def target(self) -> NDArray[Any]:
        """Numbers that models are fitted to: class codes or outputs."""
        return self.y

    # ---- What a search needs ------------------------------------------------------------------

    def criterion(self, ridge: Ridge) -> Any:
        """Return the criterion of all columns, with its matrix A."""
        if self.is_wide:
            check_products(self.n_features)
        return self._dense_criterion(ridge)

    def column_criterion(self, ridge: Ridge) -> Any:
        """Return the criterion for a screen; of very many columns A is never formed."""
        if not self.is_wide:
            return self.criterion(ridge)
        return self._wide_criterion().with_ridge(ridge, self.rows_a_weight)

    def _dense_criterion(self, ridge: Ridge) -> Any:
        raise NotImplementedError

    def _wide_criterion(self) -> WideCriterion:
        raise NotImplementedError

    def batches(self, criterion: Any) -> Noise:
        """Return where criteria of random batches of the rows come from."""
        raise NotImplementedError

    def duplicates(self) -> Duplicates:
        """Find columns that correlate perfectly."""
        how: dict[str, Any] = {"constraints": self.constraints, "cost": self.cost}
        return find_duplicates(self.X, self.relative_weight, **how)

    # ---- Models -------------------------------------------------------------------------------

    def fitter(self, C: float, criterion: Any = None) -> Fitter:
        """Return what fits linear models; without a criterion, it reads the columns it needs."""
        if criterion is None or self.is_wide:
            return ColumnsFitter(lambda columns: self.columns(columns)._own_fitter(C))
        return self._fitter(C, criterion)

    def _own_fitter(self, C: float) -> Fitter:
        return self._fitter(C, self._dense_criterion(1e-6))

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        raise NotImplementedError

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> Any:
        """Return fit i as a scikit-learn model; `clip` limits predictions of a regression."""
        raise NotImplementedError

    def refit(self, model: Any, subset: IntArray) -> Any:
        """Return the final model, fitted to all rows of a source."""
        return model

    def penalty(self, C: float) -> float:
        """Return what C means for a mean over the rows."""
        return 1.0 / C / self.n_rows

    # ---- Folds --------------------------------------------------------------------------------

    @staticmethod
    def default_splitter(seed: int) -> Any:
        """Return the five splits of the paper, three quarters to one quarter."""
        raise NotImplementedError

    def _splitter(self, cv: Any, seed: int, *, grouped: bool) -> Any:
        """Return a splitter; with groups, one that never splits a group."""
        if not grouped:
            cv = self.default_splitter(seed) if cv is None else cv
            return check_cv(cv, self.y, classifier=not self.is_regression)
        if cv is None:
            return GroupShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)
        if isinstance(cv, Integral):
            return (GroupKFold if self.is_regression else StratifiedGroupKFold)(int(cv))
        splitter = check_cv(cv, self.y)
        kind = type(splitter)
        if kind.__module__.startswith("sklearn.") and "Group" not in kind.__name__:
            raise ParameterError(
                "groups", f"has no effect on cv={cv!r}. Pass cv=GroupKFold() or an int."
            )
        return splitter

    def folds(
        self, cv: Any, seed: int, split_params: dict[str, Any], score_params: dict[str, Any]
    ) -> list[Fold]:
        """Return the folds of a splitter."""
        splitter = self._splitter(cv, seed, grouped=split_params.get("groups") is not None)
        splits: list[Any] = list(splitter.split(self.X, self.y, **split_params))
        if not splits:
            raise ParameterError("cv", f"must give at least one split; {cv!r} gave none.")
        return [Fold(i, self, a, b, score_params) for i, (a, b) in enumerate(splits)]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows of one split."""

    number: int
    problem: Problem
    train_rows: Any
    test_rows: Any
    score_params: dict[str, Any]

    def train(self) -> Problem:
        """Return the training rows; an error names the fold."""
        try:
            return self.problem.take(self.train_rows).usable()
        except ValueError as error:
            raise ValueError(f"Fold {self.number} cannot be searched: {error}") from None

    def test(self) -> Problem:
        """Return the test rows."""
        return self.problem.take(self.test_rows)

    def scorer_params(self) -> dict[str, Any]:
        """Return what the scorer gets with the test rows."""
        rows = self.test_rows
        return dict(_check_method_params(self.problem.X, self.score_params, indices=rows))


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassProblem(Problem):
    """Rows with labels; `codes` are their positions in `classes`, which are sorted."""

    codes: IntArray
    classes: NDArray[Any]
    class_weight: Any = None  # as given

    criterion_name = "fisher"
    default_C = 1.0

    def take(self, rows: Any) -> Self:
        """Return the problem of some of the rows."""
        return replace(super().take(rows), codes=self.codes[rows])

    def check(self) -> None:
        """Raise an error unless two rows have a weight in each class."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        weights = np.bincount(self.codes, self.sample_weight, minlength=len(self.classes))
        few = np.maximum(counts * (weights > 0), weights) < 2
        if len(self.classes) < 2:
            raise ValueError(f"y has 1 class, {self.classes.tolist()}; at least 2 are needed.")
        if few.any():
            raise ValueError(
                f"Each class of y needs at least 2 rows with a weight; {self.classes[few].tolist()}"
                " have fewer. For a continuous target use AnnealingRegressorSelector."
            )

    @cached_property
    def class_factors(self) -> FloatArray:
        """Weight of each class."""
        n_classes = len(self.classes)
        if self.class_weight is None:
            return np.ones(n_classes)
        if isinstance(self.class_weight, str):  # "balanced", by the weight of the rows
            counts = np.bincount(self.codes, self.row_weight, n_classes).astype(np.float64)
            return counts.sum() / (n_classes * np.where(counts > 0, counts, 1.0))
        labels = self.classes.tolist()
        if unknown := [label for label in self.class_weight if label not in labels]:
            raise ParameterError("class_weight", f"has labels that y lacks: {unknown}.")
        factors = np.array([float(self.class_weight.get(label, 1.0)) for label in labels])
        if (factors < 0).any():
            raise ParameterError("class_weight", f"must not be negative; got {self.class_weight}.")
        return factors

    @cached_property
    def sample_weight(self) -> FloatArray | None:
        """Weights of rows and classes, multiplied."""
        if self.class_weight is None:
            return self.row_weight
        weight = self.class_factors[self.codes]
        return weight if self.row_weight is None else weight * self.row_weight

    @property
    def default_scoring(self) -> str:  # type: ignore[override]
        """Area under the ROC curve; for more classes, of each against the rest."""
        return "roc_auc" if len(self.classes) == 2 else "roc_auc_ovr"

    @property
    def target(self) -> IntArray:
        """Class codes."""
        return self.codes

    def _moments(self) -> Any:
        return within_moments(self.X, self.codes, len(self.classes), self.relative_weight)

    def _dense_criterion(self, ridge: Ridge) -> Any:
        # In place: for many columns, one matrix must do.
        how: dict[str, Any] = {"overwrite": True, "rows_a_weight": self.rows_a_weight}
        return fisher_criterion(self._moments(), ridge=ridge, rank=self.rank, **how)

    def _wide_criterion(self) -> WideCriterion:
        rows = (self.X, self.codes, len(self.classes), self.relative_weight)
        return WideCriterion.of_classes(*rows)

    def batches(self, criterion: Any) -> Noise:
        """Return stratified batches."""
        return ClassNoise(self.X, self.codes, self.relative_weight, criterion)

    def linearised(self, fitter: Fitter) -> RegressionProblem:
        """Return the second-order approximation of the log-loss near the model of all columns."""
        near: Any = copy(fitter)
        near.penalty = self.penalty(1.0)  # keeps coefficients finite under separation
        weight, response = working_response(near, self.X, self.codes == 1)
        if self.sample_weight is not None:
            weight = weight * self.sample_weight
        return RegressionProblem(
            X=self.X, y=response, row_weight=weight, allowed=self.allowed, cost=self.cost
        )

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        kind = LogisticFitter if len(self.classes) == 2 else MultinomialFitter
        return kind(self.X, self.codes, self.relative_weight, criterion, self.penalty(C))

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> LogisticModel:
        """Return fit i as a scikit-learn model."""
        model = LogisticModel(C=C)
        model.classes_ = self.classes
        model.coef_ = np.atleast_2d(fit.coefficients[i][..., : len(subset)])
        model.intercept_ = np.atleast_1d(fit.intercepts[i])
        model.n_features_in_ = len(subset)
        if model.clips:
            model.data_min_, model.data_max_ = extremes(take_columns(self.X, subset))
        return model

    @staticmethod
    def default_splitter(seed: int) -> Any:
        """Return the five splits of the paper, stratified."""
        return StratifiedShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionProblem(Problem):
    """Rows with one or more continuous outputs."""

    criterion_name = "r2"
    is_regression = True
    default_C = np.inf
    default_scoring = "r2"

    @property
    def outputs(self) -> FloatArray:
        """The target as a matrix."""
        return self.y.reshape(len(self.y), -1)

    def check(self) -> None:
        """Raise an error if an output is constant."""
        if len(self.y) < 2:
            raise ValueError(f"At least 2 rows with a weight are needed; got {len(self.y)}.")
        if np.any(np.ptp(self.outputs, axis=0) == 0):
            raise ValueError("y is constant: there is nothing to explain.")

    def _dense_criterion(self, ridge: Ridge) -> Any:
        how: dict[str, Any] = {"overwrite": True, "rows_a_weight": self.rows_a_weight}
        moments = joint_moments(self.X, self.outputs, self.relative_weight)
        return r2_criterion(moments, ridge=ridge, **how)

    def _wide_criterion(self) -> WideCriterion:
        return WideCriterion.of_outputs(self.X, self.outputs, self.relative_weight)

    def batches(self, criterion: Any) -> Noise:
        """Return batches of random rows."""
        return OutputNoise(self.X, self.outputs, self.relative_weight, criterion)

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        return LeastSquaresFitter(criterion, self.penalty(C))

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> LinearModel:
        """Return fit i as a scikit-learn model."""
        model = LinearModel(C=C, clip=clip)
        coef, intercept = fit.coefficients[i][..., : len(subset)], fit.intercepts[i]
        model.coef_ = coef[0] if self.y.ndim == 1 else coef
        model.intercept_ = float(intercept[0]) if self.y.ndim == 1 else intercept
        model.n_features_in_ = len(subset)
        model.target_min_, model.target_max_ = self.y.min(axis=0), self.y.max(axis=0)
        return model

    @staticmethod
    def default_splitter(seed: int) -> Any:
        """Return the five splits of the paper."""
        return ShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)


# ---- From what users pass ------------------------------------------------------------------------


def make_problem(selector: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the usable problem of a selector's parameters; the selector does not change."""
    seen = clone(selector)
    fitted_names = feature_names(selector)
    if hasattr(selector, "n_features_in_") and not is_source(X, y):
        validate_data(selector, X, skip_check_array=True, reset=False)
    problem = read_problem(seen, X, y, sample_weight, fit_seed(selector)).usable()
    if fitted_names is not None and problem.names not in (None, fitted_names):
        raise ValueError(f"The columns must be those of the fit, {fitted_names[:5]} ….")
    return problem


def read_problem(selector: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    """Validate rows, or read a source; set the attributes that describe columns and classes."""
    if is_source(X, y):
        from safdr._estimators.streaming import read

        return read(selector, X, y, sample_weight, seed)
    regression = selector._is_regression
    X, y = validate_rows(selector, X, y, regression=regression)
    if not regression:
        check_classification_targets(y)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is zero for every row.")
    return problem_of(selector, X, y, weight)


def problem_of(selector: Any, X: Any, y: Any, row_weight: FloatArray | None) -> Problem:
    """Return the problem of validated rows; set `classes_`."""
    rows = {"X": X, "y": y, "row_weight": row_weight}
    if selector._is_regression:
        return RegressionProblem(**problem_fields(selector), **rows)
    selector.classes_, codes = np.unique(y, return_inverse=True)
    labels = {"codes": codes.astype(np.int64), "classes": selector.classes_}
    return ClassProblem(**problem_fields(selector), **labels, **rows)


def problem_fields(selector: Any) -> dict[str, Any]:
    """Return the fields of a problem that describe its columns and class weights."""
    names = feature_names(selector)
    fields = {
        "allowed": allowed_subsets(selector.constraints, selector.n_features_in_, names),
        "cost": feature_cost(selector, names),
        "names": names,
    }
    if not selector._is_regression:
        fields["class_weight"] = selector.class_weight
    return fields


def every_column(model: Any, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Return the problem of a model that is fitted to all columns."""
    seen = _EveryColumn(regression=is_regressor(model))
    problem: Problem = read_problem(seen, X, y, sample_weight, 0).usable()
    model.__dict__.update({k: v for k, v in vars(seen).items() if k.endswith("_")})
    return problem


class _EveryColumn(BaseEstimator):
    """What a problem needs of a selector, for a model that is fitted to all columns."""

    constraints = feature_cost = class_weight = None

    def __init__(self, *, regression: bool = False) -> None:
        self.regression = self._is_regression = regression

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def is_source(X: Any, y: Any) -> bool:
    """Return True if rows are read from a source; then y is the name of a column."""
    is_path = isinstance(X, str | PathLike) or callable(X)
    return is_path or isinstance(y, str) or hasattr(X, "dask") or hasattr(X, "sample_rows")


def validate_rows(selector: Any, X: Any, y: Any, *, regression: bool) -> tuple[Any, Any]:
    """Return X and y as arrays; an error names the columns that cannot be used."""
    how: dict[str, Any] = {"y_numeric": True, "multi_output": True} if regression else {}
    if is_on_device(X):
        _, y = validate_data(clone(selector), np.zeros((len(X), 1)), y, **how)
        selector.n_features_in_ = X.shape[1]
        return device_rows(X), y
    check_columns(X)
    wide_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > wide.WIDE
    dtype: Any = [np.float64, np.float32] if wide_array else np.float64
    how |= {"accept_sparse": "csr", "dtype": dtype, "order": "C", "ensure_min_samples": 2}
    X, y = validate_data(selector, X, y, **how)
    return X, np.ascontiguousarray(y, dtype=np.float64) if regression else y


def check_columns(X: Any) -> None:
    """Name the columns of a data frame that are not numbers, or have missing values."""
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    kinds = frame.schema.items()
    text = [
        name for name, kind in kinds if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object))
    ]
    if text:
        raise ValueError(f"X has columns that are not numbers: {text[:5]}. Encode or drop them.")
    missing = [
        name
        for j, (name, kind) in enumerate(kinds)
        if kind != nw.Object and _has_missing(frame[:, j])
    ]
    if missing:
        raise ValueError(
            f"Input X contains NaN in the columns {missing[:5]}. Impute or drop them: "
            "make_pipeline(SimpleImputer(), selector)."
        )


def _has_missing(column: Any) -> bool:
    return bool(column.is_null().any()) or (column.dtype.is_float() and bool(column.is_nan().any()))


def extremes(X: Any) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each column."""
    if issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    if isinstance(X, TakenRows):
        low, high = zip(*map(extremes, X.blocks()), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)
    return X.min(axis=0), X.max(axis=0)


def fit_seed(selector: Any) -> int:
    """Return the seed of the last fit, or the one that a fit would draw."""
    seed = getattr(selector, "_seed", None)
    return seed_from(deepcopy(selector.random_state)) if seed is None else int(seed)


def seed_from(random_state: Any) -> int:
    """Return a seed for the engine."""
    if isinstance(random_state, Integral):
        random_state = int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
