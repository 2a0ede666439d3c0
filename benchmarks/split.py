"""Where the time of a search goes: timers around the engine's parts, from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from safdr._engine.annealing import loop
from safdr._engine.fits.fitter import LogisticFitter
from safdr._estimators import training_data

# Part, and where the function that does it is looked up. None of them calls another.
PARTS = (
    ("moments", training_data, "within_moments"),
    ("annealing", loop, "anneal"),
    ("fits", LogisticFitter, "fit"),
)


@contextmanager
def split_time() -> Iterator[dict[str, float]]:
    """Processor seconds of each part, added up while the block runs (on one thread)."""
    parts = {part: 0.0 for part, _, _ in PARTS}
    with ExitStack() as stack:
        for part, owner, name in PARTS:
            function = _with_timer(getattr(owner, name), part, parts)
            stack.enter_context(patch.object(owner, name, function))
        yield parts


def _with_timer(
    function: Callable[..., Any], part: str, parts: dict[str, float]
) -> Callable[..., Any]:
    @wraps(function)
    def with_timer(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            parts[part] += time.process_time() - start

    return with_timer
