"""The yardstick itself: greedy selection, the tables, and the figures that are derived."""

from argparse import Namespace
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np
import pytest

from benchmarks import (
    greedy,
    kernel,
    leaps,
    proofs,
    rows,
    spark_peer,
    streaming,
    table,
    task_peers,
    task_problem,
    task_table,
)
from benchmarks.dynamics import DEFAULTS, measure, proven, training_data
from benchmarks.dynamics_problem import Problem, planted
from benchmarks.split import split_time
from benchmarks.tempering import TemperingSettings, even_ladder, exchange
from benchmarks.tts import time_to_solution
from safdr import anneal_path, evaluate_subsets
from safdr._engine.annealing import loop
from safdr._engine.criterion import fisher_criterion
from safdr._engine.moments import within_moments
from safdr._engine.proof.prover import Prover


@pytest.fixture
def criterion(two_classes):
    X, y = two_classes
    return fisher_criterion(within_moments(X, y, 2), ridge=1e-6)


# ---- Greedy selection ---------------------------------------------------------------------------


def test_forward_adds_the_best_feature_each_time(criterion):
    members = []
    for subset in greedy.forward(criterion, 6):
        others = [j for j in range(12) if j not in members]
        members.append(max(others, key=lambda j: criterion.value([*members, j])))
        assert subset.tolist() == sorted(members)


def test_backward_drops_the_least_feature_each_time(criterion):
    members = list(range(12))
    for subset in greedy.backward(criterion, 12)[::-1]:
        assert subset.tolist() == members
        smaller = [list(s) for s in combinations(members, len(members) - 1) if s]
        members = max(smaller, key=criterion.value, default=[])


@pytest.mark.parametrize("select", [greedy.forward, greedy.backward])
def test_greedy_never_takes_a_copy_or_a_constant(two_classes, select):
    X, y = two_classes
    with_copies = np.column_stack([X, X[:, :3] * 2.0 + 1.0, np.ones(len(X))])
    criterion = fisher_criterion(within_moments(with_copies, y, 2), ridge=1e-6)
    subsets = select(criterion, 16)
    assert [len(subset) for subset in subsets] == list(range(1, 13))
    for subset in subsets:
        assert 15 not in subset
        assert not any(j in subset and j + 12 in subset for j in range(3))


# ---- Figures ------------------------------------------------------------------------------------


# ---- Proofs -------------------------------------------------------------------------------------


def test_leaps_and_bounds_ends_at_the_best_subset(criterion):
    for size in range(1, 13):
        best, n_nodes, ended = leaps.leaps(criterion, size, 0.0, inf)
        assert ended
        assert best == pytest.approx(Prover(criterion).prove(size).value)
        assert 1 <= leaps.leaps(criterion, size, best, inf)[1] <= n_nodes


def test_the_table_of_proofs_tells_what_is_missing(results):
    chosen = proofs.chosen_sizes("heart")
    common = {"data": "heart", "features": "44", "prepared_s": "0.5", "seconds": "1.5"}
    first = {"size": str(chosen["one_sd"]), "optimal": "True", "gap": "0", "nodes": "7"}
    second = {"size": str(chosen["one_se"]), "optimal": "False", "gap": "0.031", "nodes": "9"}
    text = proofs.table([common | first, common | second])
    assert f"| 2.00 | 1.50 | 7 | {chosen['one_se']} (3.10% after 2 s) |" in text
    assert f"| one_sd | {chosen['one_sd']} | proven | 7 |" in text
    assert f"| one_se | {chosen['one_se']} | gap 3.10% | 9 |" in text


def test_time_to_solution():
    assert time_to_solution(0.5, 2.0) == pytest.approx(2.0 * np.log(0.01) / np.log(0.5))
    assert time_to_solution(0.9, 3.0) == pytest.approx(6.0)
    assert time_to_solution(1.0, 3.0) == 3.0
    assert time_to_solution(0.0, 3.0) == inf


@pytest.mark.parametrize("settings", [*DEFAULTS.values(), TemperingSettings(n_steps=45)])
def test_each_of_the_dynamics_finds_planted_pairs_among_few_decoys(settings):
    problem = Problem("two pairs", *planted(2, order=2, n_decoys=6, n_noise=4), size=4)
    runs = measure(problem, training_data(problem), settings, False, range(3))
    assert runs.share(proven(problem)[1]) == 1
    assert runs.sweeps == runs.n_steps * settings.n_replicas * settings.sweeps


def test_a_ladder_is_moved_to_even_exchange_rates():
    ladder = np.array([0.0, 1.0, 2.0, 3.0])
    even = even_ladder(ladder, np.array([0.9, 0.9, 0.4]))
    # 0.8 is refused in all: the steps that refuse more get closer.
    np.testing.assert_allclose(even[[0, 3]], ladder[[0, 3]])
    refused = np.interp(even, ladder, [0, 0.1, 0.2, 0.8])
    np.testing.assert_allclose(np.diff(refused), 0.8 / 3)


def test_exchanges_keep_the_replicas_and_prefer_the_better_in_the_cold():
    values = np.array([[5.0, 0.0], [1.0, 9.0], [2.0, 2.0]])
    places, rates = exchange(values, np.array([0.0, 1.0, 2.0]), 0, np.full((3, 2), 0.5))
    assert places.tolist() == [[2, 1], [0, 3], [4, 5]]
    np.testing.assert_allclose(rates, [(1 + np.exp(-9.0)) / 2, np.nan])


def test_the_parts_of_a_search_are_timed_and_the_engine_is_left_as_it_was(two_classes):
    X, y = two_classes
    before = loop.anneal
    with split_time() as parts:
        anneal_path(X, y, [2, 3], random_state=0)
    assert set(parts) == {"moments", "annealing", "fits"}
    assert all(seconds > 0 for seconds in parts.values())
    assert loop.anneal is before


def test_instructions_are_those_of_one_binary():
    listing = (
        "1,000  ???:0x1 [/a/_core.so]\n2,500 chains.cpp:sweep [/a/_core.so]\n9 x.c:f [/a/libc.so]\n"
        "70 ???:0x2 [/scipy/a/_core.so]\n"
    )
    assert kernel.sum_of_object(listing, "/a/_core.so") == 3500
    with pytest.raises(SystemExit, match=r"saw nothing of /a/other\.so"):
        kernel.sum_of_object(listing, "/a/other.so")


def test_a_count_above_its_bound_says_what_to_do():
    assert kernel.above_bound({"sweep": 1049}, {"sweep": 1000}) == []
    [problem] = kernel.above_bound({"sweep": 1100}, {"sweep": 1000})
    assert "'sweep' takes 1,100 instructions, +10.0%" in problem
    assert "make kernel-renew" in problem
    [problem] = kernel.above_bound({"fit": 1}, {})
    assert "no count is kept for the job 'fit'" in problem


# ---- Rows and tables ----------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "RESULTS", tmp_path)
    return tmp_path


def test_rows_of_other_work_stay(results, capsys):
    rows.keep("some", [{"data": "heart", "x": 1}, {"data": "cancer", "x": 2}], by=("data",))
    rows.keep("some", [{"data": "heart", "x": 3}], by=("data",))
    assert [(row["data"], row["x"]) for row in rows.read("some")] == [
        ("cancer", "2"),
        ("heart", "3"),
    ]
    assert "data=heart  x=3" in capsys.readouterr().out
    assert [path.name for path in results.iterdir()] == ["some.csv"]


def fold_row(contestant, seconds, **changes):
    return {
        **{"data": "heart", "rows": "159", "features": "44", "contestant": contestant},
        **{"process_s": seconds, "peak_mb": "1.5", "extrapolated": "0"},
        **{f"{part}_s": "" for part in table.PARTS},
        **changes,
    }


def test_the_table_of_folds_gives_ratios_and_marks_what_is_extrapolated():
    parts = {"moments_s": "0.1", "annealing_s": "0.2", "fits_s": "0.1", "rest_s": "0.1"}
    text = table.folds(
        [
            fold_row("sa-fdr", "0.5", **parts),
            fold_row("rfe", "1.5"),
            fold_row("reference", "2000", extrapolated="1", peak_mb=""),
        ]
    )
    assert "| data (rows × features) | sa-fdr | rfe | reference |" in text
    assert "| Heart (159 × 44) | 0.5 | 1.5 (3) | ~2000 (4e+03) |" in text
    assert "| Heart | 0.1 (20%) | 0.2 (40%) | 0.1 (20%) | 0.1 (20%) |" in text
    assert "| Heart | 1.5 | 1.5 |  |" in text


def quality_row(size, ours, theirs, our_entropy="0.3", their_entropy="0.3"):
    return {
        **{"data": "heart", "rival": "abess", "size": size, "ours": ours, "theirs": theirs},
        **{"our_cross_entropy": our_entropy, "their_cross_entropy": their_entropy},
    }


def test_the_table_of_quality_counts_pairs_and_lists_the_worse():
    better = quality_row("1", "2.0", "1.0", our_entropy="0.4")
    equal = quality_row("2", "2.0", "2.0000000001", our_entropy="0.2")
    worse = quality_row("3", "1.9", "2.0")
    text = table.quality([better, equal, worse])
    assert "| abess | 1 | 1 | 1 | 1 | 1 | 1 |" in text
    assert "| Heart | abess | 3 (-5.00%) |" in text
    assert "No pair has a worse criterion value." in table.quality([better, equal])


# ---- More classes and regression ----------------------------------------------------------------


def task_rows(results):
    times = {"sa-fdr": "2", "rfe": "3"}
    shape = {"rows": 60, "features": 4, "max_size": 2}
    rows.keep(
        "tasks",
        [
            {"problem": "P", **shape, "contestant": name, "process_s": seconds}
            for name, seconds in times.items()
        ],
    )
    losses = {("sa-fdr", 1): 0.5, ("sa-fdr", 2): 0.25, ("rfe", 1): 0.5, ("rfe", 2): 0.3}
    rows.keep(
        "tasks_found",
        [
            {"problem": "P", "contestant": name, "size": size, "loss": loss}
            for (name, size), loss in losses.items()
        ],
    )


def test_the_table_of_tasks_counts_the_smaller_losses(results):
    task_rows(results)
    text = task_table.tasks(rows.read("tasks"))
    assert "| P (60 × 4), 1 to 2 | 2 | 3 (1.5) |" in text
    assert "| P | rfe | 0.5 | 0.3 |" in text
    assert "| P | rfe | 1 | 1 | 0 |" in text


def test_tasks_are_of_the_shapes_they_say():
    letters, labels = task_problem.letters()
    assert letters.shape == (1560, 617)
    assert np.unique(labels, return_counts=True)[1].tolist() == [60] * 26
    fold = task_problem.load_task("Diabetes, squares and products")
    assert fold.X.shape == (265, 65)
    np.testing.assert_allclose(fold.X.std(axis=0), 1.0)


@pytest.mark.parametrize("title", list(task_problem.TASKS)[::2])
def test_each_contestant_measures_the_loss_of_the_same_models(title):
    fold = replace(task_problem.load_task(title), sizes=[1, 2])
    fold = replace(fold, X=fold.X[:, 20:28])
    peers = task_peers.contestants(fold)
    losses = {name: run(fold) for name, run in peers.items()}
    for size in fold.sizes:
        subsets = list(combinations(range(8), size))
        possible = evaluate_subsets(fold.X, fold.y, subsets, task=fold.task, C=np.inf).losses
        for found in losses.values():
            if size in found:
                assert np.isclose(possible, found[size], rtol=1e-6).any()
        assert losses["rfe"][size] >= losses["sa-fdr"][size] * (1 - 1e-9)


# ---- Rows that are read in passes ---------------------------------------------------------------


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(streaming, "write_rows", lambda file: None)
    monkeypatch.setattr(spark_peer, "measure", lambda file: {"processor_s": 1.0})
    found = []
    for here in (False, True):
        monkeypatch.setattr(spark_peer, "is_here", lambda here=here: here)
        found.append(list(streaming.rows_of(Namespace(what=["spark"]), tmp_path)))
    assert [len(each) for each in found] == [0, 1]
