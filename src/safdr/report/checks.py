"""Warnings: what a careful reader should know before the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, rankdata, t
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from safdr import text
from safdr.report.reading import Found

Result = Mapping[str, Any]
FloatArray = NDArray[np.float64]

# Balanced accuracy, or R² of ranks, of one column alone: too good to be true.
PURE = 0.999
# Rows that leakage is looked for in: at least, so that chance gives none, and at most.
MIN_ROWS, MAX_ROWS = 50, 200_000
# Rows (of the rarer class) for each coefficient, and in all (Peduzzi et al. 1996).
ROWS_PER_COEFFICIENT, FEW_ROWS = 10, 100
# Shares of the way from chance to a perfect score: of a wide interval, and of a costly small size.
WIDE, COSTLY = 0.3, 0.05
# Probability that so many groups differ by chance.
MISFIT_LEVEL = 1e-3
# Stability below which a selection is unstable: index, and share of the splits.
POOR_INDEX, POOR_SHARE = 0.4, 0.5


def find_warnings(
    result: Result, leaks: Sequence[str], given: Iterable[Mapping[str, Any]] = ()
) -> list[Found]:
    """Return all warnings, the serious first; `given` are those of the caller."""
    warnings: list[Found] = [{"serious": False} | dict(warning) for warning in given]
    warnings += _leakage(leaks)
    warnings += (chance := list(_chance(result)))
    for find in FINDERS:
        warnings += find(result)
    # A small size costs nothing if nothing is predicted.
    warnings += [] if chance else _costly(result)
    return sorted(warnings, key=lambda warning: not warning["serious"])


def _warning(kind: str, says: str, advice: str, *, serious: bool = False) -> Found:
    return {"kind": kind, "serious": serious, "text": says, "advice": advice}


# ---- Target leakage ------------------------------------------------------------------------------


def find_leaks(columns: FloatArray, target: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Return the names of columns that alone predict the target almost exactly."""
    step = -(-len(columns) // MAX_ROWS)
    columns, target = columns[::step], target[::step]
    if target.ndim > 1 or len(target) < MIN_ROWS or np.ptp(target) == 0:
        return []
    fit = _fit_ranks if target.dtype.kind == "f" else _fit_intervals
    return [
        n for n, x in zip(names, columns.T, strict=True) if np.ptp(x) and fit(x, target) >= PURE
    ]


def _fit_ranks(column: FloatArray, target: FloatArray) -> float:
    """Return R² of the ranks."""
    return float(np.corrcoef(rankdata(column), rankdata(target))[0, 1] ** 2)


def _fit_intervals(column: FloatArray, codes: NDArray[np.int64]) -> float:
    """Return the balanced accuracy of one interval for each class."""
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, codes.max() + 1), class_weight="balanced")
    tree.fit(column[:, None], codes)
    return float(balanced_accuracy_score(codes, tree.predict(column[:, None])))


def _leakage(names: Sequence[str]) -> Iterator[Found]:
    if names:
        alone = "alone predicts" if len(names) == 1 else "each alone predict"
        yield _warning(
            "leak",
            f"Possible target leakage: {text.joined(names)} {alone} the target almost exactly.",
            "Check that this is known before the outcome. If not, leave the column out.",
            serious=True,
        )


# ---- Scores --------------------------------------------------------------------------------------


def _intervals(result: Result) -> list[list[float]]:
    """Return the 95 % intervals of the score: on held-out rows, and over the splits."""
    score, intervals = result["score"], []
    if len(score.get("test", [])) == 3:
        intervals.append(score["test"][1:])
    if "cv" in score and (n := score["n_splits"]) > 1:
        mean, sd = score["cv"]
        # Splits share rows (Nadeau and Bengio 2003).
        error = sd * sqrt(n / (n - 1)) * sqrt(1 / n + max(1 / 3, 1 / (n - 1)))
        half = float(t.ppf(0.975, n - 1)) * error
        intervals.append([mean - half, mean + half])
    return intervals


def _chance(result: Result) -> Iterator[Found]:
    score, intervals = result["score"], _intervals(result)
    if "chance" in score and intervals and all(low <= score["chance"] for low, _ in intervals):
        yield _warning(
            "chance",
            f"Not better than chance: {_both(result)}. Chance gives {score['chance']:g}.",
            "Do not use this model. Look for other columns or more rows.",
            serious=True,
        )


def _differs(result: Result) -> Iterator[Found]:
    """Find held-out and cross-validated scores whose intervals do not meet."""
    intervals = _intervals(result)
    if len(intervals) < 2:
        return
    (low, high), (cv_low, cv_high) = intervals
    if high < cv_low or low > cv_high:
        side = "lower" if high < cv_low else "higher"
        yield _warning(
            "test_differs",
            f"The held-out score is {side} than cross-validation: {_both(result)}.",
            "Find out how the held-out rows differ. Until then count on the lower score.",
            serious=True,
        )


def _both(result: Result) -> str:
    score, values = result["score"], []
    if "test" in score:
        values.append(f"{text.fixed(score['test'][0])} on held-out rows")
    if "cv" in score:
        values.append(f"{text.fixed(score['cv'][0])} in cross-validation")
    return f"{text.score_name(result)} {', '.join(values)}"


def _wide(result: Result) -> Iterator[Found]:
    score = result["score"]
    if "chance" not in score or len(score.get("test", [])) != 3:
        return
    _, low, high = score["test"]
    if high - low > WIDE * (1 - score["chance"]):
        yield _warning(
            "few_test_rows",
            f"Few rows are held out ({result['data']['n_test']:,}): the {text.score_name(result)} "
            f"could be {text.fixed(low, 2)} to {text.fixed(high, 2)}.",
            "Hold out more rows, or quote the interval.",
        )


def _costly(result: Result) -> Iterator[Found]:
    score, sizes = result["score"], result["sizes"]
    if "chance" not in score or len(sizes) < 2:
        return
    k, name = result["rule"]["k"], text.score_name(result)
    best = max(sizes, key=lambda size: size["score"])
    lost, above = best["score"] - score["cv"][0], best["score"] - score["chance"]
    if above > 0 and lost > COSTLY * above:
        more = {r: n for r, n in result["rule"]["others"].items() if n > k}
        rules = " or ".join(f"{rule} ({n})" for rule, n in more.items()) or "best"
        yield _warning(
            "costly_size",
            f"Fewer features cost accuracy here: {name} {text.fixed(score['cv'][0])} with {k}, "
            f"{text.fixed(best['score'])} with {best['k']}.",
            f"For accuracy use the rule {rules}.",
        )


# ---- Rows, probabilities, selection --------------------------------------------------------------


def _few_rows(result: Result) -> Iterator[Found]:
    counts, n_rows = result["target"].get("counts", []), result["data"]["n_train"]
    n = sum(len(each["columns"]) for each in result["features"] if each["selected"])
    rarest, of = (min(counts), " of the rarest class") if len(counts) else (n_rows, "")
    if rarest < ROWS_PER_COEFFICIENT * n or n_rows < FEW_ROWS:
        yield _warning(
            "few_rows",
            f"Too few rows: {text.count(int(rarest), 'row')}{of} for "
            f"{text.count(n, 'coefficient')} ({ROWS_PER_COEFFICIENT} each is the usual minimum, "
            f"and {FEW_ROWS} in all).",
            "Treat the result as a hint, gather more rows, or ask for fewer features.",
        )


def _separated(result: Result) -> Iterator[Found]:
    if result["search"]["separated"]:
        yield _warning(
            "separated",
            "The features separate the classes, so the coefficients have no finite optimum.",
            "Look for target leakage, choose fewer features, or use a penalty (C=1).",
        )


def _misfit(result: Result) -> Iterator[Found]:
    """Find probabilities that more groups of rows contradict than by chance."""
    test = result.get("test", {})
    fit = test.get("calibration", {})
    # An interval misses the truth in 5 % of the groups.
    if binom.sf(fit.get("n_outside", 0) - 1, len(test.get("bins", ())), 0.05) < MISFIT_LEVEL:
        used = {term["column"] for term in result["model"].get("terms", [])}
        columns = result["data"].get("columns", [])
        codes = [c["name"] for c in columns if c["name"] in used and c.get("few_values")]
        hint = f"If {text.joined(codes)} " if codes else "If a column of numbers "
        hint += "hold codes" if len(codes) > 1 else "holds codes"
        yield _warning(
            "calibration",
            f"The probabilities are off. {text.calibration(result)}",
            f"{hint}, use --categories (TableEncoder). Otherwise calibrate before using "
            "probabilities (scikit-learn's CalibratedClassifierCV).",
        )


def _unstable(result: Result) -> Iterator[Found]:
    selected = [each for each in result["features"] if each["selected"]]
    k, stability = len(selected), result["search"].get("stability", {})
    if k == result["data"]["n_features"]:
        return
    if "index" in stability:
        index = stability["index"][0]
        says = f"stability {text.fixed(index, 2)} over {stability['n']} half-samples"
        is_poor = index < POOR_INDEX
    else:
        mean = sum(each.get("splits", 1.0) for each in selected) / k
        says = f"a cross-validation split selects {text.fixed(mean * k, 1)} of these {k} on average"
        is_poor = mean < POOR_SHARE
    if is_poor:
        yield _warning(
            "unstable",
            f"The selection is unstable: {says}.",
            "Treat this subset as one of several good ones.",
        )


def _largest(result: Result) -> Iterator[Found]:
    sizes = result["sizes"]
    if len(sizes) > 1:
        k, largest = result["rule"]["k"], max(size["k"] for size in sizes)
        if k == largest < result["data"]["n_features"]:
            yield _warning(
                "largest_size",
                f"{k} is the largest size that was tried.",
                "Larger subsets may score better: try more sizes.",
            )


def _not_converged(result: Result) -> Iterator[Found]:
    if not result["search"]["converged"]:
        yield _warning(
            "not_converged",
            "The search had not converged when its steps ran out.",
            "Allow more steps (max_steps), or compare several seeds.",
        )


FINDERS = (
    *(_differs, _separated, _few_rows, _wide, _misfit, _unstable, _largest),
    _not_converged,
)
