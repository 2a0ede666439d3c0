"""The selectors of a given number of features."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.metaestimators import available_if

from safdr._estimators.base import (
    AnnealingSelectorBase,
    ClassSelectorBase,
    RegressorSelectorBase,
    model_has,
    typed,
)
from safdr._estimators.inputs import read_problem, seed_from
from safdr._estimators.options import (
    AT_LEAST_ONE,
    CLASS_PARAMETERS,
    REGRESSOR_PARAMETERS,
    AnyAnnealing,
    Constraints,
)

SIZE = {"n_features_to_select": [None, Interval(RealNotInt, 0, 1, closed="right"), AT_LEAST_ONE]}

# Largest default size.
MAX_DEFAULT = 30


class _FixedSizeSelector(AnnealingSelectorBase):
    """A selector of a given number of features."""

    n_features_to_select: int | float | None
    random_state: Any

    @typed(_fit_context(prefer_skip_nested_validation=False))
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select the features and fit the model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a source
            Training rows: an array, a data frame or a sparse matrix of finite numbers. Or a source
            that is read in chunks: a path of Parquet files, a pyarrow dataset, a polars LazyFrame,
            a DuckDB relation, a Dask collection, a function that returns an iterator of
            tables, or a `Stream`.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
            Labels or continuous targets. For a source, the name of their column.

        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weight of each row: a row of weight 2 counts as two rows. For a source, the name of
            their column.

        Returns
        -------
        self
            The fitted selector.
        """
        seed = seed_from(self.random_state)
        problem = read_problem(self, X, y, sample_weight, seed).usable()
        size = size_to_select(self.n_features_to_select, problem.allowed)
        self._fit_size(problem, size, seed)
        self.estimator_ = problem.refit(self.estimator_, self.subset_)
        return self

    @typed(available_if(model_has("score")))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the score of the final model: by default accuracy, or R².

        `AnnealingSelectorCV` is scored by its `scoring` instead, by default the area under the ROC
        curve.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features of the fit.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels or targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score.
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        rows = self._selected_columns(X)
        return float(self.estimator_.score(rows, y, **weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Half of the features, the default, may be too few for any model.
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


def size_to_select(wanted: Any, allowed: Any) -> int:
    """Return the number of features: as given, a share of all, or by default half."""
    total = allowed.n_groups
    if wanted is None:
        half = min(max(1, total // 2), MAX_DEFAULT)
        return min(allowed.sizes(), key=lambda size: abs(size - half), default=half)
    if not isinstance(wanted, Integral):
        wanted = max(1, int(float(wanted) * total))
    allowed.check_size(int(wanted))
    return int(wanted)


class AnnealingSelector(_FixedSizeSelector, ClassSelectorBase):
    """Select a given number of features by simulated annealing.

    The features that enter an L1 path of the criterion first are kept (the screen of `annealing`).
    Replicas, each a random subset of them, are annealed with swap moves and the Metropolis rule.
    Half of them maximise the Fisher discriminant ratio d'·S_W⁻¹·d, half the second-order
    approximation of the log-loss. Forward selection on the log-loss adds one candidate. A logistic
    model is fitted to each candidate, and the smallest penalised cross-entropy wins.

    Features need no scaling.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features. A float in (0, 1] is the share of all features. None is half of them, at
        most 30.

    criterion : {"auto", "fisher"} or callable, default="auto"
        What the replicas maximise.

        - "auto": as described above. For more than two classes, the Fisher ratio alone, which is
          then trace(S_W⁻¹·S_B).
        - "fisher": the Fisher ratio alone, as in the paper.
        - A callable ``f(X_subset, y)`` that returns a number. It gets the keyword `sample_weight`
          if rows have weights.

    estimator : classifier, default=None
        Model that evaluates the candidates by cross-validation and is fitted to the selected
        features. The smallest cross-entropy wins; for a model without probabilities, the largest
        `score`. None is the logistic model with the penalty `C`.

    shrinkage : "auto", float in [0, 1) or None, default="auto"
        Shrinkage of the within-class correlations, as in
        `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`. "auto" is near 0 for many rows.
        None is no shrinkage, as in the paper. Try None, with
        ``annealing=Annealing(screen=None)``, if the difference of correlated features matters.

    C : float, default=None
        Inverse strength of the penalty on the squared coefficients of the standardised columns, as
        in `sklearn.linear_model.LogisticRegression`. With a penalty, the final model clips values
        to the training range of their column. None is 1; inf is no penalty, as in the paper.

    constraints : Constraints, default=None
        Limits of the subsets, such as ``Constraints(always_include="age")``.

    feature_cost : array-like of shape (n_features,) or dict, default=None
        Cost of each feature; a dict or Series names those that cost something. The cost is
        subtracted from the criterion, and added to the loss at the exchange rate of the best model.

    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows.

    annealing : Annealing or PopulationAnnealing, default=None
        How to screen and anneal, such as ``Annealing(n_replicas=100)``. None is ``Annealing()``.

    n_jobs : int, default=None
        Number of threads; for a callable `criterion` or an `estimator`, of processes. None is 1
        unless in a `joblib.parallel_config`, -1 all processors. The result does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same result.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), dtype=bool
        Mask of the selected features.

    subset_ : ndarray of shape (n_selected,)
        Sorted indices of the selected columns.

    n_features_ : int
        Number of selected features; a group counts as one.

    estimator_ : classifier
        The model on the selected columns, in the order of `subset_`.

    criterion_ : str or callable
        Criterion of `criterion_value_`: "fisher", or the custom one.

    criterion_value_ : float
        Criterion value of the selected features on the training rows, less their cost.

    shrinkage_ : float or None
        Shrinkage of the criterion; None for a custom one.

    result_ : AnnealingResult
        All candidates: subsets, criterion values and losses, and the trace of the annealing.

    duplicates_ : list of tuple of int
        Pairs of features that correlate perfectly: the one that may be selected, and the one that
        is left out. Empty for the method of the paper.

    classes_ : ndarray of shape (n_classes,)
        Labels.

    n_features_in_ : int
        Number of features of the fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    AnnealingSelectorCV : Selects the number of features too.
    AnnealingRegressorSelector : Selects features for continuous targets.
    sklearn.feature_selection.RFE : Eliminates features one by one.

    References
    ----------
    F. Martínez-García, A. Rubio-García, S. Fernández-Lorenzo, J. J. García-Ripoll, D. Porras,
    "Optimised Feature Subset Selection via Simulated Annealing".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    >>> selector.predict(X.head(2)).tolist()
    [0, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE, **CLASS_PARAMETERS}

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state


class AnnealingRegressorSelector(_FixedSizeSelector, RegressorSelectorBase):
    """Select a given number of features for regression by simulated annealing.

    As `AnnealingSelector`, with R² as the criterion and the squared error of the least-squares
    model as the loss. With several outputs, R² is the mean over them.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        As in `AnnealingSelector`.

    criterion : {"auto", "r2"} or callable, default="auto"
        What the replicas maximise. "auto" and "r2" are both R²; with "auto",
        `AnnealingRegressorSelectorCV` fits a calibration slope, and predictions do not leave the
        range of the training targets. A callable is as in `AnnealingSelector`.

    estimator : regressor, default=None
        Model that evaluates the candidates by its squared error on held-out rows, and is fitted to
        the selected features. None is the least-squares model.

    shrinkage : "auto", float in [0, 1) or None, default="auto"
        As in `AnnealingSelector`. "auto" is multiplied by the share of the variance that a linear
        model of the screened features leaves unexplained.

    C : float, default=None
        As in `AnnealingSelector`, but None is no penalty.

    constraints, feature_cost, annealing, n_jobs, random_state
        As in `AnnealingSelector`.

    Attributes
    ----------
    estimator_ : regressor
        The model on the selected columns, in the order of `subset_`.

    criterion_ : str or callable
        Criterion of `criterion_value_`: "r2", or the custom one.

    support_, subset_, n_features_, criterion_value_, shrinkage_, result_, duplicates_, \
n_features_in_, feature_names_in_
        As in `AnnealingSelector`.

    See Also
    --------
    AnnealingRegressorSelectorCV : Selects the number of features too.
    AnnealingSelector : Selects features for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from safdr import AnnealingRegressorSelector
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = AnnealingRegressorSelector(3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['bmi', 'bp', 's5']
    >>> round(selector.criterion_value_, 3)
    0.471
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE, **REGRESSOR_PARAMETERS}

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
