"""Who chooses: each method is one function from rows, labels, sizes and a seed to subsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.baselines import RFE, Abess, Lasso
from experiments.errors import MethodError
from experiments.methods import DEFAULTS, annealing_defaults
from experiments.models import sizes_up_to
from safdr import Annealing, anneal_path, evaluate_subsets

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Subset = NDArray[np.int64]

# The paper's method whatever becomes of the defaults.
AS_PUBLISHED: dict[str, Any] = {"criterion": "fisher", "ridge": 1e-6, "C": np.inf}
# Fisher's ratio alone, with penalised models.
FISHER: dict[str, Any] = {**AS_PUBLISHED, "C": 1.0}
NO_SCREEN = Annealing(screen=None)
# Forward selection's model is penalised: without, all subsets that separate the classes have a loss
# of 0, and where features outnumber the rows there are many of them from a few features on.
FORWARD_C = 1.0
# Steps of the penalty a decade. The first support that is large enough is cut to the size, and the
# finer the path, the less there is to cut.
LASSO = Lasso(n_values=121)


def is_measured(y: NDArray[Any]) -> bool:
    """Whether the target is a quantity (also in whole numbers), and no label (0.0, 1.0)."""
    return y.dtype.kind == "f" and len(np.unique(y)) > 2


def _task(y: NDArray[Any]) -> dict[str, Any]:
    return {"task": "regression"} if is_measured(y) else {}


def _for_task(y: NDArray[Any], how: dict[str, Any]) -> dict[str, Any]:
    """Parameters for this target: a quantity has R² in place of Fisher's ratio, and no penalty."""
    if not is_measured(y):
        return how
    kept = {key: "r2" if value == "fisher" else value for key, value in how.items()}
    return {**kept, "task": "regression", "C": np.inf}


def paper(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """SA-FDR exactly as published."""
    how = {"annealing": NO_SCREEN, **_for_task(y, AS_PUBLISHED)}
    return [r.subset for r in anneal_path(X, y, sizes, random_state=seed, **how)]


def recipe(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The default recipe of safdr."""
    return [r.subset for r in anneal_path(X, y, sizes, random_state=seed, **_task(y))]


def unscreened(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The recipe without its screen."""
    how: dict[str, Any] = {"annealing": NO_SCREEN, **_task(y)}
    return [r.subset for r in anneal_path(X, y, sizes, random_state=seed, **how)]


def fisher(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The search by Fisher's ratio with penalised models, without a screen."""
    how = {"annealing": NO_SCREEN, **_for_task(y, FISHER)}
    return [r.subset for r in anneal_path(X, y, sizes, random_state=seed, **how)]


def rfe(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The paper's baseline."""
    return [model.subset for model in RFE().path(X, y, sizes, seed)]


def lasso(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The largest slopes at the first penalty of the path that lets as many features in.

    Where even the mildest lets in fewer, the subset is smaller than asked for.
    """
    found: list[Subset] = []
    for value in LASSO.grid(X, y, max(sizes)):
        slopes = np.abs(LASSO.slopes(X, y, value / len(X), seed))
        while len(found) < len(sizes) and np.count_nonzero(slopes) >= sizes[len(found)]:
            found.append(_largest(slopes, sizes[len(found)]))
        if len(found) == len(sizes):
            return found
    return found + [np.flatnonzero(slopes)] * (len(sizes) - len(found))


def abess(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The paper's extra baseline: each size starts from the one before, so all are searched."""
    models = Abess().path(X, y, sizes_up_to(max(sizes), X.shape[1]), seed)
    return [models[size - 1].subset for size in sizes]


def forward(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """One feature at a time, the one that lowers the penalised log-loss most."""
    how = _for_task(y, {"C": FORWARD_C})
    free = _varying(X).tolist()
    chosen: list[int] = []
    while free and len(chosen) < max(sizes):
        losses = evaluate_subsets(X, y, [[*chosen, j] for j in free], ridge=1e-6, **how).losses
        chosen.append(free.pop(int(np.argmin(losses))))
    return [np.sort(chosen[:size]) for size in sizes]


def anova(X: Floats, y: Labels, sizes: Sequence[int], seed: int) -> list[Subset]:
    """The largest F ratios, each feature by itself."""
    from sklearn.feature_selection import f_classif, f_regression

    varying = _varying(X)
    ratios = np.zeros(X.shape[1])
    ratios[varying] = (f_regression if is_measured(y) else f_classif)(X[:, varying], y)[0]
    return [_largest(ratios, size) for size in sizes]


def _varying(X: Floats) -> NDArray[np.intp]:
    """Columns that tell rows apart at all."""
    return np.flatnonzero(np.ptp(X, axis=0) > 0)


def _largest(values: Floats, size: int) -> Subset:
    """Places of the largest values; of equal ones the first."""
    return np.sort(np.argsort(-values, kind="stable")[:size])


@dataclass(frozen=True)
class EqualMethod:
    """A method with its name, for people too, and all that its answer depends on."""

    name: str
    title: str
    subsets: Callable[[Floats, Labels, Sequence[int], int], list[Subset]]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """As JSON has them: there is no infinity."""
        about = {key: "inf" if value == np.inf else value for key, value in self.about.items()}
        return {"method": self.name, **about}


_ALL = (
    EqualMethod("recipe", "recipe", recipe, DEFAULTS),
    EqualMethod("unscreened", "no screen", unscreened, {**DEFAULTS, "screen": None}),
    EqualMethod("paper", "paper", paper, {**annealing_defaults(), **AS_PUBLISHED}),
    EqualMethod("fisher", "Fisher's ratio, C = 1", fisher, {**NO_SCREEN.get_params(), **FISHER}),
    EqualMethod("rfe", "RFE", rfe, RFE().settings),
    EqualMethod("lasso", "Lasso", lasso, LASSO.settings),
    EqualMethod("abess", "abess", abess, Abess().settings),
    EqualMethod("forward", "forward", forward, {"loss": "cross-entropy", "C": FORWARD_C}),
    EqualMethod("anova", "ANOVA", anova),
)
METHODS = {method.name: method for method in _ALL}


def get_method(name: str) -> EqualMethod:
    """A method by name."""
    if name not in METHODS:
        raise MethodError(f"No method is called {name!r}. There are: {', '.join(METHODS)}.")
    if name == "abess" and find_spec("abess") is None:
        raise MethodError("The method 'abess' needs the package: pip install abess")
    return METHODS[name]
