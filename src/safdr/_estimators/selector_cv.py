"""AnnealingSelectorCV: choose the number of features by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from safdr._estimators.classifying import ClassSelectorBase
from safdr._estimators.cross_validated import CV_CONSTRAINTS, CrossValidatedMixin
from safdr._estimators.parameters import CLASS_WEIGHT_CONSTRAINT, Annealing, Constraints


class AnnealingSelectorCV(CrossValidatedMixin, ClassSelectorBase):
    """Choose the number of features by cross-validation, and the features by annealing (SA-FDR).

    Each size from `min_features` to `max_features` is searched on the training rows of each fold as
    `AnnealingSelector` does, and the model on the features found is scored on the test rows. A rule
    then takes the smallest size whose scores are as good as the best, and the search is repeated at
    that size on all rows.

    Parameters
    ----------
    min_features, max_features : int, default=1 and 30
        Sizes to try, as `count_by` counts them; those that constraints rule out are left out. A
        `max_features` above the number of features is lowered to that, with a warning.

    cv : int, cross-validation generator or iterable, default=None
        How to split the rows. None is the paper's way: 5 stratified random splits, three quarters
        of the rows for training and one quarter for testing. An int is the number of stratified
        folds.

    scoring : str or callable, default=None
        What to score the models by; None is the area under the ROC curve, for more than two classes
        the mean of those of each class against the rest ("roc_auc_ovr").

    rule : {"one_sd", "one_se", "best"} or callable, default="one_sd"
        Which size to choose:

        - "one_sd", the paper's: the smallest whose mean score is at most one standard deviation
          below the best mean. The deviation is that of the best size over the folds (with divisor
          n).
        - "one_se": the smallest whose mean difference to the best size is at most one standard
          error. The folds are shared, so the sizes are compared in pairs, on the same fold: the
          error is that of the differences (with divisor n - 1), which is much smaller than that
          of the scores. With a single split there is none, and this is "best".
        - "best": the one with the best mean score.
        - a callable gets `cv_results_` and returns the index of the size in it.

    annealing, constraints, criterion, estimator, pick, feature_cost, cost_strength, \
class_weight, ridge
        As in `AnnealingSelector`. "balanced" weights are those of the training rows of each fold.

    n_jobs : int, default=None
        How many pairs of fold and size are searched at the same time, through joblib: in threads
        (in processes, if `criterion` or `estimator` are given), unless a `joblib.parallel_config`
        says otherwise. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Attributes
    ----------
    n_features_ : int
        Number of features chosen, as `count_by` counts them.

    n_features_by_rule_ : dict
        What each built-in rule would choose.

    cv_results_ : dict of ndarray
        One entry a size: `n_features`; `mean_test_score`, `std_test_score` and
        `split{i}_test_score` for each fold; the same for `train_score` and for `cross_entropy`,
        that of the logistic model on the training rows (or, under its own name, the loss that
        `estimator` or `criterion` put in its place); `split{i}_separated`, whether the features
        found separate the classes there; and `split{i}_support` of shape (n_sizes, n_features_in_),
        the masks of the features found.

    threshold_ : float or None
        The mean score that "one_sd" asked for; None with other rules.

    n_splits_ : int
        Number of folds.

    scorer_name_ : str
        What the scores are, for labels: "ROC AUC" by default.

    support_, subset_, criterion_value_, loss_, cross_entropy_, estimator_, result_, classes_, \
n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingSelector`.

    See Also
    --------
    AnnealingSelector : A given number of features.
    AnnealingRegressorSelectorCV : For measured outputs.
    sklearn.feature_selection.RFECV : Greedy elimination with cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(max_features=6, random_state=0).fit(X, y)
    >>> search.n_features_
    2
    >>> search.get_feature_names_out().tolist()
    ['worst area', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CV_CONSTRAINTS,
        **CLASS_WEIGHT_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        min_features: int = 1,
        max_features: int = 30,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_sd",
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
            min_features=min_features,
            max_features=max_features,
            cv=cv,
            scoring=scoring,
            rule=rule,
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

    def _default_scoring(self) -> str:
        return "roc_auc" if len(getattr(self, "classes_", ())) <= 2 else "roc_auc_ovr"
