"""From a source to training data: two passes, or all rows where they are few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray
from safdr._engine.moments.triangle import Triangle
from safdr._engine.streaming.positions import buckets_of
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.plan import SearchPlan
from safdr._estimators.streamed.data import StreamedRows
from safdr._estimators.streamed.folds import n_buckets_for
from safdr._estimators.streamed.passes import (
    LOOKS_MEASURED,
    MomentsPass,
    TargetFound,
    TargetPass,
)
from safdr._estimators.streamed.tables import Layout, Source, check_columns
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import check_ratio_of_weights, shown
from safdr.errors import ParameterError

# Memory for the moments of all buckets: 4900 features and two classes.
MOST_BYTES = 4 * 10**9

# Numbers in memory for the sample: beyond that it has fewer rows.
MOST_SAMPLED = 12_000_000


def read(
    selector: Any,
    task: type[TrainingData],
    plan: SearchPlan,
    given: Any,
    y: Any,
    weight: Any,
    seed: int,
) -> TrainingData:
    """What two passes find; or all rows, where they are few."""
    from safdr.sources import open_source

    if type(given).__module__.startswith("dask.array"):
        from safdr.sources.dask import as_frame

        given, y = as_frame(given, y)
    n_buckets = n_buckets_for(getattr(selector, "cv", None))
    source = open_source(given)
    measured = issubclass(task, MeasuredData)
    layout = Layout(source.name, check_columns(source, y, weight, measured=measured), y, weight)
    found = look_at_target(source, layout, measured=measured, seed=seed)
    few = fits_in_memory(found)
    if not few:
        _check_plan(plan)
    how: dict[str, Any] = {"seed": seed, "n_buckets": 0 if few else n_buckets}
    rows = read_rows(source, layout, found, measured=measured, **how)
    names = np.array(layout.features, dtype=object)
    if not few:
        selector.n_features_in_, selector.feature_names_in_ = len(names), names
        if rows.layout.classes is not None:
            selector.classes_ = rows.layout.classes
        return rows.data(rows.every)
    X, labels, weights = rows.sampled(rows.every)
    data = task.validate(selector, X, labels, weights if weight is not None else None)
    selector.feature_names_in_ = names
    return data


def _check_plan(plan: SearchPlan) -> None:
    """Refuse what needs all rows at hand."""
    if plan.clip is not None:
        raise ParameterError(
            "clip",
            "needs all rows in memory, whose quantiles it takes; got {given} for rows that are "
            "read in passes. Leave it out, or clip the columns beforehand.",
            given=plan.clip,
        )
    for name in ("criterion", "estimator"):
        given = getattr(plan, name)
        if given is not None and not isinstance(given, str):
            raise ParameterError(
                name,
                "of your own needs all rows in memory; got {given!r} for rows that are read in "
                "passes. Leave it out, or fit it to the chosen columns afterwards.",
                given=given,
            )


def look_at_target(source: Source, layout: Layout, *, measured: bool, seed: int) -> TargetFound:
    """First pass: how many rows, which classes, and which rows to sample."""
    limit = min(source.sample_rows, MOST_SAMPLED // len(layout.features))
    found: TargetFound = source.run(TargetPass(layout, measured, limit, seed))
    found.sample.trim()
    if found.n_present == 0:
        raise ValueError(f"{source.name} has no rows{' with a weight' if layout.weight else ''}.")
    if layout.weight is not None:
        check_ratio_of_weights(np.array(found.weights), f"The column {layout.weight!r}")
    return found


def fits_in_memory(found: TargetFound) -> bool:
    """Whether the sample is all there is."""
    return found.n_present == len(found.sample.positions)


def read_rows(
    source: Source, layout: Layout, found: TargetFound, *, measured: bool, seed: int, n_buckets: int
) -> StreamedRows:
    """Second pass: moments of buckets, if there are any, and the rows of the sample."""
    sample = found.sample
    if not measured:
        _check_classes(found, layout)
        classes = np.array(sorted(found.labels))
        order = np.searchsorted(classes, np.array(found.labels))
        sample.codes = order[sample.codes]
        layout = replace(layout, classes=classes)
        counts = np.zeros(len(classes), dtype=np.int64)
        counts[order] = found.counts
    else:
        counts = found.counts
    _check_memory(layout, len(counts), n_buckets)
    read = source.run(MomentsPass(layout, sample, seed, n_buckets))
    if read.n_rows != found.n_rows:
        raise ValueError(
            f"{source.name} had {found.n_rows} rows in the first pass and {read.n_rows} in the "
            "second: it must not change while it is read."
        )
    places = np.concatenate(read.places)
    X, target = _joined(read.rows), np.concatenate(read.targets)
    if measured:
        target = target[:, 0]
    # A row stands for as many of its class as there are for each that is sampled.
    weight = (counts / np.maximum(np.bincount(sample.codes, minlength=len(counts)), 1))[
        sample.codes[places]
    ]
    if layout.weight is not None:
        weight = weight * np.concatenate(read.weights)
    bucket = buckets_of(sample.positions[places], seed, max(n_buckets, 1))
    return StreamedRows(
        source, layout, seed, n_buckets, read.moments, found.n_rows, X, target, weight, bucket
    )


def _joined(parts: list[FloatArray]) -> FloatArray:
    """Rows of all parts, each of which is let go once it is copied."""
    joined = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    end = len(joined)
    while parts:
        part = parts.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return joined


def _check_classes(found: TargetFound, layout: Layout) -> None:
    """At least two classes of two rows, and labels of one type."""
    name = f"The target {layout.target!r} of {layout.source_name}"
    if len({type(label) for label in found.labels}) > 1:
        raise ValueError(f"{name} must hold labels of one type.")
    if len(found.labels) < 2:
        raise ValueError(f"{name} holds one class only, {shown(found.labels[0])}.")
    if not all(isinstance(each, int | str) or each.is_integer() for each in found.labels):
        raise ValueError(f"{name} holds numbers with fractions, and {LOOKS_MEASURED}")
    if found.counts.min() < 2:
        rare = found.labels[int(found.counts.argmin())]
        raise ValueError(
            f"{name} holds {found.counts.min()} row(s) of class {shown(rare)}"
            f"{' with a weight' if layout.weight else ''}; each needs at least 2."
        )
    n_classes = len(found.labels)
    if np.bincount(found.sample.codes, minlength=n_classes).min() < 2:
        raise ValueError(
            f"A sample of {len(found.sample.codes)} rows is too small for the {n_classes} classes "
            f"of {layout.target!r}: raise sample_rows of Stream, or choose fewer columns."
        )


def _check_memory(layout: Layout, n_classes: int, n_buckets: int) -> None:
    """Say before anything is allocated what moments would take."""
    n_bytes = 8 * n_buckets * n_classes * Triangle(len(layout.features) + 1).size
    if n_bytes > MOST_BYTES:
        raise ValueError(
            f"Moments of {n_buckets} buckets, {n_classes} classes and {len(layout.features)} "
            f"features would take {n_bytes / 1e9:.1f} GB, and {MOST_BYTES / 1e9:.0f} GB is the "
            "most for rows that are read in passes. Choose columns: Stream(source, columns=[…])."
        )
