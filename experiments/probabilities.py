"""Honest probabilities after selection: the whole job, with the calibration slope and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environment import mixed_engines
from experiments.equal import other_tasks, sets
from experiments.equal.methods import is_measured
from experiments.equal.protocol import EqualSettings
from experiments.equal.protocol import make_split as make_stratified
from experiments.errors import MethodError
from experiments.protocol import DECIMALS
from experiments.run import Experiment
from experiments.store import Row
from experiments.summary import Mean, group
from experiments.table import markdown_table
from experiments.task_data import TaskData
from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV

SELECTOR = "selector-cv"
TITLES: dict[str, str] = {
    **sets.TITLES,
    **{name: title for name, (title, _) in other_tasks.SETS.items()},
}
# Largest loss with the slope minus the loss without, beyond the standard error.
MAX_HARM = 0.01


@dataclass(frozen=True)
class SlopeSettings:
    """Sizes and rows of the whole job."""

    max_features: int = 20
    # The slope of more rows is close to 1.
    split: EqualSettings = field(default_factory=lambda: EqualSettings(max_train=2000))
    # Training rows of the sets with more classes and of regression.
    max_train_other: int = 300


@dataclass(frozen=True)
class SelectorMethod:
    """The cross-validated selector with its defaults."""

    name: str = SELECTOR

    @property
    def settings(self) -> dict[str, object]:
        """All parameters that are plain values."""
        plain = (str, int, float, bool)
        given = AnnealingSelectorCV().get_params(deep=False)
        return {"method": self.name, **{k: v for k, v in given.items() if isinstance(v, plain)}}


def get_method(name: str) -> SelectorMethod:
    """Return the only method."""
    if name != SELECTOR:
        raise MethodError(f"No method is called {name!r}. There is: {SELECTOR}.")
    return SelectorMethod()


def load(name: str, data_dir: Path | None = None) -> TaskData:
    """Load a set of `equal` or of `other`."""
    if name in other_tasks.SETS:
        return other_tasks.load(name, data_dir)
    return sets.load(name, data_dir)


def make_split(
    data: TaskData, repeat: int, settings: SlopeSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return training rows, test rows and the seed of the selector."""
    from sklearn.model_selection import train_test_split

    if data.name not in other_tasks.SETS:
        split = make_stratified(data, repeat, settings.split)
        return split.train, split.test, split.seed
    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    seeds = [int(seed) >> 1 for seed in entropy.generate_state(2)]
    train, test = train_test_split(
        np.arange(len(data.y)),
        train_size=min(3 * len(data.y) // 4, settings.max_train_other),
        stratify=None if is_measured(data.y) else data.y,
        random_state=seeds[0],
    )
    return train, test, seeds[1]


def make_selector(y: NDArray[Any], max_features: int, seed: int) -> Any:
    """Return the selector for this target."""
    kind = AnnealingRegressorSelectorCV if is_measured(y) else AnnealingSelectorCV
    return kind(max_features=max_features, random_state=seed)


def run_cell(
    data: TaskData, method: SelectorMethod, repeat: int, settings: SlopeSettings
) -> dict[str, Any]:
    """Run the whole job on one split, on one core."""
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    del method
    train, test, seed = make_split(data, repeat, settings)
    y, y_test = data.y[train], data.y[test]
    with threadpool_limits(limits=1):
        scaler = StandardScaler().fit(data.X[train])
        X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
        selector = make_selector(y, min(settings.max_features, X.shape[1]), seed).fit(X, y)
        X, X_test = X[:, selector.support_], X_test[:, selector.support_]
        scaled = selector.estimator_
        plain = clone(scaled).set_params(calibration_slope=1.0).fit(X, y)
    losses = {
        "with": loss(scaled, X_test, y_test),
        "without": loss(plain, X_test, y_test),
        "constant": constant_loss(y, y_test),
    }
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "is_regression": is_measured(y),
        "n_features": data.X.shape[1],
        "n_selected": int(selector.n_features_),
        "calibration_slope": round(float(selector.calibration_slope_), DECIMALS),
        "losses": {name: round(value, DECIMALS) for name, value in losses.items()},
    }


def loss(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the log-loss, or the squared error as a share of the variance of y."""
    from sklearn.metrics import log_loss

    if is_measured(y):
        return float(np.mean((y - model.predict(X)) ** 2) / y.var())
    return float(log_loss(y, model.predict_proba(X), labels=model.classes_))


def constant_loss(y: NDArray[Any], y_test: NDArray[Any]) -> float:
    """Return the loss of a model that knows only the class shares, or the mean."""
    if is_measured(y):
        return float(np.mean((y_test - y.mean()) ** 2) / y_test.var())
    classes, counts = np.unique(y, return_counts=True)
    return float(-np.log(counts / len(y))[np.searchsorted(classes, y_test)].mean())


PROBABILITIES = Experiment(load, sets.is_made_up, get_method, run_cell)

ABOUT = (
    "`AnnealingSelectorCV` with its defaults and sizes to 20: loss on test rows of the final model "
    "with its calibration slope, and of the same model refitted with slope 1. Log-loss; for "
    "regression the squared error as a share of the variance. Differences are with − without, in "
    "pairs, mean over the splits ± a standard error that allows for splits that overlap. Bold: "
    "beyond two of them. Constant: the loss of a model without features."
)


def to_markdown(rows: Sequence[Row]) -> str:
    """Return the page, from the rows alone."""
    found = {data: list(each.rows.values()) for (data, _), each in group(rows).items()}
    known = [data for data in TITLES if data in found]
    header = ["Data", "training rows", "features", "splits", "selected", "slope"]
    header += ["without", "with − without", "constant"]
    warning = mixed_engines(rows, SELECTOR)
    parts = ["# Probabilities after selection", ABOUT, *([warning] if warning else [])]
    parts += ["\n".join(to_claims({data: found[data] for data in known}))]
    parts += [markdown_table(header, [_line(data, found[data]) for data in known])]
    return "\n\n".join(parts)


def to_claims(rows: dict[str, list[Row]]) -> list[str]:
    """Return what must hold of the log-loss, and whether it does."""
    found = {data: difference(each) for data, each in rows.items() if not is_regression(each)}
    mean = float(np.mean([each.value for each in found.values()])) if found else np.nan
    harmed = [
        f"{TITLES[data]} {_plain(each)}"
        for data, each in found.items()
        # The error of a single split is not known.
        if each.value > MAX_HARM + (each.error if each.n > 1 else 0.0)
    ]
    lower = "yes" if mean < 0 else "**no**"
    return [
        f"- mean log-loss over {len(found)} sets lower with the slope: {lower}, {mean:+.4f}",
        f"- on no set higher by more than {MAX_HARM} beyond its standard error: "
        + (f"**no**: {'; '.join(harmed)}" if harmed else "yes"),
    ]


def difference(rows: Sequence[Row]) -> Mean:
    """Return with − without, over the splits of one data set."""
    n = rows[0]["rows"]
    pairs = [row["losses"]["with"] - row["losses"]["without"] for row in rows]
    return Mean.of(pairs, n["test"] / (n["all"] - n["test"]))


def is_regression(rows: Sequence[Row]) -> bool:
    """Return True if the loss is a squared error."""
    return bool(rows[0]["is_regression"])


def _line(data: str, rows: Sequence[Row]) -> list[str]:
    def mean(*keys: str) -> float:
        values: list[Any] = list(rows)
        for key in keys:
            values = [value[key] for value in values]
        return float(np.mean(values))

    return [
        TITLES[data],
        str(rows[0]["rows"]["train"]),
        str(rows[0]["n_features"]),
        str(len(rows)),
        f"{mean('n_selected'):.1f}",
        f"{mean('calibration_slope'):.2f}",
        f"{mean('losses', 'without'):.4f}",
        _signed(difference(rows)),
        f"{mean('losses', 'constant'):.4f}",
    ]


def _signed(mean: Mean) -> str:
    """Return a difference with its error, in bold beyond two errors."""
    return f"**{_plain(mean)}**" if abs(mean.value) > 2 * mean.error else _plain(mean)


def _plain(mean: Mean) -> str:
    return f"{mean.value:+.4f} ± {mean.error:.4f}"
