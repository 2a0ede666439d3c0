"""How sure the answer is, where that was asked for; what can't be told stops nothing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from safdr import AnnealingSelectorCV, NearTies, Stability, WhatIf, near_ties, stability, what_if
from safdr.cli.errors import OPTION_OF
from safdr.cli.options import SearchOptions
from safdr.cli.progress import SearchProgress
from safdr.cli.rows import SplitRows
from safdr.errors import ParameterError
from safdr.report.certainty import MOST_SETS, WITHIN, found_ties, no_proof
from safdr.report.stability import no_stability
from safdr.report.what_if import worth_a_look

GROUPS = (
    "the values of a category, and other columns that enter together, are groups, and only sets "
    "of single columns can be proven. With --split-categories each value is a feature of its own."
)


@dataclass(frozen=True)
class Certainty:
    """What was found out about the answer; None where nobody asked."""

    near_ties: NearTies | None
    stability: Stability | None
    # Columns, by name.
    substitutes: dict[str, Any] | None
    # False where nobody would see it.
    what_if: WhatIf | bool
    # Parts of the report that were asked for, and can't be told.
    unknown: dict[str, Any]


def fit_proven(estimator: AnnealingSelectorCV, rows: SplitRows) -> str | None:
    """Fit with a proof; where there can be none, fit without, and say why."""
    try:
        _fit(estimator, rows)
    except ParameterError as error:
        # Two options that can't go together, whatever the table.
        if estimator.prove is None or error.parameter == "prove":
            raise
        # Proofs are refused before any search. What else is wrong, the second fit finds too.
        _fit(estimator.set_params(prove=None), rows)
        return GROUPS if error.parameter == "groups" else error.in_words(OPTION_OF)
    return None


def _fit(estimator: AnnealingSelectorCV, rows: SplitRows) -> None:
    estimator.fit(rows.X, rows.y, **rows.fit_parameters(splits=hasattr(estimator, "cv")))
    # Sources call columns by their places; from here on rows are arrays, which have no names.
    estimator.__dict__.pop("feature_names_in_", None)


def look_closer(
    estimator: AnnealingSelectorCV,
    rows: SplitRows,
    search: SearchOptions,
    unproven: str | None,
    progress: SearchProgress,
    *,
    kept: bool,
) -> Certainty:
    """Find out what was asked for; what other sets are worth, where the answer is kept."""
    prepared = rows.prepared
    ties, again, unknown = None, None, {}
    if search.prove is not None:
        progress.say("Looking for sets as good")
        ties = _near_ties(estimator, rows, search, search.prove)
    if unproven is not None:
        unknown["proof"] = no_proof(unproven)
    if search.stability is not None and rows.lacks_a_class:
        unknown["stability"] = no_stability("the sample has too few rows of a class.")
    elif search.stability is not None:
        progress.say("Choosing again on half-samples")
        try:
            again = _stability(estimator, rows, search, search.stability)
        except ValueError as error:
            unknown["stability"] = no_stability(str(error))
    instead = None
    if (search.prove is not None or search.stability is not None) and not rows.lacks_a_class:
        progress.say("Replacing each feature")
        instead = estimator.substitutes(
            prepared.train.X,
            prepared.train.y,
            sample_weight=prepared.train.weight,
            groups=prepared.train.groups if hasattr(estimator, "cv") else None,
            n_jobs=search.jobs,
            backend="dict",
        )
    others: WhatIf | bool = False
    if kept:
        also = worth_a_look(estimator.feature_groups_, ties, again)
        others = what_if(estimator, rows.X, rows.y, sample_weight=rows.weight, also=also)
    return Certainty(ties, again, instead, others, unknown)


def _near_ties(
    estimator: AnnealingSelectorCV, rows: SplitRows, search: SearchOptions, seconds: float
) -> NearTies:
    """All sets that come near a proven best; else those that are known."""
    ridge = estimator.ridge_
    if estimator.proof_ is None or ridge is None:
        return found_ties(estimator)
    names = ("constraints", "feature_cost", "cost_strength")
    return near_ties(
        rows.moments(getattr(estimator, "class_weight", None), estimator.clip_limits_),
        int(estimator.n_features_),
        within=WITHIN,
        at_most=MOST_SETS,
        # Without a proof of the best there is none of what comes near: a list of swaps will do.
        time_limit=seconds if estimator.proof_.optimal else 0.0,
        n_jobs=search.jobs,
        **{name: getattr(estimator, name) for name in names},
        ridge=ridge,
    )


def _stability(
    estimator: AnnealingSelectorCV, rows: SplitRows, search: SearchOptions, n: int
) -> Stability:
    """What half-samples choose; of what their models warn, nobody needs to know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stability(
            estimator,
            rows.prepared.train.X,
            rows.prepared.train.y,
            sample_weight=rows.prepared.train.weight,
            groups=rows.prepared.train.groups,
            n_resamples=n,
            n_jobs=search.jobs,
            random_state=search.seed,
        )
