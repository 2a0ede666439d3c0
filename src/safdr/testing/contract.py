"""A contract is a row of small checks, and an error names the one that failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

Case = TypeVar("Case")


class ContractError(AssertionError):
    """A promise that a criterion, an objective or chains did not keep.

    Parameters
    ----------
    expected : str
        What was promised.
    got : str
        What came instead.
    cause : str
        What usually causes it.

    Attributes
    ----------
    check : str
        Name of the check that failed, as `skip` takes it.
    """

    def __init__(self, expected: str, got: str, cause: str) -> None:
        super().__init__(expected, got, cause)
        self.expected, self.got, self.cause = expected, got, cause
        self.check = ""

    def __str__(self) -> str:
        return (
            f"{self.check}: expected {self.expected}; got {self.got}. "
            f"Usual cause: {self.cause}. "
            f"If this is meant to be so, pass skip=({self.check!r},)."
        )


def run_checks(checks: Sequence[Callable[[Case], None]], case: Case, skip: Collection[str]) -> None:
    """Run the checks in order, but for those named in `skip`, until one fails.

    An exception that the code under test raises fails the check too.
    """
    left_out = {skip} if isinstance(skip, str) else set(skip)
    names = [check.__name__ for check in checks]
    if unknown := sorted(left_out - set(names)):
        raise ValueError(f"skip names no such check: {unknown}. There are {', '.join(names)}.")
    for check in checks:
        if check.__name__ not in left_out:
            _run(check, case)


def _run(check: Callable[[Case], None], case: Case) -> None:
    """Run one check; what fails in it carries its name."""
    try:
        check(case)
    except ContractError as error:
        error.check = check.__name__
        raise
    except Exception as error:
        failure = ContractError(
            "no exception",
            f"{type(error).__name__}: {error}".rstrip("."),
            "the exception above, raised by the code under test",
        )
        failure.check = check.__name__
        raise failure from error
