"""Training data: validated rows, their target and weights; and those with labels."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.multiclass import check_classification_targets

from safdr._engine import wide
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import (
    ClassNoise,
    FisherCriterion,
    Noise,
    Ridge,
    fisher_criterion,
)
from safdr._engine.fits.fits import ColumnsFitter, Fitter
from safdr._engine.fits.fitter import LogisticFitter, MultinomialFitter
from safdr._engine.fits.forward import ForwardSelection
from safdr._engine.moments import within_moments
from safdr._engine.shared import LastCriterion, Shared
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._engine.taken_rows import take_columns, take_rows
from safdr._engine.wide.criterion import WideCriterion
from safdr._estimators.class_weights import check_weights_of_classes, weighted_rows
from safdr._estimators.models import LogisticModel
from safdr._estimators.parameters import AUTO
from safdr._estimators.validation import (
    check_classes,
    check_labels,
    check_not_constant,
    checked_weight,
    extremes,
    validated,
)
from safdr._memory import check_products

if TYPE_CHECKING:
    from safdr._estimators.measured_data import MeasuredData


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated rows, their target and weights; what differs between tasks is in its two kinds."""

    X: Any
    y: NDArray[Any]
    sample_weight: FloatArray | None

    # What a model of this task is called, and one of the other task.
    model_word: ClassVar[str]
    wrong_model_word: ClassVar[str]
    # What the target is called, and the criteria of ours that it knows by name.
    target_word: ClassVar[str]
    criteria: ClassVar[tuple[str, ...]]
    # The penalty of the linear models, unless told otherwise.
    default_C: ClassVar[float]
    # What to do where a fold can't be searched or scored.
    fold_hint: ClassVar[str]
    # Whether outputs are numbers.
    is_regression: ClassVar[bool] = False
    # Whether there are more than two classes.
    has_many_classes: ClassVar[Any] = False
    # Whether its second-order approximation guides half of the replicas.
    has_log_loss: ClassVar[Any] = False
    # Whether these rows are a sample of those that passed by.
    in_passes: ClassVar[bool] = False
    # Then: how they were read, for people.
    told: ClassVar[Any] = None

    @classmethod
    def validate(
        cls, seen: Any, X: Any, y: Any, sample_weight: Any, *, min_rows: int = 2
    ) -> TrainingData:
        """What `fit` was given, checked; `seen` gets `n_features_in_` and `feature_names_in_`."""
        raise NotImplementedError

    @staticmethod
    def is_wrong_model(estimator: Any) -> bool:
        """Whether an estimator predicts the other kind of target."""
        raise NotImplementedError

    @staticmethod
    def default_scoring(n_classes: int) -> str:
        """The scorer that None stands for."""
        raise NotImplementedError

    @staticmethod
    def default_splitter(seed: int) -> Any:
        """The paper's five splits, three quarters to one quarter."""
        raise NotImplementedError

    def take(self, indices: IntArray | NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[indices]
        return replace(self, X=take_rows(self.X, indices), y=self.y[indices], sample_weight=weight)

    @cached_property
    def is_wide(self) -> bool:
        """Return True if A is formed for the screened columns only."""
        many = self.X.shape[1] > wide.WIDE and not self.in_passes
        return many or hasattr(self.X, "tensor")  # on a device, with all columns

    def columns(self, which: IntArray) -> Self:
        """Some of the columns, copied: all of them are worked on at once, however many."""
        some = replace(self, X=take_columns(self.X, which))
        vars(some)["is_wide"] = False
        known = self._shared.criterion
        if known is not None:
            vars(some)["_shared"] = Shared(known.among(which))
        return some

    def wide_criterion(self, ridge: Ridge) -> WideCriterion:
        """`criterion`, of so many columns that their products with each other are never made."""
        return self._wide.with_ridge(ridge, self._rows_a_weight)

    @cached_property
    def _wide(self) -> WideCriterion:
        raise NotImplementedError

    def target_of(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that models are fitted to."""
        return y

    def with_weight(self) -> Self:
        """Without rows of weight zero, which count as absent."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.take(self.sample_weight > 0)

    def usable(self, class_weight: Any = None) -> Self:
        """The rows to learn from: those with a weight, checked to hold something to learn."""
        raise NotImplementedError

    def criterion(self, ridge: Ridge, rank: FloatArray | None = None) -> Any:
        """What is maximised; of features that say the same, those of the lowest rank are needed."""
        last = self._shared.criterion  # threads see all of it or nothing
        made = None if last is None else last.again(ridge, rank, self._rows_a_weight)
        if made is None:
            if self.is_wide:
                check_products(self.X.shape[1])
            made = self._made_criterion(ridge, rank)
        self._shared.criterion = LastCriterion(ridge, rank, made)
        return made

    def _made_criterion(self, ridge: Ridge, rank: FloatArray | None) -> Any:
        """The same, from the rows."""
        raise NotImplementedError

    @cached_property
    def _shared(self) -> Shared:
        return Shared()

    def noise(self, criterion: Any) -> Noise:
        """Where batches of these rows come from."""
        raise NotImplementedError

    def linearised(self) -> MeasuredData:
        """The rows with the loss of their linear model made quadratic, where that is another."""
        raise NotImplementedError

    def fitter(self, criterion: Any, C: float = np.inf) -> Fitter:
        """The linear models that choose the winner."""
        raise NotImplementedError

    def linear_fitter(self, C: float, criterion: Any = None) -> Fitter:
        """Return `fitter`, made once: final models of all sizes share it."""
        if self.is_wide:
            return ColumnsFitter(lambda columns: self.columns(columns).linear_fitter(C))
        if not self._fitters:
            self._fitters.append(self.fitter(criterion or self.criterion(SMALLEST_AUTO), C))
        # Other penalties work on the same columns.
        fitter: Any = copy(self._fitters[0])
        fitter.penalty = self._penalty(C)
        return fitter

    @cached_property
    def _fitters(self) -> list[Fitter]:
        return []

    def path_ridge(self, ridge: float) -> float:
        """Return the ridge of the screen's path."""
        return ridge

    def linear_model(
        self,
        subset: IntArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        n_iter: int,
        C: float,
        *,
        clip: bool = True,
    ) -> Any:
        """The winning fit as a model of scikit-learn's kind, which tools around it can read."""
        raise NotImplementedError

    def _extremes_of(self, subset: IntArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value of each of these columns."""
        if self.is_wide:
            return extremes(take_columns(self.X, subset))
        low, high = self._extremes
        return low[subset], high[subset]

    @cached_property
    def _extremes(self) -> tuple[FloatArray, FloatArray]:
        return extremes(self.X)

    @cached_property
    def _relative_weight(self) -> FloatArray | None:
        """In units of the largest: nothing depends on that but the range of the numbers."""
        return None if self.sample_weight is None else self.sample_weight / self.sample_weight.max()

    @property
    def _rows_a_weight(self) -> float:
        """How many rows a relative weight of one stands for."""
        return 1.0 if self.sample_weight is None else float(self.sample_weight.max())

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights: a row of weight 2 counts as two rows."""
        weight = self._relative_weight
        return len(self.y) if weight is None else float(weight.sum()) * self._rows_a_weight

    def _penalty(self, C: float) -> float:
        """Return what C means for a mean over the rows."""
        # One after the other: their product may be too large for a number.
        return 1.0 / C / self.n_rows


@dataclass(frozen=True, eq=False)
class ClassData(TrainingData):
    """Rows with labels: `codes` are their places in `classes`, which are sorted."""

    codes: IntArray
    classes: NDArray[Any]

    model_word, wrong_model_word = "classifier", "regressor"
    target_word = "labels"
    criteria = (AUTO, "fisher")
    default_C = 1.0
    fold_hint = (
        "Use a cv that keeps all classes in every fold, such as StratifiedKFold, or fewer splits."
    )
    is_wrong_model = staticmethod(is_regressor)

    @classmethod
    def validate(
        cls, seen: Any, X: Any, y: Any, sample_weight: Any, *, min_rows: int = 2
    ) -> ClassData:
        """Labels and rows; `seen` gets `classes_` too."""
        check_labels(y)
        X, y = validated(seen, X, y, min_rows=min_rows)
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise ValueError(
                f"y must hold labels: {error} For measured outputs there are "
                "AnnealingRegressorSelector and AnnealingRegressorSelectorCV."
            ) from None
        seen.classes_, codes = np.unique(y, return_inverse=True)
        weight = None if sample_weight is None else checked_weight(sample_weight, X)
        return cls(X, y, weight, codes.astype(np.int64), seen.classes_)

    @staticmethod
    def default_scoring(n_classes: int) -> str:
        """Area under the ROC curve, of more than two classes that of each against the rest."""
        return "roc_auc" if n_classes <= 2 else "roc_auc_ovr"

    @staticmethod
    def default_splitter(seed: int) -> StratifiedShuffleSplit:
        """Splits that keep the shares of the classes."""
        return StratifiedShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)

    def take(self, indices: IntArray | NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        return replace(super().take(indices), codes=self.codes[indices])

    def usable(self, class_weight: Any = None) -> Self:
        """Those with a weight, enough of each class."""
        data = self.with_weight()
        check_classes(data)
        if class_weight is not None:
            data = data._weighted(class_weight).with_weight()
            check_classes(data)
        if data.sample_weight is not None:
            check_weights_of_classes(data, data.sample_weight)
        check_not_constant(data.X)
        return data

    def _weighted(self, class_weight: Any) -> Self:
        """All rows, their weights multiplied by those of the classes."""
        return replace(self, sample_weight=weighted_rows(class_weight, self))

    def _made_criterion(self, ridge: Ridge, rank: FloatArray | None) -> FisherCriterion:
        """Fisher's ratio."""
        # Of many features, one matrix must do for the criterion and the start of the fits.
        how: dict[str, Any] = {"overwrite": True, "rows_a_weight": self._rows_a_weight}
        moments = within_moments(self.X, self.codes, len(self.classes), self._relative_weight)
        return fisher_criterion(moments, ridge=ridge, rank=rank, **how)

    @cached_property
    def _wide(self) -> WideCriterion:
        rows = (self.X, self.codes, len(self.classes), self._relative_weight)
        return WideCriterion.of_classes(*rows)

    def noise(self, criterion: FisherCriterion) -> Noise:
        """Stratified batches."""
        return ClassNoise(self.X, self.codes, self._relative_weight, criterion, self._shared)

    def target_of(self, y: NDArray[Any]) -> IntArray:
        """Return the place of each label in `classes`."""
        return np.searchsorted(self.classes, y)

    @property
    def has_many_classes(self) -> bool:
        """Return True for more than two classes."""
        return len(self.classes) > 2

    @property
    def has_log_loss(self) -> bool:
        """Return True for two classes."""
        return len(self.classes) == 2

    def linearised(self) -> MeasuredData:
        """Return the second-order approximation of the log-loss near the model of all columns."""
        return self._linearised

    @cached_property
    def _linearised(self) -> MeasuredData:
        from safdr._estimators.full_model import near_full_model  # which knows measured outputs

        return near_full_model(self)

    def fitter(self, criterion: FisherCriterion, C: float = np.inf) -> Fitter:
        """Logistic models: binary, or multinomial."""
        kind = LogisticFitter if len(self.classes) == 2 else MultinomialFitter
        return kind(self.X, self.codes, self._relative_weight, criterion, self._penalty(C))

    def forward(
        self,
        C: float,
        allowed: AllowedSubsets,
        criterion: Any,
        columns: Callable[[int], IntArray],
    ) -> ForwardSelection:
        """Return forward selection on the penalised loss, among the columns for each size."""
        rows = (self.X, self.codes == 1, self._relative_weight)
        return ForwardSelection(self.linear_fitter(C), *rows, allowed, criterion, columns)

    def linear_model(
        self,
        subset: IntArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        n_iter: int,
        C: float,
        *,
        clip: bool = True,
    ) -> LogisticModel:
        """Return the fit as a model of scikit-learn's kind."""
        del clip  # probabilities have a range of their own
        model = LogisticModel(C=C)
        model.classes_ = self.classes
        model.coef_ = np.atleast_2d(coefficients)
        model.intercept_ = np.atleast_1d(intercepts)
        model.n_features_in_ = model.coef_.shape[1]
        model.n_iter_ = n_iter
        if model.clips:
            model.data_min_, model.data_max_ = self._extremes_of(subset)
        return model
