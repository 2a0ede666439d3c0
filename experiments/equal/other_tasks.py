"""The same comparison for more than two classes and for measured outputs, on three small sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environment import mixed_engines
from experiments.equal import methods as equal
from experiments.equal.methods import EqualMethod, Floats, is_measured
from experiments.errors import MethodError, UnknownDataError
from experiments.protocol import DECIMALS
from experiments.run import Experiment
from experiments.store import Row
from experiments.summary import Mean, group
from experiments.table import MISSING, markdown_table
from experiments.task_data import TaskData


@dataclass(frozen=True)
class OtherSettings:
    """How subsets are compared; of large sets, few rows are trained on."""

    sizes: tuple[int, ...] = (1, 2, 3, 5, 8, 12)
    max_train: int = 300


def _load(load: str) -> TaskData:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, load)()
    return TaskData(bunch.data, bunch.target, tuple(map(str, bunch.feature_names)))


def _diabetes() -> TaskData:
    """With squares and products: 65 columns."""
    from sklearn.preprocessing import PolynomialFeatures

    data = _load("load_diabetes")
    made = PolynomialFeatures(2, include_bias=False).fit(data.X)
    names = tuple(made.get_feature_names_out(data.feature_names))
    return replace(data, X=made.transform(data.X), feature_names=names)


SETS: dict[str, tuple[str, Callable[[], TaskData]]] = {
    "wine": ("Wine, 3 classes", lambda: _load("load_wine")),
    "digits": ("Digits, 10 classes", lambda: _load("load_digits")),
    "diabetes": ("Diabetes with squares and products", _diabetes),
}


def load(name: str, data_dir: Path | None = None) -> TaskData:
    """A set by name; none is in a file."""
    del data_dir
    if name not in SETS:
        raise UnknownDataError(f"No data set is called {name!r}. There are: {', '.join(SETS)}.")
    return replace(SETS[name][1](), name=name)


METHODS = {
    name: equal.METHODS[name] for name in ("recipe", "unscreened", "paper", "forward", "anova")
}


def get_method(name: str) -> EqualMethod:
    """A method by name."""
    if name not in METHODS:
        raise MethodError(f"No method is called {name!r}. There are: {', '.join(METHODS)}.")
    return METHODS[name]


def run_cell(
    data: TaskData, method: EqualMethod, repeat: int, settings: OtherSettings
) -> dict[str, Any]:
    """One split of one data set by one method, on one core."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    seeds = [int(seed) >> 1 for seed in entropy.generate_state(2)]
    n_train = min(3 * len(data.y) // 4, settings.max_train)
    stratify = None if is_measured(data.y) else data.y
    train, test = train_test_split(
        np.arange(len(data.y)), train_size=n_train, stratify=stratify, random_state=seeds[0]
    )
    y, y_test = data.y[train], data.y[test]
    sizes = [size for size in settings.sizes if size <= data.X.shape[1]]
    with threadpool_limits(limits=1):
        scaler = StandardScaler().fit(data.X[train])
        X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
        start = time.process_time()
        subsets = method.subsets(X, y, sizes, seeds[1])
        seconds = time.process_time() - start
        scores = [score(X[:, s], y, X_test[:, s], y_test) for s in subsets]
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "n_features": data.X.shape[1],
        "sizes": sizes,
        "subsets": [subset.tolist() for subset in subsets],
        "scores": [round(each, DECIMALS) for each in scores],
        "selection_seconds": round(seconds, 4),
    }


def score(X: Floats, y: NDArray[Any], X_test: Floats, y_test: NDArray[Any]) -> float:
    """R² of a linear model, or the mean AUC of each class against the rest (C = 1)."""
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.metrics import roc_auc_score

    if is_measured(y):
        return float(LinearRegression().fit(X, y).score(X_test, y_test))
    model = LogisticRegression(max_iter=2000).fit(X, y)
    return float(roc_auc_score(y_test, model.predict_proba(X_test), multi_class="ovr"))


ABOUT = (
    "Subsets of equal size k of sets with more than two classes (mean AUC of each class against "
    "the rest, C = 1) and of a measured output (R², no penalty): `recipe` − the other, in pairs, "
    "mean over k and over the splits ± a standard error that allows for splits that overlap. "
    "Bold: beyond two of them."
)


def to_markdown(rows: Sequence[Row]) -> str:
    """The page, from the rows alone."""
    groups, others = group(rows), [name for name in METHODS if name != "recipe"]
    body = []
    for data, (title, _) in SETS.items():
        if (data, "recipe") in groups:
            found = groups[data, "recipe"].rows
            n = next(iter(found.values()))["rows"]
            cells = [_difference(groups, data, other) for other in others]
            level = np.mean([each["scores"] for each in found.values()])
            body.append([title, str(n["train"]), str(len(found)), f"{level:.4f}", *cells])
    header = ["Data", "training rows", "splits", "recipe", *(METHODS[o].title for o in others)]
    warning = mixed_engines(rows, "recipe")
    parts = ["# More classes, and a measured output, at equal k", ABOUT]
    return "\n\n".join([*parts, *([warning] if warning else []), markdown_table(header, body)])


def _difference(groups: Any, data: str, other: str) -> str:
    if (data, other) not in groups:
        return MISSING
    mine, theirs = (groups[data, method].rows for method in ("recipe", other))
    common: Iterable[int] = sorted(mine.keys() & theirs.keys())
    lead = [np.subtract(mine[r]["scores"], theirs[r]["scores"]).mean() for r in common]
    n = next(iter(mine.values()))["rows"]
    mean = Mean.of(lead, n["test"] / (n["all"] - n["test"]))
    text = f"{mean.value:+.4f} ± {mean.error:.4f}"
    return f"**{text}**" if abs(mean.value) > 2 * mean.error else text


def is_made_up(name: str) -> bool:
    """None is."""
    del name
    return False


OTHER_TASKS = Experiment(load, is_made_up, get_method, run_cell)
