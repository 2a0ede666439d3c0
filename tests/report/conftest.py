"""Different results that the tests of the report share; each is fitted once."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from helpers.browser import browser, open_page
from helpers.html import HOSTILE
from safdr import (
    Annealing,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    AnnealingSurvivalSelectorCV,
    Constraints,
    Report,
    Stream,
    TableEncoder,
)

__all__ = ["browser", "open_page"]

QUICK = {"annealing": Annealing(n_replicas=12, max_steps=15), "random_state": 0}
ASKED = {"prove": 5, "near_optimal": 0.02, "stability": 4, "substitutes": True}
NAMES = ["two", "classes", "regression", "groups", "categories", "weights", "constraints", "wide"]
NAMES += ["streamed", "chance", "counts", "survival"]


@dataclass
class Case:
    """A report with what it was made of."""

    report: Report
    selector: Any
    train: tuple
    test: tuple | None = None
    weight_test: Any = None


def rows(n=420, k=8, seed=1):
    """Return a frame whose first four columns matter, and the sum that they make."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, k)), columns=[f"column {j}" for j in range(k)])
    X["column 5"] += X["column 0"]
    return X, X.to_numpy()[:, :4] @ [1.5, -1.0, 0.6, 0.4], rng


def _report(selector, X, y, n=300, fit=None, **options):
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector.fit(*train, **(fit or {}))
        made = Report.from_estimator(
            selector,
            *train,
            X_test=test[0],
            y_test=test[1],
            details={"seconds": 1.5},
            **ASKED,
            **options,
        )
    return Case(made, selector, train, test, options.get("sample_weight_test"))


def two():
    X, z, rng = rows()
    y = pd.Series(np.where(z + rng.logistic(size=len(z)) > 0, "yes", "no"), name="late")
    by = {"number": X["column 6"][300:], "kind": np.arange(120) % 3}
    return _report(AnnealingSelectorCV(sizes=5, **QUICK), X, y, by=by)


def classes():
    X, z, rng = rows()
    y = pd.Series(np.digitize(z + rng.logistic(size=len(z)), [-1, 1]), name="level")
    return _report(AnnealingSelectorCV(sizes=4, **QUICK), X, y)


def regression():
    X, z, rng = rows()
    y = pd.Series(1000 * z + 800 * rng.normal(size=len(z)), name="amount")
    by = {"kind": np.arange(120) % 3}
    return _report(AnnealingRegressorSelectorCV(sizes=5, **QUICK), X, y, by=by)


def groups():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    allowed = Constraints(groups={"pair": [0, 5], "three": [1, 6, 7]})
    return _report(AnnealingSelectorCV(sizes=3, constraints=allowed, **QUICK), X, y)


def categories():
    X, z, rng = rows()
    level = rng.integers(0, 4, len(z))
    X["job"] = np.array(["none", "cook", "it's", "clerk"])[level]
    X.loc[::17, "column 0"] = np.nan
    y = pd.Series(np.where(z + level + rng.logistic(size=len(z)) > 1, 1, 0), name="paid")
    pipeline = make_pipeline(TableEncoder(missing="median"), AnnealingSelectorCV(sizes=4, **QUICK))
    return _report(pipeline, X, y)


def weights():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    weight = rng.integers(0, 4, len(z)).astype(float)
    given = {"sample_weight": weight[:300]}
    return _report(
        AnnealingSelectorCV(sizes=4, **QUICK),
        X,
        y,
        fit=given,
        sample_weight_test=weight[300:],
        **given,
    )


def constraints():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    allowed = Constraints(always_include=["column 7"], at_most_one_of=[["column 0", "column 5"]])
    selector = AnnealingSelector(
        3, constraints=allowed, feature_cost=np.linspace(0, 0.1, 8), **QUICK
    )
    return _report(selector, X, y)


def counts():
    X, z, rng = rows()
    exposure = rng.exponential(size=len(z)) + 0.2
    y = rng.poisson(exposure * np.exp(0.5 * z)) / exposure
    given, kind = {"sample_weight": exposure[:300]}, np.arange(120) % 3
    selector = AnnealingRegressorSelectorCV(sizes=4, family="poisson", **QUICK)
    options = {"sample_weight_test": exposure[300:], "by": {"kind": kind}} | given
    return _report(selector, X, y, fit=given, **options)


def survival():
    X, z, rng = rows()
    time, censored = rng.exponential(np.exp(-0.5 * z)), rng.exponential(3.0, len(z))
    y = np.rec.fromarrays([time <= censored, np.minimum(time, censored)], names="event,time")
    selector = AnnealingSurvivalSelectorCV(sizes=4, **QUICK)
    return _report(selector, X, y, by={"kind": np.arange(120) % 3})


def wide():
    X, z, rng = rows(k=200)
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    return _report(AnnealingSelectorCV(sizes=4, **QUICK), X[:100], y[:100], n=70)


def streamed(folder):
    X, z, rng = rows(n=3000)
    table = X.assign(y=(z + rng.logistic(size=len(z)) > 0).astype(int))
    table[:2500].to_parquet(folder / "rows.parquet")
    selector = AnnealingSelectorCV(sizes=4, **QUICK)
    selector.fit(Stream(folder / "rows.parquet", sample_rows=500), "y")
    train, test = (X[:500], table["y"][:500]), (X[2500:], table["y"][2500:])
    totals = {"n_train": 2500, "sample": 500}
    source = (Stream(folder / "rows.parquet", sample_rows=500), "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Report.from_estimator(
            selector,
            *train,
            X_test=test[0],
            y_test=test[1],
            source=source,
            details={"data": totals, "seconds": 2.0},
            **ASKED,
        )
    return Case(made, selector, train, test)


def chance():
    X, _, rng = rows()
    y = pd.Series(rng.integers(0, 2, len(X)), name="coin")
    return _report(AnnealingSelectorCV(sizes=5, **QUICK), X, y)


MADE = {}


@pytest.fixture(scope="session")
def case(tmp_path_factory):
    """Return a case by its name."""

    def make(name):
        if name not in MADE:
            needs = (tmp_path_factory.mktemp("streamed"),) if name == "streamed" else ()
            MADE[name] = globals()[name](*needs)
        return MADE[name]

    yield make
    MADE.clear()


@pytest.fixture(scope="session", params=NAMES)
def each_case(request, case):
    return case(request.param)


@pytest.fixture(scope="session")
def hostile():
    """A report whose every text is an attack."""
    X, z, rng = rows(k=len(HOSTILE))
    X = X.to_numpy()
    y = pd.Series(np.where(z + rng.logistic(size=len(z)) > 0, HOSTILE[0], HOSTILE[1]))
    selector = AnnealingSelectorCV(sizes=len(HOSTILE), rule="best", **QUICK)
    selector.fit(X[:300], y[:300])

    class Encoder:
        def get_feature_names_out(self):
            return HOSTILE

        def terms(self):
            return [{"feature": name, "column": name} for name in HOSTILE]

        def columns(self):
            used = [{"name": name, "used": True, "example": name} for name in HOSTILE]
            return used + [{"name": name, "used": False, "why": name} for name in HOSTILE]

    return Report.from_estimator(
        selector,
        X[:300],
        y[:300],
        X_test=X[300:],
        y_test=y[300:],
        encoder=Encoder(),
        details={
            "title": HOSTILE[0],
            "target": {"name": HOSTILE[1]},
            "data": {"file": HOSTILE[1]},
            "settings": {HOSTILE[0]: HOSTILE[1]},
            "notes": HOSTILE,
            "warnings": [{"kind": "x", "text": name, "advice": name} for name in HOSTILE],
        },
        by={HOSTILE[0]: np.array(HOSTILE, dtype=object)[np.arange(120) % len(HOSTILE)]},
        **ASKED,
    )
