"""`annealing=PopulationAnnealing(…)` in every place that takes `Annealing`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV

from fitting import QUIET, assert_same_result
from safdr import (
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    PopulationAnnealing,
    SelectionReport,
    TraceDisplay,
    anneal_path,
)

SMALL = PopulationAnnealing(population=24, max_steps=12)


def select(X, y, size=4, *, annealing=SMALL, **parameters):
    parameters = {"random_state": 0} | parameters
    return AnnealingSelector(size, annealing=annealing, **parameters).fit(X, y)


def of_each_column(columns, _):
    """A criterion that is the sum of what each column has; it ignores rows."""
    return float(np.abs(columns.mean(axis=0)).sum())


CASES = {
    "swaps": {},
    "no batches": {"annealing": PopulationAnnealing(population=24, max_steps=12, **QUIET)},
    "batches by proposal": {"annealing": PopulationAnnealing(population=24, max_steps=6)},
    "complement": {"size": 9},
    "always and never": {"constraints": Constraints(always_include=[7], never_include=[0])},
    "at most one": {"constraints": Constraints(at_most_one_of=[[0, 1, 2], [3, 4]])},
    "groups": {"constraints": Constraints(groups=[[0, 1], [4, 5]])},
    "costs": {"feature_cost": {0: 0.5, 3: 0.2}},
    "a function": {"size": 3, "criterion": of_each_column},
    "one criterion": {"criterion": "fisher"},
    "screened": {"annealing": PopulationAnnealing(population=24, max_steps=6, screen=6)},
    "all features": {"size": 12},
    "two replicas": {"annealing": PopulationAnnealing(population=2, max_steps=5)},
}


def n_columns(constraints, subset):
    """What a subset counts: a group counts once, unless by columns."""
    if constraints is None or constraints.groups is None:
        return len(subset)
    return len(subset) - sum(set(group) <= set(subset.tolist()) for group in constraints.groups)


@pytest.mark.parametrize("case", CASES)
def test_all_kinds_of_searches_keep_sizes_and_constraints(two_classes, case):
    parameters = CASES[case]
    first = select(*two_classes, **parameters)
    constraints = parameters.get("constraints")
    for subset in first.result_.subsets:
        subset = subset[subset >= 0]
        assert n_columns(constraints, subset) == parameters.get("size", 4)
        if case == "always and never":
            assert 7 in subset
            assert 0 not in subset
        if case == "at most one":
            assert len({0, 1, 2} & set(subset.tolist())) <= 1
        if case.startswith("groups"):
            assert all(len(set(g) & set(subset.tolist())) in (0, 2) for g in ([0, 1], [4, 5]))
    # Processes take seconds to start, and have a test of their own.
    n_jobs = 1 if case == "a function" else 3
    again = select(*two_classes, n_jobs=n_jobs, **parameters)
    np.testing.assert_array_equal(first.result_.subsets, again.result_.subsets)
    np.testing.assert_array_equal(first.result_.trace.mean, again.result_.trace.mean)
    trace = first.result_.trace
    assert len(trace.n_families) == len(trace.family_size) == len(trace.beta)
    # The trace is of the replicas on the criterion: half of them, unless it is the only one.
    n_replicas = len(first.result_.start_subsets)
    assert (trace.family_size * trace.n_families >= n_replicas * (1 - 1e-9)).all()


def test_another_seed_finds_its_own_way(two_classes):
    one, other = (select(*two_classes, random_state=seed).result_ for seed in (0, 1))
    assert not np.array_equal(one.trace.mean, other.trace.mean)


def test_many_columns_are_screened():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2100))
    X[:, [5, 900]] += 2.0 * y[:, None]
    result = select(X, y, 2).result_
    assert result.n_screened < 50
    assert result.subset.tolist() == [5, 900]
    assert result.trace.n_families is not None


def test_measured_outputs_and_paths():
    X, y = load_diabetes(return_X_y=True)
    selector = AnnealingRegressorSelector(4, annealing=SMALL, random_state=0).fit(X, y)
    path = anneal_path(X, y, [4], task="regression", annealing=SMALL, random_state=0)
    np.testing.assert_array_equal(selector.result_.subsets, path[0].subsets)


# ---- A parameter of scikit-learn's kind ---------------------------------------------------------


def test_it_is_a_parameter_object(two_classes):
    selector = AnnealingSelector(3, annealing=SMALL, random_state=0)
    assert selector.get_params()["annealing__population"] == 24
    assert repr(clone(SMALL)) == "PopulationAnnealing(max_steps=12, population=24)"
    copy = clone(selector).set_params(annealing__overlap=0.7)
    assert (copy.annealing.overlap, selector.annealing.overlap) == (0.7, 0.9)
    assert_same_result(clone(selector).fit(*two_classes).result_, select(*two_classes, 3).result_)
    grid = GridSearchCV(selector, {"annealing__population": [8, 16]}, cv=2).fit(*two_classes)
    assert grid.best_estimator_.result_.n_replicas in (8, 16)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("population", 1),
        ("population", 10**9),
        ("population", True),
        ("overlap", 0.0),
        ("overlap", 1.0),
        ("overlap", "90 %"),
        ("sweeps", 0),
        ("max_steps", 0.5),
    ],
)
def test_values_out_of_range_are_named(two_classes, parameter, value):
    annealing = PopulationAnnealing(**{parameter: value})
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of PopulationAnnealing") as e:
        select(*two_classes, annealing=annealing)
    assert repr(value) in str(e.value)


def test_who_forgets_the_object_is_told_what_to_write():
    with pytest.raises(TypeError, match=r"annealing=PopulationAnnealing\(population=100\)"):
        AnnealingSelector(3, population=100)
    with pytest.raises(ValueError, match=r"instance of .*PopulationAnnealing"):
        AnnealingSelector(3, annealing="population").fit(np.eye(4), [0, 1, 0, 1])


# ---- What readers make of it --------------------------------------------------------------------


@pytest.fixture(scope="module")
def search(two_classes):
    return AnnealingSelectorCV(max_features=3, cv=2, annealing=SMALL, random_state=0).fit(
        *two_classes
    )


def test_the_picture_shows_families(search):
    display = TraceDisplay.from_estimator(search).plot(acceptance=True)
    trace = search.result_.trace
    families = display.acceptance_ax_.get_lines()[1]
    n_replicas = len(search.result_.start_subsets)
    np.testing.assert_array_equal(families.get_ydata(), trace.n_families / n_replicas)
    np.testing.assert_array_equal(display.to_frame()["family_size"], trace.family_size)


def test_the_report_tells_families(search, two_classes):
    report = SelectionReport.from_estimator(search, *two_classes)
    trace, left = report.to_dict()["trace"], int(search.result_.trace.n_families[-1])
    assert trace["n_families"] == search.result_.trace.n_families.tolist()
    assert report.to_dict()["settings"]["population"] == 24
    page = report.to_html()
    assert "families left" in page
    # Half of them are on the log-loss.
    assert f"{left} of the 12 random sets had descendants" in " ".join(page.split())
