"""What the report reads of selectors, and asks them: the only module that knows them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import safdr
from safdr._estimators.features import Features as Columns
from safdr._estimators.features import allowed_subsets, feature_names
from safdr.result import NearOptimal, Proof, Stability

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Found = dict[str, Any]

# Near-optimal subsets in a result.
MAX_SUBSETS = 100
# Columns of the what-if, whose matrix is then 60 KB.
MAX_WHAT_IF = 120
# Relative difference of a value that is computed again.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of numbers with their target, weights and columns to report segments by."""

    X: Any
    y: Any
    weight: Any = None
    by: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Features:
    """Features as the selector counts them: single columns and groups."""

    names: list[str]
    columns: list[IntArray]
    of_column: IntArray
    column_names: list[str]
    selected: list[int]
    max_features: int

    def named(self, columns: Iterable[int]) -> list[str]:
        """Return the names of the features of some columns."""
        known = dict.fromkeys(int(self.of_column[j]) for j in columns if j >= 0)
        return [self.names[i] for i in known]


def is_selector(step: Any) -> bool:
    """Return True for a fitted selector of safdr."""
    return hasattr(step, "result_") and hasattr(step, "subset_")


def read_features(selector: Any, names: Sequence[Any] | None) -> Features:
    """Return the features of a selector; `names` are those of its columns."""
    n = int(selector.n_features_in_)
    given = getattr(selector, "feature_names_in_", None) if names is None else names
    columns = [f"x{j}" for j in range(n)] if given is None else [str(name) for name in given]
    if len(columns) != n:
        raise ValueError(f"X must have the {n} columns of the fit; got {len(columns)}.")
    known = feature_names(selector)
    allowed = allowed_subsets(selector.constraints, n, known)
    groups = None if selector.constraints is None else selector.constraints.groups
    given_groups = Columns(n, known, groups).groups.items()
    titles = {int(some[0]): name for name, some in given_groups if isinstance(name, str)}
    features = [
        titles.get(int(some[0]), " + ".join(columns[j] for j in some))
        if len(some) > 1
        else columns[some[0]]
        for some in allowed.groups
    ]
    of_column = allowed.group_of
    return Features(
        features,
        list(allowed.groups),
        of_column,
        columns,
        list(dict.fromkeys(of_column[selector.subset_].tolist())),
        max(allowed.sizes(len(features)), default=0),
    )


def read_scoring(selector: Any) -> str | None:
    """Return the name of the score; None for the default."""
    scoring = getattr(selector, "scoring", None)
    return scoring if scoring is None or isinstance(scoring, str) else _name(scoring)


def read_sizes(selector: Any, features: Features) -> tuple[list[Found], Found]:
    """Return what cross-validation says of each size, and the rule if there was a choice."""
    if not hasattr(selector, "cv_results_"):
        return [], {}
    results, n = selector.cv_results_, selector.n_splits_
    ks = np.asarray(results["n_features"])
    scores = np.array([results[f"split{i}_test_score"] for i in range(n)])
    sizes = []
    for at, k in enumerate(ks.tolist()):
        counts = np.zeros(len(features.names))
        for i in range(n):
            support = np.flatnonzero(results[f"split{i}_support"][at])
            counts[np.unique(features.of_column[support])] += 1
        order = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
        sizes.append(
            {
                "k": k,
                "score": results["mean_test_score"][at],
                "sd": results["std_test_score"][at],
                "splits": scores[:, at],
                "features": {features.names[j]: counts[j] / n for j in order},
            }
        )
    if len(ks) == 1:
        return sizes, {}
    rule = selector.rule
    name = rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__)
    others = {r: _size_by(r, ks, scores) for r in ("one_se", "one_sd", "best") if r != name}
    found: Found = {"name": name, "k": int(selector.n_features_), "others": others}
    if span := _without_a_split(name, ks, scores, found["k"]):
        found["range"] = span
    return sizes, found


def _without_a_split(rule: str, ks: IntArray, scores: FloatArray, selected: int) -> list[int]:
    """Return the smallest and largest size if one split is left out; none if all agree."""
    if len(scores) < 3 or _size_by(rule, ks, scores) != selected:
        return []
    sizes = [_size_by(rule, ks, np.delete(scores, i, axis=0)) for i in range(len(scores))]
    span = [min(sizes), max(sizes)]
    return [] if span == [selected, selected] else span


def _size_by(rule: str, ks: IntArray, scores: FloatArray) -> int:
    """Return the size that a built-in rule takes; 0 for another rule."""
    means, n = scores.mean(axis=0), len(scores)
    own = scores[:, means.argmax()]
    error = own.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
    errors = {"best": 0.0, "one_sd": own.std(), "one_se": error}
    return int(ks[means >= means.max() - errors[rule]].min()) if rule in errors else 0


def read_search(selector: Any) -> Found:
    """Return the criterion, its value, and how the search ended."""
    result, criterion = selector.result_, selector.criterion_
    found: Found = {
        "criterion": criterion if isinstance(criterion, str) else _name(criterion),
        "value": selector.criterion_value_,
        "loss": {"name": result.loss_name, "value": result.loss},
        "converged": bool(result.trace.converged),
        "separated": bool(result.separated[result.best]),
    }
    if selector.shrinkage_ is not None:
        found["shrinkage"] = selector.shrinkage_
    if result.n_screened < selector.n_features_in_:
        found["screened"] = int(result.n_screened)
    if slope := getattr(selector, "calibration_slope_", None):
        found["calibration_slope"] = slope
    return found


def read_duplicates(selector: Any, names: Sequence[str]) -> list[Found]:
    """Return pairs of duplicate columns."""
    return [{"kept": names[i], "dropped": names[j]} for i, j in selector.duplicates_]


def read_settings(selector: Any) -> Found:
    """Return the parameters that differ from their defaults."""
    defaults = type(selector)().get_params(deep=False)
    changed = selector.get_params(deep=False)
    found: Found = {}
    for name, value in changed.items():
        if name == "random_state" or repr(value) == repr(defaults.get(name)):
            continue
        if hasattr(value, "get_params"):
            fresh = repr(type(value)().get_params(deep=False))
            known = value.get_params(deep=False)
            if repr(known) != fresh:
                found[name] = repr(value)
        else:
            found[name] = value if isinstance(value, bool | int | float | str) else _name(value)
    return found


def _name(value: Any) -> str:
    if isinstance(value, list | tuple | dict | np.ndarray):
        return str(value)
    return getattr(value, "__name__", None) or repr(value)


# ---- Questions ----------------------------------------------------------------------------------


def asked(question: Callable[..., Found], *parts: Any) -> Found:
    """Return the answer to a question; a note if it has none."""
    try:
        return question(*parts)
    except (ValueError, MemoryError, NotImplementedError) as error:
        return {"note": str(error)}


def read_proof(selector: Any, rows: Rows, features: Features, given: Any) -> Found:
    """Return what is proven; `given` is a time limit in seconds, or a proof."""
    if not isinstance(given, Proof):
        given = safdr.prove(
            selector, rows.X, rows.y, time_limit=float(given), sample_weight=rows.weight
        )
    selected, best = float(selector.criterion_value_), float(given.value)
    same = np.array_equal(given.subset, selector.subset_) or selected >= best - SAME * abs(best)
    found: Found = {
        "proven": bool(given.optimal),
        "value": best,
        "features": features.named(given.subset),
        "selected": bool(same),
        "below": 0.0 if same else (best - selected) / abs(best),
        "seconds": given.seconds,
    }
    if np.isfinite(given.upper_bound):
        found["bound"] = given.upper_bound
        if selected > 0:
            found["gap"] = max(0.0, given.upper_bound / selected - 1)
    if not same:
        subsets = [selector.subset_, given.subset]
        losses = safdr.evaluate_subsets(
            selector, rows.X, rows.y, subsets, sample_weight=rows.weight
        ).losses
        found["smaller_loss"] = bool(losses[0] <= losses[1])
    return found


def read_near(selector: Any, rows: Rows, features: Features, given: Any) -> Found:
    """Return the near-optimal subsets; `given` is `rtol`, or the subsets."""
    if not isinstance(given, NearOptimal):
        given = safdr.near_optimal(
            selector, rows.X, rows.y, rtol=float(given), sample_weight=rows.weight
        )
    best = float(given.values[0])
    listed = zip(given.subsets[:MAX_SUBSETS], given.values, strict=False)
    return {
        "rtol": given.rtol,
        "complete": bool(given.complete),
        "n": int(given.n_total),
        "in_all": features.named(given.in_all),
        "subsets": [
            {"features": features.named(subset), "below": max(0.0, (best - value) / abs(best))}
            for subset, value in listed
        ],
    }


def read_stability(
    selector: Any, rows: Rows, features: Features, given: Any, groups: Any, n_jobs: Any
) -> Found:
    """Return the index and the share of half-samples of each feature; `given` is their number."""
    if not isinstance(given, Stability):
        seed = selector.random_state
        given = safdr.stability(
            selector,
            rows.X,
            rows.y,
            n_resamples=int(given),
            sample_weight=rows.weight,
            groups=groups,
            n_jobs=n_jobs,
            random_state=0 if seed is None else seed,
        )
    if len(given.names) != len(features.names):
        raise ValueError(f"stability must be of the {len(features.names)} features.")
    shares = np.column_stack([given.frequencies, given.frequency_intervals])
    found: Found = {"n": given.n_resamples, "frequencies": shares}
    if np.isfinite(given.index):
        found["index"] = [given.index, *given.index_interval]
    return found


def read_substitutes(
    selector: Any, rows: Rows, features: Features, given: Any, groups: Any, n_jobs: Any
) -> Found:
    """Return, by feature, its best replacement and the change of the score without it."""
    if given is True:
        given = safdr.substitutes(
            selector,
            rows.X,
            rows.y,
            n_best=1,
            sample_weight=rows.weight,
            groups=groups,
            n_jobs=n_jobs,
        )
    found: Found = {}
    own = read_features(selector, None).names
    place = dict(zip(own, features.names, strict=True))
    columns = ("selected", "replacement", "score_difference", "loss")
    rows_of = sorted(zip(*(list(given[c]) for c in columns), strict=True), key=lambda r: r[3])
    for selected, other, change, _ in rows_of:
        each = found.setdefault(place[selected], {})
        if other in place:
            each.setdefault("swap", {"name": place[other], "score": change})
        else:
            each["without"] = change
    return found


def read_what_if(selector: Any, rows: Rows, features: Features, also: list[int]) -> Found:
    """Return A and D of the features that matter, lower triangle and rows as base64."""
    given = safdr.what_if(selector, rows.X, rows.y, also=also, sample_weight=rows.weight)
    if sum(map(len, given.columns)) > MAX_WHAT_IF:
        raise ValueError(f"more than {MAX_WHAT_IF} columns.")
    value, selected = given.value(selector.subset_), float(selector.criterion_value_)
    if abs(value - selected) > SAME * max(1.0, abs(selected)):
        raise ValueError("the rows of the report are not those of the fit.")
    return {
        "kind": given.criterion,
        "A": _packed(given.A[np.tril_indices(len(given.A))]),
        "D": _packed(given.D),
        "n_outputs": given.D.shape[1],
        "apart": np.argwhere(np.triu(given.exclusive)),
        "features": [
            {
                "name": features.names[features.of_column[columns[0]]],
                "n_columns": len(columns),
                "selected": bool(given.selected[i]),
                "required": bool(given.required[i]),
                "cost": given.costs[i],
            }
            for i, columns in enumerate(given.columns)
        ],
    }


def _packed(numbers: FloatArray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()


# ---- Predictions --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predicted:
    """Target and predictions of rows with a weight above 0."""

    # Codes of classes, or numbers.
    y: NDArray[Any]
    # What ranks rows: log-odds, the code of the most probable class, or the predicted number.
    score: FloatArray
    # Of each class; None if the model has none.
    probabilities: FloatArray | None
    # None: all rows count the same.
    weight: FloatArray | None
    # Which of the given rows these are.
    kept: NDArray[np.bool_]
    classes: list[Any]

    @property
    def has_all_classes(self) -> bool:
        """Return True if every class occurs; True for numbers that differ."""
        return len(np.unique(self.y)) >= max(2, len(self.classes))


def class_codes(selector: Any, y: Any) -> NDArray[Any]:
    """Return the target as codes of classes, or as numbers."""
    if not hasattr(selector, "classes_"):
        return np.asarray(y, dtype=np.float64)
    labels, classes = np.asarray(y), selector.classes_
    unknown = [label for label in np.unique(labels) if label not in classes]
    if unknown:
        raise ValueError(f"y must hold the classes {classes.tolist()}; got {unknown[:5]} too.")
    return np.searchsorted(classes, labels)


def predict(selector: Any, rows: Rows) -> Predicted:
    """Predict some rows."""
    y = class_codes(selector, rows.y)
    kept = np.ones(len(y), dtype=bool) if rows.weight is None else np.asarray(rows.weight) > 0
    weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)[kept]
    classes = list(getattr(selector, "classes_", ()))
    if not classes:
        predicted = np.asarray(selector.predict(rows.X), dtype=np.float64)[kept]
        return Predicted(y[kept], predicted, None, weight, kept, classes)
    probabilities = None
    if hasattr(selector, "predict_proba"):
        probabilities = np.asarray(selector.predict_proba(rows.X), dtype=np.float64)[kept]
    if len(classes) > 2 and probabilities is not None:
        score = probabilities.argmax(axis=1).astype(np.float64)
    elif hasattr(selector, "decision_function"):
        score = np.asarray(selector.decision_function(rows.X), dtype=np.float64)[kept]
    elif probabilities is not None:
        score = probabilities[:, 1]
    else:
        score = np.searchsorted(classes, selector.predict(rows.X)).astype(np.float64)[kept]
    return Predicted(y[kept], score, probabilities, weight, kept, classes)
