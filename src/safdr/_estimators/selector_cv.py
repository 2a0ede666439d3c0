"""The selectors that choose the number of features by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from safdr._estimators.base import ClassSelectorBase, RegressorSelectorBase
from safdr._estimators.cross_validated import CrossValidatedSelector
from safdr._estimators.habits import says_what_to_write
from safdr._estimators.parameters import (
    REGRESSOR_CONSTRAINTS,
    SELECTOR_CONSTRAINTS,
    AnyAnnealing,
    Constraints,
)
from safdr._estimators.rules import CV_CONSTRAINTS


class AnnealingSelectorCV(CrossValidatedSelector, ClassSelectorBase):
    """Choose the number of features by cross-validation, and the features by annealing (SA-FDR).

    Each size from `min_features` to `max_features` is searched on the training rows of each fold as
    `AnnealingSelector` does, and the model on the features found is scored on the test rows. A rule
    then takes the smallest size whose scores are as good as the best, and the search is repeated at
    that size on all rows.

    Parameters
    ----------
    min_features, max_features : int, default=1 and 30
        Sizes to try, as `count_by` counts them; those that constraints rule out are left out. A
        `max_features` above the number of features is lowered to that, with a warning
        unless it is 30, the default.

    cv : int, cross-validation generator or iterable, default=None
        How to split the rows. None is the paper's way: 5 stratified random splits, a quarter of
        the rows for testing. An int is the number of stratified folds.

    scoring : str or callable, default=None
        What to score the models by; None is the area under the ROC curve, for more than two classes
        the mean of those of each class against the rest ("roc_auc_ovr").

    rule : {"one_se", "one_sd", "tolerance", "best"} or callable, default="one_se"
        Which size to select. All but "best" take the smallest size whose mean score is at most this
        far below the best mean score:

        - "one_se": one standard error, which is the standard deviation of the best size over the
          splits (divisor n - 1) over the square root of the number of splits. By AUC or accuracy, a
          mean within half a test row per split of perfect is good enough in any case.
        - "one_sd": one standard deviation of the best size over the splits (divisor n), as in the
          paper. It selects fewer features than "one_se", and the scores are lower.
        - "tolerance": `tolerance`.
        - "best": the size with the best mean score.
        - A callable gets `cv_results_` and returns the index of the size in it.

    tolerance : float, default=0.005
        What `rule="tolerance"` may give up, in units of the score: little of an AUC, an accuracy or
        an R², but much or nothing of a log-loss, or of a squared error (in squared units of y).

    annealing, constraints, criterion, estimator, feature_cost, cost_strength, class_weight, \
ridge, C, clip, prove, device
        As in `AnnealingSelector`. "balanced" weights are those of the training rows of each fold.
        What is proven is the search on all rows. With ``criterion="auto"`` and without an
        `estimator`, the slopes of the final model are multiplied by `calibration_slope_`.

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

    rule_note_ : str
        What the rule gives up against the best mean score, what the others would take, and, where
        the size hangs on single splits, what it would be without one of them.

    cv_results_ : dict of ndarray
        One entry a size, so that ``pandas.DataFrame(search.cv_results_)`` is a table: `n_features`;
        `mean_test_score`, `std_test_score` and `split{i}_test_score` for each fold; the same for
        `train_score` and for `cross_entropy`, that of the logistic model on the training rows (or,
        under its own name, the loss that `estimator` or `criterion` put in its place);
        `split{i}_separated`, whether the features found separate the classes there; and
        `split{i}_support`, a list of the masks of the features found.

    threshold_ : float or None
        Mean score that the rule required; None with a callable.

    calibration_slope_ : float
        Factor from 0.01 to 1 on the slopes of the final model. Features are selected because they
        look good on the training rows, so a model on them is overconfident. The factor is the
        calibration slope of the out-of-fold predictions at the selected size, adjusted for the
        number of rows; 1 changes nothing. Absent unless `criterion` is "auto" and `estimator` is
        None.

    n_splits_ : int
        Number of folds.

    scorer_name_ : str
        What the scores are, for labels: "ROC AUC" by default.

    streamed_ : dict
        As in `AnnealingSelector`, and `scored_on`: the rows that test scores are of. AUC and R² are
        those of all test rows, other scores those of the sample; so are train scores, but for R².

    support_, subset_, criterion_, C_, ridge_, duplicates_, clip_limits_, criterion_value_, loss_, \
cross_entropy_, estimator_, result_, proof_, classes_, n_features_in_, feature_names_in_
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
    3
    >>> print(search.rule_note_.replace("; ", ";\\n").replace(". ", ".\\n"))
    one_se took 3 features: their mean ROC AUC is 0.002 below the best (0.9919 at 6);
    one_sd would take 2 (0.0067 below), tolerance 3 (the same).
    Without one of the 5 splits one_se would take 2 to 3, depending on which.
    >>> search.get_feature_names_out().tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_CONSTRAINTS, **SELECTOR_CONSTRAINTS}

    @says_what_to_write
    def __init__(
        self,
        *,
        min_features: int = 1,
        max_features: int = 30,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_se",
        tolerance: float = 0.005,
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
        self.min_features = min_features
        self.max_features = max_features
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
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


class AnnealingRegressorSelectorCV(CrossValidatedSelector, RegressorSelectorBase):
    """Choose the number of features for regression by cross-validation.

    As `AnnealingSelectorCV`: each size is searched on the training rows of each fold as
    `AnnealingRegressorSelector` does, scored on the test rows, and a rule takes the smallest size
    whose scores are as good as the best.

    Parameters
    ----------
    min_features, max_features, rule, tolerance, n_jobs, random_state
        As in `AnnealingSelectorCV`.

    cv : int, cross-validation generator or iterable, default=None
        How to split the rows. None is 5 random splits, three quarters of the rows for training and
        one quarter for testing. An int is the number of folds.

    scoring : str or callable, default=None
        What to score the models by; None is R².

    annealing, constraints, criterion, estimator, feature_cost, cost_strength, ridge, C, clip, \
prove, device
        As in `AnnealingRegressorSelector`.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As in `AnnealingSelectorCV`, with `squared_error` in place of `cross_entropy`.

    n_features_, n_features_by_rule_, rule_note_, threshold_, calibration_slope_, n_splits_, \
scorer_name_
        As in `AnnealingSelectorCV`.

    support_, subset_, criterion_, C_, ridge_, duplicates_, clip_limits_, criterion_value_, loss_, \
estimator_, result_, proof_, n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingRegressorSelector`.

    See Also
    --------
    AnnealingRegressorSelector : A given number of features.
    AnnealingSelectorCV : For classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from safdr import AnnealingRegressorSelectorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> search = AnnealingRegressorSelectorCV(max_features=10, random_state=0).fit(X, y)
    >>> search.n_features_
    5
    >>> search.get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_CONSTRAINTS, **REGRESSOR_CONSTRAINTS}

    @says_what_to_write
    def __init__(
        self,
        *,
        min_features: int = 1,
        max_features: int = 30,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_se",
        tolerance: float = 0.005,
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
        self.min_features = min_features
        self.max_features = max_features
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
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
