"""Counts, amounts and survival times at equal size: python -m experiments.families.

Every method selects 1 to 20 features on 70 % of the rows. The same model is fitted to each subset,
and scored on the other rows: by the share of the deviance that is explained, or by concordance.
The data are in scikit-survival, statsmodels and scikit-learn, or planted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lasso_path
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from safdr import (
    AnnealingRegressorSelector,
    AnnealingSurvivalSelector,
    anneal_path,
    evaluate_subsets,
)

Floats = NDArray[np.float64]
SIZES = (1, 2, 3, 5, 8, 12, 20)
TEST_SHARE = 0.3
POWERS = {"poisson": 1, "gamma": 2}
# Values of the L1 penalty, their range, and steps of reweighted least squares for each.
N_PENALTIES, RANGE, N_STEPS = 80, 1e3, 4


class Problem(NamedTuple):
    """Rows of one task: "poisson", "gamma" or "survival"."""

    task: str
    X: Floats
    y: Any
    weight: Floats | None = None

    def take(self, rows: Any) -> Problem:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Problem(self.task, self.X[rows], self.y[rows], weight)

    def selector(self, size: int, **parameters: Any) -> Any:
        """Return an unfitted selector."""
        if self.task == "survival":
            return AnnealingSurvivalSelector(size, random_state=0, **parameters)
        return AnnealingRegressorSelector(size, family=self.task, random_state=0, **parameters)

    def score(self, test: Problem, subset: Any) -> float:
        """Return the score of a model on these rows, on test rows."""
        model = self.selector(len(subset)).fit(self.X[:, subset], self.y, self.weight)
        if self.task == "survival":
            return float(model.score(test.X[:, subset], test.y))
        predicted, power = model.predict(test.X[:, subset]), POWERS[self.task]
        return float(d2_tweedie_score(test.y, predicted, sample_weight=test.weight, power=power))


# ---- Data ---------------------------------------------------------------------------------------


def _products(X: Floats) -> Floats:
    """Return standardised columns, their squares and their products, without constants."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    pairs = [Z[:, i] * Z[:, j] for i, j in combinations_with_replacement(range(Z.shape[1]), 2)]
    every = np.column_stack([Z, *pairs])
    correlation = np.abs(np.corrcoef(every.T))
    new = ~(np.triu(correlation, 1) > 1 - 1e-9).any(axis=0)
    return every[:, new & (every.std(axis=0) > 1e-9)]


def _survival(name: str, squares: bool) -> Problem:
    """Return a set of scikit-survival, with indicators of categories and means for gaps."""
    from sksurv import datasets
    from sksurv.column import encode_categorical

    frame, y = getattr(datasets, f"load_{name}")()
    X = encode_categorical(frame).to_numpy(dtype=float)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    X = X[:, X.std(axis=0) > 0]
    return Problem("survival", _products(X) if squares else X, y)


def _table(name: str, target: str, task: str, drop: Sequence[str] = ()) -> Problem:
    """Return a set of statsmodels with squares and products."""
    from statsmodels import datasets

    frame = getattr(datasets, name).load_pandas().data
    y = frame.pop(target).to_numpy(dtype=float)
    return Problem(task, _products(frame.drop(columns=list(drop)).to_numpy(dtype=float)), y)


def _doctors() -> Problem:
    found = _table("randhie", "mdvis", "poisson")
    return found.take(np.random.default_rng(0).permutation(len(found.y))[:3000])


def _schools() -> Problem:
    """Rates of pupils above a median, by school district."""
    from statsmodels import datasets

    frame = datasets.star98.load_pandas().data
    above, below = frame.pop("NABOVE").to_numpy(), frame.pop("NBELOW").to_numpy()
    X = frame.iloc[:, :12].to_numpy(dtype=float)
    return Problem("poisson", _products(X), above / (above + below), above + below)


def _diabetes() -> Problem:
    X, y = load_diabetes(return_X_y=True)
    return Problem("gamma", _products(X), y)


def _planted(task: str, n_rows: int, n_features: int) -> Problem:
    """Return rows with ten relevant features, neighbours correlated by one half."""
    rng = np.random.default_rng([n_rows, n_features])
    X = rng.normal(size=(n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.5 * X[:, j - 1] + 0.75**0.5 * X[:, j]
    slopes = np.zeros(n_features)
    slopes[rng.choice(n_features, 10, replace=False)] = rng.choice([-0.4, 0.4], 10)
    mean = np.exp(X @ slopes)
    if task == "poisson":
        return Problem(task, X, rng.poisson(mean).astype(float))
    if task == "gamma":
        return Problem(task, X, rng.gamma(1.0, mean) + 1e-6)
    event, censored = rng.exponential(1 / mean), rng.exponential(2.0, n_rows)
    y = np.empty(n_rows, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event <= censored, np.minimum(event, censored)
    return Problem(task, X, y)


DATA: dict[str, Callable[[], Problem]] = {
    "whas500": lambda: _survival("whas500", squares=True),
    "gbsg2": lambda: _survival("gbsg2", squares=True),
    "veterans": lambda: _survival("veterans_lung_cancer", squares=True),
    "breast cancer": lambda: _survival("breast_cancer", squares=False),
    "doctor visits": _doctors,
    "schools": _schools,
    "affairs": lambda: _table("fair", "affairs", "poisson"),
    "diabetes": _diabetes,
    "card spending": lambda: _table("ccard", "AVGEXP", "gamma"),
}
for _task in ("poisson", "gamma", "survival"):
    for _shape in ((300, 100), (150, 1000)):
        DATA[f"planted {_task} {_shape[0]} × {_shape[1]}"] = partial(_planted, _task, *_shape)


# ---- Methods ------------------------------------------------------------------------------------


def recipe(p: Problem, sizes: Sequence[int]) -> list[Any]:
    """Select with the defaults of safdr."""
    return [r.subset for r in anneal_path(p.selector(1), p.X, p.y, sizes, sample_weight=p.weight)]


def abess(p: Problem, sizes: Sequence[int]) -> list[Any]:
    """Select by splicing."""
    import abess as peer

    kinds = {
        "poisson": peer.PoissonRegression,
        "gamma": peer.GammaRegression,
        "survival": peer.CoxPHSurvivalAnalysis,
    }
    y = p.y
    if p.task == "survival":
        event, time_of = (p.y[name].astype(float) for name in p.y.dtype.names)
        y = np.column_stack([time_of, event])
    subsets = []
    for size in sizes:
        model = kinds[p.task](support_size=size)
        model.fit(p.X, y, **({} if p.weight is None else {"sample_weight": p.weight}))
        subsets.append(np.flatnonzero(model.coef_))
    return subsets


def forward(p: Problem, sizes: Sequence[int]) -> list[Any]:
    """Add the feature that lowers the loss most."""
    chosen: list[int] = []
    found = {}
    for size in range(1, max(sizes) + 1):
        rest = np.setdiff1d(np.arange(p.X.shape[1]), chosen)
        subsets = [np.sort([*chosen, j]) for j in rest]
        losses = evaluate_subsets(p.selector(1), p.X, p.y, subsets, sample_weight=p.weight).losses
        chosen.append(int(rest[np.argmin(losses)]))
        found[size] = np.sort(chosen)
    return [found[size] for size in sizes]


def lasso(p: Problem, sizes: Sequence[int]) -> list[Any]:
    """Cut the L1 path to each size by the largest coefficients."""
    Z = (p.X - p.X.mean(axis=0)) / p.X.std(axis=0)
    path = _cox_path(Z, p) if p.task == "survival" else _log_linear_path(Z, p)
    counts = (path != 0).sum(axis=0)
    subsets = []
    for size in sizes:
        at = np.flatnonzero(counts >= size)
        coef = np.abs(path[:, at[0] if len(at) else -1])
        subsets.append(np.sort(np.argsort(-coef, kind="stable")[:size]))
    return subsets


def _cox_path(Z: Floats, p: Problem) -> Floats:
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    options = {"l1_ratio": 1.0, "n_alphas": N_PENALTIES, "alpha_min_ratio": 1 / RANGE}
    return np.asarray(CoxnetSurvivalAnalysis(**options, max_iter=10**5).fit(Z, p.y).coef_)


def _log_linear_path(Z: Floats, p: Problem) -> Floats:
    """Return the path of the penalised likelihood, by reweighted least squares."""
    share = np.ones(len(Z)) if p.weight is None else p.weight
    share = share / share.sum()
    mean = share @ p.y
    top = np.abs(Z.T @ (share * (p.y - mean))).max() / (mean if p.task == "gamma" else 1.0)
    coef, intercept, path = np.zeros(Z.shape[1]), np.log(mean), []
    for alpha in np.geomspace(top, top / RANGE, N_PENALTIES):
        for _ in range(N_STEPS):
            eta = np.clip(Z @ coef + intercept, -20, 20)
            ratio = p.y * np.exp(-eta)
            weight = share * (np.exp(eta) if p.task == "poisson" else 1.0)
            response, total = eta + ratio - 1.0, weight.sum()
            centre, middle = weight @ Z / total, weight @ response / total
            root = np.sqrt(weight * len(Z))
            some = root[:, None] * (Z - centre), root * (response - middle)
            coef = lasso_path(*some, alphas=[alpha], coef_init=coef, max_iter=2000)[1][:, 0]
            intercept = middle - centre @ coef
        path.append(coef)
    return np.array(path).T


METHODS = {"safdr": recipe, "abess": abess, "L1": lasso, "forward": forward}


# ---- The comparison -----------------------------------------------------------------------------


def splits(p: Problem, n_splits: int) -> Iterator[tuple[Problem, Problem]]:
    """Yield training and test rows."""
    kind, labels = ShuffleSplit, None
    if p.task == "survival":
        kind, labels = StratifiedShuffleSplit, p.y[p.y.dtype.names[0]]
    for train, test in kind(n_splits, test_size=TEST_SHARE, random_state=0).split(p.X, labels):
        yield p.take(train), p.take(test)


def compare(p: Problem, n_splits: int) -> tuple[dict[str, Floats], dict[str, float]]:
    """Return the mean score over the sizes of each method and split, and its seconds."""
    scores: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for train, test in splits(p, n_splits):
        used = train.X.std(axis=0) > 1e-9
        train, test = train._replace(X=train.X[:, used]), test._replace(X=test.X[:, used])
        sizes = [size for size in SIZES if size <= train.X.shape[1]]
        for name, method in METHODS.items():
            start = time.perf_counter()
            subsets = method(train, sizes)
            seconds[name] += time.perf_counter() - start
            scores[name].append(float(np.mean([train.score(test, s) for s in subsets])))
    return {name: np.array(each) for name, each in scores.items()}, seconds


def main() -> None:
    """Print the scores of safdr, and the differences to its peers with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    options = parser.parse_args()
    peers = [name for name in METHODS if name != "safdr"]
    print(f"| set | rows × features | safdr | {' | '.join(peers)} | seconds |")
    print("|---|---|" + "---|" * (len(peers) + 2))
    warnings.simplefilter("ignore")
    every = []
    for name in options.data:
        problem = DATA[name]()
        scores, seconds = compare(problem, options.splits)
        n = options.splits
        cells = []
        for peer in peers:
            change = scores["safdr"] - scores[peer]
            # Nadeau and Bengio (2003): the splits overlap.
            error = change.std(ddof=1) * np.sqrt(1 / n + TEST_SHARE / (1 - TEST_SHARE))
            cells.append(f"{change.mean():+.4f} ({error:.4f})")
        every.append([np.mean(scores["safdr"] - scores[peer]) for peer in peers])
        shape = " × ".join(map(str, problem.X.shape))
        times = ", ".join(f"{seconds[each] / n:.2f}" for each in METHODS)
        print(
            f"| {name} | {shape} | {scores['safdr'].mean():.4f} | {' | '.join(cells)} | {times} |"
        )
    means = " | ".join(f"{value:+.4f}" for value in np.mean(every, axis=0))
    print(f"| mean | | | {means} | |")


if __name__ == "__main__":
    main()
