"""Rows that a fitted selector never saw, counted by class and score while they are read."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray
from safdr._estimators.streamed.exact import Winner, histograms
from safdr._estimators.streamed.reading import look_at_target, read_rows
from safdr._estimators.streamed.tables import Layout, Source, check_columns


def count_scores(selector: Any, given: Any, y: str, weight: str | None) -> FloatArray:
    """Histograms of the scores of both classes."""
    from safdr.sources import open_source

    if len(selector.classes_) != 2 or selector.estimator is not None:
        raise ValueError(
            "Scores are counted of the built-in model of two classes; this "
            f"{type(selector).__name__} has another one, or more classes."
        )
    source = open_source(given)
    names = _features(selector, source, y, weight)
    layout = Layout(source.name, tuple(names[j] for j in selector.subset_), y, weight)
    found = look_at_target(source, layout, measured=False, seed=0)
    # Edges between scores are those of a sample.
    rows = read_rows(source, layout, found, measured=False, seed=0, n_buckets=1)
    labels = rows.layout.classes
    if labels is None or labels.tolist() != selector.classes_.tolist():
        raise ValueError(
            f"The target {y!r} of {source.name} must hold the classes that the selector was fitted "
            f"to, {selector.classes_.tolist()}, and no other; got {np.asarray(labels).tolist()}."
        )
    winner = Winner(np.arange(len(selector.subset_)), selector.estimator_)
    return histograms(rows, [winner], [rows.every])[0]


def _features(selector: Any, source: Source, y: str, weight: str | None) -> list[str]:
    """Columns that hold what the selector was fitted to: those of the same names, if it had any."""
    fitted = f"{type(selector).__name__} was fitted to"
    wanted = getattr(selector, "feature_names_in_", None)
    if wanted is None:
        names = check_columns(source, y, weight)
        if len(names) != selector.n_features_in_:
            raise ValueError(
                f"{source.name} has {len(names)} columns besides {y!r}, but {fitted} "
                f"{selector.n_features_in_}."
            )
        return list(names)
    missing = [name for name in wanted if name not in source.schema]
    if missing:
        more = ", …" if len(missing) > 5 else ""
        raise ValueError(
            f"{source.name} lacks {len(missing)} of the {len(wanted)} columns that {fitted}: "
            f"{', '.join(map(repr, missing[:5]))}{more}. Columns are found by name, in any order."
        )
    # Columns besides may hold anything.
    looked_at: Any = copy(source)
    looked_at.schema = {n: kind for n, kind in source.schema.items() if n in {*wanted, y, weight}}
    check_columns(looked_at, y, weight)
    return list(wanted)
