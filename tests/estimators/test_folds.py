"""Folds are there in their turn: memory follows the number of jobs, not that of splits."""

import threading
import weakref

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit

from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV, Constraints
from safdr._engine.fits.forward import ForwardSelection
from safdr._estimators.folds import Fold
from safdr._estimators.screening import make_search
from safdr.errors import ParameterError

N_SPLITS = 6
QUICK = {"annealing": Annealing(n_replicas=10, max_steps=15), "random_state": 0}


class Alive:
    """How many things were made, and the most that were there at once."""

    def __init__(self):
        self.n_made, self.most = 0, 0
        self._there = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, made):
        with self._lock:
            self._there.add(made)
            self.n_made += 1
            self.most = max(self.most, len(self._there))


@pytest.fixture
def folds(monkeypatch):
    alive, plain = Alive(), Fold.__init__

    def counted(self, *args):
        plain(self, *args)
        alive.add(self)

    monkeypatch.setattr(Fold, "__init__", counted)
    return alive


@pytest.fixture
def searches(monkeypatch):
    alive, plain = Alive(), make_search

    def counted(*args, **how):
        search = plain(*args, **how)
        alive.add(search)
        return search

    for module in ("base", "cross_validated"):
        monkeypatch.setattr(f"safdr._estimators.{module}.make_search", counted)
    return alive


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = rng.normal(size=(200, 8))
    X[:, [2, 5]] += y[:, None]
    return X, y


def selector(**how):
    cv = ShuffleSplit(N_SPLITS, test_size=0.25, random_state=0)
    return AnnealingSelectorCV(max_features=4, cv=cv, **QUICK, **how)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_more_folds_than_jobs_live_at_a_time(data, folds, searches, n_jobs, form):
    X, y = data
    selector(n_jobs=n_jobs).fit(form(X), y)
    assert folds.most <= n_jobs
    assert searches.most <= n_jobs
    assert folds.n_made == 3 * N_SPLITS  # to be checked, searched, and for the calibration slope
    assert searches.n_made == N_SPLITS + 1


def test_jobs_share_the_moments_of_many_features(data, folds, searches, monkeypatch):
    monkeypatch.setattr("safdr._estimators.folds.MANY_FEATURES", 8)
    together = selector(n_jobs=2).fit(*data)
    assert folds.most == searches.most == 1
    assert together.cv_results_["mean_test_score"].shape == (4,)
    # More jobs than one fold has work for.
    selector(n_jobs=8).fit(*data)
    assert searches.most <= 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_substitutes_are_scored_fold_by_fold(data, folds, searches, n_jobs):
    found = AnnealingSelector(2, **QUICK).fit(*data)
    found.substitutes(*data, n_best=1, n_jobs=n_jobs)
    assert folds.most <= n_jobs
    assert searches.most <= n_jobs + 1  # that of all rows is there too


def test_other_processes_get_one_fold_after_the_other(data, folds):
    # What waits to be sent is there too: two tasks a job, which are the sizes of half a fold.
    with parallel_config(backend="loky", n_jobs=2):
        far = selector().fit(*data)
    assert folds.most < N_SPLITS
    near = selector(n_jobs=1).fit(*data)
    for name, values in near.cv_results_.items():
        np.testing.assert_array_equal(far.cv_results_[name], values)


def test_the_last_fold_is_checked_before_the_first_is_searched(data, searches):
    X, y = data
    first, second = np.arange(100), np.flatnonzero(y == 1)
    cv = [(first, first + 100), (second, first)]
    with pytest.raises(ValueError, match=r"training rows of fold 1 .* one class only"):
        selector().set_params(cv=cv).fit(X, y)
    assert searches.n_made == 0


@pytest.mark.parametrize("how", [{"n_jobs": 2}, {"n_jobs": 2, "estimator": LogisticRegression()}])
def test_what_no_fold_allows_is_told_as_one_job_tells_it(data, how):
    X, _ = data
    y = np.arange(len(X)) % 3
    with pytest.raises(ParameterError, match="got 3 classes"):
        selector(constraints=Constraints(signs=[1] * X.shape[1]), **how).fit(X, y)


def test_forward_selection_goes_its_way_once_a_fold(data, monkeypatch):
    steps, plain = [], ForwardSelection._promising

    def counted(self, known):
        steps.append(len(known.path))
        return plain(self, known)

    monkeypatch.setattr(ForwardSelection, "_promising", counted)
    search = selector(n_jobs=1).fit(*data)
    # To the largest size on each fold, and to the chosen one on all rows.
    assert sorted(steps) == sorted([*range(4)] * N_SPLITS + [*range(search.n_features_)])
