"""Every number of a result is that of its definition, computed again the slow way."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from helpers.questions import (
    RIDGE,
    SHRUNK,
    criterion_value,
    evaluated,
    oas_shrinkage,
    with_plain_criterion,
)
from helpers.selectors import (
    QUICK,
    TASKS,
    least_loss,
    make_rows,
    of_size,
    over_sizes,
)


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


def weights(weighted, n=240):
    return np.random.default_rng(4).uniform(0.2, 3.0, n) if weighted else None


# ---- The record of a search ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
def test_of_equal_losses_the_larger_criterion_wins(seed):
    """Many pairs of features separate the classes: without a penalty their losses are zero."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 8)) + rng.uniform(3.0, 5.0, 8) * y[:, None]
    how = {"criterion": "fisher", "C": np.inf, "shrinkage": None}
    found = of_size(3, **how).fit(X, y).result_
    equal = found.losses == found.losses.min()
    assert equal.sum() > 3
    assert found.criterion_values[found.best] == found.criterion_values[equal].max()


@pytest.mark.parametrize("C", [0.05, 1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_scikit_learns_model(task, C, weighted):
    X, y = make_rows(task)
    weight = weights(weighted)
    if task == "regression" and np.inf > C:
        return
    found = of_size(3, task, C=C).fit(X, y, sample_weight=weight)
    wanted = least_loss(X[:, found.subset_], y, task, weight, C)
    assert found.result_.loss == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_criterion_value_is_that_of_its_definition(task, weighted):
    weight = weights(weighted)
    X, y = make_rows(task)
    found = with_plain_criterion(3, task).fit(X, y, sample_weight=weight)
    wanted = criterion_value(X, y, found.subset_, weight)
    assert found.criterion_value_ == pytest.approx(wanted, rel=1e-9)
    assert found.shrinkage_ == found.result_.shrinkage == pytest.approx(RIDGE, rel=1e-5)
    found = with_plain_criterion(3, task, shrinkage=0.25).fit(X, y, sample_weight=weight)
    wanted = criterion_value(X, y, found.subset_, weight, ridge=1 / 3)
    assert found.criterion_value_ == pytest.approx(wanted, rel=1e-9)


def test_shrinkage_follows_from_the_number_of_rows():
    """Of unequal classes; the factor is tuned, and written out in the definition."""
    X, y = make_rows(n_rows=100)
    X, y = X[20 * y < np.arange(100)], y[20 * y < np.arange(100)]
    found = of_size(3, **SHRUNK).fit(X, y)
    ridge = oas_shrinkage(X, y)
    values = [criterion_value(X, y, found.subset_, ridge=r) for r in (0, ridge)]
    assert found.criterion_value_ == pytest.approx(values[1], rel=1e-9)
    assert found.shrinkage_ == pytest.approx(ridge / (1 + ridge), rel=1e-9)
    assert values[1] < 0.98 * values[0]


def test_the_winner_is_the_best_candidate(task):
    X, y = make_rows(task, n_features=14)
    found = of_size(4, task).fit(X, y)
    result = found.result_
    assert result.losses.min() == result.loss
    measured = evaluated(X, y, result.subsets, task).losses
    assert result.loss == pytest.approx(measured.min(), rel=1e-9)
    assert np.array_equal(result.subset, result.subsets[result.best])
    assert (np.diff(result.subsets, axis=1) > 0).all()
    assert result.subset.tolist() == found.subset_.tolist()
    assert result.criterion_value == found.criterion_value_


def test_candidates_have_the_values_of_their_subsets(task):
    X, y = make_rows(task, n_features=14)
    result = with_plain_criterion(4, task, annealing=QUICK).fit(X, y).result_
    values = evaluated(X, y, result.subsets, task).criterion_values
    np.testing.assert_allclose(result.criterion_values, values, rtol=1e-9)


def test_the_parts_of_a_result_fit_together(task):
    X, y = make_rows(task)
    found = of_size(3, task).fit(X, y)
    result = found.result_
    np.testing.assert_array_equal(np.flatnonzero(found.support_), found.subset_)
    assert found.n_features_ == found.support_.sum() == result.size == 3
    assert found.n_features_in_ == len(found.support_) == 8
    assert result.n_replicas == QUICK.n_replicas
    trace = result.trace
    assert len(trace.beta) == len(trace.mean) == len(trace.std) == len(trace) + 1
    assert trace.beta[0] == 0
    assert (np.diff(trace.beta) > 0).all()
    assert not result.separated[result.best]
    assert result.converged[result.best]
    by_winner = (result.coefficients[result.best], result.intercepts[result.best])
    of_model = (found.estimator_.coef_, found.estimator_.intercept_)
    for ours, theirs in zip(of_model, by_winner, strict=True):
        np.testing.assert_allclose(np.squeeze(ours), np.squeeze(theirs), rtol=1e-9)


@pytest.mark.parametrize("task", ["two", "three"])
def test_separated_classes_are_reported(task):
    X, y = make_rows(task)
    X[:, 0] = np.unique(y, return_inverse=True)[1] + 0.1 * np.sin(np.arange(len(y)))
    for C, separated in ((1.0, False), (np.inf, True)):
        selector = of_size(1, task, C=C)
        if separated:
            with pytest.warns(UserWarning, match="separate"):
                selector.fit(X, y)
        else:
            selector.fit(X, y)
        assert selector.subset_.tolist() == [0]
        assert selector.result_.separated[selector.result_.best] == separated


# ---- The final model -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [of_size, over_sizes])
def test_predictions_are_those_of_the_coefficients(task, make):
    X, y = make_rows(task)
    found = make(task=task).fit(X, y)
    model, new = found.estimator_, X[:50]
    sums = new[:, found.subset_] @ np.atleast_2d(model.coef_).T + model.intercept_
    if task == "regression":
        np.testing.assert_allclose(found.predict(new), sums[:, 0], rtol=1e-9, atol=1e-9)
        wanted = r2_score(y, found.predict(X))
        assert found.score(X, y) == pytest.approx(wanted, rel=1e-12)
        return
    both = np.column_stack([np.zeros(50), sums]) if task == "two" else sums
    logs = log_softmax(both, axis=1)
    np.testing.assert_allclose(found.predict_log_proba(new), logs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(new), np.exp(logs), rtol=1e-9)
    np.testing.assert_array_equal(found.predict(new), found.classes_[logs.argmax(axis=1)])
    decision = found.decision_function(new)
    np.testing.assert_allclose(decision, np.squeeze(sums), rtol=1e-9, atol=1e-9)
    if make is of_size:
        assert found.score(X, y) == np.mean(found.predict(X) == y)
    elif task == "two":
        assert found.score(X, y) == pytest.approx(roc_auc_score(y, found.decision_function(X)))
    at_hand = log_loss(y, found.predict_proba(X), labels=found.classes_)
    assert at_hand <= found.result_.loss + 1e-12


def test_more_outputs_are_predicted_together():
    X, value = make_rows("regression")
    y = np.column_stack([value, X[:, 0] + 0.1 * value])
    found = of_size(4, "regression").fit(X, y)
    Z = np.column_stack([X[:, found.subset_], np.ones(len(X))])
    wanted = np.clip(Z @ np.linalg.lstsq(Z, y, rcond=None)[0], y.min(axis=0), y.max(axis=0))
    np.testing.assert_allclose(found.predict(X), wanted, rtol=1e-6, atol=1e-6)
    assert {0, 1} <= set(found.subset_.tolist())
