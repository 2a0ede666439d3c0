"""What is done with one data set, one method and one repeat."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.preprocessing import StandardScaler

from experiments import methods, paper_methods
from experiments.data import Data
from experiments.paper_methods import PathMethod
from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# The paper's: 20 % of the rows test; of the others, five splits hold out 25 %.
TEST_SIZE = 0.2
VALIDATION_SIZE = 0.25
N_SPLITS = 5
RULES = ("one_sd", "one_se")
DECIMALS = 6

EQUAL_SIZES = (1, 2, 3, 5, 8, 12, 20)
EQUAL_TEST_SHARE = 0.25
# More rows hardly change who is ahead, and take most of the time.
MAX_TRAIN, MAX_TEST = 5000, 20000
# One bad prediction must not dominate a mean.
LOWEST_R2 = -0.5

SELECTOR_SIZES = 20
SELECTOR_MAX_TRAIN = 2000


def seeds_of(data: Data, repeat: int, n: int) -> list[int]:
    """Return seeds of 31 bits that depend on the name and the repeat alone."""
    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    return [int(seed) for seed in entropy.generate_state(n)]


def paper(data: Data, name: str, repeat: int) -> dict[str, Any]:
    """Run the paper's protocol: sizes on five splits, k* by two rules, refit, test."""
    method = paper_methods.get(name)
    seeds = seeds_of(data, repeat, 3 + N_SPLITS)
    train, test = train_test_split(
        np.arange(len(data.y)), test_size=TEST_SIZE, stratify=data.y, random_state=seeds[0]
    )
    inner = StratifiedShuffleSplit(N_SPLITS, test_size=VALIDATION_SIZE, random_state=seeds[1])
    short = [seed >> 1 for seed in seeds]
    scaled = StandardScaler().fit(data.X[train]).transform(data.X)
    grid = method.grid(scaled[train], data.y[train])
    folds = []
    for (fit, held_out), seed in zip(inner.split(train, data.y[train]), short[3:], strict=True):
        X = StandardScaler().fit(data.X[train[fit]]).transform(data.X)
        folds.append(_scan(X, data.y, train[fit], train[held_out], method, grid, seed))
    refit = _scan(scaled, data.y, train, test, method, grid, short[2])
    return {
        "folds": {
            "n_features": [fold["n_features"] for fold in folds],
            "train_cross_entropy": [fold["cross_entropy"] for fold in folds],
            "train_auc": [fold["train"] for fold in folds],
            "validation_auc": [fold["held_out"] for fold in folds],
            "seconds": [fold["seconds"] for fold in folds],
        },
        "refit": {
            "subsets": refit["subsets"],
            "train_cross_entropy": refit["cross_entropy"],
            "train_auc": refit["train"],
            "test_auc": refit["held_out"],
        },
    }


def chosen(row: dict[str, Any], rule: str) -> dict[str, float]:
    """Return the position that a rule selects, the mean number of features, and the test AUC."""
    index = first_within(rule, np.array(row["folds"]["validation_auc"]))
    k = float(np.mean([sizes[index] for sizes in row["folds"]["n_features"]]))
    return {"index": index, "k": k, "test_auc": row["refit"]["test_auc"][index]}


def _scan(
    X: Floats, y: Rows, train: Rows, held_out: Rows, method: PathMethod, grid: list[Any], seed: int
) -> dict[str, Any]:
    """Fit the path on the training rows and score it on both."""
    rows, labels = X[train], y[train]
    start = time.process_time()
    models = method.path(rows, labels, grid, seed)
    seconds = time.process_time() - start
    auc = {
        part: [_rounded(roc_auc_score(y[r], model.decide(X[r]))) for model in models]
        for part, r in (("train", train), ("held_out", held_out))
    }
    return {
        **auc,
        "n_features": [len(model.subset) for model in models],
        "subsets": [model.subset.tolist() for model in models],
        "cross_entropy": [_rounded(model.cross_entropy) for model in models],
        "seconds": round(seconds, 4),
    }


def first_within(rule: str, scores: Floats) -> int:
    """Return the first position within a tolerance of the best mean; one row a fold.

    The tolerance is one standard deviation or one standard error of the best position's scores, as
    in the selectors.
    """
    means = scores.mean(axis=0)
    of_best = scores[:, means.argmax()]
    error = of_best.std(ddof=1) / np.sqrt(len(scores))
    tolerance = of_best.std() if rule == "one_sd" else error
    return int((means >= means.max() - tolerance).argmax())


def equal(data: Data, name: str, repeat: int) -> dict[str, Any]:
    """Score the subsets of every size on test rows; all are refitted alike."""
    select = methods.get(name)
    train, test, seed = equal_split(data, repeat, MAX_TRAIN)
    y, y_test = data.y[train], data.y[test]
    scaler = StandardScaler().fit(data.X[train])
    X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
    sizes = [size for size in EQUAL_SIZES if size <= np.count_nonzero(np.ptp(X, axis=0))]
    with warnings.catch_warnings():
        # RFE and the Lasso stop at scikit-learn's default number of iterations, as in the paper.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        subsets = select(X, y, sizes, seed)
        seconds = time.process_time() - start
    scores = [_scores(X[:, s], y, X_test[:, s], y_test) for s in subsets]
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "n_features": data.X.shape[1],
        "sizes": sizes,
        "subsets": [subset.tolist() for subset in subsets],
        "scores": {metric: [each[metric] for each in scores] for metric in scores[0]},
        "seconds": round(seconds, 4),
    }


def equal_split(data: Data, repeat: int, max_train: int) -> tuple[Rows, Rows, int]:
    """Return training rows, test rows and a seed."""
    n_test = data.n_test or min(math.ceil(EQUAL_TEST_SHARE * len(data.y)), MAX_TEST)
    n_train = data.n_train or len(data.y) - n_test
    seeds = [seed >> 1 for seed in seeds_of(data, repeat, 2)]
    train, test = train_test_split(
        np.arange(len(data.y)),
        train_size=min(n_train, max_train),
        test_size=n_test,
        stratify=None if data.is_regression else data.y,
        random_state=seeds[0],
    )
    return train, test, seeds[1]


def _scores(X: Floats, y: Any, X_test: Floats, y_test: Any) -> dict[str, float]:
    """Return R² of least squares, or AUC (accuracy for more classes) and log-loss at C = 1.

    Values are clipped to the range of the training rows, predictions to that of the targets.
    """
    X_test = np.clip(X_test, X.min(axis=0), X.max(axis=0))
    if y.dtype.kind == "f":
        predictions = LinearRegression().fit(X, y).predict(X_test).clip(y.min(), y.max())
        r2 = 1 - ((y_test - predictions) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
        return {"r2": _rounded(max(r2, LOWEST_R2))}
    model = LogisticRegression(tol=1e-6, max_iter=3000).fit(X, y)
    chances = model.predict_proba(X_test)
    loss = _rounded(log_loss(y_test, chances, labels=model.classes_))
    if len(model.classes_) == 2:
        return {"auc": _rounded(roc_auc_score(y_test, chances[:, 1])), "log_loss": loss}
    return {"accuracy": _rounded(accuracy_score(y_test, model.predict(X_test))), "log_loss": loss}


def probabilities(data: Data, name: str, repeat: int) -> dict[str, Any]:
    """Fit the cross-validated selector; return losses with and without its calibration slope."""
    del name
    train, test, seed = equal_split(data, repeat, SELECTOR_MAX_TRAIN)
    y, y_test = data.y[train], data.y[test]
    kind = AnnealingRegressorSelectorCV if data.is_regression else AnnealingSelectorCV
    selector = kind(SELECTOR_SIZES, random_state=seed).fit(data.X[train], y)
    X, X_test = data.X[train][:, selector.support_], data.X[test][:, selector.support_]
    scaled = selector.estimator_
    plain = clone(scaled).set_params(calibration_slope=1.0).fit(X, y)
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "n_features": data.X.shape[1],
        "n_selected": int(selector.n_features_),
        "calibration_slope": _rounded(selector.calibration_slope_),
        "losses": {
            "with": _loss(scaled, X_test, y_test),
            "without": _loss(plain, X_test, y_test),
        },
    }


def _loss(model: Any, X: Floats, y: NDArray[Any]) -> float:
    """Return the log-loss, or the squared error as a share of the variance."""
    if y.dtype.kind == "f":
        return _rounded(np.mean((y - model.predict(X)) ** 2) / y.var())
    return _rounded(log_loss(y, model.predict_proba(X), labels=model.classes_))


def _rounded(value: Any) -> float:
    return round(float(value), DECIMALS)
