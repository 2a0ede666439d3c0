"""Instructions that the compiled core takes for a fixed job: a figure that noise can't move.

Valgrind counts all instructions executed in the library's own binary, as it ships (what the core
calls in other libraries, such as copying memory, is left out). It has no AVX-512, so the AVX2
clone of the core is what it runs. Another compiler, or a machine without AVX2, gives other counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.kernel_job import JOBS
from benchmarks.rows import RESULTS
from experiments.whole_files import write_whole
from safdr import _core

BOUNDS = RESULTS / "kernel.json"
# How much more than the kept count is let through: compilers of one family differ by less.
SLACK = 1.05


def main(options: argparse.Namespace) -> None:
    """Count; then keep the counts (--renew), or fail where one is above its bound."""
    if shutil.which("valgrind") is None:
        print("kernel: skipped, since valgrind is not installed (on Debian: apt install valgrind).")
        return
    counts = {job: count_instructions(job) for job in JOBS}
    for job, count in counts.items():
        print(f"kernel  job={job}  instructions={count:,}", flush=True)
    if options.renew:
        write_whole(BOUNDS, (json.dumps(counts, indent=2) + "\n").encode())
        return
    if problems := above_bound(counts, json.loads(BOUNDS.read_text())):
        raise SystemExit("\n".join(problems))


def above_bound(counts: dict[str, int], kept: dict[str, int]) -> list[str]:
    """A sentence for each job that takes more instructions than it may.

    Parameters
    ----------
    counts, kept : dict
        Instructions of each job, now and when they were last kept.

    Returns
    -------
    list of str
    """
    how = (
        "If that is the price of something wanted, keep the new counts by `make kernel-renew` and "
        "say why in the commit. Another compiler, or a processor without AVX2, counts otherwise."
    )
    return [
        f"kernel: the job {job!r} takes {count:,} instructions, {count / kept[job] - 1:+.1%} "
        f"against the {kept[job]:,} kept in {BOUNDS.name}; {SLACK - 1:.0%} more are allowed. {how}"
        if job in kept
        else f"kernel: no count is kept for the job {job!r} in {BOUNDS.name}. {how}"
        for job, count in counts.items()
        if job not in kept or count > SLACK * kept[job]
    ]


def count_instructions(job: str) -> int:
    """Instructions within the compiled core while a job runs.

    Parameters
    ----------
    job : str
        One of `JOBS`.

    Returns
    -------
    int
    """
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        _run(
            *("valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"),
            *(sys.executable, "-m", "benchmarks.kernel_job", job),
        )
        listing = _run("callgrind_annotate", "--threshold=100", "--show-percs=no", str(counts))
    return sum_of_object(listing, _core.__file__)


def sum_of_object(listing: str, binary: str) -> int:
    """Add up the lines of callgrind_annotate that end in a binary's path.

    The whole path, since scipy has a `_core` as well.

    Parameters
    ----------
    listing : str
        Its output: a count, then a function, then its binary in brackets.
    binary : str
        Path of its file.

    Returns
    -------
    int
    """
    lines = [line for line in listing.splitlines() if line.endswith(f"[{binary}]")]
    if not lines:
        raise SystemExit(f"kernel: valgrind saw nothing of {binary}; was the core loaded?")
    return sum(int(line.split()[0].replace(",", "")) for line in lines)


def _run(*command: str) -> str:
    """Output of a command; with the same hashes each time, so that the counts are the same."""
    environment = os.environ | {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"kernel: {command[0]} failed:\n{done.stderr}")
    return done.stdout
