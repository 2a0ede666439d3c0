"""anneal_path: one search for each of several sizes, on moments computed once."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from safdr.cancellation import Cancellation
from safdr.result import AnnealingResult
from safdr.search import Search
from safdr.selector import AnnealingSelector
from safdr.validation import seed_from, validate_rows


def anneal_path(
    X: ArrayLike,
    y: ArrayLike,
    sizes: Iterable[int],
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **settings: Any,
) -> list[AnnealingResult]:
    """Search for the best subset of each of several sizes.

    The moments of the rows are computed once. Each result is the one that
    ``AnnealingSelector(size, random_state=random_state)`` finds alone.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.

    y : array-like of shape (n_samples,)
        Labels of two classes.

    sizes : iterable of int
        Numbers of features, each from 1 to n_features.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    n_jobs : int, default=None
        Number of sizes searched at the same time, through joblib. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    **settings
        Annealing settings of `AnnealingSelector`, such as `n_replicas` or `n_batches`.

    Returns
    -------
    list of AnnealingResult
        One for each size, in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import anneal_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> for result in anneal_path(X, y, [1, 2, 3], random_state=0):
    ...     print(result.subset, round(result.cross_entropy, 3))
    [22] 0.184
    [23 27] 0.12
    [20 21 27] 0.089
    """
    for name in ("n_features_to_select", "estimator"):
        if name in settings:
            raise ValueError(
                f"anneal_path takes no {name}: sizes says how many features, and the models are "
                "the logistic ones that the search fits."
            )
    template = AnnealingSelector(**settings)
    template._validate_params()
    rows = validate_rows(template, X, y, sample_weight).usable()
    wanted = _check_sizes(sizes, rows.X.shape[1])
    search = Search(
        rows.X,
        rows.codes,
        rows.sample_weight,
        settings=template._settings(),
        seed=seed_from(random_state),
    )
    # The core releases the GIL, so threads serve; a joblib.parallel_config still decides.
    with Cancellation() as cancellation:
        results: list[AnnealingResult] = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_run)(search, size, cancellation) for size in wanted
        )
    return results


def _run(search: Search, size: int, cancellation: Cancellation) -> AnnealingResult:
    with cancellation.task():
        return search.run(size, checkpoint=cancellation.check)


def _check_sizes(sizes: Any, n_features: int) -> list[int]:
    if not isinstance(sizes, Iterable):
        raise ValueError(f"sizes must be an iterable of ints, such as range(1, 11); got {sizes!r}.")
    wanted: list[Any] = list(sizes)
    for size in wanted:
        if not isinstance(size, Integral) or not 1 <= int(size) <= n_features:
            raise ValueError(
                f"sizes must be ints from 1 to n_features = {n_features}, the number of columns of "
                f"X; got {size!r}."
            )
    return [int(size) for size in wanted]
