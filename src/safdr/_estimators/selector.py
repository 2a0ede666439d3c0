"""The selectors of a given number of features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from safdr._estimators.base import (
    AnnealingSelectorBase,
    ClassSelectorBase,
    RegressorSelectorBase,
    final_model_has,
    typed,
)
from safdr._estimators.habits import says_what_to_write
from safdr._estimators.parameters import (
    REGRESSOR_CONSTRAINTS,
    SELECTOR_CONSTRAINTS,
    AnyAnnealing,
    Constraints,
    Number,
    WholeNumber,
    n_workers,
    seed_from,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.plan_checks import check_proof

SIZE_CONSTRAINT = {
    "n_features_to_select": [None, Number(0, 1, closed="right"), WholeNumber(1)],
}


class _FixedSizeSelector(AnnealingSelectorBase):
    """A selector that is told how many features to choose."""

    n_features_to_select: int | float | None
    random_state: Any

    @typed(_fit_context(prefer_skip_nested_validation=False))
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the features and fit the model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a source
            Training rows: an array, a pandas or polars data frame or a scipy sparse matrix of
            finite numbers. Or where to read them in passes, never all at once: the path of a
            Parquet file or of a folder of them, a pyarrow dataset, a polars LazyFrame, a DuckDB
            relation, a Dask DataFrame or array, a function that returns an iterator of tables, or a
            `Stream` of one of these.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
            Labels of any type, or measured outputs. Of a source, the name of their column.

        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weight of each row; a row of weight 2 counts as two rows, one of weight 0 as none. Any
            other must be at least 1e-10 of the largest. Against a penalty (`C`) they count as so
            many rows too: where they count nothing, let their mean be 1. Of a source, the name of
            their column.

        Returns
        -------
        estimator
            Itself, fitted.
        """
        seed, n_jobs = seed_from(self.random_state), n_workers(self.n_jobs)
        plan = SearchPlan.of(self)
        data, self.clip_limits_ = plan.usable(self._given(plan, X, y, sample_weight, seed))
        allowed = plan.allowed(self)
        if plan.prove is not None:
            check_proof(plan, allowed)
        size = plan.size(allowed, self.n_features_to_select)
        self._search(plan, data, allowed, size, seed, n_jobs)
        return self

    @typed(available_if(final_model_has("score")))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score of the final model on the chosen features: by default accuracy, or R².

        **Not what selectors with cross-validation have**: the `score` of `AnnealingSelectorCV` is
        by its `scoring`, by default the area under the ROC curve. To compare the two, name one
        scorer: ``get_scorer("roc_auc")(selector, X, y)``.

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


class AnnealingSelector(_FixedSizeSelector, ClassSelectorBase):
    """Select a given number of features by simulated annealing (SA-FDR).

    The features that enter an L1 path of the criterion first are kept (the screen of `annealing`).
    Replicas, each a random subset of `n_features_to_select` of them, are annealed with swap moves
    and the Metropolis rule. Half of them maximise the Fisher discriminant ratio d'·S_W⁻¹·d, half
    the second-order approximation of the log-loss. Forward selection on the log-loss adds one
    candidate. A logistic model is fitted to each candidate, and the smallest penalised
    cross-entropy wins.

    Features need no scaling.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features to select. An int is that number, a float between 0 and 1 the share of
        all features, None half of them.

    annealing : Annealing or PopulationAnnealing, default=None
        How to screen and anneal, such as ``Annealing(n_replicas=100)``; None is ``Annealing()``. A
        grid search can set ``annealing__n_replicas``.

    constraints : Constraints, default=None
        Which subsets are allowed, such as ``Constraints(always_include="age")``; None allows all.

    criterion : {"auto", "fisher"}, callable or estimator, default="auto"
        What the replicas maximise.

        - "auto": as described above. For more than two classes, the Fisher ratio alone, which is
          then trace(S_W⁻¹·S_B).
        - "fisher": the Fisher ratio alone, as in the paper.
        - A callable ``f(X_subset, y)`` returns a number. It takes a keyword `sample_weight` if rows
          have weights.
        - An estimator is scored by cross-validation on each subset, as `CrossValidatedScore` does.

    estimator : classifier, default=None
        Model that evaluates the candidates and is then fitted to the selected features. The
        candidate with the smallest loss on held-out rows (three folds) wins: the cross-entropy, or
        `score` for a model without probabilities. None is the logistic model with the penalty `C`,
        or the estimator in `criterion`.

    feature_cost : array-like of shape (n_features,) or dict, default=None
        Cost of each feature; a dict gives those that cost something, a pandas Series goes by its
        index. The criterion of a subset is lowered by `cost_strength` times the cost of its
        features, and its loss is raised likewise when the winner is chosen: by as much as that step
        of the criterion was worth to the best model. A negative cost is a bonus. Costs times
        strength go up to 1e12 in size: to rule a feature out there is `Constraints.never_include`.

    cost_strength : float, default=1.0
        How much of the criterion a unit of cost takes away. Look at `criterion_value_` without
        costs first: a hundredth of it is a mild price for one feature, a tenth a high one.

    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply those of the rows. "balanced" gives each class the
        same weight in all. Of more than two classes, each needs at least 1e-8 of all weight.

    ridge : float or "auto", default="auto"
        Ridge on the within-class correlation matrix: each feature's variance within the classes is
        increased by this share. "auto" is computed from the data: three times the OAS intensity,
        which is close to 0 with many rows. 1e-6 is no shrinkage, as in the paper.

    C : float, default=1.0
        Inverse strength of the penalty on the squared slopes of the standardised columns, as in
        `sklearn.linear_model.LogisticRegression`. The losses of the candidates include the penalty.
        With a penalty, the final model clips values to the training range of their column. inf is
        no penalty, as in the paper.

    clip : float, default=None
        Share of the rows at either end of each column, such as 0.01, whose values count as the
        nearest of the others: in the search, in the model, and where it predicts. With `cv`, the
        ends are those of the training rows of each fold. None takes all values as they are.

    prove : float, default=None
        Time limit in seconds to search all features for the largest criterion value at this size,
        after annealing. The selection does not change; `proof_` holds the result. None makes no
        proof. Groups of several columns and a custom `criterion` cannot be proven.

    device : str or torch.device, default=None
        Where to search, such as "cuda", for thousands of features; needs ``safdr[gpu]``.

    n_jobs : int, default=None
        Number of threads over replicas, and of the proof; where `criterion` or `estimator` are
        given, number of subsets that are evaluated at the same time, through joblib. None means 1
        unless in a `joblib.parallel_config`, -1 all processors. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), dtype=bool
        Mask of the chosen features.

    subset_ : ndarray of shape (n_features_to_select,)
        Sorted indices of the chosen features.

    n_features_ : int
        Number of chosen features, as `count_by` counts them.

    clip_limits_ : ndarray of shape (2, n_features) or None
        With `clip`, the least and the largest value that counts, of each feature.

    criterion_value_ : float
        Criterion value of the chosen features on the training rows, less their cost.

    loss_ : float
        Loss by which the winner was chosen; `result_.loss_name` says which.

    cross_entropy_ : float
        The same, where it is a cross-entropy: by default that of the logistic model on the training
        rows, the penalty included; without one 0 if the features separate the classes completely.

    estimator_ : classifier
        The model on the chosen features, in the order of `subset_`.

    result_ : AnnealingResult
        All replicas: their subsets, criterion values and losses, and how the annealing went.

    streamed_ : dict
        Where rows were read in passes: the `source`, `n_rows`, and `n_sample_rows`, on which
        candidates were compared. The losses in `result_` are then those of the few best on all
        rows, and not a number for the rest.

    criterion_ : str, callable or estimator
        Criterion of `criterion_value_`: "fisher", or the custom one.

    ridge_ : float or None
        Ridge of the criterion; None for a custom `criterion`.

    C_ : float
        Penalty of the linear model.

    duplicates_ : list of tuple of int
        Pairs of features that correlate perfectly, with either sign: the one that may be selected,
        and the one that is left out. Empty for the method of the paper, which looks for none.

    proof_ : Proof or None
        Best subset by the criterion over all features, and whether that is proven. `subset_` has
        the smallest loss of the candidates; its criterion value may be smaller. None unless `prove`
        is given.

    feature_groups_ : FeatureGroups
        What counts as one feature: groups of columns, and columns of their own.

    classes_ : ndarray of shape (n_classes,)
        The labels.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where `X` has names that are all strings.

    See Also
    --------
    AnnealingSelectorCV : Chooses the number of features too.
    AnnealingRegressorSelector : For measured outputs.
    anneal_path : The same for several sizes at once.
    sklearn.feature_selection.RFE : Greedy elimination, one feature at a time.

    References
    ----------
    F. Martínez-García, A. Rubio-García, S. Fernández-Lorenzo, J. J. García-Ripoll, D. Porras,
    "Optimised Feature Subset Selection via Simulated Annealing".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, Constraints
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    >>> selector.predict(X.head(2)).tolist()
    [0, 0]
    >>> cheap = AnnealingSelector(3, constraints=Constraints(always_include="mean radius"))
    >>> cheap.set_params(random_state=0).fit(X, y).get_feature_names_out().tolist()
    ['mean radius', 'worst texture', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE_CONSTRAINT, **SELECTOR_CONSTRAINTS}

    @says_what_to_write
    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        annealing: AnyAnnealing | None = None,
        constraints: Constraints | None = None,
        criterion: Any = "auto",
        estimator: Any = None,
        feature_cost: Any = None,
        cost_strength: float = 1.0,
        class_weight: Any = None,
        ridge: float | str = "auto",
        C: float = 1.0,
        clip: float | None = None,
        prove: float | None = None,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.annealing = annealing
        self.constraints = constraints
        self.criterion = criterion
        self.estimator = estimator
        self.feature_cost = feature_cost
        self.cost_strength = cost_strength
        self.class_weight = class_weight
        self.ridge = ridge
        self.C = C
        self.clip = clip
        self.prove = prove
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state


class AnnealingRegressorSelector(_FixedSizeSelector, RegressorSelectorBase):
    """Select a given number of features for regression by simulated annealing.

    As `AnnealingSelector`, with R² as the criterion and the squared error of the least-squares
    model as the loss. With several outputs, R² is the mean over them.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features to choose: an int is that number, a float between 0 and 1 the share of
        all features, None half of them.

    criterion : {"auto", "r2"}, callable or estimator, default="auto"
        What the replicas maximise. "auto" and "r2" are both R²; with "auto",
        `AnnealingRegressorSelectorCV` also fits a calibration slope. Otherwise as in
        `AnnealingSelector`.

    estimator : regressor, default=None
        The model that judges the candidates by its own loss on held-out rows, and is then fitted to
        the chosen features: the loss named by its parameter `loss` or `criterion`, the deviance of
        Poisson, gamma and Tweedie models, the pinball loss of quantiles, else the squared error.
        None is the estimator in `criterion`, if it is one; else the least-squares model, as a
        `sklearn.linear_model.LinearRegression`.

    annealing, constraints, feature_cost, cost_strength, clip, prove, device
        As in `AnnealingSelector`.

    ridge : float or "auto", default="auto"
        As in `AnnealingSelector`. "auto" is multiplied by the share of the variance that a linear
        model of the screened features leaves unexplained.

    C : float, default=inf
        As in `AnnealingSelector`, but without a penalty by default. A penalty lowers the error if
        outputs are noisy and rows few, and raises it if outputs are precise.

    n_jobs, random_state
        As in `AnnealingSelector`.

    Attributes
    ----------
    criterion_value_ : float
        R² of the chosen features on the training rows, or the value of your criterion, less their
        cost.

    loss_ : float
        Loss by which the winner was chosen: by default the mean squared error on the training rows.

    estimator_ : regressor
        The model on the chosen features, in the order of `subset_`.

    support_, subset_, n_features_, result_, criterion_, C_, ridge_, duplicates_, proof_, \
n_features_in_, feature_names_in_
        As in `AnnealingSelector`.

    See Also
    --------
    AnnealingRegressorSelectorCV : Chooses the number of features too.
    AnnealingSelector : For classes.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SIZE_CONSTRAINT, **REGRESSOR_CONSTRAINTS}

    @says_what_to_write
    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        annealing: AnyAnnealing | None = None,
        constraints: Constraints | None = None,
        criterion: Any = "auto",
        estimator: Any = None,
        feature_cost: Any = None,
        cost_strength: float = 1.0,
        ridge: float | str = "auto",
        C: float = np.inf,
        clip: float | None = None,
        prove: float | None = None,
        device: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.annealing = annealing
        self.constraints = constraints
        self.criterion = criterion
        self.estimator = estimator
        self.feature_cost = feature_cost
        self.cost_strength = cost_strength
        self.ridge = ridge
        self.C = C
        self.clip = clip
        self.prove = prove
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
