"""The scores: on held-out rows, by cross-validation, and of a model on every feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr.report import reading, risk
from safdr.report.reading import Found, Predicted, Rows

# Numbers in X up to which a model on every feature is fitted: some seconds.
MAX_NUMBERS = 1e8
N_FOLDS = 5


def describe_score(
    selector: Any,
    train: Rows,
    codes: NDArray[Any],
    test: Rows | None,
    predicted: Predicted | None,
    sizes: list[Found],
) -> Found:
    """Return the name of the score, what chance gives, and its values."""
    classes = list(getattr(selector, "classes_", ()))
    name, chance = risk.default_score(classes)
    scoring = reading.read_scoring(selector)
    is_default = scoring in (None, name)
    found: Found = {"name": name, "chance": chance} if is_default else {"name": scoring}
    if predicted is not None and test is not None:
        if is_default:
            found["test"] = risk.score_of(predicted)
        elif test.weight is None:
            found["test"] = [float(selector.score(test.X, test.y))]
    if sizes:
        k = selector.n_features_
        own = next(each for each in sizes if each["k"] == k)
        found |= {"cv": [own["score"], own["sd"]], "n_splits": len(own["splits"])}
    if is_default and (value := _all_features(selector, train, codes, test)) is not None:
        found["all_features"] = value
    return {key: each for key, each in found.items() if each != []}


def _all_features(selector: Any, train: Rows, codes: Any, test: Rows | None) -> float | None:
    """Return the score of a penalised model on every feature, on held-out rows or by folds."""
    n, k = np.shape(train.X)
    folds = 1 if test is not None else N_FOLDS
    splitter = getattr(selector, "cv", None)
    # Another splitter may keep rows together, which plain folds do not.
    if n * k * folds > MAX_NUMBERS or codes.ndim > 1 or not isinstance(splitter, int | None):
        return None
    try:
        values = [_one(selector, codes, *some) for some in _splits(train, codes, test)]
    except ValueError:  # fewer rows than folds, or missing values that another model takes
        return None
    return float(np.mean(values))


def _splits(train: Rows, codes: Any, test: Rows | None) -> Iterator[tuple[Rows, Rows]]:
    if test is not None:
        yield train, test
        return
    X = train.X.tocsr() if issparse(train.X) else np.asarray(train.X)
    y = np.asarray(train.y)
    weight = None if train.weight is None else np.asarray(train.weight)
    kind = KFold if codes.dtype.kind == "f" else StratifiedKFold
    for inside, outside in kind(N_FOLDS, shuffle=True, random_state=0).split(X, codes):
        first, second = (
            Rows(X[i], y[i], None if weight is None else weight[i]) for i in (inside, outside)
        )
        yield first, second


def _one(selector: Any, codes: Any, train: Rows, test: Rows) -> float:
    is_class = hasattr(selector, "classes_")
    model = LogisticRegression(max_iter=300) if is_class else Ridge()
    scaler = StandardScaler(with_mean=not issparse(train.X))
    pipeline = make_pipeline(scaler, model)
    name = pipeline.steps[-1][0]
    pipeline.fit(train.X, train.y, **{f"{name}__sample_weight": train.weight})
    score = risk.score_of(reading.predict(pipeline, test))
    if not score:
        raise ValueError("no score")
    return score[0]
