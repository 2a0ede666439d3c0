"""AnnealingRegressorSelector: the best subset of a given number of features for regression."""

from __future__ import annotations

from typing import Any, ClassVar

from safdr._estimators.fixed_size import FIXED_SIZE_CONSTRAINTS, FixedSizeMixin
from safdr._estimators.regressing import RegressorSelectorBase


class AnnealingRegressorSelector(FixedSizeMixin, RegressorSelectorBase):
    """Choose a given number of features for regression by simulated annealing.

    As `AnnealingSelector`, with R² as the criterion, the squared error of the least-squares model
    as the loss that chooses the winner, and batches of random rows. With several outputs R² is the
    mean over them.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number of features to choose: an int is that number, a float between 0 and 1 the share of
        all features, None half of them.

    criterion : callable or estimator, default=None
        What the replicas maximise; None is R². Else as in `AnnealingSelector`.

    estimator : regressor, default=None
        The model that judges the candidates by its own loss on held-out rows, and is then fitted to
        the chosen features: the loss named by its parameter `loss` or `criterion`, the deviance of
        Poisson, gamma and Tweedie models, the pinball loss of quantiles, else the squared error.
        None is the estimator in `criterion`, if it is one; else the least-squares model, as a
        `sklearn.linear_model.LinearRegression`.

    annealing, constraints, pick, feature_cost, cost_strength, ridge
        As in `AnnealingSelector`.

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

    support_, subset_, n_features_, result_, n_features_in_, feature_names_in_
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
    0.48
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**FIXED_SIZE_CONSTRAINTS}
