"""The path towards a model of all features, and when held-out rows prefer a search."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.linear_model import lars_path

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    Constraints,
    anneal_path,
)
from safdr._estimators.reference import towards_reference
from safdr.errors import ParameterError

QUICK = Annealing(n_replicas=10, max_steps=20)
AUTO = {"criterion": "auto", "ridge": "auto", "annealing": QUICK, "random_state": 0}


def towards(X, output, usable=None, *, weight=None, with_ranks=True):
    """What the path is walked on."""
    usable = np.arange(X.shape[1]) if usable is None else usable
    how = {"rows_a_weight": 1.0, "with_ranks": with_ranks}
    return towards_reference(X, output, weight, usable, **how)


@pytest.fixture
def sparse_signal(rng):
    """Three of 120 features tell the class."""
    X = rng.normal(size=(60, 120))
    return X, (X[:, :3] @ [2.0, -2.0, 1.5] + 0.3 * rng.normal(size=60) > 0).astype(int)


@pytest.fixture
def amounts(rng):
    """The class follows the logarithms of a few of many amounts."""
    logs = 1.5 * rng.normal(size=(120, 150))
    y = (logs[:, :3] @ [1.0, -1.0, 1.0] + 0.2 * rng.normal(size=120) > 0).astype(int)
    return np.exp(logs), y


def test_features_come_in_as_on_the_path_of_a_target(sparse_signal):
    """As scikit-learn's path has them, for the target and ridge that were found."""
    X, y = sparse_signal
    found = towards(X, y.astype(float))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    # A ridge is as many rows more, one for each column.
    rows = np.vstack([standard / np.sqrt(60), np.sqrt(found.ridge) * np.eye(120)])
    cross = found.D[:, 0]
    target = np.linalg.lstsq(rows.T, cross, rcond=None)[0]
    slopes = lars_path(rows, target, method="lasso", max_iter=40)[2]
    sizes = [1, 2, 3, 5, 8]
    for result in anneal_path(X, y, sizes, criterion="reference", annealing=QUICK, random_state=0):
        step = next(column for column in slopes.T if np.count_nonzero(column) >= result.size)
        largest = np.argsort(-np.abs(step))[: result.size]
        assert set(result.subset.tolist()) == set(largest.tolist())


def test_ranks_tell_the_model_where_values_are_skewed(amounts, sparse_signal):
    """The path goes by values all the same."""
    X, y = amounts
    ranked, valued = towards(X, y * 1.0), towards(X, y * 1.0, with_ranks=False)
    assert np.abs(ranked.D - valued.D).max() > 0.05
    np.testing.assert_array_equal(ranked.scale, valued.scale)
    scores = ndtri((rankdata(X, axis=0) - 0.5) / 120)
    target = np.linalg.lstsq(ranked.columns(np.arange(150)).T, ranked.D[:, 0], rcond=None)[0]
    of_ranks = np.linalg.norm(np.corrcoef(np.column_stack([target, scores]).T)[0, 1:4])
    of_values = np.linalg.norm(np.corrcoef(np.column_stack([target, X]).T)[0, 1:4])
    assert of_ranks > of_values
    kept = AnnealingSelector(3, criterion="reference", random_state=0).fit(X, y)
    assert kept.subset_.tolist() == [0, 1, 2]
    # Of normal values ranks say nothing new.
    X, y = sparse_signal
    np.testing.assert_array_equal(towards(X, y * 1.0).D, towards(X, y * 1.0, with_ranks=False).D)


def test_what_is_never_included_has_no_say_in_the_model(sparse_signal, rng):
    X, y = sparse_signal
    limits = Constraints(never_include=[5, 7])
    how = {"criterion": "reference", "constraints": limits, "random_state": 0}
    found = AnnealingSelector(4, **how).fit(X, y)
    leaky = X.copy()
    leaky[:, [5, 7]] = y[:, None] + 0.01 * rng.normal(size=(60, 2))
    assert AnnealingSelector(4, **how).fit(leaky, y).subset_.tolist() == found.subset_.tolist()


def test_weights_of_one_and_rows_of_weight_zero(sparse_signal):
    X, y = sparse_signal
    how = {"criterion": "reference", "random_state": 0}
    found = AnnealingSelector(5, **how).fit(X, y)
    same = AnnealingSelector(5, **how).fit(X, y, sample_weight=np.ones(60))
    np.testing.assert_array_equal(same.subset_, found.subset_)
    more, labels = np.vstack([X, X[::-1] + 9]), np.concatenate([y, y])
    absent = AnnealingSelector(5, **how).fit(more, labels, sample_weight=np.arange(120) < 60)
    np.testing.assert_array_equal(absent.subset_, found.subset_)


def test_more_rows_than_features_and_sparse_rows(rng):
    X = rng.poisson(0.4, size=(150, 40)).astype(float)
    y = (X[:, 3] - X[:, 20] + 0.3 * rng.normal(size=150) > 0).astype(int)
    how = {"criterion": "reference", "random_state": 0}
    dense = AnnealingSelector(2, **how).fit(X, y)
    assert dense.subset_.tolist() == [3, 20]
    assert AnnealingSelector(2, **how).fit(csr_matrix(X), y).subset_.tolist() == [3, 20]
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict(X), dense.predict(X))


@pytest.mark.parametrize("kind", [AnnealingSelector, AnnealingRegressorSelector])
def test_what_has_no_path_says_so(kind, sparse_signal):
    X, y = sparse_signal
    with pytest.raises(ParameterError, match="left out with criterion='reference'") as caught:
        kind(2, criterion="reference", feature_cost=[0.1] * 120).fit(X, y)
    assert caught.value.parameter == "feature_cost"


@pytest.mark.parametrize("n_copies", [3, 25, 80])
@pytest.mark.parametrize("criterion", ["l1", "reference"])
@pytest.mark.parametrize("n_hidden", [0, 4])
def test_copies_of_features_change_nothing(criterion, n_hidden, n_copies, rng):
    """Whether few features tell the class, or all are views of a few factors."""
    X, hidden = rng.normal(size=(60, 30)), rng.normal(size=(60, n_hidden))
    y = (np.hstack([X[:, :3], hidden]).sum(axis=1) + rng.normal(size=60) > 0).astype(int)
    X += 2.0 * hidden @ rng.normal(size=(n_hidden, 30))
    how = {"criterion": criterion, "random_state": 0}
    alone = AnnealingSelector(8, **how).fit(X, y)
    among = AnnealingSelector(8, **how).fit(np.hstack([X] * n_copies), y)
    assert sorted(among.subset_ % 30) == alone.subset_.tolist()
    assert among.result_.working_set is None  # no search


def test_a_feature_that_predicts_exactly_is_no_cause_for_a_warning(rng):
    output = np.tile([0.0, 1.0], 5)
    X = np.column_stack([output, rng.normal(size=(10, 20))])
    fitted = AnnealingRegressorSelector(2, criterion="reference", random_state=0).fit(X, output)
    assert 0 in fitted.subset_


# ---- Where rows held out choose it, or not ----------------------------------------------------


def test_differences_of_features_that_are_much_alike_are_found_by_a_search(rng):
    """Neighbours are alike, and what they differ by tells the class: no path sees that."""
    X = rng.normal(size=(120, 130))
    X[:, 1::2] = X[:, ::2] + 0.3 * X[:, 1::2]
    y = ((X[:, 1] - X[:, 0]) + (X[:, 5] - X[:, 4]) > 0).astype(int)
    search = AnnealingSelector(4, **{**AUTO, "annealing": None}).fit(X, y)
    assert search.style_["criterion"] == "fisher"
    assert search.style_["pick"] == "unpenalised"
    assert search.subset_.tolist() == [0, 1, 4, 5]
    path = AnnealingSelector(4, criterion="reference", random_state=0).fit(X, y)
    assert path.score(X, y) < search.score(X, y) - 0.1


def test_precise_outputs_of_features_that_are_alike_are_found_by_r2(rng):
    """Features are alike in pairs, and one of each of three pairs is all that makes the output."""
    X = np.repeat(rng.normal(size=(40, 30)), 2, axis=1) + 0.3 * rng.normal(size=(40, 60))
    y = X[:, :6:2] @ [3.0, 2.0, 1.0]
    search = AnnealingRegressorSelector(3, **AUTO).fit(X, y)
    assert search.subset_.tolist() == [0, 2, 4]
    assert (search.style_["criterion"], search.style_["ridge"]) == ("r2", 1e-6)
    # What was chosen, given as parameters, leads to the same.
    how = {**search.style_, "annealing": QUICK, "random_state": 0}
    again = AnnealingRegressorSelector(3, **how).fit(X, y)
    assert again.subset_.tolist() == search.subset_.tolist()


def test_few_features_that_make_a_precise_output_are_on_the_path(rng):
    X = rng.normal(size=(80, 300))
    y = X[:, :5] @ [3.0, -2.5, 2.0, -1.5, 1.5] + 0.5 * rng.normal(size=80)
    search = AnnealingRegressorSelector(5, **AUTO).fit(X, y)
    assert search.subset_.tolist() == [0, 1, 2, 3, 4]
    path = AnnealingRegressorSelector(5, criterion="reference").fit(X, y)
    assert path.subset_.tolist() == [0, 1, 2, 3, 4]
