"""Selectors for survival times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from safdr._estimators.base import AnnealingSelectorBase, model_has, typed
from safdr._estimators.options import SURVIVAL_PARAMETERS, AnyAnnealing, Constraints
from safdr._estimators.selector import SIZE, _FixedSizeSelector
from safdr._estimators.selector_cv import CV_PARAMETERS, _CrossValidatedSelector
from safdr._estimators.survival import score_concordance


class SurvivalSelectorBase(AnnealingSelectorBase):
    _is_regression = True
    _is_survival = True
    _criterion = "score"

    def _default_scoring(self) -> Any:
        return score_concordance

    @typed(available_if(model_has("predict_survival_function")))
    def predict_survival_function(self, X: ArrayLike, return_array: bool = False) -> Any:
        """Predict the probability of no event up to each time.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features of the fit.

        return_array : bool, default=False
            Whether to return an array, at the times ``estimator_.unique_times_``, in place of
            functions.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_times)
            A step function of time for each row, or probabilities.
        """
        rows = self._selected_columns(X)
        return self.estimator_.predict_survival_function(rows, return_array=return_array)


class AnnealingSurvivalSelector(_FixedSizeSelector, SurvivalSelectorBase):
    """Select a given number of features for survival times by simulated annealing.

    As `AnnealingSelector`, with proportional hazards (Cox) and Breslow's ties. `y` is a structured
    array of two fields, as in scikit-survival: whether the event was observed, and the time of the
    event or of censoring. `predict` returns risk scores, and `score` Harrell's concordance.

    Parameters
    ----------
    criterion : {"auto", "score"} or callable, default="auto"
        Criterion that the annealing maximises. "score" is the score statistic of the model without
        features, with a diagonal curvature as in Coxnet. With "auto", features are then exchanged
        while that lowers the penalised loss.

    estimator : object with `fit` and `predict`, default=None
        Model of scikit-survival that is fitted to the selected features, and predicts risk scores.
        It selects among the candidates by its cross-validated concordance. None is a model of
        proportional hazards with the penalty `C`.

    C : float, default=None
        Inverse strength of the penalty on the negative partial log-likelihood, on standardised
        columns. With a penalty, the model clips values to the training range. None is 1; inf is no
        penalty.

    n_features_to_select, shrinkage, constraints, feature_cost, annealing, n_jobs, random_state
        As in `AnnealingSelector`.

    Attributes
    ----------
    criterion_ : str or callable
        Criterion of `criterion_value_`: "score", or the custom one.

    support_, subset_, n_features_, estimator_, criterion_value_, shrinkage_, result_, \
duplicates_, n_features_in_, feature_names_in_
        As in `AnnealingSelector`.

    See Also
    --------
    AnnealingSurvivalSelectorCV : Selects the number of features too.

    Examples
    --------
    >>> import numpy as np
    >>> from safdr import AnnealingSurvivalSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = np.rec.fromarrays([time < 2, np.minimum(time, 2)], names="event,time")
    >>> selector = AnnealingSurvivalSelector(2, random_state=0).fit(X, y)
    >>> selector.subset_.tolist()
    [3, 7]
    >>> round(float(selector.predict_survival_function(X[:1])[0](1.0)), 2)
    0.11
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE, **SURVIVAL_PARAMETERS}

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        criterion: Any = "auto",
        estimator: Any = None,
        shrinkage: float | str | None = "auto",
        C: float | None = None,
        constraints: Constraints | None = None,
        feature_cost: Any = None,
        annealing: AnyAnnealing | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.C = C
        self.constraints = constraints
        self.feature_cost = feature_cost
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state


class AnnealingSurvivalSelectorCV(_CrossValidatedSelector, SurvivalSelectorBase):
    """Select the number of features for survival times by cross-validation.

    As `AnnealingSelectorCV`, with the search of `AnnealingSurvivalSelector`, Harrell's concordance
    as the default scorer, and splits that are stratified by event.

    Parameters
    ----------
    sizes, cv, scoring, rule, n_jobs
        As in `AnnealingSelectorCV`. A scorer is called with a model, rows and `y`.

    criterion, estimator, shrinkage, C, constraints, feature_cost, annealing, random_state
        As in `AnnealingSurvivalSelector`.

    Attributes
    ----------
    cv_results_, n_splits_, scorer_, calibration_slope_
        As in `AnnealingSelectorCV`.

    support_, subset_, n_features_, estimator_, criterion_, criterion_value_, shrinkage_, result_, \
    duplicates_, n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingSurvivalSelector`.

    See Also
    --------
    AnnealingSurvivalSelector : Selects a given number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from safdr import AnnealingSurvivalSelectorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = np.rec.fromarrays([time < 2, np.minimum(time, 2)], names="event,time")
    >>> selector = AnnealingSurvivalSelectorCV(sizes=5, random_state=0).fit(X, y)
    >>> selector.subset_.tolist()
    [3, 7]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_PARAMETERS, **SURVIVAL_PARAMETERS}

    def __init__(
        self,
        sizes: int | Sequence[int] = 30,
        *,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_se",
        criterion: Any = "auto",
        estimator: Any = None,
        shrinkage: float | str | None = "auto",
        C: float | None = None,
        constraints: Constraints | None = None,
        feature_cost: Any = None,
        annealing: AnyAnnealing | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.sizes = sizes
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.criterion = criterion
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.C = C
        self.constraints = constraints
        self.feature_cost = feature_cost
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state
