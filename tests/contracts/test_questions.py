"""Questions about a selector are answered as their definitions say, and change nothing."""

import inspect
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils._param_validation import InvalidParameterError

from helpers.questions import (
    all_subsets,
    criterion_value,
    evaluated,
    near_best,
    nogueira,
    proven,
    replacements,
    with_plain_criterion,
)
from helpers.selectors import (
    QUICK,
    TASKS,
    least_loss,
    make_rows,
    of_size,
    over_sizes,
    splitter,
)
from safdr import (
    Constraints,
    ParameterError,
    Stream,
    anneal_path,
    evaluate_subsets,
    near_optimal,
    prove,
    stability,
    substitutes,
    what_if,
)

pa = pytest.importorskip("pyarrow")


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


def weights(weighted, n=240):
    return np.random.default_rng(4).uniform(0.2, 3.0, n) if weighted else None


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
        value = criterion_value(X, y, subset, weight)
        assert found.criterion_values[i] == pytest.approx(value, rel=1e-9)
        assert [j for j in found.subsets[i] if j >= 0] == subset
        if task != "three":
            sums = X[:, subset] @ np.ravel(found.coefficients[i])[: len(subset)]
            sums = sums + np.ravel(found.intercepts[i])
            if task == "two":
                error = np.average(np.log1p(np.exp(-np.where(y, sums, -sums))), weights=weight)
                assert error <= found.losses[i]
            else:
                error = np.average((y - sums) ** 2, weights=weight)
                assert error == pytest.approx(found.losses[i], rel=1e-9)


def test_names_indices_masks_and_padded_rows_are_the_same_subsets():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    mask = np.isin(np.arange(8), [1, 4])
    groups = Constraints(groups={"pair": [1, 4]})
    wanted = evaluated(X, y, [[1, 4], [6]])
    for subsets in ([["b", "e"], ["g"]], [mask, [-2]], np.array([[1, 4], [6, -1]])):
        found = evaluated(frame, y, subsets)
        np.testing.assert_array_equal(found.subsets, wanted.subsets)
        np.testing.assert_array_equal(found.losses, wanted.losses)
        assert found.feature_names == tuple("abcdefgh")
    one = evaluated(frame, y, [["pair"], ["b"]], constraints=groups)
    assert one.losses[0] == pytest.approx(wanted.losses[0], rel=1e-12)
    assert one.losses[1] == pytest.approx(least_loss(X[:, [1]], y), rel=1e-9)


def test_costs_class_weights_and_shrinkage_are_those_of_the_selector():
    X, y = make_rows()
    how = {"feature_cost": {1: 0.5, 2: 0.1}, "class_weight": {0: 1.0, 1: 2.0}}
    found = of_size(3, **how).fit(X, y)
    one = evaluate_subsets(found, X, y, [found.subset_, [1, 2]])
    assert one.criterion_values[0] == pytest.approx(found.criterion_value_, rel=1e-9)
    ridge = found.shrinkage_ / (1 - found.shrinkage_)
    value = criterion_value(X, y, [1, 2], np.where(y, 2.0, 1.0), ridge) - 0.6
    assert one.criterion_values[1] == pytest.approx(value, rel=1e-9)


def test_a_custom_criterion_and_model_evaluate_subsets():
    X, y = make_rows()

    def value(rows, labels):
        return float(abs(np.corrcoef(rows[:, 0], labels)[0, 1]))

    found = evaluated(X, y, [[1, 4], [0]], criterion=value)
    assert found.criterion_values.tolist() == [value(X[:, [1, 4]], y), value(X[:, [0]], y)]
    assert found.losses.tolist() == (-found.criterion_values).tolist()


# ---- Proofs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
def test_a_proof_is_brute_force(task, size):
    X, y = make_rows(task)
    every = all_subsets(8, size)
    values = np.array([criterion_value(X, y, subset) for subset in every])
    proof = proven(X, y, size, task)
    assert proof.optimal
    assert proof.value == pytest.approx(values.max(), rel=1e-9)
    assert proof.subset.tolist() == every[values.argmax()]
    assert proof.upper_bound >= proof.value * (1 - 1e-12)
    near = near_best(X, y, size, 0.3, task)
    inside = values >= values.max() * (1 - 0.3)
    assert near.complete
    assert near.n_total == inside.sum()
    assert {tuple(s) for s in near.subsets.tolist()} == {
        tuple(s) for s, ok in zip(every, inside, strict=True) if ok
    }
    np.testing.assert_allclose(near.values, np.sort(values[inside])[::-1], rtol=1e-9)


def test_the_time_limit_counts_the_time_to_read_the_rows():
    X, y = make_rows()
    table = pa.table({**{f"x{j}": X[:, j] for j in range(8)}, "y": y})

    def slow():
        time.sleep(0.1)
        yield from table.to_batches()

    proof = prove(of_size(3), slow, "y", size=3, time_limit=0.05)
    assert proof.seconds > 0.1
    assert proof.n_nodes == prove(of_size(3), X, y, size=3, time_limit=0).n_nodes


def test_a_proof_keeps_constraints_and_costs(task):
    X, y = make_rows(task)
    limits = Constraints(never_include=[1], at_most_one_of=[[4, 6]])
    cost = {0: 0.02, 4: 0.05}
    proof = proven(X, y, 3, task, constraints=limits, feature_cost=cost)
    allowed = [s for s in all_subsets(8, 3) if 1 not in s and len({4, 6} & set(s)) < 2]
    values = [criterion_value(X, y, s) - sum(cost.get(j, 0) for j in s) for s in allowed]
    assert proof.optimal
    assert proof.value == pytest.approx(max(values), rel=1e-9)
    assert proof.subset.tolist() == allowed[int(np.argmax(values))]


def test_proofs_are_over_all_features_with_the_shrinkage_of_the_fit(task):
    """Of a screen of three features nothing is left to prove."""
    X, y = make_rows(task, n_rows=60)
    selector = of_size(3, task, annealing=clone(QUICK).set_params(screen=3)).fit(X, y)
    ridge = selector.shrinkage_ / (1 - selector.shrinkage_)
    assert ridge > 1e-3
    values = {tuple(s): criterion_value(X, y, s, ridge=ridge) for s in all_subsets(8, 3)}
    proof = prove(selector, X, y)
    assert proof.value == pytest.approx(max(values.values()), rel=1e-9)
    assert proof.value >= selector.criterion_value_ * (1 - 1e-12)
    assert near_optimal(selector, X, y, rtol=0.99).n_total == sum(
        value >= 0.01 * proof.value for value in values.values()
    )


def test_duplicates_are_not_near_optimal_twice():
    X, y = make_rows()
    doubled = np.column_stack([X, -2 * X[:, 1]])
    for each in (near_best(X, y, 2, 0.5), near_best(doubled, y, 2, 0.5)):
        assert each.n_total == near_best(X, y, 2, 0.5).n_total


# ---- Substitutes ---------------------------------------------------------------------------------


def test_substitutes_are_subsets_that_are_evaluated(task):
    X, y = make_rows(task)
    found = with_plain_criterion(3, task).fit(X, y)
    best = found.subset_.tolist()
    rows = replacements(found, X, y, n_best=2)
    for feature in best:
        rest = [j for j in best if j != feature]
        others = [j for j in range(8) if j not in best]
        own = [row for row in rows if row["selected"] == feature]
        values = [criterion_value(X, y, [*rest, j]) for j in others]
        ranked = [others[i] for i in np.argsort(values)[::-1][:2]]
        assert [row["replacement"] for row in own] == [*ranked, None]
        for row in own:
            subset = [*rest, *([] if row["replacement"] is None else [row["replacement"]])]
            one = evaluated(X, y, [subset], task)
            assert row["criterion_value"] == pytest.approx(one.criterion_values[0], rel=1e-9)
            assert row["loss"] == pytest.approx(one.losses[0], rel=1e-6)
            for name in ("loss", "criterion_value"):
                difference = row[name] - getattr(found.result_, name)
                assert row[f"{name}_difference"] == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("by_groups", [False, True])
def test_scores_of_substitutes_are_those_of_models_on_each_split(by_groups):
    X, y = make_rows()
    groups = np.arange(240) // 6 if by_groups else None
    found = of_size(2, C=np.inf).fit(X, y)
    cv = GroupShuffleSplit(4, random_state=1) if by_groups else splitter()
    rows = replacements(found, X, y, n_best=1, cv=cv, groups=groups, scoring="roc_auc")
    splits = list(cv.split(X, y, groups))

    def scores(subset):
        some = []
        for train, test in splits:
            half = with_plain_criterion(C=np.inf)
            fit = evaluate_subsets(half, X[train], y[train], [subset])
            sums = X[np.ix_(test, sorted(subset))] @ fit.coefficients[0]
            some.append(roc_auc_score(y[test], sums))
        return np.array(some)

    selected = scores(found.subset_.tolist())
    for row in rows:
        subset = [j for j in found.subset_ if j != row["selected"]]
        subset += [] if row["replacement"] is None else [row["replacement"]]
        one = scores(subset)
        assert row["score"] == pytest.approx(one.mean(), abs=1e-9)
        assert row["score_difference"] == pytest.approx((one - selected).mean(), abs=1e-9)
        assert row["score_difference_std"] == pytest.approx((one - selected).std(), abs=1e-9)


def test_groups_of_rows_are_never_divided_by_default():
    """It failed: without a `cv` groups had no effect."""
    y = np.repeat(np.arange(30.0), 8)
    X = np.random.default_rng(0).normal(size=(240, 4))
    tests = []

    def score(model, rows, target):
        tests.append(target)
        return 0.0

    found = of_size(2, "regression").fit(X, y)
    substitutes(found, X, y, n_best=1, scoring=score, groups=y.astype(int))
    assert len(tests) == 5 * 5
    for target in tests:
        assert (np.unique(target, return_counts=True)[1] == 8).all()
        assert 0 < len(target) < 240


def test_leaving_out_the_only_feature_leaves_the_constant_model(task):
    X, y = make_rows(task)
    found = of_size(1, task).fit(X, y)
    row = replacements(found, X, y, n_best=1)[1]
    assert row["replacement"] is None
    assert row["criterion_value"] == 0.0
    if task == "regression":
        assert row["loss"] == pytest.approx(np.var(y))
    else:
        share = np.unique(y, return_counts=True)[1] / len(y)
        assert row["loss"] == pytest.approx(-share @ np.log(share))
        assert row["score"] == 0.5


def test_substitutes_keep_constraints():
    X, y = make_rows(n_features=10)
    X[:, 9] = X[:, 1] + 0.01 * X[:, 2]
    limits = Constraints(
        groups={"pair": [6, 7]}, at_most_one_of=[[1, 3]], never_include=[2], always_include=[4]
    )
    selector = with_plain_criterion(3, constraints=limits).fit(X, y)
    table = substitutes(selector, X, y, n_best=20)
    assert not {"x2", "x4"} & set(table["replacement"])
    for one, other, allowed in zip(
        table["selected"], table["replacement"], table["allowed"], strict=True
    ):
        assert allowed == (one != "x4" or other is not None)
        assert other != "x3" or one == "x1" or "x1" not in selector.get_feature_names_out()
    assert "pair" in {*table["selected"], *table["replacement"]}


def test_copies_of_members_that_stay_are_no_substitutes():
    X, y = make_rows()
    X = np.column_stack([X, 2 * X[:, 1]])
    found = of_size(2, constraints=Constraints(always_include=[1, 4])).fit(X, y)
    assert found.subset_.tolist() == [1, 4]
    found = of_size(2).set_params(constraints=Constraints(never_include=[0, 2, 3, 5, 6, 7]))
    rows = replacements(found.fit(X, y), X, y, n_best=5)
    assert [(row["selected"], row["replacement"]) for row in rows] == [(1, 8), (1, None), (4, None)]


def test_required_signs_hold_for_substitutes():
    X, y = make_rows(n_features=12)
    signs = dict.fromkeys(range(12), 1)
    found = of_size(2, constraints=Constraints(signs=signs)).fit(X, y)
    rows = replacements(found, X, y, n_best=3)
    for row in rows:
        if row["replacement"] is None:
            continue
        rest = [j for j in found.subset_ if j != row["selected"]]
        one = evaluated(X, y, [sorted([*rest, row["replacement"]])], shrinkage="auto")
        assert (one.coefficients > 0).all()


# ---- What if -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_what_if_gives_values_of_subsets(task, weighted):
    X, y = make_rows(task)
    weight = weights(weighted)
    found = with_plain_criterion(3, task).fit(X, y, sample_weight=weight)
    given = what_if(found, X, y, sample_weight=weight)
    assert given.value(found.subset_) == pytest.approx(found.criterion_value_, rel=1e-9)
    for subset in ([0], [1, 4], [0, 2, 3, 5], list(range(8))):
        value = criterion_value(X, y, subset, weight)
        assert given.value(subset) == pytest.approx(value, rel=1e-8)
    assert given.value([]) == 0.0


def test_constraints_come_with_what_if():
    X, y = make_rows(n_features=12)
    X[:, 11] = 1.0
    limits = Constraints(
        always_include=9, never_include=[10], at_most_one_of=[[0, 1]], groups={"g": [2, 3, 4]}
    )
    selector = of_size(3, constraints=limits, feature_cost={1: 0.1}).fit(X, y)
    given = what_if(selector, X, y)
    first = [int(columns[0]) for columns in given.columns]
    assert sorted(first) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert given.names[0] == "g"
    assert [j for j, required in zip(first, given.required, strict=True) if required] == [9]
    pairs = {(first[i], first[j]) for i, j in np.argwhere(given.exclusive)}
    assert pairs == {(0, 1), (1, 0)}
    assert given.value("g") == given.value([2]) == given.value([2, 3, 4])
    assert given.costs[first.index(1)] == 0.1


def test_the_most_relevant_features_are_extracted():
    X, y = make_rows(n_features=60)
    found = over_sizes(3).fit(X, y)
    given = what_if(found, X, y, n_features=25, also=[59])
    extracted = set(np.concatenate(given.columns).tolist())
    assert len(extracted) == 25
    assert set(found.subset_) <= extracted
    assert 59 in extracted
    best = {row["replacement"] for row in replacements(found, X, y, n_best=1)} - {None}
    assert best <= extracted


def test_a_large_group_does_not_keep_others_out():
    """It failed: a selected group of 125 columns left no place, and one that did not fit ended."""
    X, y = make_rows(n_features=150)
    groups = {"large": list(range(25, 150))}
    for always, is_inside in ("large", True), ([1, 4, 6], False):
        how = {"always_include": always}
        selector = of_size(3, constraints=Constraints(groups=groups, **how)).fit(X, y)
        given = what_if(selector, X, y, n_features=12, also=["large"])
        assert len(given.names) == 12
        assert ("large" in given.names) == is_inside == bool(selector.support_[30])


def test_many_columns_are_asked_as_few():
    X, y = make_rows(n_rows=80, n_features=2100)
    found = of_size(3).fit(X, y)
    ridge = found.shrinkage_ / (1 - found.shrinkage_)
    given = what_if(found, X, y, n_features=20)
    assert len(given.names) == 20
    columns = np.concatenate(given.columns)[:5]
    wanted = criterion_value(X, y, columns, ridge=ridge)
    assert given.value(columns) == pytest.approx(wanted, rel=1e-7)
    one = evaluate_subsets(found, X, y, [columns])
    assert one.criterion_values[0] == pytest.approx(wanted, rel=1e-7)
    for row in replacements(found, X, y, n_best=1):
        subset = [j for j in found.subset_ if j != row["selected"]]
        subset += [] if row["replacement"] is None else [row["replacement"]]
        value = criterion_value(X, y, subset, ridge=ridge)
        assert row["criterion_value"] == pytest.approx(value, rel=1e-7)


# ---- Stability -----------------------------------------------------------------------------------


def halves_of(y, groups=None, weight=None, n_resamples=6):
    """Return the rows of each half, which a column of row numbers tells to a criterion."""
    seen = {}

    def note(rows, labels, sample_weight=None):
        seen.setdefault(tuple(sorted(rows[:, 0].astype(int).tolist())), labels)
        return 0.0

    X = np.column_stack([np.arange(len(y)), np.random.default_rng(0).normal(size=len(y))])
    only = Constraints(always_include=[0])
    selector = of_size(1, criterion=note, constraints=only).fit(X, y, sample_weight=weight)
    seen.clear()
    how = {"n_resamples": n_resamples, "random_state": 0}
    stability(selector, X, y, groups=groups, sample_weight=weight, **how)
    return [set(rows) for rows in seen]


@pytest.mark.parametrize("n_without_weight", [0, 15])
def test_halves_are_stratified_and_complementary(n_without_weight):
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.15).astype(int)
    weight = np.where(np.arange(120) < n_without_weight, 0.0, 1.0)
    kept = set(range(n_without_weight, 120))
    halves = halves_of(y, weight=weight if n_without_weight else None)
    assert len(halves) == 6
    for half in halves:
        assert kept - half in halves
        assert abs(2 * y[sorted(half)].sum() - y[sorted(kept)].sum()) <= 1
        assert abs(2 * len(half) - len(kept)) <= 2


def test_halves_keep_groups_together():
    y = np.arange(120) % 2
    groups = np.arange(120) // 6
    for half in halves_of(y, groups):
        assert not {groups[i] for i in half} & {groups[i] for i in set(range(120)) - half}


def test_stability_is_counted_by_definition(task):
    X, y = make_rows(task, n_rows=100, seed=3)
    found = stability(of_size(4, task), X, y, n_resamples=10, random_state=1)
    selected = np.zeros((10, 8))
    for row, subset in zip(selected, found.subsets, strict=True):
        row[subset] = 1
    assert (selected.sum(axis=1) == 4).all()
    assert selected.var(axis=0).max() > 0
    np.testing.assert_array_equal(found.counts, selected.sum(axis=0))
    np.testing.assert_allclose(found.frequencies, selected.mean(axis=0))
    assert found.index == pytest.approx(nogueira(selected), rel=1e-12)
    assert found.index_interval[0] <= found.index <= found.index_interval[1]
    again = of_size(4, task).fit(X, y)
    assert found.selected.tolist() == again.support_.tolist()
    jobs = stability(again, X, y, n_resamples=10, random_state=1, n_jobs=2)
    assert [s.tolist() for s in jobs.subsets] == [s.tolist() for s in found.subsets]


def test_a_half_selects_what_a_selector_selects_on_it():
    X, y = make_rows(n_rows=100, seed=3)
    X[:, 0] = np.arange(100)
    limits = Constraints(always_include=[0])
    halves = halves_of(y, n_resamples=4)
    found = stability(of_size(3, constraints=limits), X, y, n_resamples=4, random_state=0)
    for half, subset in zip(halves, found.subsets, strict=True):
        rows = sorted(half)
        one = of_size(3, constraints=limits).fit(X[rows], y[rows])
        assert subset.tolist() == one.subset_.tolist()
    assert found.counts[0] == 4
    free = np.zeros((4, 7))
    for row, subset in zip(free, found.subsets, strict=True):
        row[[j - 1 for j in subset if j]] = 1
    assert found.index == pytest.approx(nogueira(free))


def test_sizes_are_kept_or_chosen_anew():
    X, y = make_rows(n_rows=120, seed=2)
    found = over_sizes(5).fit(X, y)
    kept = stability(found, X, y, n_resamples=6, random_state=0)
    assert set(kept.sizes) == {found.n_features_}
    anew = stability(found, X, y, n_resamples=6, random_state=0, choose_size=True)
    halves = halves_of(y, n_resamples=6)
    for half, size, subset in zip(halves, anew.sizes, anew.subsets, strict=True):
        rows = sorted(half)
        one = over_sizes(5).fit(X[rows], y[rows])
        assert (size, subset.tolist()) == (one.n_features_, one.subset_.tolist())
    assert len(set(anew.sizes)) > 1


def test_halves_select_fewer_features_if_signs_ask_for_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + 0.15 * X[:, 1] + 0.5 * rng.normal(size=200) > 0).astype(int)
    signs = {0: 1, 1: 1, 2: 1, 3: 1}
    selector = of_size(3, constraints=Constraints(signs=signs)).fit(X, y)
    sizes = stability(selector, X, y, n_resamples=20, random_state=0).sizes
    assert {2, 3} <= set(sizes) <= {1, 2, 3}


# ---- All questions -------------------------------------------------------------------------------

ASK = {
    "anneal_path": lambda s, X, y, **how: anneal_path(s, X, y, [1, 2], **how)[1].subsets,
    "evaluate_subsets": lambda s, X, y, **how: evaluate_subsets(s, X, y, [[0, 1]], **how).losses,
    "prove": lambda s, X, y, **how: prove(s, X, y, **how).value,
    "near_optimal": lambda s, X, y, **how: near_optimal(s, X, y, rtol=0.5, **how).values,
    "substitutes": lambda s, X, y, **how: substitutes(s, X, y, **how)["score"],
    "stability": lambda s, X, y, **how: (
        stability(s, X, y, n_resamples=4, random_state=0, **how).counts
    ),
    "what_if": lambda s, X, y, **how: what_if(s, X, y, **how).A,
}


@pytest.mark.parametrize("name", ASK)
def test_a_question_changes_neither_the_selector_nor_its_random_state(name):
    """It failed: `substitutes` and `what_if` drew from the RandomState of the selector."""
    X, y = make_rows()
    random_state = np.random.RandomState(0)
    found = of_size(2, random_state=random_state).fit(X, y)
    before, state = pickle.dumps(found), pickle.dumps(random_state)
    one, two = (ASK[name](found, X, y) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert pickle.dumps(found) == before
    assert pickle.dumps(random_state) == state


@pytest.mark.parametrize("name", ASK)
def test_a_question_reads_the_file_that_the_selector_was_fitted_to(name, tmp_path, task):
    """It failed for all but two."""
    X, y = make_rows(task)
    weight = weights(True)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    frame.assign(y=y, w=weight).to_parquet(tmp_path / "rows.parquet")
    source = (str(tmp_path / "rows.parquet"), "y")
    found = of_size(2, task).fit(*source, sample_weight="w")
    ours = ASK[name](found, *source, sample_weight="w")
    theirs = ASK[name](
        of_size(2, task).fit(frame, y, sample_weight=weight), frame, y, sample_weight=weight
    )
    np.testing.assert_array_equal(ours, theirs)


def test_questions_about_rows_read_in_chunks_are_those_of_all_rows(task):
    """Only models and scores are of a sample."""
    X, y = make_rows(task, n_rows=6000)
    weight = weights(True, 6000)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    table = pa.Table.from_pandas(frame.assign(y=y, w=weight))
    source = Stream(lambda: table.to_batches(max_chunksize=1000), sample_rows=2000)
    found = of_size(3, task).fit(source, "y", sample_weight="w")
    whole = of_size(3, task).fit(frame, y, sample_weight=weight)
    exact = ("prove", "near_optimal", "what_if")
    for name in exact:
        ours = ASK[name](found, source, "y", sample_weight="w")
        theirs = ASK[name](whole, frame, y, sample_weight=weight)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    ours = substitutes(found, source, "y", n_best=2, sample_weight="w")
    theirs = substitutes(whole, frame, y, n_best=2, sample_weight=weight)
    assert ours["replacement"] == theirs["replacement"]
    np.testing.assert_allclose(ours["criterion_value"], theirs["criterion_value"], rtol=1e-9)
    np.testing.assert_allclose(ours["score"], theirs["score"], atol=0.1)
    halves = stability(found, source, "y", n_resamples=6, random_state=0, sample_weight="w")
    assert halves.counts.tolist() == [6 * (j in (1, 4, 6)) for j in range(8)]


def test_every_function_begins_with_a_selector_and_rows():
    for function in (
        anneal_path,
        evaluate_subsets,
        prove,
        near_optimal,
        substitutes,
        stability,
        what_if,
    ):
        parameters = inspect.signature(function).parameters.values()
        names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        assert names[:3] == ["selector", "X", "y"]
        assert names[3:] in ([], ["sizes"], ["subsets"])
        assert "sample_weight" in {p.name for p in parameters}


X2, Y2 = make_rows(n_rows=60)
FITTED = of_size(2).fit(X2, Y2)
CUSTOM = of_size(1, criterion=lambda X, y: float(X[0, 0])).fit(X2, Y2)
GROUPED = of_size(1, constraints=Constraints(groups=[[0, 1]]))
SIGNED = of_size(1, constraints=Constraints(signs={0: 1}))
TOO_WIDE = np.random.default_rng(0).normal(size=(60, 2001)), Y2
PARAMETER = (ParameterError, InvalidParameterError)
REFUSALS = [
    (lambda: anneal_path(FITTED, X2, Y2, [0]), "sizes"),
    (lambda: anneal_path(FITTED, X2, Y2, [9]), "sizes.* 8"),
    (lambda: evaluate_subsets(FITTED, X2, Y2, [0, 1]), "subsets .*list of subsets"),
    (lambda: evaluate_subsets(FITTED, X2, Y2, []), "subsets"),
    (lambda: evaluate_subsets(FITTED, X2, Y2, [[]]), "subsets"),
    (lambda: evaluate_subsets(FITTED, X2, Y2, [[8]]), "subsets .*8"),
    (lambda: evaluate_subsets(FITTED, X2, Y2, [["a"]]), "subsets .*'a'"),
    (lambda: prove(FITTED, X2, Y2, size=9), "size .*8"),
    (lambda: prove(FITTED, X2, Y2, size=0), "size"),
    (lambda: prove(FITTED, X2, Y2, time_limit=-1), "time_limit"),
    (lambda: prove(CUSTOM, X2, Y2), "criterion"),
    (lambda: prove(GROUPED, X2, Y2, size=1), "groups"),
    (lambda: prove(SIGNED, X2, Y2, size=1), "signs"),
    (lambda: prove(of_size(2), *TOO_WIDE, size=2), "X .*2,000 features.*stability"),
    (lambda: near_optimal(of_size(2), *TOO_WIDE, size=2), "X .*2,000 features.*stability"),
    (lambda: near_optimal(FITTED, X2, Y2, rtol=1.0), "rtol"),
    (lambda: near_optimal(FITTED, X2, Y2, max_subsets=0), "max_subsets"),
    (lambda: substitutes(FITTED, X2, Y2, n_best=0), "n_best"),
    (lambda: stability(FITTED, X2, Y2, n_resamples=2), "n_resamples"),
    (lambda: stability(FITTED, X2, Y2, n_resamples=5), "n_resamples .*even"),
    (lambda: stability(FITTED, X2, Y2, choose_size=True), "choose_size .*AnnealingSelectorCV"),
    (lambda: what_if(FITTED, X2, Y2, n_features=0), "n_features"),
    (lambda: what_if(CUSTOM, X2, Y2), "criterion"),
    (lambda: what_if(FITTED, X2, Y2, also=["a"]), "also"),
    (lambda: what_if(FITTED, X2, Y2, n_features=2).value([7]), "features .*7"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSALS)
def test_wrong_values_are_refused_by_name(ask, message):
    with pytest.raises(PARAMETER, match=message):
        ask()


def test_a_group_for_each_row_is_needed():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 60, 2\]"):
        stability(FITTED, X2, Y2, groups=[0, 1])


@pytest.mark.parametrize("name", ASK)
def test_other_columns_than_those_of_the_fit_are_refused(name):
    with pytest.raises(ValueError, match="features"):
        ASK[name](FITTED, X2[:, :4], Y2)
