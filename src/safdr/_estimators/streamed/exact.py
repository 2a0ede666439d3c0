"""Models and scores on all rows, from what was found with the help of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.signs import no_subset, wrong_signs
from safdr._engine.streaming.histograms import (
    HistogramPass,
    ScoredModel,
    area_and_error,
)
from safdr._engine.streaming.models import (
    FINAL_TOL,
    TOL,
    LossPass,
    StreamedModel,
    curvature_on,
    fit_exactly,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.streamed.data import (
    StreamedClassData,
    StreamedMeasuredData,
    StreamedRows,
)
from safdr._estimators.streamed.passes import ModelsPass
from safdr.result import AnnealingResult

# Candidates whose models are fitted to all rows, where one subset is to be chosen: on a sample
# neighbours in rank are often level.
N_FINALISTS = 8


@dataclass(frozen=True, eq=False)
class Unsettled:
    """A result by the sample, and models on their way to all rows."""

    result: AnnealingResult
    # Where the subset of each model is among the candidates.
    places: list[IntArray]
    models: list[StreamedModel]

    def settled(self) -> AnnealingResult:
        """The result by the models of all rows; the other candidates have none."""
        if not self.models:
            return self.result  # least squares need no more than moments
        result, n_candidates = self.result, len(self.result.losses)
        shape = (n_candidates, len(self.models[0].coefficients), result.subsets.shape[1])
        slopes, intercepts = np.zeros(shape), np.zeros(shape[:2])
        losses = np.full(n_candidates, np.nan)
        converged, separated = np.zeros((2, n_candidates), dtype=bool)
        n_iter = np.zeros(n_candidates, dtype=np.int64)
        for places, model in zip(self.places, self.models, strict=True):
            if len(model.coefficients) > 1:
                # Only differences between classes mean anything.
                model.coefficients -= model.coefficients.mean(axis=0)
            of_model = model.coefficients[:, :-1] / model.scale
            slopes[places, :, : of_model.shape[1]] = of_model
            intercepts[places] = model.coefficients[:, -1] - of_model @ model.center
            losses[places] = 0.0 if model.separated else model.loss
            n_iter[places] = model.n_iter
            separated[places] = model.separated or model.partly_separated
            converged[places] = model.converged and not model.partly_separated
        if len(self.models[0].coefficients) == 1:
            slopes, intercepts = slopes[:, 0], intercepts[:, 0]
        by_models = result.coefficients is not None
        return replace(
            result,
            losses=losses if by_models else result.losses,
            coefficients=slopes,
            intercepts=intercepts,
            converged=converged,
            separated=separated,
            n_iter=n_iter,
        )


def unsettled(
    plan: SearchPlan,
    data: StreamedClassData | StreamedMeasuredData,
    result: AnnealingResult,
    n_finalists: int = 1,
) -> Unsettled:
    """Have the models of the best candidates begin where the sample leads them."""
    if isinstance(data, StreamedMeasuredData):
        return Unsettled(result, [], [])
    C = float(plan.C)
    if result.coefficients is None:
        # The criterion has chosen.
        fits: Any = data.linear_fitter(C).fit(result.subset[None])
        chosen = [(np.array([result.best]), 0)]
    else:
        fits = result
        chosen = [(places, int(places[0])) for places in _finalists(result, n_finalists)]
    models = []
    for places, i in chosen:
        subset = result.subsets[places[0]]
        subset = subset[subset >= 0]
        slopes = np.atleast_2d(fits.coefficients[i, ..., : len(subset)])
        start = np.column_stack([slopes, np.atleast_1d(fits.intercepts[i])])
        models.append(_started(data, subset, start, bool(fits.separated[i]), C))
    return Unsettled(result, [places for places, _ in chosen], models)


def _finalists(result: AnnealingResult, n_finalists: int) -> list[IntArray]:
    """Places of the subsets that are best by the sample, and of that with the largest value."""
    totals = result.losses + result.penalties
    order = np.lexsort((-result.criterion_values, totals))
    order = order[np.isfinite(totals[order])]
    _, kind = np.unique(np.sort(result.subsets, axis=1), axis=0, return_inverse=True)
    kinds = list(dict.fromkeys(kind[order].tolist()))[:n_finalists]
    largest = int(kind[np.argmax(result.criterion_values)])
    if n_finalists > 1 and largest not in kinds and largest in kind[order]:
        kinds.append(largest)
    return [order[kind[order] == each] for each in kinds]


def settle(
    rows: StreamedRows, several: Sequence[Unsettled], tol: float = TOL
) -> list[AnnealingResult]:
    """Bring all models to their optimum on all rows, in the same passes."""
    models = [model for each in several for model in each.models]
    counts = rows.moments.weight.sum(axis=0)
    share = counts / counts.sum()

    def run(task: LossPass) -> Any:
        return rows.run(ModelsPass(rows.layout, task, rows.seed, rows.n_buckets))

    fit_exactly(models, run, -float(share @ np.log(share)), tol)
    return [each.settled() for each in several]


def _started(
    data: StreamedClassData, subset: IntArray, start: FloatArray, separated: bool, C: float
) -> StreamedModel:
    """A model of the sample, in units that all models share."""
    center, scale = (each[subset] for each in data.rows.units)
    slopes = start[:, :-1]
    learns_from = np.zeros(data.rows.n_buckets, dtype=bool)
    learns_from[data.buckets] = True
    model = StreamedModel(
        subset=subset,
        coefficients=np.column_stack([slopes * scale, start[:, -1] + slopes @ center]),
        center=center,
        scale=scale,
        # They are about columns of unit variance in the rows that the model learns from.
        penalties=np.append(data._penalty(C) * data.variance[subset] / scale**2, 0.0),
        learns_from=learns_from,
        class_factor=data.class_factor,
    )
    if separated:
        # The sample is, all rows need not be: begin where the curvature is known.
        model.coefficients[:] = 0.0
    else:
        assert data.sample_weight is not None
        columns = data.X[:, subset].T
        model.curvature = curvature_on(model, columns, data.codes, data.sample_weight)
    return model


def settled(
    plan: SearchPlan, data: Any, result: AnnealingResult, allowed: AllowedSubsets
) -> AnnealingResult:
    """The result of a search by what the best candidates are worth on all rows."""
    while True:
        finalists = unsettled(plan, data, result, N_FINALISTS)
        exact = settle(data.rows, [finalists], FINAL_TOL)[0]
        if allowed.signs is None:
            return exact
        assert exact.coefficients is not None
        wrong = wrong_signs(exact.subsets, exact.coefficients, allowed.signs)
        exact = replace(exact, penalties=np.where(wrong.any(axis=1), np.inf, exact.penalties))
        if np.isfinite(exact.losses + exact.penalties).any():
            return exact
        # The signs are those of the sample alone: to the next ones.
        tried = np.isfinite(exact.losses)
        result = replace(result, penalties=np.where(tried, np.inf, result.penalties))
        if not np.isfinite(result.losses + result.penalties).any():
            raise no_subset(result.size, np.unique(exact.subsets[wrong]), allowed)


# ---- Scores ----------------------------------------------------------------------------------


class Winner(NamedTuple):
    """A subset and the model on it."""

    subset: IntArray
    model: Any


def areas(
    rows: StreamedRows, winners: Sequence[Winner], parts: Sequence[IntArray]
) -> tuple[FloatArray, float]:
    """Area under the ROC curve of each winner on all rows of some buckets; the largest error."""
    found = [area_and_error(histogram) for histogram in histograms(rows, winners, parts)]
    return np.array([area for area, _ in found]), max(error for _, error in found)


def histograms(
    rows: StreamedRows, winners: Sequence[Winner], parts: Sequence[IntArray]
) -> list[FloatArray]:
    """Rows of some buckets by class and by the score of each winner, from low to high."""
    models = []
    for winner, buckets in zip(winners, parts, strict=True):
        X, _, _ = rows.sampled(buckets, winner.subset)
        models.append(_scored(winner, buckets).with_edges_of(X.T))
    task = ModelsPass(rows.layout, HistogramPass(models), rows.seed, rows.n_buckets)
    counted: list[FloatArray] = rows.run(task)
    return counted


def areas_on_sample(
    rows: StreamedRows, winners: Sequence[Winner], parts: Sequence[IntArray]
) -> list[float]:
    """The same on the rows of the sample."""
    found = []
    for winner, buckets in zip(winners, parts, strict=True):
        X, y, weight = rows.sampled(buckets, winner.subset)
        scores = _scored(winner, buckets).scores(X.T)
        distinct, place = np.unique(scores, return_inverse=True)
        places = (y == winner.model.classes_[1]) * len(distinct) + place
        counted = np.bincount(places, weight, minlength=2 * len(distinct))
        found.append(area_and_error(counted.reshape(2, -1).astype(np.float64))[0])
    return found


def _scored(winner: Winner, buckets: IntArray) -> ScoredModel:
    """The model of a winner, to be scored on some buckets."""
    model = winner.model
    return ScoredModel(
        subset=winner.subset,
        slopes=model.coef_[0],
        intercept=float(model.intercept_[0]),
        clip=(model.data_min_, model.data_max_) if model.clips else None,
        buckets=buckets,
    )


def r2_scores(
    rows: StreamedRows, winners: Sequence[Winner], parts: Sequence[IntArray]
) -> FloatArray:
    """R² of each winner on some buckets, from their moments."""
    scores = []
    for winner, buckets in zip(winners, parts, strict=True):
        joint = rows.moments.joint(buckets, rows.X.shape[1])
        slopes, subset = np.ravel(winner.model.coef_), winner.subset
        offset = joint.output_mean[0] - winner.model.intercept_ - slopes @ joint.mean[subset]
        unexplained = (
            joint.output_variance[0]
            - 2.0 * slopes @ joint.cross[subset, 0]
            + slopes @ joint.covariance[np.ix_(subset, subset)] @ slopes
            + offset**2
        )
        scores.append(1.0 - float(unexplained) / joint.output_variance[0])
    return np.array(scores)
