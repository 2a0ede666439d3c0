"""The Dask cluster that ``--dask`` names: passes run there while it is connected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from safdr.cli.errors import UsageError
from safdr.cli.progress import SearchProgress
from safdr.sources.errors import MissingExtraError, require

# Seconds for a scheduler to answer.
PATIENCE = 5
# And for a worker to be there.
FOR_A_WORKER = 60


@contextmanager
def cluster_at(address: str | None, progress: SearchProgress) -> Iterator[None]:
    """Have Dask compute there; no address is no cluster."""
    if address is None:
        yield
        return
    try:
        require("distributed", "dask", "--dask")
    except MissingExtraError as error:
        raise UsageError(str(error)) from None
    progress.say("Connecting")
    with _client(address) as client:
        progress.say("Waiting for a worker")
        _check_workers(client, address)
        yield


def _client(address: str) -> Any:
    distributed: Any = import_module("distributed")
    try:
        return distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--dask {address}: no scheduler answers there ({error}). Start one with `dask "
            "scheduler`, which prints its address, such as tcp://host:8786."
        ) from None


def _check_workers(client: Any, address: str) -> None:
    """There must be one, and all must have this version of safdr, since they run its passes."""
    ours = version("safdr")
    # A task, which has clusters that grow with their work start a worker.
    task = client.submit(int, pure=False)
    try:
        task.result(timeout=FOR_A_WORKER)
    except TimeoutError:
        raise UsageError(
            f"--dask {address}: the cluster has no worker, and none came within {FOR_A_WORKER} "
            f"seconds. Start one with: dask worker {address}"
        ) from None
    # A function of Python's own, which needs no safdr to be found.
    found = client.run(version, "safdr", on_error="return")
    for worker, theirs in found.items():
        if isinstance(theirs, PackageNotFoundError):
            theirs = "none"
        if theirs != ours:
            raise UsageError(
                f"The worker {worker} has safdr {theirs}, but here it is {ours}. Install the same "
                "version where workers run, with pyarrow: pip install 'safdr[big]'"
            )
