"""Plain annealing, population annealing and parallel tempering: work to the best subset."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from benchmarks.dynamics_problem import Problem, problems
from benchmarks.rows import keep
from benchmarks.table_parts import compare
from benchmarks.tempering import TemperingSettings
from benchmarks.tts import time_to_solution
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import PopulationSettings
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.proof.prover import Prover
from safdr._engine.search import Search
from safdr._estimators.training_data import ClassData

SEEDS = 30
# Settings are chosen on other seeds than they are measured on.
TUNING_SEEDS = range(1000, 1008)
PROOF_SECONDS = 20.0
QUIET = {"n_batches": 1, "batch_fraction": 1.0}

DEFAULTS: dict[str, Any] = {
    "annealing": AnnealingSettings(),
    "population": PopulationSettings(),
    "tempering": TemperingSettings(),
}
GRIDS: dict[str, list[Any]] = {
    "annealing": [
        AnnealingSettings(),
        AnnealingSettings(n_replicas=10),
        *(
            AnnealingSettings(
                n_replicas=n, sweeps=sweeps, temperature_step=step, max_steps=steps, tol=0.0
            )
            for n, sweeps, step, steps in (
                (50, 0.5, 0.2, 100),
                (16, 2.0, 0.06, 200),
                (16, 4.0, 0.035, 200),
                (48, 2.0, 0.12, 100),
                (48, 4.0, 0.06, 200),
            )
        ),
    ],
    "population": [
        PopulationSettings(population=n, sweeps=sweeps, overlap=overlap)
        for n, sweeps, overlap in (
            (50, 0.5, 0.7),
            (50, 1.0, 0.9),
            (48, 4.0, 0.9),
            (96, 2.0, 0.8),
            (200, 1.0, 0.6),
            (200, 1.0, 0.9),
            (400, 2.0, 0.8),
        )
    ],
    "tempering": [
        TemperingSettings(
            n_temperatures=n, n_ladders=m, n_steps=steps, coldest=coldest, sweeps=sweeps
        )
        for n, m, steps, coldest, sweeps in (
            (8, 2, 60, 25.0, 1.0),
            (8, 4, 100, 25.0, 1.0),
            (8, 4, 200, 10.0, 1.0),
            (8, 2, 200, 10.0, 2.0),
            (8, 4, 300, 10.0, 2.0),
            (12, 4, 600, 10.0, 2.0),
        )
    ],
}
# Where plain annealing ends, in units of one over the spread at the start, at equal work.
COLD = 14.0


@dataclass(frozen=True)
class Runs:
    """What some seeds found with some settings, and what it took: means of sweeps and seconds."""

    settings: Any
    values: list[float]
    sweeps: float
    seconds: float
    n_steps: float

    def share(self, best: float) -> float:
        """Share of the seeds that reach a value."""
        return sum(compare(value, best) >= 0 for value in self.values) / len(self.values)

    def to_solution(self, best: float, cost: str = "seconds") -> float:
        """Seconds, or sweeps, until one has reached it with a probability of 99 %."""
        return time_to_solution(self.share(best), getattr(self, cost))


def main(options: argparse.Namespace) -> None:
    """Rows for each problem, with batches and without."""
    for problem in problems(options.data_dir):
        if options.data and problem.name.split(",")[0] not in options.data:
            continue
        if options.sizes and problem.size not in options.sizes:
            continue
        known = proven(problem)
        for batches in (False, True):
            rows = _rows(problem, batches, options.seeds or SEEDS, *known)
            keep("dynamics", rows, by=("problem", "batches"))


def _rows(
    problem: Problem, batches: bool, n_seeds: int, optimal: bool, best: float
) -> list[dict[str, Any]]:
    """Default settings, as much work as the default population takes, and each method's best."""
    rows = training_data(problem)
    measured = {
        (method, "default"): measure(problem, rows, one, batches, range(n_seeds))
        for method, one in DEFAULTS.items()
    }
    for method, one in _equal_work(measured["population", "default"]).items():
        measured[method, "equal work"] = measure(problem, rows, one, batches, range(n_seeds))
    best = max(best, *(value for runs in measured.values() for value in runs.values))
    if problem.tuned:
        for method, grid in GRIDS.items():
            tried = [measure(problem, rows, one, batches, TUNING_SEEDS) for one in grid]
            best = max(best, *(value for runs in tried for value in runs.values))
            own = _fastest(tried, best)
            measured[method, "own best"] = measure(problem, rows, own, batches, range(n_seeds))
            best = max(best, *measured[method, "own best"].values)
    work = {
        "problem": problem.name,
        "features": problem.X.shape[1],
        "batches": batches,
        "best": f"{best:.12g}",
        "proven": optimal,
    }
    return [
        {**work, "method": method, "settings": settings, **_told(runs, best)}
        for (method, settings), runs in measured.items()
    ]


def _fastest(tried: list[Runs], best: float) -> Any:
    """The settings that need least; where none hits, those that come closest."""
    return min(tried, key=lambda r: (r.to_solution(best), -float(np.mean(r.values)))).settings


def _told(runs: Runs, best: float) -> dict[str, Any]:
    sweeps = runs.to_solution(best, "sweeps")
    return {
        "seeds": len(runs.values),
        "hit_share": round(runs.share(best), 4),
        "run_sweeps": round(runs.sweeps),
        "run_s": round(runs.seconds, 5),
        "tts99_sweeps": round(sweeps) if isfinite(sweeps) else sweeps,
        "tts99_s": round(runs.to_solution(best), 5),
        "which": _changed(runs.settings),
    }


def _changed(settings: Any) -> str:
    """The settings that are not the defaults."""
    plain = type(settings)()
    names = [name for name in vars(settings) if name not in QUIET]
    given = {name: getattr(settings, name) for name in names}
    return " ".join(
        f"{k}={v:.4g}" for k, v in given.items() if v != getattr(plain, k) and k != "batch_draw"
    )


def training_data(problem: Problem) -> ClassData:
    """The rows as a selector would take them."""
    classes, codes = np.unique(problem.y, return_inverse=True)
    return ClassData(problem.X, problem.y, None, codes.astype(np.int64), classes)


def measure(problem: Problem, rows: ClassData, settings: Any, batches: bool, seeds: range) -> Runs:
    """Search once with each seed; what batches take is not counted, since all sizes share them."""
    settings = settings if batches else replace(settings, **QUIET)
    criterion = rows.criterion(1e-6)
    values, sweeps, seconds, steps = [], [], [], []
    for seed in seeds:
        search = Search(criterion, settings=settings, seed=seed, noise=rows.noise(criterion))
        search.prepare(problem.size)
        began = time.process_time()
        annealed = search.anneal(problem.size)
        found = search.candidates_of(annealed)[1].max()
        seconds.append(time.process_time() - began)
        values.append(float(found))
        n_steps = getattr(settings, "n_steps", len(annealed.trace))
        steps.append(n_steps)
        sweeps.append(n_steps * settings.n_replicas * settings.sweeps)
    return Runs(settings, values, *(float(np.mean(each)) for each in (sweeps, seconds, steps)))


def _equal_work(population: Runs) -> dict[str, Any]:
    """As many sweeps as the population took."""
    n_steps, settings = round(population.n_steps), population.settings
    plain = AnnealingSettings(
        n_replicas=settings.n_replicas,
        sweeps=settings.sweeps,
        temperature_step=COLD / n_steps,
        max_steps=n_steps,
        tol=0.0,
    )
    ladder = TemperingSettings()
    of_ladder = ladder.n_replicas * ladder.sweeps
    return {
        "annealing": plain,
        "tempering": replace(ladder, n_steps=round(population.sweeps / of_ladder)),
    }


def proven(problem: Problem) -> tuple[bool, float]:
    """Whether the best value is proven, and the best that the proof knows."""
    criterion = training_data(problem).criterion(1e-6)
    allowed = AllowedSubsets.without_limits(criterion.n_features)
    proof = Prover(criterion, allowed, None).prove(problem.size, seconds=PROOF_SECONDS)
    return proof.optimal, proof.value
