"""Selectors of a given number of features: parameters, fit and score."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.base import AnnealingSelectorBase, final_model_has
from safdr._estimators.parameters import (
    SELECTOR_CONSTRAINTS,
    Annealing,
    Constraints,
    Number,
    WholeNumber,
    n_workers,
    seed_from,
)
from safdr.errors import ParameterError

FIXED_SIZE_CONSTRAINTS: dict[str, Any] = {
    "n_features_to_select": [
        None,
        Number(0, 1, closed="right"),
        WholeNumber(1),
    ],
    **SELECTOR_CONSTRAINTS,
}


class FixedSizeMixin(AnnealingSelectorBase):
    """A selector that is told how many features to choose."""

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        annealing: Annealing | None = None,
        constraints: Constraints | None = None,
        criterion: Any = None,
        estimator: Any = None,
        pick: str = "auto",
        feature_cost: Any = None,
        cost_strength: float = 1.0,
        ridge: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.annealing = annealing
        self.constraints = constraints
        self.criterion = criterion
        self.estimator = estimator
        self.pick = pick
        self.feature_cost = feature_cost
        self.cost_strength = cost_strength
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the features and fit the model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows: an array, a pandas or polars data frame or a scipy sparse matrix of
            finite numbers.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of any type, or measured outputs.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; a row of weight 2 counts as two rows, one of weight 0 as none. Any
            other must be at least 1e-10 of the largest.

        Returns
        -------
        estimator
            Itself, fitted.
        """
        self._check_models()
        rows = self._usable(self._validate_rows(X, y, sample_weight))
        constraints = self._constraints()
        size = self._size(constraints)
        n_jobs = n_workers(self.n_jobs)
        search = self._search(rows, constraints, seed_from(self.random_state), n_jobs)
        self._set_result(rows, search, search.run(size, n_threads=n_jobs))
        self.n_features_ = size
        return self

    def _size(self, constraints: AllowedSubsets) -> int:
        """The number of features to choose."""
        wanted: Any = self.n_features_to_select
        total = int(constraints.counts.sum())
        if wanted is None:
            half = max(1, total // 2)
            return min(constraints.sizes(), key=lambda size: abs(size - half), default=half)
        if not isinstance(wanted, Integral):
            wanted = max(1, int(float(wanted) * total))
        if wanted > total:
            raise ParameterError(
                "n_features_to_select",
                "must be at most {total}; got {wanted}.",
                total=self._total(constraints),
                wanted=wanted,
            )
        constraints.check_size(int(wanted))
        return int(wanted)

    @available_if(final_model_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score of the final model on the chosen features: by default accuracy, or R².

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        reduced = self._reduce(X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(reduced, y, **weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Half of the features, the default, may be too few for any model.
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        return tags
