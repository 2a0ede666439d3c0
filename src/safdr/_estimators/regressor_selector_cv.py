"""AnnealingRegressorSelectorCV: choose the number of features for regression."""

from __future__ import annotations

from typing import Any, ClassVar

from safdr._estimators.cross_validated import CV_CONSTRAINTS, CrossValidatedMixin
from safdr._estimators.regressing import RegressorSelectorBase


class AnnealingRegressorSelectorCV(CrossValidatedMixin, RegressorSelectorBase):
    """Choose the number of features for regression by cross-validation.

    As `AnnealingSelectorCV`: each size is searched on the training rows of each fold as
    `AnnealingRegressorSelector` does, scored on the test rows, and a rule takes the smallest size
    whose scores are as good as the best.

    Parameters
    ----------
    min_features, max_features : int, default=1 and 30
        Sizes to try; see `AnnealingSelectorCV`.

    cv : int, cross-validation generator or iterable, default=None
        How to split the rows. None is 5 random splits, three quarters of the rows for training and
        one quarter for testing. An int is the number of folds.

    scoring : str or callable, default=None
        What to score the models by; None is R².

    rule : {"one_sd", "one_se", "best"} or callable, default="one_sd"
        Which size to choose; see `AnnealingSelectorCV`.

    annealing, constraints, criterion, estimator, pick, feature_cost, cost_strength, ridge
        As in `AnnealingRegressorSelector`.

    n_jobs, random_state
        As in `AnnealingSelectorCV`.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As in `AnnealingSelectorCV`, with `squared_error` in place of `cross_entropy`.

    n_features_, n_features_by_rule_, threshold_, n_splits_, scorer_name_
        As in `AnnealingSelectorCV`.

    support_, subset_, criterion_value_, loss_, estimator_, result_, n_features_in_, \
feature_names_in_
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_CONSTRAINTS}

    def _default_scoring(self) -> str:
        return "r2"
