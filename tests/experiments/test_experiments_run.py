"""Runs that are killed, resumed and repeated."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.errors import SettingsError, WorkerError
from experiments.protocol import ProtocolSettings
from experiments.run import Cell, make_plan, run_all, seconds_left
from experiments.store import RowStore

ROOT = Path(__file__).parents[2]
METHODS = ["rfe", "sa-fdr+max_steps=5+n_replicas=5"]
PROTOCOL = ProtocolSettings(max_features=3, n_splits=2)


def plan_in(out, repeats=2, methods=METHODS, protocol=PROTOCOL):
    return make_plan(out, data=["cancer"], methods=methods, repeats=repeats, protocol=protocol)


def run_in(out, jobs=1, **changes):
    plan = plan_in(out, **changes)
    outcomes = []
    failed = run_all(plan, jobs, lambda outcome, left: outcomes.append((outcome, left)))
    assert failed == []
    return outcomes


def numbers(out):
    """What the rows say, without how long it took."""
    rows, problems = RowStore(out).read_all()
    assert problems == []
    for row in rows:
        del row["seconds"], row["folds"]["seconds"]
    return rows


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("finished")
    run_in(out)
    return out


def contents(out):
    return {path: path.read_bytes() for path in out.rglob("*.json")}


def test_every_cell_gets_a_row(finished):
    cells = {(row["data"], row["method"], row["repeat"]) for row in numbers(finished)}
    assert cells == {("cancer", method, repeat) for method in METHODS for repeat in range(2)}


def test_a_run_can_start_at_a_later_repeat(tmp_path):
    protocol = {"methods": ["rfe"], "protocol": PROTOCOL}
    plan = make_plan(tmp_path, data=["cancer"], repeats=2, first=3, **protocol)
    assert [task.cell.repeat for task in plan.tasks] == [3, 4]


def test_what_is_done_is_not_done_again(finished):
    before = contents(finished)
    plan = plan_in(finished)
    assert (plan.n_done, plan.tasks) == (4, [])
    assert run_in(finished) == []
    assert contents(finished) == before


def test_a_damaged_row_is_reported_and_done_again(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    path = RowStore(tmp_path).path(Cell("cancer", "rfe", 1))
    path.write_bytes(path.read_bytes()[:1000])
    plan = plan_in(tmp_path)
    assert [str(path) in problem for problem in plan.problems] == [True]
    assert [task.cell for task in plan.tasks] == [Cell("cancer", "rfe", 1)]
    run_in(tmp_path)
    assert numbers(tmp_path) == numbers(finished)


def test_rows_of_other_settings_are_refused(finished):
    with pytest.raises(SettingsError, match="max_features 3 there, 2 here"):
        plan_in(finished, protocol=ProtocolSettings(max_features=2, n_splits=2))


def test_an_error_in_one_cell_leaves_the_others(tmp_path, monkeypatch):
    from experiments.baselines import RFE

    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(RFE, "path", fail)
    plan = plan_in(tmp_path, repeats=1)
    failed = run_all(plan, 1, lambda *_: None)
    assert [outcome.cell.method for outcome in failed] == ["rfe"]
    assert "RuntimeError: broken" in failed[0].error
    assert [row["method"] for row in numbers(tmp_path)] == [METHODS[1]]


def test_the_time_left_comes_from_similar_cells():
    known = {("heart", "rfe"): [1.0, 3.0], ("heart", "lasso"): [6.0], ("ozone", "rfe"): [30.0]}
    assert seconds_left([Cell("heart", "rfe", 9)], known, 1) == 2.0
    assert seconds_left([Cell("heart", "sa-fdr", 9)], known, 1) == pytest.approx(10 / 3)
    assert seconds_left([Cell("cancer", "rfe", 9)], known, 1) == 10.0
    assert seconds_left([Cell("heart", "rfe", 8), Cell("heart", "rfe", 9)], known, 2) == 2.0
    assert seconds_left([], known, 2) == 0.0
    assert seconds_left([Cell("heart", "rfe", 0)], {}, 2) is None


def start_run(out):
    """A run with two workers, far too long to end by itself."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from experiments.protocol import ProtocolSettings\n"
        "from experiments.run import make_plan, run_all\n"
        "plan = make_plan(Path(sys.argv[1]), data=['cancer'], methods=sys.argv[2:], repeats=999,\n"
        "                 protocol=ProtocolSettings(max_features=3, n_splits=2))\n"
        "run_all(plan, 2, lambda *_: None)\n"
    )
    return subprocess.Popen([sys.executable, "-c", script, str(out), *METHODS], cwd=ROOT)


def wait_for_rows(process, out, n):
    deadline = time.monotonic() + 120
    while len(list(out.rglob("*.json"))) < n:
        assert process.poll() is None, "the run ended by itself"
        assert time.monotonic() < deadline, "the run makes no rows"
        time.sleep(0.01)


def children(pid):
    """Processes that a process started, by their numbers."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name, which is in brackets: state, then the parent.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def wait_for_end(pids):
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived the run"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see processes")
def test_a_killed_run_ends_its_workers_loses_no_finished_cell_and_resumes(finished, tmp_path):
    process = start_run(tmp_path)
    try:
        wait_for_rows(process, tmp_path, 3)
        workers = children(process.pid)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(workers) >= 2
    wait_for_end(workers)
    before = contents(tmp_path)
    assert len(numbers(tmp_path)) == len(before) >= 3
    # Two workers made them: their numbers are those of one process.
    by_two = [row for row in numbers(tmp_path) if row["repeat"] < 2]
    assert by_two
    assert all(row in numbers(finished) for row in by_two)
    repeats = 2 + max(int(Path(path).stem) for path in before)
    plan = plan_in(tmp_path, repeats=repeats)
    assert (plan.problems, plan.n_done) == ([], len(before))
    assert len(plan.tasks) == 2 * repeats - len(before)
    run_in(tmp_path, repeats=repeats)
    after = contents(tmp_path)
    assert len(after) == 2 * repeats
    assert before.items() <= after.items()


def test_a_killed_worker_gives_a_clear_message(tmp_path, monkeypatch):
    plan = plan_in(tmp_path, repeats=2)
    monkeypatch.setattr("experiments.run._do", _die)
    with pytest.raises(WorkerError, match=r"killed.*Finished cells are kept.*fewer --jobs"):
        run_all(plan, 2, lambda *_: None)


def _die(_):
    os.kill(os.getpid(), signal.SIGKILL)
