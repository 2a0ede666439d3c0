"""stability: would other rows, or another seed, choose the same features?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import _get_threadpool_controller, delayed
from sklearn.utils.validation import validate_data

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.stability import exclusive_pairs, nogueira_index, share_intervals
from safdr._estimators.base import AnnealingSelectorBase
from safdr._estimators.feature_names import names_of
from safdr._estimators.folds import as_they_come, at_largest
from safdr._estimators.parameters import SELECTOR_CONSTRAINTS, WholeNumber, check_values, seed_from
from safdr._estimators.plan import SearchPlan
from safdr._estimators.screening import make_search
from safdr._estimators.selector_cv import AnnealingRegressorSelectorCV, AnnealingSelectorCV
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._estimators.validation import SeenColumns
from safdr._estimators.workers import Cancellation
from safdr.errors import ParameterError
from safdr.result import Stability, StandIns

# Two halvings are the fewest that can scatter. More than the most is a slip of the pen.
LEAST_RESAMPLES, MOST_RESAMPLES = 4, 1_000_000

# Of fewer row groups there are not two ways to make halves of the same number.
LEAST_ROW_GROUPS = 4

CHOOSES_SIZE = (AnnealingSelectorCV, AnnealingRegressorSelectorCV)

IN_PIPELINE = " Of a pipeline, pass the selector, and the rows as they reach it."

ALLOWED: dict[str, Any] = {
    "n_resamples": [WholeNumber(LEAST_RESAMPLES, MOST_RESAMPLES)],
    "resample": [StrOptions({"halves", "seeds"})],
    "choose_size": ["boolean"],
    "n_jobs": SELECTOR_CONSTRAINTS["n_jobs"],
    "random_state": SELECTOR_CONSTRAINTS["random_state"],
}


def stability(
    selector: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_resamples: int = 50,
    resample: str = "halves",
    choose_size: bool = False,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Stability:
    """Choose features again on half of the rows, many times, and tell what stays the same.

    The rows are halved at random, stratified by class, and both halves are searched as the selector
    would (complementary pairs, after Shah and Samworth); each with a seed of its own, and without a
    proof.

    Parameters
    ----------
    selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
        Fitted to these rows or not; it is not changed. Where it is not, a copy is fitted first.

    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or measured outputs. Each class needs at least 4 rows to be halved.

    n_resamples : int, default=50
        How many times features are chosen; an even number of halves.

    resample : {"halves", "seeds"}, default="halves"
        What differs: the rows (and the seed), or the seed alone. The latter tells how much of the
        choice is the luck of the search.

    choose_size : bool, default=False
        Whether each half chooses its number of features too, by the cross-validation of
        `AnnealingSelectorCV`. Else all choose as many as the selector does on all rows.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together in a half; where sizes are chosen, the splitter of the
        selector gets them too.

    n_jobs : int, default=None
        Number of resamples that are searched at the same time, through joblib. The answer does not
        depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Returns
    -------
    Stability

    See Also
    --------
    near_ties : Subsets that are as good on the same rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, stability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = stability(AnnealingSelector(3), X, y, n_resamples=30, random_state=0)
    >>> round(found.index, 2)
    0.72
    >>> dict(zip(found.names, found.counts.tolist()))["worst texture"]
    23
    >>> print(found.stand_ins[0])
    worst texture (23 times) or mean texture (6), both 0 times, neither 1
    """
    values = {
        "n_resamples": n_resamples,
        "resample": resample,
        "choose_size": choose_size,
        "n_jobs": n_jobs,
        "random_state": random_state,
    }
    check_values("stability", values, ALLOWED)
    _check_selector(selector, choose_size)
    if resample == "halves" and n_resamples % 2:
        raise ParameterError(
            "n_resamples",
            "must be even, since halves of the rows come in pairs; got {n}. Ask for {more}.",
            n=n_resamples,
            more=int(n_resamples) + 1,
        )
    row_groups = _checked_groups(groups, y)
    with warnings.catch_warnings():
        # Of models that nobody will use.
        warnings.simplefilter("ignore", ConvergenceWarning)
        rng = np.random.default_rng(seed_from(random_state))
        fitted = _fitted(selector, X, y, sample_weight, row_groups, _seeds(rng, 1)[0])
        data = fitted._task.validate(SeenColumns(), X, y, sample_weight)
        rows = _rows(data, row_groups, resample, int(n_resamples), rng)
        seeds = _seeds(rng, int(n_resamples))
        how = _ChosenSize(fitted, X, row_groups) if choose_size else _GivenSize.of(fitted)
        found = _search_all(how, data, rows, seeds, n_jobs)
    return _summary(fitted, resample, found)


# ---- What is asked for --------------------------------------------------------------------------


def _check_selector(selector: Any, choose_size: bool) -> None:
    if not isinstance(selector, AnnealingSelectorBase):
        is_class = isinstance(selector, type)
        raise ParameterError(
            "selector",
            "must be an AnnealingSelector, an AnnealingSelectorCV or one of those for regression; "
            "got {kind}.{hint}",
            kind=f"the class {selector.__name__}" if is_class else type(selector).__name__,
            hint=IN_PIPELINE if hasattr(selector, "steps") else "",
        )
    if choose_size and not isinstance(selector, CHOOSES_SIZE):
        raise ParameterError(
            "choose_size",
            "=True needs a selector that chooses sizes, such as AnnealingSelectorCV; got {kind}.",
            kind=type(selector).__name__,
        )


def _checked_groups(groups: Any, y: Any) -> NDArray[Any] | None:
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.ndim != 1 or len(given) != len(np.asarray(y)):
        raise ParameterError(
            "groups",
            "must hold one label for each of the {n} rows; got shape {shape}.",
            n=len(np.asarray(y)),
            shape=given.shape,
        )
    return given


def _fitted(selector: Any, X: Any, y: Any, sample_weight: Any, groups: Any, seed: int) -> Any:
    """The selector itself, or a copy fitted to all rows."""
    if hasattr(selector, "subset_"):
        validate_data(selector, X, reset=False, skip_check_array=True)  # are these its columns?
        return selector
    again = clone(selector)
    if again.random_state is None:
        again.set_params(random_state=seed)
    return again.fit(X, y, sample_weight=sample_weight, **_for_splitter(selector, groups))


def _seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Seeds for selectors."""
    seeds: list[int] = rng.integers(np.iinfo(np.int32).max, size=n).tolist()
    return seeds


def _for_splitter(selector: Any, groups: Any) -> dict[str, Any]:
    """Row groups, for those who split rows."""
    return {"groups": groups} if groups is not None and isinstance(selector, CHOOSES_SIZE) else {}


# ---- Resamples ----------------------------------------------------------------------------------


def _rows(
    data: TrainingData, groups: Any, resample: str, n: int, rng: np.random.Generator
) -> list[NDArray[np.bool_]]:
    """Masks of the rows of each resample; halves of one halving follow one another."""
    if resample == "seeds":
        return [np.ones(len(data.y), dtype=bool)] * n
    rows = []
    strata, unit_of_row = _units(data, groups)
    for _ in range(n // 2):
        in_first = _half(strata, rng)[unit_of_row]
        rows += [in_first, ~in_first]
    return rows


def _half(strata: IntArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random half of the units, of each stratum to within one."""
    shuffled = rng.permutation(len(strata))
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    in_half = np.zeros(len(strata), dtype=bool)
    in_half[by_stratum[::2]] = True
    return in_half


def _units(data: TrainingData, groups: Any) -> tuple[IntArray, IntArray]:
    """Stratum of each unit that is not divided, a row or a row group, and the unit of each row."""
    codes = data.codes if isinstance(data, ClassData) else np.zeros(len(data.y), dtype=np.int64)
    if data.sample_weight is not None:
        # Rows without a weight count as absent: they must not upset the balance of the others.
        codes = np.where(data.sample_weight > 0, codes, codes.max() + 1)
    if groups is None:
        return codes, np.arange(len(codes))
    known, unit_of_row = np.unique(groups, return_inverse=True)
    if len(known) < LEAST_ROW_GROUPS:
        raise ParameterError(
            "groups",
            "must hold at least {least} different labels, or there are not two ways to halve "
            "them; got {n}.",
            least=LEAST_ROW_GROUPS,
            n=len(known),
        )
    table = np.zeros((len(known), codes.max() + 1), dtype=np.int64)
    np.add.at(table, (unit_of_row, codes), 1)
    return table.argmax(axis=1), unit_of_row


# ---- Searches -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _GivenSize:
    """Searches rows as a selector does at one size."""

    plan: SearchPlan
    allowed: AllowedSubsets
    cost: FloatArray | None
    size: int

    @classmethod
    def of(cls, fitted: Any) -> _GivenSize:
        plan = SearchPlan.of(fitted)
        return cls(plan, plan.allowed(fitted), plan.cost(fitted), int(fitted.n_features_))

    def search(self, data: TrainingData, rows: IntArray, seed: int) -> tuple[IntArray, int]:
        """Columns chosen, and how many features they count."""
        some = data.take(rows) if len(rows) < len(data.y) else data
        usable, _ = self.plan.usable(some)
        search = make_search(self.plan, usable, self.allowed, self.cost, seed_from(seed))
        # Half of the rows may have no subset whose coefficients have the signs asked for.
        sizes = self.allowed.sizes(self.size)
        return at_largest(sizes, lambda size: (search.run(size).subset, size))


@dataclass(frozen=True, eq=False)
class _ChosenSize:
    """Fits a selector that chooses the size."""

    selector: Any
    X: Any
    groups: NDArray[Any] | None

    def search(self, data: TrainingData, rows: IntArray, seed: int) -> tuple[IntArray, int]:
        """Columns chosen, and how many features they count."""
        groups = None if self.groups is None else self.groups[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        # As they were given: names may matter.
        X = _safe_indexing(self.X, rows)
        again = clone(self.selector).set_params(n_jobs=1, random_state=seed, prove=None)
        again.fit(X, data.y[rows], sample_weight=weight, **_for_splitter(again, groups))
        return again.subset_, int(again.n_features_)


def _search_all(
    how: _GivenSize | _ChosenSize,
    data: TrainingData,
    rows: list[NDArray[np.bool_]],
    seeds: list[int],
    n_jobs: Any,
) -> list[tuple[IntArray, int]]:
    """What each resample chooses, several at a time."""
    plan = how.plan if isinstance(how, _GivenSize) else SearchPlan.of(how.selector)
    # Resamples are what is done side by side: threads of BLAS would only get in their way.
    one_thread = _get_threadpool_controller().limit(limits=1, user_api="blas")
    with one_thread, Cancellation() as cancellation:
        tasks = (
            delayed(_search)(how, data, np.flatnonzero(some), seed, number, cancellation)
            for number, (some, seed) in enumerate(zip(rows, seeds, strict=True))
        )
        return list(as_they_come(tasks, n_jobs, threads=plan.only_ours))


def _search(
    how: _GivenSize | _ChosenSize,
    data: TrainingData,
    rows: IntArray,
    seed: int,
    number: int,
    cancellation: Cancellation,
) -> tuple[IntArray, int]:
    with cancellation.task():
        try:
            return how.search(data, rows, seed)
        except ValueError as error:
            if len(rows) == len(data.y):
                raise
            raise ValueError(
                f"Half-sample {number}, of {len(rows)} rows, can't be searched: {error} Leave out "
                "classes of fewer than 4 rows, which can't be halved, and see that groups don't "
                "keep a class together; or ask for resample='seeds', which uses all rows."
            ) from None


def _summary(fitted: Any, resample: str, found: list[tuple[IntArray, int]]) -> Stability:
    """Frequencies, index and stand-ins of the features, whole groups of columns each as one."""
    plan, features = SearchPlan.of(fitted), fitted.feature_groups_
    names = tuple(features.names(names_of(fitted)))
    subsets = tuple(subset for subset, _ in found)
    chosen = np.zeros((len(subsets), len(names)), dtype=bool)
    for row, subset in zip(chosen, subsets, strict=True):
        row[features.feature_of[subset]] = True
    # What constraints settle is no merit of the selector.
    free = chosen[:, plan.allowed(fitted).free]
    index, interval = nogueira_index(free, together=2 if resample == "halves" else 1)
    counts = chosen.sum(axis=0)
    on_all_rows = np.zeros(len(names), dtype=bool)
    on_all_rows[features.feature_of[fitted.subset_]] = True
    return Stability(
        resample=resample,
        names=names,
        counts=counts,
        frequency_intervals=share_intervals(counts, len(subsets)),
        index=index,
        index_interval=interval,
        sizes=np.array([size for _, size in found]),
        subsets=subsets,
        stand_ins=tuple(_stand_ins(chosen, names, *pair) for pair in exclusive_pairs(chosen)),
        chosen=on_all_rows,
    )


def _stand_ins(
    chosen: NDArray[np.bool_], names: tuple[str, ...], first: int, second: int
) -> StandIns:
    """The counts of a pair."""
    a, b = chosen[:, first], chosen[:, second]
    return StandIns(
        first=names[first],
        second=names[second],
        n_first=int((a & ~b).sum()),
        n_second=int((b & ~a).sum()),
        n_both=int((a & b).sum()),
        n_neither=int((~a & ~b).sum()),
    )
