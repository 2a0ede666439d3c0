"""Run benchmarks: python -m benchmarks [NAME ...]; all but gpu if none is named."""

from __future__ import annotations

import argparse
from importlib import import_module

from threadpoolctl import threadpool_limits

NAMES = ("whole_job", "folds", "quality", "proofs", "wide", "tasks", "memory", "streaming", "gpu")


def main() -> None:
    """Run the named benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], metavar="NAME", help=", ".join(NAMES)
    )
    names = parser.parse_args().names or [name for name in NAMES if name != "gpu"]
    for name in names:
        with threadpool_limits(limits=1):
            import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
