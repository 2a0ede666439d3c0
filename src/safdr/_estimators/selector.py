"""Selectors of a given number of features."""

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
from safdr._estimators.inputs import read_problem, seed_from, target_values
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
    n_features_to_select: int | float | None
    random_state: Any

    @typed(_fit_context(prefer_skip_nested_validation=False))
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select the features and fit the model on them.

        Parameters
        ----------
        X : array-like, sparse matrix or source of shape (n_samples, n_features)
            Training rows of finite numbers. A source is read in chunks: a path of Parquet files, a
            pyarrow dataset, a polars LazyFrame, a DuckDB relation, a Dask collection, a function
            that returns an iterator of tables, or a `Stream`.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
            Labels or continuous targets. For a source, the name of their column.

        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights: a row of weight 2 counts as two rows. For a source, the name of their column.

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
        """Return the score of the final model, by default accuracy, R² or explained deviance.

        Parameters
        ----------
        X, y, sample_weight
            Rows with all features of the fit, and their labels or targets, as in `fit`.

        Returns
        -------
        float
        """
        weights = {}
        if sample_weight is not None:
            weights["sample_weight"] = target_values(X, sample_weight)
        return float(
            self.estimator_.score(self._selected_columns(X), target_values(X, y), **weights)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Half of the features, the default, may be too few for any model.
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


def size_to_select(size: Any, allowed: Any) -> int:
    n_features = allowed.n_groups  # a group counts one
    if size is None:
        half = min(max(1, n_features // 2), MAX_DEFAULT)
        return min(allowed.sizes(), key=lambda feasible: abs(feasible - half), default=half)
    if not isinstance(size, Integral):
        size = max(1, int(float(size) * n_features))
    allowed.check_size(int(size))
    return int(size)


class AnnealingSelector(_FixedSizeSelector, ClassSelectorBase):
    """Select a given number of features by simulated annealing, and fit a model on them.

    Use it if the number of features is known; `AnnealingSelectorCV` selects the number too.
    Features need no scaling.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features. A float in (0, 1] is the share of all features. None is half of them, at
        most 30.

    criterion : {"auto", "fisher"} or callable, default="auto"
        Criterion that the annealing maximises.

        - "auto": Fisher's ratio. With two classes, features are then exchanged while that lowers
          the penalised loss of the model.
        - "fisher": Fisher's ratio alone, as in the paper.
        - A callable ``f(X_subset, y)`` that returns a number. It gets the keyword `sample_weight`
          if rows have weights.

    estimator : classifier, default=None
        Model that is fitted to the selected features. It selects among the candidates by its
        cross-validated cross-entropy, or by `score` if it has no probabilities. None is a logistic
        model with the penalty `C`, and the smallest training loss wins.

    shrinkage : "auto", float in [0, 1) or None, default="auto"
        Shrinkage of the within-class correlations, as in
        `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`. "auto" is near 0 for many
        rows of correlated features.
        None is no shrinkage. Use None, with ``annealing=Annealing(screen=None)``, if the difference
        of correlated features matters.

    C : float, default=None
        Inverse strength of the penalty, as in `sklearn.linear_model.LogisticRegression`, on
        standardised columns. With a penalty, the model clips values to the training range. None is
        1; inf is no penalty.

    constraints : Constraints, default=None
        Limits of the subsets, such as ``Constraints(always_include="age")``.

    feature_cost : array-like of shape (n_features,) or dict, default=None
        Cost of each feature in units of the criterion; features that a dict does not name cost
        nothing. Raise the cost of a feature to select it less often.

    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows.

    annealing : Annealing or PopulationAnnealing, default=None
        Settings of the screen and the annealing. None is ``Annealing()``.

    n_jobs : int, default=None
        Number of threads, or of processes for a callable `criterion` or an `estimator`; -1 is all
        processors. The result does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the search. The same int gives the same result.

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

    criterion_, criterion_value_ : str or callable, and float
        "fisher" or the custom criterion, and its value for the selected features on the training
        rows, less their cost.

    shrinkage_ : float or None
        Shrinkage of the criterion; None for a custom one.

    result_ : AnnealingResult
        All candidates, with criterion values and losses.

    duplicates_ : list of tuple of int
        Pairs of features that correlate perfectly: one that may be selected, one that is left out.
        Empty for the method of the paper.

    classes_, n_features_in_, feature_names_in_
        Labels, number of features, and their names, as in scikit-learn.

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

    As `AnnealingSelector`, with R² and least squares. With several outputs, R² is their mean.

    Parameters
    ----------
    family : {"gaussian", "poisson", "gamma"}, default="gaussian"
        Distribution of the target: "poisson" for counts and rates, "gamma" for positive amounts,
        both with the logarithm as link. A rate is ``y = count / exposure`` with
        ``sample_weight=exposure``, as in `sklearn.linear_model.PoissonRegressor`; weights are then
        in units of their mean, and do not count rows.

    criterion : {"auto", "r2"} or callable, default="auto"
        Criterion that the annealing maximises: R², or a callable as in `AnnealingSelector`. With
        "auto", predictions are clipped to the range of the training targets, and
        `AnnealingRegressorSelectorCV` fits a calibration slope. For counts and amounts, R² is on
        the scale of the logarithm, near means halfway between the target and its mean. Features are
        then exchanged while that lowers the penalised loss, and the model clips values as in
        `AnnealingSelector`.

    estimator : regressor, default=None
        Model that is fitted to the selected features, and selects among the candidates by its
        cross-validated squared error, or deviance. None is a linear model of the family.

    shrinkage : "auto", float in [0, 1) or None, default="auto"
        As in `AnnealingSelector`. "auto" is near 0 for precise targets too.

    C : float, default=None
        As in `AnnealingSelector`, but None is no penalty for "gaussian".

    n_features_to_select, constraints, feature_cost, annealing, n_jobs, random_state
        As in `AnnealingSelector`.

    Attributes
    ----------
    criterion_ : str or callable
        Criterion of `criterion_value_`: "r2", or the custom one.

    support_, subset_, n_features_, estimator_, criterion_value_, shrinkage_, result_, \
duplicates_, n_features_in_, feature_names_in_
        As in `AnnealingSelector`.

    See Also
    --------
    AnnealingRegressorSelectorCV : Selects the number of features too.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from safdr import AnnealingRegressorSelector
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = AnnealingRegressorSelector(3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['bmi', 'bp', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE, **REGRESSOR_PARAMETERS}

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        family: str = "gaussian",
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
        self.family = family
        self.criterion = criterion
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.C = C
        self.constraints = constraints
        self.feature_cost = feature_cost
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state
