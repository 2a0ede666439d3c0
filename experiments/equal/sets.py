"""The sets of the comparison: the paper's, scikit-learn's own, and made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments import datasets
from experiments.equal.generated import RECIPES
from experiments.errors import UnknownDataError
from experiments.task_data import TaskData

# Cancer is scikit-learn's as well.
PAPER_SETS = (
    *("heart", "cancer", "ozone", "spambase", "student", "bankruptcy", "madelon"),
    *("card_default", "loan_default_kaggle"),
)


def _one_against_the_rest(load: str, label: int) -> TaskData:
    """One of scikit-learn's sets of several classes."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, load)()
    y = (bunch.target == label).astype(np.int64)
    return TaskData(bunch.data, y, tuple(str(name) for name in bunch.feature_names))


OWN: dict[str, tuple[str, Callable[[], TaskData]]] = {
    "wine_1": ("Wine, class 1", lambda: _one_against_the_rest("load_wine", 1)),
    "digits_1": ("Digits, 1", lambda: _one_against_the_rest("load_digits", 1)),
    "digits_8": ("Digits, 8", lambda: _one_against_the_rest("load_digits", 8)),
}

TITLES: dict[str, str] = {
    **{name: datasets.DATASETS[name].title for name in PAPER_SETS},
    **{name: title for name, (title, _) in OWN.items()},
    **{name: recipe.title for name, recipe in RECIPES.items()},
}


def load(name: str, data_dir: Path | None = None) -> TaskData:
    """A set by name."""
    if name not in TITLES:
        raise UnknownDataError(f"No data set is called {name!r}. There are: {', '.join(TITLES)}.")
    if name in RECIPES:
        return replace(RECIPES[name].generate(), name=name)
    if name in OWN:
        return replace(OWN[name][1](), name=name)
    return datasets.load(name, data_dir)


def is_made_up(name: str) -> bool:
    """Whether the values are drawn on the spot."""
    return name in RECIPES
