"""Workers end soon after the process that they work for, however that ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from safdr._estimators.workers import end_with

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to see processes"
)

# The model, the criterion and the judge of candidates are each the work of other processes. Workers
# tell that they work, and go on for longer than any test waits. Each search has a process of its
# own, forked off this one, which has loaded everything.
SCRIPT = """
import multiprocessing, os, sys, time
from pathlib import Path
import numpy as np
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV
from safdr._estimators.workers import end_with

class Slow(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        work(self)
        return super().fit(X, y)

def work(self):
    if os.getpid() != self.main:
        (self.told / str(os.getpid())).touch()
        time.sleep(600)

def slow_criterion(X, y):
    work(slow_criterion)
    time.sleep(0.1)
    return float(abs(X[y == 1].mean() - X[y == 0].mean()))

def late(owner, told):
    (told / str(os.getpid())).touch()
    while os.getppid() == owner:
        time.sleep(0.01)
    (told / "orphan").touch()
    end_with(owner)
    time.sleep(600)

def search(kind):
    if kind == "late":
        fork = multiprocessing.get_context("fork")
        fork.Process(target=late, args=(Slow.main, Slow.told)).start()
        time.sleep(600)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 12)), np.arange(200) % 2
    settings = {"n_jobs": 2, "annealing": Annealing(n_replicas=8), "random_state": 0}
    if kind == "folds":
        AnnealingSelectorCV(max_features=4, estimator=Slow(), **settings).fit(X, y)
    elif kind == "criterion":
        AnnealingSelector(3, criterion=slow_criterion, **settings).fit(X, y)
    else:
        AnnealingSelector(3, estimator=Slow(), **settings).fit(X, y)

for line in sys.stdin:
    kind, backend, told = line.rstrip("\\n").split("\\t")
    pid = os.fork()
    if not pid:
        Slow.main = slow_criterion.main = os.getpid()
        Slow.told = slow_criterion.told = Path(told)
        with parallel_config(backend=backend):
            search(kind)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds, message):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.05)


KILL, TERMINATE = signal.SIGKILL, signal.SIGTERM


@pytest.fixture(scope="module")
def searches():
    """A process that forks another one for each search, tells its number, and how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        yield process


# Workers of loky, the default, load everything anew; forked ones are there at once.
@pytest.mark.parametrize(
    ("kind", "backend", "number"),
    [
        ("folds", "loky", KILL),
        ("folds", "multiprocessing", TERMINATE),
        ("criterion", "multiprocessing", KILL),
        ("judge", "multiprocessing", KILL),
    ],
)
def test_workers_end_with_a_killed_process(searches, tmp_path, kind, backend, number):
    searches.stdin.write(f"{kind}\t{backend}\t{tmp_path}\n")
    searches.stdin.flush()
    owner, workers = int(searches.stdout.readline()), []
    try:
        wait_until(lambda: len(list(tmp_path.iterdir())) >= 2, 300, "no workers")
        workers = [int(path.name) for path in tmp_path.iterdir()]
        os.kill(owner, number)
        assert int(searches.stdout.readline()) == -number
        # A second is what is promised; the rest is for a busy machine.
        wait_until(lambda: not any(map(is_alive, workers)), 10, "a worker outlived the process")
    finally:
        for pid in filter(is_alive, [owner, *workers]):
            os.kill(pid, signal.SIGKILL)


def test_only_the_one_who_started_a_process_is_watched():
    before = threading.active_count()
    for owner in (os.getpid(), os.getppid(), 1):
        end_with(owner)
    assert threading.active_count() == before


def who_watches(_):
    """Ask in a worker, twice."""
    for owner in (1, os.getppid(), os.getppid()):
        end_with(owner)
    return [thread.name for thread in threading.enumerate() if "watch" in thread.name]


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_worker_watches_once(how):
    with multiprocessing.get_context(how).Pool(1) as pool:
        (names,) = pool.map(who_watches, [0])
    assert len(names) == 1


def test_a_worker_ends_whose_owner_ended_before_it_watched(searches, tmp_path):
    searches.stdin.write(f"late\tmultiprocessing\t{tmp_path}\n")
    searches.stdin.flush()
    owner = int(searches.stdout.readline())
    try:
        wait_until(lambda: list(tmp_path.iterdir()), 300, "no worker")
    finally:
        os.kill(owner, signal.SIGKILL)
        assert int(searches.stdout.readline()) == -signal.SIGKILL
    worker = next(int(path.name) for path in tmp_path.iterdir() if path.name != "orphan")
    wait_until((tmp_path / "orphan").exists, 30, "it has a parent still")
    try:
        wait_until(lambda: not is_alive(worker), 10, "the worker outlived its owner")
    finally:
        if is_alive(worker):
            os.kill(worker, signal.SIGKILL)
