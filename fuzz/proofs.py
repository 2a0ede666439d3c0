"""Proofs and near-ties against all subsets one by one, on small and nasty tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from safdr import Constraints, Moments, ParameterError, near_ties, prove
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.screen import duplicates_in
from tests.reference import all_values, near_best

# What summing up in another order may change a value by: where members are as collinear as allowed,
# and where there is next to no ridge (then nobody knows better).
SAME, SAME_WITHOUT_RIDGE = 1e-9, 1e-3
MOST_FEATURES = 11


def check(rng: np.random.Generator) -> None:
    """Prove one size of a random problem, and list what comes near."""
    moments, ridge = random_problem(rng)
    constraints, limits = random_constraints(rng, moments.n_features)
    limits["cost"] = random_costs(rng, moments.n_features)
    size = int(rng.integers(1, moments.n_features + 1))
    allowed = AllowedSubsets.make(
        moments.n_features,
        always_include=limits["include"],
        never_include=limits["exclude"],
        at_most_one_of=limits["rivals"],
    )
    criterion = moments._criterion(ridge, allowed.rank(limits["cost"]))
    how = {"constraints": None if constraints is None else allowed, "cost": limits["cost"]}
    duplicates = np.flatnonzero(duplicates_in(moments._total_covariance(), **how).redundant)
    criterion = replace(criterion, redundant=np.union1d(criterion.redundant, duplicates))
    values = _values(criterion, size, limits)
    given = {"constraints": constraints, "feature_cost": limits["cost"], "ridge": ridge}
    if not values:
        _check_refused(moments, size, given)
        return
    scale = abs(max(values.values())) + np.abs(limits["cost"]).sum()
    check_proof(prove(moments, size, **given), values, criterion, scale)
    check_ties(rng, moments, size, given, values, scale)


def _values(criterion, size, limits) -> dict[tuple[int, ...], float]:
    """Of all subsets; those with features that nobody needs only where there are no others."""
    redundant = {*limits["exclude"], *criterion.redundant.tolist()} - {*limits["include"]}
    given = criterion.A, criterion.D, size
    tol = criterion.collinear_tol
    return all_values(*given, tol=tol, **limits | {"exclude": redundant}) or all_values(
        *given, tol=tol, **limits
    )


def _check_refused(moments, size, given) -> None:
    with pytest.raises(ParameterError) as caught:
        prove(moments, size, **given)
    assert caught.value.parameter == "size"


def check_proof(proof, values, criterion, scale) -> None:
    """Raise where a claim is wrong, or missing where the ridge leaves room for one."""
    best = max(values.values())
    what = f"{proof} {proof.subset.tolist()}; the best is {best!r}"
    share = SAME if criterion.ridge >= 1e-6 else SAME_WITHOUT_RIDGE
    same = share * scale
    assert tuple(proof.subset.tolist()) in values, what
    assert best - same <= proof.upper_bound, what
    assert proof.value <= best + same, what
    assert proof.optimal or criterion.ridge < 1e-6, what
    if proof.optimal:
        assert proof.value >= best - min(share, 1e-6) * scale, what
        for top in (set(s) for s, v in values.items() if v == best):
            assert set(proof.must_include.tolist()) <= top, what
            assert not set(proof.never_useful.tolist()) & top, what


def check_ties(rng, moments, size, given, values, scale) -> None:
    """Raise where the list or a count is not that of all subsets."""
    within = float(rng.choice([0.0, 0.01, 0.05, 0.3]))
    at_most = int(rng.choice([1, 7, 100_000]))
    ties = near_ties(moments, size, within=within, at_most=at_most, **given)
    if not ties.exact:
        assert given["ridge"] < 1e-6
        return
    same = scale * (SAME if given["ridge"] >= 1e-6 else SAME_WITHOUT_RIDGE)
    check_best(near_ties(moments, size, within=None, at_most=7, **given), values, same)
    # Those at the very edge may be in or out.
    surely, maybe = (near_best(values, within, margin) for margin in (-same, same))
    what = f"{within=} {ties.n_total=}, should be {len(surely)} to {len(maybe)}"
    assert len(surely) <= ties.n_total <= len(maybe), what
    listed = [tuple(subset) for subset in ties.subsets.tolist()]
    assert len(set(listed)) == len(listed) == min(at_most, ties.n_total), what
    assert set(listed) <= set(maybe), what
    assert np.allclose(ties.values, [values[s] for s in listed], rtol=0, atol=same)
    assert (np.diff(ties.values) <= 0).all()
    if len(surely) == len(maybe):
        counts = np.bincount(np.array(list(maybe)).ravel(), minlength=moments.n_features)
        assert (counts == ties.feature_counts).all(), what


def check_best(ties, values, same) -> None:
    """Raise where the list is not the best of all subsets."""
    best = sorted(values.values(), reverse=True)[:7]
    listed = [tuple(subset) for subset in ties.subsets.tolist()]
    assert len(set(listed)) == len(listed) == ties.n_total == len(best)
    assert np.allclose([values[s] for s in listed], best, rtol=0, atol=same)


def random_problem(rng: np.random.Generator) -> tuple[Moments, float]:
    """Moments of rows of two to five classes, or of one to four outputs; and a ridge."""
    n_features = int(rng.integers(1, MOST_FEATURES + 1))
    n_rows = int(rng.choice([12, 60, 300]))
    codes = np.arange(n_rows) % int(rng.integers(2, 6))
    X = KINDS[rng.choice(list(KINDS))](rng, n_rows, n_features)
    signal = rng.normal(size=(codes.max() + 1, n_features)) * rng.choice([0.0, 0.3, 2.0])
    X = X + signal[codes] * X.std(axis=0)
    ridge = float(rng.choice([1e-6, 1e-6, 1e-3, 1e-12]))
    if rng.random() < 0.5:
        return Moments.from_rows(X, codes, task="classification"), ridge
    outputs = X @ rng.normal(size=(n_features, int(rng.integers(1, 5)))) / max(X.std(), 1.0)
    return Moments.from_rows(X, outputs + rng.normal(size=outputs.shape)), ridge


def random_constraints(rng, n_features) -> tuple[Constraints | None, dict]:
    """Constraints and the same as the oracle takes them."""
    limits: dict = {"include": [], "exclude": [], "rivals": []}
    if rng.random() < 0.6 or n_features < 4:
        return None, limits
    order = rng.permutation(n_features).tolist()
    limits["include"] = order[: int(rng.integers(0, 2))]
    limits["exclude"] = order[1 : 1 + int(rng.integers(0, 2))]
    limits["rivals"] = [order[2:4]] if rng.random() < 0.5 else []
    constraints = Constraints(
        always_include=limits["include"],
        never_include=limits["exclude"],
        at_most_one_of=limits["rivals"],
    )
    return constraints, limits


def random_costs(rng, n_features) -> np.ndarray:
    """Mostly none; else small or large ones, bonuses too, or the same for all."""
    if rng.random() < 0.6:
        return np.zeros(n_features)
    kinds = rng.exponential(size=n_features), rng.normal(size=n_features), np.ones(n_features)
    return kinds[rng.integers(3)] * rng.choice([1e-3, 0.1, 1.0, 1e4])


# ---- Columns ------------------------------------------------------------------------------------


def _plain(rng, n_rows, n_features):
    """Nothing in common."""
    return rng.normal(size=(n_rows, n_features))


def _mixed(rng, n_rows, n_features):
    """Correlated all over."""
    mixing = rng.normal(size=(n_features, n_features))
    return rng.normal(size=(n_rows, n_features)) @ mixing + 0.1 * rng.normal(
        size=(n_rows, n_features)
    )


def _near_copies(rng, n_rows, n_features):
    """A few columns, and others that differ from them by ever less."""
    few = rng.normal(size=(n_rows, max(1, n_features // 3)))
    copies = few[:, rng.integers(few.shape[1], size=n_features)]
    noise = 10.0 ** rng.uniform(-7, 0, size=n_features)
    return copies + noise * rng.normal(size=(n_rows, n_features))


def _exact_copies(rng, n_rows, n_features):
    """A few columns, each several times, with other signs and scales."""
    few = rng.normal(size=(n_rows, max(1, n_features // 2)))
    return few[:, rng.integers(few.shape[1], size=n_features)] * rng.choice(
        [-1.0, 1.0, 1e5], size=n_features
    )


def _graded(rng, n_rows, n_features):
    """Scales over many orders, and sums of all that are nearly nothing."""
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.uniform(-8, 8, size=n_features)
    X[:, -1] = X.sum(axis=1) * (1 + 1e-9 * rng.normal(size=n_rows))
    return X


def _indicators(rng, n_rows, n_features):
    """All columns of two categories, each of which sums up to one."""
    first, second = rng.integers(0, (n_features + 1) // 2, size=(2, n_rows))
    columns = np.arange(n_features)
    level = np.where(columns[:, None] % 2, first, second)
    return (level == columns[:, None] // 2).T.astype(float)


KINDS = {
    "plain": _plain,
    "mixed": _mixed,
    "near copies": _near_copies,
    "exact copies": _exact_copies,
    "graded": _graded,
    "indicators": _indicators,
}
