"""Predictions of rows, and their score: held out, by cross-validation, and with every feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr.measures import intervals, ranking, survival
from safdr.report.reading import Found, Rows, name_of

FloatArray = NDArray[np.float64]

# Numbers in X up to which a model on every feature is fitted: some seconds.
MAX_NUMBERS = 1e8
N_FOLDS = 5
# R² of fewer rows says nothing.
MIN_ROWS_FOR_R2 = 10
INTERVALS = {
    "explained_poisson_deviance": intervals.poisson_interval,
    "explained_gamma_deviance": intervals.gamma_interval,
}


@dataclass(frozen=True, eq=False)
class Predicted:
    """Target and predictions of rows with a weight above 0."""

    # Codes of classes, or numbers.
    y: NDArray[Any]
    # What ranks rows: log-odds, the code of the predicted class, or the predicted number.
    score: FloatArray
    # Of each class; None if the model has none.
    probabilities: FloatArray | None
    # None: all rows count the same.
    weight: FloatArray | None
    # Mask of these rows among the given ones.
    kept: NDArray[np.bool_]
    classes: list[Any]
    # "r2", "roc_auc" and so on.
    score_name: str


def class_codes(selector: Any, y: Any) -> NDArray[Any]:
    """Return the target as codes of classes, as numbers, or as times (negative if censored)."""
    if names := getattr(getattr(y, "dtype", None), "names", None):
        event, time = (np.asarray(y[name]) for name in names)
        return np.where(event, time, -time).astype(np.float64)
    if not hasattr(selector, "classes_"):
        return np.asarray(y, dtype=np.float64)
    labels, classes = np.asarray(y), selector.classes_
    unknown = [label for label in np.unique(labels) if label not in classes]
    if unknown:
        raise ValueError(f"y must hold the classes {classes.tolist()}; got {unknown[:5]} too.")
    return np.searchsorted(classes, labels)


def predict(selector: Any, rows: Rows) -> Predicted:
    """Predict the rows with a weight above 0."""
    y, classes = class_codes(selector, rows.y), list(getattr(selector, "classes_", ()))
    weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    kept = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    probabilities = None
    if classes and hasattr(selector, "predict_proba"):
        probabilities = np.asarray(selector.predict_proba(rows.X), dtype=np.float64)
    if len(classes) == 2 and hasattr(selector, "decision_function"):
        score = selector.decision_function(rows.X)
    elif len(classes) == 2 and probabilities is not None:
        score = probabilities[:, 1]
    else:
        score = selector.predict(rows.X)
        score = np.searchsorted(classes, score) if classes else score
    return Predicted(
        y[kept],
        np.asarray(score, dtype=np.float64)[kept],
        None if probabilities is None else probabilities[kept],
        None if weight is None else weight[kept],
        kept,
        classes,
        default_score(selector)[0],
    )


def default_score(selector: Any) -> tuple[str, float]:
    """Return the name of the default score, and its value by chance."""
    if hasattr(selector, "predict_survival_function"):
        return "concordance", 0.5
    if (family := getattr(selector, "family", "gaussian")) != "gaussian":
        return f"explained_{family}_deviance", 0.0
    n_classes = len(getattr(selector, "classes_", ()))
    return {0: ("r2", 0.0), 2: ("roc_auc", 0.5)}.get(n_classes, ("roc_auc_ovr", 0.5))


def score_of(predicted: Predicted, rows: NDArray[np.bool_] | None = None) -> list[float]:
    """Return the default score of a mask of rows with its interval; empty if undefined."""
    rows = np.ones(len(predicted.y), dtype=bool) if rows is None else rows
    y, score = predicted.y[rows], predicted.score[rows]
    weight = None if predicted.weight is None else predicted.weight[rows]
    n_classes, probabilities = len(predicted.classes), predicted.probabilities
    if predicted.score_name == "concordance":
        return survival.concordance_interval(y, score, weight)
    if not n_classes:
        enough = len(y) >= MIN_ROWS_FOR_R2 and y.ndim == 1 and np.ptp(y) > 0
        interval = INTERVALS.get(predicted.score_name, intervals.r2_interval)
        return interval(y, score, weight) if enough else []
    if np.bincount(y, minlength=n_classes).min() < 1:
        return []
    if n_classes == 2:
        return ranking.auc_interval(score, y == 1, weight)
    if probabilities is None:
        return []
    return ranking.auc_interval_of_classes(probabilities[rows], y, weight)


def describe_score(
    selector: Any,
    train: Rows,
    test: Rows | None,
    predicted: Predicted | None,
    sizes: list[Found],
    groups: Any,
) -> Found:
    """Return the name of the score, what chance gives, and its values."""
    name, chance = default_score(selector)
    scoring = getattr(selector, "scoring", None)
    is_default = scoring is None or scoring == name
    result: Found = {"name": name, "chance": chance} if is_default else {"name": name_of(scoring)}
    if predicted is not None and test is not None:
        if is_default:
            result["test"] = score_of(predicted)
        elif test.weight is None:
            result["test"] = [float(selector.score(test.X, test.y))]
    if sizes:
        selected = next(size for size in sizes if size["k"] == selector.n_features_)
        result["cv"] = [selected["score"], selected["sd"]]
        result["n_splits"] = len(selected["splits"])
    # A score to compare with the others.
    if result.get("test") or (test is None and "cv" in result):
        result["all_features"] = _all_features(selector, result["name"], train, test, groups)
    return {key: value for key, value in result.items() if value not in ([], None)}


def _all_features(
    selector: Any, scoring: str, train: Rows, test: Rows | None, groups: Any
) -> float | None:
    """Return the score of a penalised model on every feature, held out or by folds."""
    # Plain folds divide groups, and what another splitter keeps together.
    is_plain = groups is None and isinstance(getattr(selector, "cv", None), int | None)
    n_fits = N_FOLDS if test is None else 1
    too_many = n_fits * np.prod(np.shape(train.X), dtype=float) > MAX_NUMBERS
    if too_many or np.ndim(train.y) > 1 or (test is None and not is_plain):
        return None
    is_class = hasattr(selector, "classes_")
    last = LogisticRegression(max_iter=300) if is_class else Ridge()
    model = make_pipeline(StandardScaler(with_mean=not issparse(train.X)), last)
    weight = {f"{model.steps[-1][0]}__sample_weight": train.weight}
    try:
        scorer = get_scorer(scoring)
        if test is not None:
            model.fit(train.X, train.y, **weight)
            return float(scorer(model, test.X, test.y, sample_weight=test.weight))
        folds = (StratifiedKFold if is_class else KFold)(N_FOLDS, shuffle=True, random_state=0)
        how: dict[str, Any] = {"cv": folds, "scoring": scorer, "error_score": "raise"}
        return float(cross_val_score(model, train.X, train.y, params=weight, **how).mean())
    except ValueError:  # fewer rows than folds, missing values, or a score of the caller
        return None
