"""python -m fuzz [name ...] --seconds 60: check random inputs; print failures with their seed."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

# Each is a module with `check(rng)`, which makes one input and raises an error if the output is
# wrong.
NAMES = ("estimators", "fits", "constraints", "wide", "streams", "exports", "tables", "options")


def main() -> int:
    """Run the checks, and print what they found."""
    arguments = _arguments()
    names = arguments.names or NAMES
    n_failed = 0
    for name in names:
        n_cases, failures = run(
            name, arguments.seed, arguments.cases, arguments.seconds / len(names), arguments.jobs
        )
        for seed, text in failures:
            print(f"\n{text}again: python -m fuzz {name} --seed {seed} --cases 1", file=sys.stderr)
        print(f"{name}: {n_cases} cases, {len(failures)} failed", flush=True)
        n_failed += len(failures)
    return 1 if n_failed else 0


def run(
    name: str, seed: int, n_cases: int, seconds: float, n_jobs: int
) -> tuple[int, list[tuple[int, str]]]:
    """Check seeds until `n_cases` are done or time is up; return their number and the failures."""
    end = time.monotonic() + seconds
    failures: list[tuple[int, str]] = []
    # A test has threads, and a fork of a process with threads may hang.
    if n_jobs == 1:
        return _run_some(name, seed, 1, n_cases, end)
    with ProcessPoolExecutor(n_jobs) as pool:
        parts = [
            pool.submit(_run_some, name, seed + job, n_jobs, -(-(n_cases - job) // n_jobs), end)
            for job in range(min(n_jobs, n_cases))
        ]
        done = [part.result() for part in parts]
    for _, failed in done:
        failures += failed
    return sum(n for n, _ in done), sorted(failures)


def _run_some(
    name: str, first: int, stride: int, n_cases: int, end: float
) -> tuple[int, list[tuple[int, str]]]:
    """Check every `stride`-th seed in one process."""
    failures = []
    n_done = 0
    check = importlib.import_module(f"fuzz.{name}").check
    for seed in range(first, first + stride * n_cases, stride):
        if time.monotonic() > end:
            break
        text = failure(check, seed)
        if text is not None:
            failures.append((seed, text))
        n_done += 1
    return n_done, failures


def failure(check, seed: int) -> str | None:
    """Return the error of this seed; None without one."""
    try:
        with warnings.catch_warnings():
            # A warning that a check does not expect is a defect too.
            warnings.simplefilter("error")
            check(np.random.default_rng(seed))
    except Exception:
        return traceback.format_exc(limit=-6)
    return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[[], *NAMES], metavar="name", help=", ".join(NAMES)
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of all names together")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most, of each name")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
