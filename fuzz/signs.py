"""Signs of coefficients against models of all subsets, one at a time: the winner has them."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz.estimators import fit, selector, values
from fuzz.estimators_cases import Case, make
from safdr import Constraints
from safdr.errors import NoSubsetError

# A coefficient of less than this share of the largest, in standard deviations, may have either sign
# for all that rounding leaves.
CLEAR = 1e-6


def check(rng: np.random.Generator) -> None:
    """One random problem with signs."""
    case = make(rng)
    if case.classes > 2 or case.y.ndim > 1 or case.contradicts_itself() or not case.allowed():
        return
    signs = rng.integers(-1, 2, case.n_features)
    case.parameters["C"] = float(rng.choice([0.1, 1.0, 10.0]))
    limits = case.limits["constraints"].get_params() | {"signs": signs}
    asked = {"constraints": Constraints(**limits)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # What is collinear is out of the question.
        clean = values(case, case.allowed())[1]
        every = [np.array(s) for s, ok in zip(case.allowed(), clean, strict=True) if ok]
        right = [s for s in every if has_signs(case, s, signs, margin=CLEAR)]
        try:
            fitted = fit(selector(case, **asked), case)
        except NoSubsetError:
            assert not right, f"{right[0]} has the signs {signs}, and none was found"
            return
        assert np.all(fitted.estimator_.coef_ * signs[fitted.subset_] >= 0), "a wrong sign has won"
        assert tuple(fitted.subset_.tolist()) in set(case.allowed())
        again = has_signs(case, fitted.subset_, signs, margin=-CLEAR)
        assert again, f"alone, the model of {fitted.subset_} has other signs"


def has_signs(case: Case, subset: np.ndarray, signs: np.ndarray, margin: float) -> bool:
    """Whether the model of these columns alone has the signs, clearly or nearly."""
    own = fit_alone(case, subset)
    scale = case.X[case.row_weights() > 0][:, subset].std(axis=0)
    effects = own * scale * signs[subset]
    effects = effects[signs[subset] != 0]
    return bool(np.all(effects >= margin * max(np.abs(own * scale).max(), 1e-300)))


def fit_alone(case: Case, subset: np.ndarray) -> np.ndarray:
    """Coefficients of a selector that has nothing to choose from."""
    alone = Case(
        X=case.X[:, subset],
        y=case.y,
        classes=case.classes,
        weight=case.weight,
        size=len(subset),
        container="array",
        rules={},
        parameters=case.parameters,
        class_weight=case.class_weight,
    )
    try:
        return np.ravel(fit(selector(alone), alone).estimator_.coef_)
    except ValueError:  # none of these columns varies
        return np.full(len(subset), -1e300)
