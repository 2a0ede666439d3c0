"""Signs of coefficients, proofs and near-optimal subsets against all subsets, one at a time."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz.cases import Case, make_case
from fuzz.estimators import tolerance, values
from fuzz.selectors import fit, make_selector, near_optimal_of, prove_case
from safdr.errors import NoSubsetError

# A coefficient of less than this share of the largest, in standard deviations, may have either sign
# after rounding.
CLEAR = 1e-6


def check(rng: np.random.Generator) -> None:
    """One random problem, with signs or with a proof."""
    case = make_case(rng)
    if case.contradicts_itself() or not case.allowed():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if rng.random() < 0.5:
            check_signs(case, rng)
        else:
            check_proof(case, rng)


# ---- Signs ---------------------------------------------------------------------------------------


def check_signs(case: Case, rng: np.random.Generator) -> None:
    """The selected subset has the signs, and there is one if any subset has them."""
    if case.n_classes > 2 or case.y.ndim > 1:
        return
    signs = rng.integers(-1, 2, case.n_features)
    free = replace(case, C=float(rng.choice([0.1, 1.0, 10.0])))
    case = replace(free, rules=case.rules | {"signs": signs})
    clean = values(case, case.allowed())[1]
    every = [np.array(s) for s, ok in zip(case.allowed(), clean, strict=True) if ok]
    right = [subset for subset in every if has_signs(free, subset, signs, margin=CLEAR)]
    try:
        fitted = fit(make_selector(case), case)
    except NoSubsetError:
        assert not right, f"{right[0]} has the signs {signs}, and none was found"
        return
    assert np.all(fitted.estimator_.coef_ * signs[fitted.subset_] >= 0), "a wrong sign"
    assert tuple(fitted.subset_.tolist()) in set(case.allowed())
    again = has_signs(free, fitted.subset_, signs, margin=-CLEAR)
    assert again, f"the model of {fitted.subset_} alone has other signs"


def has_signs(case: Case, subset: np.ndarray, signs: np.ndarray, margin: float) -> bool:
    """Return True if the model of these columns has the signs, clearly or nearly."""
    alone = replace(
        case, X=case.X[:, subset], size=len(subset), rules={}, cost=None, container="array"
    )
    try:
        slopes = np.ravel(fit(make_selector(alone), alone).estimator_.coef_)
    except ValueError:  # none of these columns varies
        slopes = np.zeros(len(subset))
    effects = slopes * case.training_rows()[0][:, subset].std(axis=0)
    wanted = (effects * signs[subset])[signs[subset] != 0]
    return bool(np.all(wanted >= margin * max(np.abs(effects).max(), 1e-300)))


# ---- Proofs --------------------------------------------------------------------------------------


def check_proof(case: Case, rng: np.random.Generator) -> None:
    """The bound holds, a complete proof is right, and the list of near-optimal subsets is whole."""
    case = replace(case, rules={k: v for k, v in case.rules.items() if k != "groups"})
    case = replace(case, size=min(case.size, case.n_features), weight=None, class_weight=None)
    if case.contradicts_itself() or not case.allowed():
        return
    every, clean = values(case, case.allowed())
    if not clean.all() or has_redundant_columns(case.X):
        return  # collinear subsets and redundant features are left out
    best, close = every.max(), 10 * tolerance(case) * (1.0 + np.abs(every).max())
    proof = prove_case(case)
    what = f"{proof!r}; the best value is {best!r}"
    assert case.is_allowed(proof.subset), what
    assert best - close <= proof.upper_bound, what
    assert proof.value <= best + close, what
    if proof.optimal:
        assert proof.value >= best - close, what
    rtol, max_subsets = float(rng.choice([0.0, 0.01, 0.3])), int(rng.choice([1, 7, 10_000]))
    subsets, found, n_total = near_optimal_of(case, rtol, max_subsets)
    least, most = (int(np.sum(every >= best - rtol * abs(best) + e)) for e in (close, -close))
    assert least <= n_total <= most, f"{n_total} near-optimal subsets, should be {least} to {most}"
    listed = [tuple(subset) for subset in np.asarray(subsets).tolist()]
    assert len(set(listed)) == len(listed) == min(max_subsets, n_total)
    right = dict(zip(case.allowed(), every, strict=True))
    np.testing.assert_allclose(found, [right[s] for s in listed], rtol=0, atol=close)


def has_redundant_columns(X: np.ndarray) -> bool:
    """Return True if columns are constant or near-duplicates."""
    if not np.ptp(X, axis=0).all():
        return True
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    related = np.abs(Z.T @ Z) / len(Z) - np.eye(Z.shape[1])
    return bool(related.max() > 1 - 1e-4)
