"""Every number of a result is that of its definition, computed again the slow way."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from helpers.questions import (
    SHRUNK,
    all_subsets,
    evaluated,
    near_best,
    nogueira,
    oas_shrinkage,
    proven,
    replacements,
    with_plain_criterion,
)
from helpers.selectors import (
    QUICK,
    TASKS,
    fisher_ratio,
    least_loss,
    make_rows,
    of_size,
    over_sizes,
    r2_of_least_squares,
)
from safdr import Constraints, stability, what_if


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


def weights(weighted, n=240):
    return np.random.default_rng(4).uniform(0.2, 3.0, n) if weighted else None


# ---- The record of a search ----------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.05, 1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_scikit_learns_model(task, C, weighted):
    X, y = make_rows(task)
    weight = weights(weighted)
    if task == "regression" and np.inf > C:
        return
    found = of_size(3, task, C=C).fit(X, y, sample_weight=weight)
    wanted = least_loss(X[:, found.subset_], y, task, weight, C)
    assert found.loss_ == pytest.approx(wanted, rel=1e-9)
    assert found.loss_ == found.result_.loss


@pytest.mark.parametrize("weighted", [False, True])
def test_the_criterion_value_is_that_of_its_definition(weighted):
    weight = weights(weighted)
    X, y = make_rows("two")
    found = with_plain_criterion(3).fit(X, y, sample_weight=weight)
    wanted = fisher_ratio(X[:, found.subset_], y, weight, 1e-6)
    assert found.criterion_value_ == pytest.approx(wanted, rel=1e-9)
    X, y = make_rows("regression")
    found = with_plain_criterion(3, "regression").fit(X, y, sample_weight=weight)
    wanted = r2_of_least_squares(X[:, found.subset_], y, weight)
    assert found.criterion_value_ == pytest.approx(wanted, rel=1e-5)


def test_shrinkage_follows_from_the_number_of_rows():
    """Of unequal classes; the factor is tuned, and written out in the definition."""
    X, y = make_rows(n_rows=100)
    X, y = X[20 * y < np.arange(100)], y[20 * y < np.arange(100)]
    found = of_size(3, **SHRUNK).fit(X, y)
    ratios = [fisher_ratio(X[:, found.subset_], y, shrinkage=s) for s in (0, oas_shrinkage(X, y))]
    assert found.criterion_value_ == pytest.approx(ratios[1], rel=1e-9)
    assert ratios[1] < 0.98 * ratios[0]


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
    # By default, half of the replicas are on the log-loss of two classes.
    assert result.n_replicas == QUICK.n_replicas
    assert len(result.start_subsets) == result.n_replicas // (2 if task == "two" else 1)
    trace = result.trace
    assert len(trace.beta) == len(trace.mean) == len(trace.std) == len(trace) + 1
    assert trace.beta[0] == 0
    assert (np.diff(trace.beta) > 0).all()
    assert result.drift < 1e-9
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
    assert at_hand <= found.loss_ + 1e-12


def test_more_outputs_are_predicted_together():
    X, value = make_rows("regression")
    y = np.column_stack([value, X[:, 0] + 0.1 * value])
    found = of_size(4, "regression").fit(X, y)
    Z = np.column_stack([X[:, found.subset_], np.ones(len(X))])
    wanted = np.clip(Z @ np.linalg.lstsq(Z, y, rcond=None)[0], y.min(axis=0), y.max(axis=0))
    np.testing.assert_allclose(found.predict(X), wanted, rtol=1e-6, atol=1e-6)
    assert {0, 1} <= set(found.subset_.tolist())


# ---- Subsets that are given ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_subsets_are_evaluated_by_definition(task, weighted):
    X, y = make_rows(task)
    weight = weights(weighted)
    subsets = [[0], [1, 4], [1, 4, 6], [0, 2, 3, 5]]
    found = evaluated(X, y, subsets, task, weight)
    for i, subset in enumerate(subsets):
        wanted = least_loss(X[:, subset], y, task, weight)
        assert found.losses[i] == pytest.approx(wanted, rel=1e-9)
        if task == "two":
            ratio = fisher_ratio(X[:, subset], y, weight, 1e-6)
            assert found.criterion_values[i] == pytest.approx(ratio, rel=1e-9)
        if task == "regression":
            ratio = r2_of_least_squares(X[:, subset], y, weight)
            assert found.criterion_values[i] == pytest.approx(ratio, rel=1e-5, abs=1e-8)
        assert [j for j in found.subsets[i] if j >= 0] == subset


@pytest.mark.parametrize("size", [1, 3])
def test_a_proof_is_brute_force(task, size):
    X, y = make_rows(task)
    every = all_subsets(8, size)
    values = evaluated(X, y, every, task).criterion_values
    proof = proven(X, y, size, task)
    assert proof.optimal
    assert proof.value == pytest.approx(values.max(), rel=1e-9)
    assert proof.subset.tolist() == every[values.argmax()]
    assert proof.upper_bound >= proof.value * (1 - 1e-12)
    ties = near_best(X, y, size, 0.3, task)
    inside = values >= values.max() * (1 - 0.3)
    assert ties.n_total == inside.sum()
    assert {tuple(s) for s in ties.subsets.tolist()} == {
        tuple(s) for s, near in zip(every, inside, strict=True) if near
    }
    np.testing.assert_allclose(ties.values, np.sort(values[inside])[::-1], rtol=1e-9)


def test_a_proof_keeps_constraints(task):
    X, y = make_rows(task)
    limits = Constraints(never_include=[1], at_most_one_of=[[4, 6]])
    proof = proven(X, y, 3, task, constraints=limits)
    allowed = [s for s in all_subsets(8, 3) if 1 not in s and len({4, 6} & set(s)) < 2]
    values = evaluated(X, y, allowed, task).criterion_values
    assert proof.optimal
    assert proof.value == pytest.approx(values.max(), rel=1e-9)


def test_substitutes_are_subsets_that_are_evaluated(task):
    X, y = make_rows(task)
    found = with_plain_criterion(3, task).fit(X, y)
    best = found.subset_.tolist()
    rows = replacements(found, X, y, n_best=2)
    for feature in best:
        rest = [j for j in best if j != feature]
        others = [j for j in range(8) if j not in best]
        own = [row for row in rows if row["chosen"] == feature]
        variants = [sorted([*rest, j]) for j in others]
        values = evaluated(X, y, variants, task).criterion_values
        ranked = [others[i] for i in np.argsort(-values)[:2]]
        assert [r["replacement"] for r in own if r["replacement"] is not None] == ranked
        for row in own:
            extra = [] if row["replacement"] is None else [row["replacement"]]
            subset = sorted([*rest, *extra])
            one = evaluated(X, y, [subset], task)
            assert row["criterion_value"] == pytest.approx(one.criterion_values[0], rel=1e-9)
            assert row["loss"] == pytest.approx(one.losses[0], rel=1e-6)
            difference = row["loss"] - found.loss_
            assert row["loss_difference"] == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_if_gives_values_of_subsets(task, weighted):
    X, y = make_rows(task)
    weight = weights(weighted)
    found = with_plain_criterion(3, task).fit(X, y, sample_weight=weight)
    ask = what_if(found, X, y, sample_weight=weight)
    assert ask.value(found.subset_) == pytest.approx(found.criterion_value_, rel=1e-9)
    for subset in ([0], [1, 4], [0, 2, 3, 5], list(range(8))):
        value = evaluated(X, y, [subset], task, weight).criterion_values[0]
        assert ask.value(subset) == pytest.approx(value, rel=1e-9)


# ---- Stability -----------------------------------------------------------------------------------


def halves_of(y, groups=None, n_resamples=6):
    """Rows that each resample searches, which a column of row numbers tells to a criterion."""
    seen = {}

    def note(rows, labels):
        seen.setdefault(tuple(sorted(rows[:, 0].astype(int).tolist())), labels)
        return 0.0

    X = np.column_stack([np.arange(len(y)), np.random.default_rng(0).normal(size=len(y))])
    only = Constraints(always_include=[0])
    selector = of_size(1, criterion=note, constraints=only).fit(X, y)
    seen.clear()
    stability(selector, X, y, n_resamples=n_resamples, groups=groups, random_state=0)
    return [set(rows) for rows in seen if len(rows) < len(y)]


def test_halves_are_stratified_and_complementary():
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.15).astype(int)
    halves = halves_of(y)
    assert len(halves) == 6
    every = set(range(120))
    for half in halves:
        assert every - half in halves
        positive = y[sorted(half)].sum()
        assert abs(2 * positive - y.sum()) <= 1
        assert abs(2 * len(half) - 120) <= 2


def test_halves_keep_groups_together():
    y = np.arange(120) % 2
    groups = np.arange(120) // 6
    for half in halves_of(y, groups):
        assert not {groups[i] for i in half} & {groups[i] for i in set(range(120)) - half}


def test_stability_is_counted_by_definition(task):
    X, y = make_rows(task, n_rows=100, seed=3)
    found = stability(of_size(4, task), X, y, n_resamples=10, random_state=1)
    chosen = np.zeros((10, 8))
    for row, subset in zip(chosen, found.subsets, strict=True):
        row[subset] = 1
    assert (chosen.sum(axis=1) == 4).all()
    assert chosen.var(axis=0).max() > 0
    np.testing.assert_array_equal(found.counts, chosen.sum(axis=0))
    np.testing.assert_allclose(found.frequencies, chosen.mean(axis=0))
    assert found.index == pytest.approx(nogueira(chosen), rel=1e-12)
    assert found.index_interval[0] <= found.index <= found.index_interval[1]
    z = 1.959963984540054
    share, square = chosen.mean(axis=0), z**2 / 10
    half = z * np.sqrt(share * (1 - share) / 10 + square / 40)
    wilson = (share[:, None] + square / 2 + np.outer(half, [-1, 1])) / (1 + square)
    np.testing.assert_allclose(found.frequency_intervals, wilson, atol=1e-9)


def test_stability_does_not_depend_on_jobs():
    X, y = make_rows(n_rows=100)
    one, two = (
        stability(of_size(2), X, y, n_resamples=8, random_state=1, n_jobs=n) for n in (1, 2)
    )
    assert [s.tolist() for s in one.subsets] == [s.tolist() for s in two.subsets]


def test_seeds_alone_leave_a_clear_choice_alone(task):
    X, y = make_rows(task)
    found = stability(of_size(3, task), X, y, n_resamples=4, resample="seeds", random_state=0)
    assert found.index == pytest.approx(1.0)
    assert found.counts.tolist() == [4 * (j in (1, 4, 6)) for j in range(8)]
