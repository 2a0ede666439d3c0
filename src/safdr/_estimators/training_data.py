"""Training data: validated rows, their target and weights; and those with labels."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
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
from safdr._engine.fits.columns_fitter import ColumnsFitter
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.forward import ForwardSelection
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter
from safdr._engine.moments import within_moments
from safdr._engine.shared import LastCriterion, Shared
from safdr._engine.taken_rows import take_columns, take_rows
from safdr._engine.wide.criterion import WideCriterion
from safdr._estimators.class_weights import check_weights_of_classes, weighted_rows
from safdr._estimators.clipped_model import ClippedLogisticRegression
from safdr._estimators.parameters import AUTO
from safdr._estimators.ranks import mid_ranks
from safdr._estimators.reference import towards_reference
from safdr._estimators.scoring import cross_entropy, roc_auc
from safdr._estimators.validation import (
    check_classes,
    check_labels,
    check_not_constant,
    checked_weight,
    extremes,
    validated,
)
from safdr._memory import check_products
from safdr.errors import ParameterError

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
        """Whether columns are so many that replicas choose from some of them at a time."""
        many = self.X.shape[1] > wide.WIDE and not self.in_passes
        return many or hasattr(self.X, "tensor")  # on a device, with all columns

    @property
    def is_short(self) -> bool:
        """Whether features are as many as rows or more, so that their moments have no inverse."""
        return not self.in_passes and bool(self.X.shape[1] >= len(self.y))

    def columns(self, which: IntArray) -> Self:
        """Some of the columns, copied: all of them are worked on at once, however many."""
        some = replace(self, X=take_columns(self.X, which))
        vars(some)["is_wide"] = False
        return some

    def wide_criterion(self, ridge: Ridge) -> WideCriterion:
        """`criterion`, of so many columns that their products with each other are never made."""
        return self._wide.with_ridge(ridge, self._rows_a_weight)

    @cached_property
    def _wide(self) -> WideCriterion:
        raise NotImplementedError

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

    def ranked(self) -> Any:
        """The rows with ranks in place of values, where there are such."""
        raise NotImplementedError

    def fitter(self, criterion: Any, C: float = np.inf) -> Fitter:
        """The linear models that choose the winner."""
        raise NotImplementedError

    def linear_fitter(self, ridge: Ridge, C: float, criterion: Any = None) -> Fitter:
        """`fitter`, made once: final models of all sizes share it. No criterion: one is made."""
        if self.is_wide:
            return ColumnsFitter(lambda columns: self.columns(columns).linear_fitter(0.0, C))
        if not self._fitters:
            self._fitters.append(self.fitter(criterion or self.criterion(ridge), C))
        # Other penalties work on the same columns.
        fitter: Any = copy(self._fitters[0])
        fitter.penalty = self._penalty(C)
        return fitter

    @cached_property
    def _fitters(self) -> list[Fitter]:
        return []

    def forward(
        self, ridge: Ridge, C: float, allowed: AllowedSubsets, criterion: Any
    ) -> list[ForwardSelection]:
        """Forward selection on the loss, where there is one."""
        raise NotImplementedError

    @property
    def compared(self) -> tuple[str, ...]:
        """What criterion="auto" chooses from; the first unless another is clearly better."""
        raise NotImplementedError

    def held_out(self, model: Any, X: Any, y: NDArray[Any], weight: Any) -> tuple[float, float]:
        """Loss and 1 - AUC on rows that a model has not seen; not a number where there is none."""
        raise NotImplementedError

    def towards_reference(self, usable: IntArray) -> WideCriterion:
        """R² of what a model of usable columns predicts; made once."""
        key = usable.tobytes()
        if key not in self._references:
            self._references[key] = towards_reference(
                self.X,
                self._output,
                self._relative_weight,
                usable,
                rows_a_weight=self._rows_a_weight,
                with_ranks=not (self.is_wide or issparse(self.X)),
            )
        return self._references[key]

    @cached_property
    def _references(self) -> dict[bytes, WideCriterion]:
        return {}

    @property
    def _output(self) -> FloatArray:
        """The target of one number a row."""
        raise NotImplementedError

    def check_path(self, criterion: Any, name: str) -> None:
        """Refuse a path of several slopes a feature."""
        if criterion.D.shape[1] > 1:
            raise ParameterError(
                "criterion",
                "must not be {name!r} with {n} {what}: its path is for two classes or one output. "
                "{other!r} is for any number.",
                name=name,
                n=len(getattr(self, "classes", criterion.D.T)),
                what="classes" if hasattr(self, "classes") else "outputs",
                other=self.criteria[0],
            )

    def linear_model(
        self,
        subset: IntArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        n_iter: int,
        C: float,
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

    def _penalty(self, C: float) -> float:
        """What C means for a mean over the rows."""
        weight = self._relative_weight
        n_rows = len(self.y) if weight is None else float(weight.sum())
        # One after the other: their product may be too large for a number.
        return 1.0 / C / n_rows / self._rows_a_weight


@dataclass(frozen=True, eq=False)
class ClassData(TrainingData):
    """Rows with labels: `codes` are their places in `classes`, which are sorted."""

    codes: IntArray
    classes: NDArray[Any]

    model_word, wrong_model_word = "classifier", "regressor"
    target_word = "labels"
    criteria = ("fisher", "logistic", "mixed", "ranks", "l1", "reference", AUTO)
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

    def columns(self, which: IntArray) -> Self:
        """Some of the columns, and what is near the model of all of them."""
        some = super().columns(which)
        if "_linearised" in vars(self):
            vars(some)["_linearised"] = replace(self._linearised, X=some.X)
        if "_ranked" in vars(self):
            vars(some)["_ranked"] = self._ranked.columns(which)
        return some

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

    @property
    def _output(self) -> FloatArray:
        """One for the second of two classes."""
        return (self.codes == 1).astype(np.float64)

    def noise(self, criterion: FisherCriterion) -> Noise:
        """Stratified batches."""
        return ClassNoise(self.X, self.codes, self._relative_weight, criterion, self._shared)

    def linearised(self) -> MeasuredData:
        """The log-loss near the model of all features, as a squared error of weighted rows."""
        if len(self.classes) > 2:
            raise ParameterError(
                "criterion",
                "must not be 'logistic', 'ranks' or 'mixed' with the {n} classes of y: those are "
                "for two. 'fisher' is for any number.",
                n=len(self.classes),
            )
        return self._linearised

    @cached_property
    def _linearised(self) -> MeasuredData:
        """Made once: searches with other ridges share it."""
        from safdr._estimators.full_model import near_full_model  # which knows measured outputs

        return near_full_model(self)

    def ranked(self) -> ClassData:
        """The rows with the rank of each value in its column in place of the value."""
        if issparse(self.X):
            raise ParameterError(
                "criterion",
                "must not be 'ranks' with sparse rows, which ranks would fill. 'mixed' is the "
                "nearest to it.",
            )
        return self._ranked

    @cached_property
    def _ranked(self) -> ClassData:
        """Made once."""
        return replace(self, X=mid_ranks(self.X, self._relative_weight))

    def fitter(self, criterion: FisherCriterion, C: float = np.inf) -> Fitter:
        """Logistic models: binary, or multinomial."""
        kind = LogisticFitter if len(self.classes) == 2 else MultinomialFitter
        return kind(self.X, self.codes, self._relative_weight, criterion, self._penalty(C))

    def forward(
        self, ridge: Ridge, C: float, allowed: AllowedSubsets, criterion: FisherCriterion
    ) -> list[ForwardSelection]:
        """Forward selection on the cross-entropy, where features come one by one; made once."""
        if not allowed.swaps_alone:
            return []
        key = (C, allowed)
        if key not in self._forwards:
            fitter: Any = self.linear_fitter(ridge, C, criterion)
            rows = (self.X, self.codes == 1, self._relative_weight)
            path = self.forward_paths.setdefault(key, [])
            self._forwards[key] = ForwardSelection(fitter, *rows, allowed, criterion, path)
        return [self._forwards[key]]

    @cached_property
    def forward_paths(self) -> dict[tuple[float, AllowedSubsets], list[int]]:
        """What forward selection found: little beside the rows, and much work."""
        return {}

    @cached_property
    def _forwards(self) -> dict[tuple[float, AllowedSubsets], ForwardSelection]:
        return {}

    @property
    def compared(self) -> tuple[str, ...]:
        """With more than two classes there is but one."""
        if len(self.classes) > 2:
            return ("fisher",)
        if self.is_short:
            return ("reference", "fisher")
        no_ranks = issparse(self.X) or self.in_passes or self.is_wide
        return ("fisher", "mixed") if no_ranks else ("fisher", "mixed", "ranks")

    def held_out(self, model: Any, X: Any, y: NDArray[Any], weight: Any) -> tuple[float, float]:
        """Cross-entropy, and 1 - AUC of two classes, if both are there."""
        probability = model.predict_proba(X)
        loss = cross_entropy(probability, np.searchsorted(self.classes, y), weight)
        positive = y == self.classes[-1]
        if len(self.classes) > 2 or positive.all() or not positive.any():
            return loss, np.nan
        if weight is None:
            return loss, 1.0 - roc_auc(probability[:, 1], positive)
        return loss, 1.0 - float(roc_auc_score(positive, probability[:, 1], sample_weight=weight))

    def linear_model(
        self,
        subset: IntArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        n_iter: int,
        C: float,
    ) -> LogisticRegression:
        """A logistic regression; a penalised one does not extrapolate."""
        model = LogisticRegression(C=C)
        if np.isfinite(C):
            model = ClippedLogisticRegression(C=C)
            model.data_min_, model.data_max_ = self._extremes_of(subset)
        model.classes_ = self.classes
        model.coef_ = np.atleast_2d(coefficients)
        model.intercept_ = np.atleast_1d(intercepts)
        model.n_features_in_ = model.coef_.shape[1]
        model.n_iter_ = np.array([n_iter], dtype=np.int32)
        return model
