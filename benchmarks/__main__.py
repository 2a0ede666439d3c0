"""Run the benchmarks: `python -m benchmarks folds --data heart cancer`; see README.md here."""

from __future__ import annotations

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import (
    dynamics,
    first_call,
    fold_memory,
    folds,
    grouped,
    kernel,
    leaps,
    moments,
    proofs,
    proposals,
    quality,
    recipe,
    signs,
    sparse_rows,
    stability,
    start_up,
    table,
    tasks,
    threads,
    tts,
)
from benchmarks.peers import PEERS
from benchmarks.problem import EIGHT, KAGGLE, STAND_IN
from experiments.errors import DataError

COMMANDS = {
    "folds": folds.main,
    "quality": quality.main,
    "tts": tts.main,
    "dynamics": dynamics.main,
    "threads": threads.main,
    "first-call": first_call.main,
    "start-up": start_up.main,
    "kernel": kernel.main,
    "moments": moments.main,
    "proposals": proposals.main,
    "proofs": proofs.main,
    "leaps": leaps.main,
    "stability": stability.main,
    "signs": signs.main,
    "recipe": recipe.main,
    "tasks": tasks.main,
    "groups": grouped.main,
    "sparse": sparse_rows.main,
    "fold-memory": fold_memory.main,
    "table": table.main,
}


def main() -> None:
    """Run one of them, or all in this order."""
    options = _parse()
    for name in [options.command] if options.command else COMMANDS:
        # threads sets its own limit.
        with threadpool_limits(limits=None if name == "threads" else 1):
            COMMANDS[name](options)
        # Counting instructions keeps no rows.
        if name not in ("kernel", "table"):
            table.main(options)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", nargs="?", choices=COMMANDS, help="all of them if left out")
    parser.add_argument(
        "--data",
        nargs="+",
        choices=[*EIGHT, STAND_IN, KAGGLE],
        help="else the eight sets; threads: the larger ones",
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data; else $SAFDR_DATA")
    parser.add_argument("--contestants", nargs="+", choices=PEERS, help="of folds")
    parser.add_argument("--max-features", type=int, default=30, help="largest size")
    parser.add_argument("--rounds", type=int, help="runs of which the median is taken")
    parser.add_argument("--sizes", nargs="+", type=int, help="of tts and proofs")
    parser.add_argument("--seeds", type=int, help="of tts")
    parser.add_argument("--renew", action="store_true", help="keep new counts of kernel")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        raise SystemExit(str(error)) from None
