"""Our table against the paper's: where its claims hold on our rows, and under which rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.datasets import DATASETS
from experiments.methods import DEFAULT_METHODS, SA_FDR
from experiments.protocol import RULES
from experiments.published import PUBLISHED
from experiments.table import MISSING, Line, markdown_table

# Largest difference in k* that counts as the same, and standard errors that an AUC may lie below.
K_TOLERANCE = 1.5
N_ERRORS = 2.0
HEADER = (
    "Data",
    *(f"k* − paper ({rule})" for rule in RULES),
    f"k* within ± {K_TOLERANCE}",
    *(f"AUC − paper ({rule})" for rule in RULES),
    f"AUC ≥ paper − {N_ERRORS:g} SE",
    "smallest k* in the paper",
    "smallest k* here",
)
NOTE = (
    "SA-FDR against the paper. Each claim is followed by the rules under which it holds on our "
    "rows; bold where it holds under none."
)


@dataclass(frozen=True)
class Check:
    """SA-FDR on one data set; each of the last three names the rules under which it holds.

    `smallest` is None where not all methods of the paper have rows.
    """

    data: str
    k_off: dict[str, float]
    auc_off: dict[str, float]
    k_agrees: list[str]
    auc_agrees: list[str]
    smallest_in_paper: bool
    smallest: list[str] | None


def make_checks(lines: Sequence[Line]) -> list[Check]:
    """Compare SA-FDR with the paper, on each data set that both have."""
    by_name = {(line.data, line.method): line for line in lines}
    ours = [line for line in lines if line.method == SA_FDR and line.published is not None]
    return [_check(line, [by_name.get((line.data, m)) for m in DEFAULT_METHODS]) for line in ours]


def _check(line: Line, of_paper: list[Line | None]) -> Check:
    assert line.published is not None  # only such lines are checked
    k_off = {rule: line.k[rule].mean.value - line.published.k for rule in RULES}
    auc = {rule: line.auc[rule].mean for rule in RULES}
    auc_off = {rule: auc[rule].value - line.published.auc for rule in RULES}
    others = [PUBLISHED[line.data, m].k for m in DEFAULT_METHODS if m != SA_FDR]
    return Check(
        line.data,
        k_off,
        auc_off,
        _holding(lambda rule: abs(k_off[rule]) <= K_TOLERANCE),
        _holding(
            lambda rule: auc_off[rule] >= -N_ERRORS * (auc[rule].error if auc[rule].n > 1 else 0)
        ),
        line.published.k < min(others),
        _smallest([each for each in of_paper if each]) if all(of_paper) else None,
    )


def _holding(holds: Callable[[str], bool]) -> list[str]:
    return [rule for rule in RULES if holds(rule)]


def _smallest(lines: list[Line]) -> list[str]:
    """Rules under which the first line has the smallest k*."""
    first, *others = lines
    return _holding(
        lambda rule: first.k[rule].mean.value < min(o.k[rule].mean.value for o in others)
    )


def to_markdown(checks: Sequence[Check]) -> str:
    """The checks as a table, with a note below."""
    return f"{markdown_table(HEADER, [_cells(check) for check in checks])}\n{NOTE}\n"


def _cells(check: Check) -> list[str]:
    return [
        DATASETS[check.data].title,
        *(f"{check.k_off[rule]:+.2f}" for rule in RULES),
        _rules(check.k_agrees),
        *(f"{check.auc_off[rule]:+.4f}" for rule in RULES),
        _rules(check.auc_agrees),
        "yes" if check.smallest_in_paper else "no",
        MISSING if check.smallest is None else _rules(check.smallest, check.smallest_in_paper),
    ]


def _rules(rules: list[str], claimed: bool = True) -> str:
    """Under which rules it holds; a claim that holds under none must catch the eye."""
    return ", ".join(rules) or ("**no**" if claimed else "no")
