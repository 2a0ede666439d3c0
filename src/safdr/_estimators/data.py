"""The rows of a problem, and what a search needs of them: criterion, batches, models, folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from safdr._engine import columns as sources
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import Batches
from safdr._engine.centred_rows import CentredRows
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, Ridge, criterion_of_rows, make_criterion
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.family import LOGISTIC, SOFTMAX
from safdr._engine.fits.fits import ColumnsFitter, Fitter
from safdr._engine.fits.fitter import LinearFitter
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.moments import Moments, moments_of
from safdr._engine.rows import RowSubset, take_columns, take_rows
from safdr._engine.screen import Duplicates, find_duplicates
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.folds import Fold, row_folds
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
    is_stratified: ClassVar[bool] = False
    default_C: ClassVar[float]
    default_scoring: ClassVar[Any]

    # ---- Rows and columns ---------------------------------------------------------------------

    def take(self, rows: Any) -> Self:
        weight = None if self.row_weight is None else self.row_weight[rows]
        return replace(self, X=take_rows(self.X, rows), y=self.y[rows], row_weight=weight)

    def columns(self, which: IntArray) -> Self:
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
        return not self.is_dense and (self.n_features > sources.MAX_DENSE or on_device)

    @property
    def sample_weight(self) -> FloatArray | None:
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
    def family(self) -> Any:
        """Loss of one linear predictor, whose approximation is the second criterion; or None."""
        return None

    @property
    def score_params(self) -> dict[str, Any]:
        """Metadata of the rows for the default scorer."""
        return {}

    @property
    def target(self) -> NDArray[Any]:
        """Numbers that models are fitted to: class codes or outputs."""
        return self.y

    # ---- What a search needs ------------------------------------------------------------------

    def criterion(self, ridge: Ridge) -> Criterion:
        if self.is_wide:
            check_products(self.n_features)
        how: dict[str, Any] = {"rank": self.rank, "rows_a_weight": self.rows_a_weight}
        return make_criterion(self.moments(self.unit_codes), ridge, **how)

    def column_criterion(self, ridge: Ridge) -> Criterion:
        """Return the criterion for a screen; of very many columns A is never formed."""
        if not self.is_wide:
            return self.criterion(ridge)
        rows = CentredRows(self.X, self.unit_codes, self.n_classes, self.relative_weight)
        how: dict[str, Any] = {"rank": self.rank, "rows_a_weight": self.rows_a_weight}
        return criterion_of_rows(rows, ridge, outputs=self.output_matrix, **how)

    def moments(self, codes: IntArray, out: FloatArray | None = None) -> Moments:
        """Return the moments of the units under class codes; -1 leaves a unit out."""
        weight, outputs = self.relative_weight, self.output_matrix
        return moments_of(self.X, codes, self.n_classes, weight, outputs, out=out)

    def batches(self) -> Batches:
        """Return where criteria of random batches of the units come from."""
        codes = self.unit_codes
        return Batches(codes, np.bincount(codes), self.moments)

    @property
    def unit_codes(self) -> IntArray:
        return np.zeros(self.n_units, dtype=np.int64)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def output_matrix(self) -> FloatArray | None:
        return None

    @cached_property
    def duplicates(self) -> Duplicates:
        how: dict[str, Any] = {"constraints": self.constraints, "cost": self.cost}
        return find_duplicates(self.X, self.relative_weight, **how)

    # ---- Models -------------------------------------------------------------------------------

    def fitter(self, C: float, criterion: Any = None) -> Fitter:
        """Return what fits linear models; without a criterion, it reads the columns it needs."""
        if criterion is None or self.is_wide:

            def of_columns(columns: IntArray) -> Fitter:
                part = self.columns(columns)
                return part.fitter(C, part.criterion(SMALLEST_AUTO))

            return ColumnsFitter(of_columns)
        return self._fitter(C, criterion)

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        raise NotImplementedError

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> Any:
        """Return fit i as a scikit-learn model; `clip` limits predictions of a regression."""
        raise NotImplementedError

    @staticmethod
    def null_model() -> Any:
        return DummyClassifier()

    def refit(self, model: Any, subset: IntArray) -> Any:
        """Return the final model, fitted to all rows of a source."""
        return model

    def penalty(self, C: float) -> float:
        """Return what C means for a mean over the rows."""
        return 1.0 / C / self.n_rows

    # ---- Folds --------------------------------------------------------------------------------

    @staticmethod
    def default_splitter(seed: int) -> Any:
        raise NotImplementedError

    @property
    def strata(self) -> Any:
        """Labels that splits are stratified by, if `is_stratified`; else the target."""
        return self.y

    def folds(
        self, cv: Any, seed: int, split_params: dict[str, Any], score_params: dict[str, Any]
    ) -> list[Fold]:
        return row_folds(self, cv, seed, split_params, score_params)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassProblem(Problem):
    """Rows with labels; `codes` are their positions in `classes`, which are sorted."""

    codes: IntArray
    classes: NDArray[Any]
    class_weight: Any = None  # as given

    criterion_name = "fisher"
    is_stratified = True
    default_C = 1.0

    def take(self, rows: Any) -> Self:
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
        if self.class_weight is None:
            return self.row_weight
        weight = self.class_factors[self.codes]
        return weight if self.row_weight is None else weight * self.row_weight

    @property
    def family(self) -> Any:
        return LOGISTIC if len(self.classes) == 2 else None

    @property
    def default_scoring(self) -> str:
        """Area under the ROC curve; for more classes, of each against the rest."""
        return "roc_auc" if len(self.classes) == 2 else "roc_auc_ovr"

    @property
    def target(self) -> IntArray:
        return self.codes

    @property
    def unit_codes(self) -> IntArray:
        return self.codes

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        rows, y = Standardiser(self.X, criterion.marginals), self.codes.astype(np.float64)
        family = self.family or SOFTMAX
        return LinearFitter(family, rows, y, self.relative_weight, self.penalty(C))

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> LogisticModel:
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
        return StratifiedShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionProblem(Problem):
    """Rows with one or more continuous outputs."""

    criterion_name = "r2"
    is_regression = True
    default_C = np.inf
    default_scoring: ClassVar[Any] = "r2"
    loss_name: ClassVar[str] = "squared_error"

    @property
    def outputs(self) -> FloatArray:
        return self.y.reshape(len(self.y), -1)

    def check(self) -> None:
        if len(self.y) < 2:
            raise ValueError(f"At least 2 rows with a weight are needed; got {len(self.y)}.")
        if np.any(np.ptp(self.outputs, axis=0) == 0):
            raise ValueError("y is constant: there is nothing to explain.")

    @property
    def output_matrix(self) -> FloatArray | None:
        return self.outputs

    def held_out_loss(self, y: Any, predicted: Any, weight: FloatArray | None) -> float:
        return float(mean_squared_error(y, np.reshape(predicted, y.shape), sample_weight=weight))

    @staticmethod
    def null_model() -> Any:
        return DummyRegressor()

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        return LeastSquaresFitter(criterion, self.penalty(C))

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> LinearModel:
        model = LinearModel(C=C, clip=clip)
        coef, intercept = fit.coefficients[i][..., : len(subset)], fit.intercepts[i]
        model.coef_ = coef[0] if self.y.ndim == 1 else coef
        model.intercept_ = float(intercept[0]) if self.y.ndim == 1 else intercept
        model.n_features_in_ = len(subset)
        model.target_min_, model.target_max_ = self.y.min(axis=0), self.y.max(axis=0)
        return model

    @staticmethod
    def default_splitter(seed: int) -> Any:
        return ShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)


def extremes(X: Any) -> tuple[FloatArray, FloatArray]:
    if issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    if isinstance(X, RowSubset):
        low, high = zip(*map(extremes, X.blocks()), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)
    return X.min(axis=0), X.max(axis=0)
