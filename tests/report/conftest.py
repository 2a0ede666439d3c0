"""Reports that several test files read; each is fitted once."""

import warnings

import numpy as np
import pytest

from helpers.browser import browser, open_page
from helpers.html import HOSTILE
from report_cases import QUICK, rows
from safdr import (
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    Moments,
    SelectionReport,
    near_ties,
    stability,
)
from safdr.report.warnings import describe_warnings

__all__ = ["browser", "open_page"]


@pytest.fixture(scope="session")
def searched():
    """A search over sizes, with its rows."""
    X, y = rows(8)
    # So many replicas that every pair of features is a candidate.
    search = AnnealingSelectorCV(max_features=5, **QUICK).set_params(annealing__n_replicas=60)
    return search.fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="session")
def fixed():
    """A selector of three features, with its rows."""
    X, y = rows(8)
    return AnnealingSelector(3, **QUICK).fit(X, y), X, y


@pytest.fixture(scope="session")
def report(searched):
    search, X, y = searched
    return SelectionReport.from_estimator(
        search,
        X[:200],
        y[:200],
        X_test=X[200:],
        y_test=y[200:],
        seconds=1.5,
        **_parts(100),
    )


@pytest.fixture(scope="session")
def hostile_report():
    """Every text that comes from outside is an attack."""
    X, y = rows(len(HOSTILE), n_informative=len(HOSTILE))
    labels = np.where(y, HOSTILE[0], HOSTILE[1])
    search = AnnealingSelectorCV(max_features=len(HOSTILE), prove=60, **QUICK).fit(X, labels)
    size = search.n_features_
    return SelectionReport.from_estimator(
        search,
        X,
        labels,
        feature_names=HOSTILE,
        title=HOSTILE[0],
        notes=HOSTILE,
        coding=[
            {"column": n, "kind": "one-hot", "names": HOSTILE, "reference": n} for n in HOSTILE
        ],
        left_out=[{"column": name, "reason": name} for name in HOSTILE],
        near_ties=near_ties(Moments.from_rows(X, labels), size, within=0.5, at_most=50),
        stability=stability(search, X, labels, n_resamples=6, random_state=0),
        substitutes=search.substitutes(X, labels),
    )


@pytest.fixture(scope="session")
def grouped():
    """A search among groups of columns by one criterion, and its report."""
    X, y = rows(8)
    groups = {"c": [2, 3, 4], "pair": [0, 6]}
    search = AnnealingSelectorCV(
        max_features=4,
        constraints=Constraints(groups=groups),
        criterion="fisher",
        rule="best",
        **QUICK,
    ).fit(X, y)
    names = ["a", "b", "c = 1", "c = 2", "c = 3", "d", "e", "f"]
    return search, SelectionReport.from_estimator(search, X, y, feature_names=names)


@pytest.fixture(scope="session")
def grouped_report(grouped):
    return grouped[1]


@pytest.fixture(scope="session")
def separated_report():
    """Two features that separate the classes, in sets of three."""
    X = np.random.default_rng(0).normal(size=(120, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = AnnealingSelector(3, C=np.inf, **QUICK).fit(X, y)
    return SelectionReport.from_estimator(selector, X, y)


@pytest.fixture(scope="session")
def folded_report():
    """A category of many values, and a number that outdoes them all."""
    rng = np.random.default_rng(0)
    level, number = rng.integers(0, 13, 900), 40_000 * rng.normal(size=900)
    z = 8 * number / 40_000 + rng.normal(size=13)[level]
    X = np.column_stack([number, *(level == i for i in range(1, 13)), rng.normal(size=900)])
    names = ["income", *(f"job = {i}" for i in range(1, 13)), "noise"]
    groups = {"job": list(range(1, 13))}
    y = (z + rng.logistic(size=900) > 0).astype(int)
    selector = AnnealingSelector(2, constraints=Constraints(groups=groups), **QUICK).fit(X, y)
    return SelectionReport.from_estimator(selector, X, y, feature_names=names)


@pytest.fixture(scope="session")
def warned_report(report):
    """One with warnings of both kinds."""
    content = report.to_dict()
    content["separated"], content["scores"]["agreement"]["p_value"] = True, 0.0
    content["warnings"] = describe_warnings(content)
    return SelectionReport(content)


@pytest.fixture(scope="session")
def classes_searched():
    """A search for what tells eight classes apart, whose labels are attacks, with its rows."""
    X, _ = rows(8)
    codes = np.clip((2 * X[:, 0] + X[:, 1]).round().astype(int) % 8, 0, 7)
    labels = np.array(HOSTILE[:8], dtype=object)[codes]
    return (
        AnnealingSelectorCV(max_features=4, prove=5, **QUICK).fit(X[:200], labels[:200]),
        X,
        labels,
    )


@pytest.fixture(scope="session")
def classes_report(classes_searched):
    search, X, y = classes_searched
    return _looked_into(search, X, y, feature_names=HOSTILE[:8])


@pytest.fixture(scope="session")
def measured_searched():
    """A search for what predicts a number, with its rows."""
    X, y = rows(8)
    values = 1000 * (X[:, 0] - 2 * X[:, 1] + y)
    return (
        AnnealingRegressorSelectorCV(max_features=4, prove=5, **QUICK).fit(X[:200], values[:200]),
        X,
        values,
    )


@pytest.fixture(scope="session")
def measured_report(measured_searched):
    return _looked_into(*measured_searched)


def _looked_into(search, X, y, **how):
    """With all that can be asked about the answer."""
    train = (X[:200], y[:200])
    return SelectionReport.from_estimator(
        search,
        *train,
        X_test=X[200:],
        y_test=y[200:],
        stability=stability(search, *train, n_resamples=4, random_state=0),
        substitutes=search.substitutes(*train),
        **_parts(100),
        **how,
    )


def _parts(n_test):
    """Segments whose names are attacks."""
    names = np.array(HOSTILE[:3], dtype=object)
    return {
        "by": {HOSTILE[1]: names[np.arange(n_test) % 3], "number": np.arange(n_test) / 7},
    }
