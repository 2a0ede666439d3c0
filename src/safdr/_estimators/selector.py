"""AnnealingSelector: the best subset of a given number of features."""

from __future__ import annotations

from typing import Any, ClassVar

from safdr._estimators.classifying import ClassSelectorBase
from safdr._estimators.fixed_size import FIXED_SIZE_CONSTRAINTS, FixedSizeMixin
from safdr._estimators.parameters import CLASS_WEIGHT_CONSTRAINT, Annealing, Constraints


class AnnealingSelector(FixedSizeMixin, ClassSelectorBase):
    """Choose a given number of features by simulated annealing (SA-FDR).

    Many replicas, each a random subset of `n_features_to_select` features, are cooled together: a
    swap of one feature for another is accepted by the Metropolis rule on the Fisher discriminant
    ratio d'·S_W⁻¹·d, for more than two classes trace(S_W⁻¹·S_B). Then a logistic model is fitted to
    the subset of each replica, and to the best subset that going uphill from them reaches (to all
    subsets, where there are no more of them than replicas), and the one with the smallest
    cross-entropy wins.

    Features need no scaling: neither the ratio nor an unpenalised logistic model depends on it.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features to choose: an int is that number, a float between 0 and 1 the share of
        all features, None half of them.

    annealing : Annealing, default=None
        How to anneal, such as ``Annealing(n_replicas=100)``; None is ``Annealing()``. A search over
        parameters can name those of it: ``annealing__n_replicas``.

    constraints : Constraints, default=None
        Which subsets are allowed, such as ``Constraints(always_include="age")``; None allows all.

    criterion : callable or estimator, default=None
        What the replicas maximise. None is the Fisher ratio. A callable ``f(X_subset, y)`` returns
        a number to be maximised, and takes a keyword `sample_weight` if rows have weights. An
        estimator is scored by cross-validation on the columns of each subset that is visited, as
        `CrossValidatedScore` does. Either is computed once a subset, on all rows: there are no
        batches.

    estimator : classifier, default=None
        The model that judges the candidates, and is then fitted to the chosen features for
        `predict` and its like. The candidate with the smallest loss of this model on held-out rows
        (three folds) wins: the cross-entropy, or its `score` if it gives no probabilities. None is
        the estimator in `criterion`, if it is one; else the unpenalised logistic model, as a
        `sklearn.linear_model.LogisticRegression`.

    pick : {"auto", "linear", "criterion"}, default="auto"
        What chooses the winner among the candidates: the loss of the unpenalised linear model
        ("linear"), or the criterion itself ("criterion"). "auto" is the loss of `estimator`, if it
        is given; else the criterion, if it is yours; else "linear".

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

    ridge : float, default=1e-6
        Added to the variance of each feature within the classes, as a share of it. This keeps the
        criterion defined where features are collinear or outnumber the rows. A feature of whose
        variance the other members leave less than 1e-5 plus twice the ridge is never swapped in.
        Where a subset is large against the number of rows (a quarter, say), a larger ridge, 0.01 to
        0.1, keeps the criterion from rewarding chance.

    n_jobs : int, default=None
        Number of threads over replicas; where `criterion` or `estimator` are given, number of
        subsets that are evaluated at the same time, through joblib. None means 1 unless in a
        `joblib.parallel_config`, -1 all processors. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Attributes
    ----------
    support_ : ndarray of shape (n_features_in_,), dtype=bool
        Mask of the chosen features.

    subset_ : ndarray of shape (n_features_,)
        Sorted indices of the chosen features.

    n_features_ : int
        Number of chosen features, as `count_by` counts them.

    criterion_value_ : float
        Criterion value of the chosen features on the training rows, less their cost.

    loss_ : float
        Loss by which the winner was chosen; `result_.loss_name` says which.

    cross_entropy_ : float
        The same, where it is a cross-entropy: by default that of the unpenalised logistic model on
        the training rows, 0 if the features separate the classes completely.

    estimator_ : classifier
        The model on the chosen features, in the order of `subset_`.

    result_ : AnnealingResult
        All replicas: their subsets, criterion values and losses, and how the annealing went.

    feature_groups_ : FeatureGroups
        What counts as one feature: groups of columns, and columns of their own.

    classes_ : ndarray of shape (n_classes,)
        The labels.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FIXED_SIZE_CONSTRAINTS,
        **CLASS_WEIGHT_CONSTRAINT,
    }

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
        class_weight: Any = None,
        ridge: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select,
            annealing=annealing,
            constraints=constraints,
            criterion=criterion,
            estimator=estimator,
            pick=pick,
            feature_cost=feature_cost,
            cost_strength=cost_strength,
            ridge=ridge,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.class_weight = class_weight
