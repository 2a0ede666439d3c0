"""Warnings: what a careful reader should know before the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata, t

from safdr import text

Result = Mapping[str, Any]
Found = dict[str, Any]
FloatArray = NDArray[np.float64]

# All but one row in a thousand: too good to be true.
PURE = 0.999
# Rows that a value needs, and how rarely as many rows drawn at random are as pure: 5 standard
# errors.
MIN_ROWS = 50
BY_CHANCE = 2.9e-7
# Rows that leaks are looked for in.
MAX_ROWS = 200_000
# p-value above which a score is not better than chance.
CHANCE_LEVEL = 0.01
# p-values below which held-out and cross-validated scores differ, and differ for sure.
DIFFER_LEVEL, SURE_LEVEL = 0.05, 0.01
# Rows (of the rarer class) for each coefficient, and in all (Peduzzi et al. 1996).
ROWS_PER_COEFFICIENT, FEW_ROWS = 10, 100
# A class of fewer rows leaves five to a split.
SMALL_CLASS = 20
# Shares of the way from chance to a perfect score: of a wide interval, and of a costly small size.
WIDE, COSTLY = 0.3, 0.05
# p-value of a Hosmer–Lemeshow statistic.
MISFIT_LEVEL = 1e-3
# Stability below which a selection is unstable: index, and share of the splits.
POOR_INDEX, POOR_SHARE = 0.4, 0.5
MAX_NAMES = 4


def find_warnings(found: Result, leaks: list[Any], given: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return all warnings, the serious first; `given` are those of the caller."""
    warnings = [{"serious": False} | dict(each) for each in given]
    warnings += _leaks(leaks, found)
    chance = list(_chance(found))
    warnings += chance
    for find in FINDERS:
        warnings += find(found)
    # A small size costs nothing if nothing is predicted.
    warnings += [] if chance else _costly(found)
    return sorted(warnings, key=lambda each: not each["serious"])


def _warning(kind: str, says: str, advice: str, *, serious: bool = False, **more: Any) -> Found:
    return {"kind": kind, "serious": serious, "text": says, "advice": advice, **more}


# ---- Leaks --------------------------------------------------------------------------------------


def find_leaks(
    columns: FloatArray, target: NDArray[Any], names: list[str], found: Result
) -> list[tuple[str, str]]:
    """Return names of columns that give the target away, and how."""
    if target.ndim > 1:
        return []
    step = -(-len(columns) // MAX_ROWS)
    columns, target = columns[::step], target[::step]
    classes = found["target"].get("classes")
    how = _explains if classes is None else _separates
    told = []
    for name, column in zip(names, columns.T, strict=True):
        told += [(name, each) for each in how(column, target, classes)]
    return told


def _explains(column: FloatArray, target: FloatArray, _: Any) -> Iterator[str]:
    """A column that is the target up to its scale, or a monotone function of it."""
    if len(target) < MIN_ROWS or np.ptp(column) == 0 or np.ptp(target) == 0:
        return
    pairs = ((column, target), (rankdata(column), rankdata(target)))
    if max(np.corrcoef(*pair)[0, 1] ** 2 for pair in pairs) >= PURE:
        yield "alone predicts the target exactly"


def _separates(column: FloatArray, codes: NDArray[Any], classes: list[Any]) -> Iterator[str]:
    """A column whose ranges do not meet in the classes, or a value that goes with one class."""
    if _ranges_apart(column, codes):
        yield "alone separates the classes"
        return
    values = np.unique(column[:MIN_ROWS])
    if len(values) > 2 or len(values := np.unique(column)) != 2:
        return
    base = np.bincount(codes) / len(codes)
    for value in values:
        counts = np.bincount(codes[column == value], minlength=len(base))
        n, most = int(counts.sum()), int(np.argmax(counts))
        if n >= MIN_ROWS and counts[most] >= PURE * n and base[most] ** n <= BY_CHANCE:
            label = text.shortened(classes[most])
            yield f"= {value:g} holds in {text.count(n, 'row')}, nearly all of class {label}"


def _ranges_apart(column: FloatArray, codes: NDArray[Any]) -> bool:
    """Return True if the ranges of the classes are disjoint but for one row in a thousand."""
    ranges = []
    for code in np.unique(codes):
        own = np.sort(column[codes == code])
        spare = int((1 - PURE) / 2 * len(own))
        ranges.append((own[spare], own[len(own) - 1 - spare]))
    ranges.sort()
    return all(high < low for (_, high), (low, _) in pairwise(ranges))


def _leaks(leaks: list[tuple[str, str]], _: Result) -> Iterator[Found]:
    if leaks:
        told = "; ".join(f"{text.shortened(name)} {how}" for name, how in leaks[:MAX_NAMES])
        names = list(dict.fromkeys(name for name, _ in leaks))
        yield _warning(
            "leak",
            f"Possible target leakage: {told}.",
            "Check that this is known before the outcome. If not, leave the column out.",
            serious=True,
            columns=names,
        )


# ---- Scores -------------------------------------------------------------------------------------


def _chance(found: Result) -> Iterator[Found]:
    score = found["score"]
    if "chance" not in score or not (p := _p_of_chance(score)):
        return
    # Both have to speak for the model, or one by far.
    if min(p) > CHANCE_LEVEL or max(p) > 0.5:
        yield _warning(
            "chance",
            f"Not better than chance: {_both(found)}. Chance gives {score['chance']:g}.",
            "Do not use this model. Look for other columns or more rows.",
            serious=True,
        )


def _p_of_chance(score: Mapping[str, Any]) -> list[float]:
    """Return how often chance gives such scores: on held-out rows, and over the splits."""
    chance, found = score["chance"], []
    if len(score.get("test", [])) == 3:
        error = _error(score["test"], score["test"][0] - chance)
        found.append(float(norm.sf((score["test"][0] - chance) / error)) if error else 0.0)
    if "cv" in score and (n := score["n_splits"]) > 1:
        error, above = _error_of_mean(score), score["cv"][0] - chance
        found.append(float(t.sf(above / error, n - 1)) if error else float(above <= 0))
    return found


def _error(interval: list[float], difference: float) -> float:
    """Return the standard error towards the other score."""
    bound = interval[1] if difference > 0 else interval[2]
    return abs(interval[0] - bound) / float(norm.ppf(0.975))


def _error_of_mean(score: Mapping[str, Any]) -> float:
    """Return the standard error of a mean over splits that share rows (Nadeau and Bengio)."""
    n = score["n_splits"]
    spread = score["cv"][1] * sqrt(n / max(1, n - 1))
    return float(spread * sqrt(1 / n + max(1 / 3, 1 / max(1, n - 1))))


def _differs(found: Result) -> Iterator[Found]:
    """Welch's test of the held-out against the cross-validated score."""
    score = found["score"]
    if "cv" not in score or len(score.get("test", [])) != 3 or score["n_splits"] < 2:
        return
    difference = score["test"][0] - score["cv"][0]
    own, mean = _error(score["test"], difference), _error_of_mean(score)
    both = sqrt(own**2 + mean**2)
    if both == 0:
        return
    freedom = both**4 / (mean**4 / (score["n_splits"] - 1)) if mean else inf
    p = 2 * float(t.sf(abs(difference) / both, freedom))
    if p < DIFFER_LEVEL:
        side = "lower" if difference < 0 else "higher"
        yield _warning(
            "test_differs",
            f"The held-out score is {side} than cross-validation: {_both(found)} "
            f"({text.p_value(p)}).",
            "Find out how the held-out rows differ. Until then count on the lower score.",
            serious=p < SURE_LEVEL,
        )


def _both(found: Result) -> str:
    score, said = found["score"], []
    if "test" in score:
        said.append(f"{text.fixed(score['test'][0])} on held-out rows")
    if "cv" in score:
        said.append(f"{text.fixed(score['cv'][0])} in cross-validation")
    return f"{text.score_name(found)} {', '.join(said)}"


def _wide(found: Result) -> Iterator[Found]:
    score = found["score"]
    if "chance" not in score or len(score.get("test", [])) != 3:
        return
    _, low, high = score["test"]
    if high - low > WIDE * (1 - score["chance"]):
        n = found["data"]["n_test"]
        yield _warning(
            "few_test_rows",
            f"Only {text.count(n, 'row')} {'is' if n == 1 else 'are'} held out: the "
            f"{text.score_name(found)} could be {text.fixed(low, 2)} to {text.fixed(high, 2)}.",
            "Hold out more rows, or quote the interval.",
        )


def _costly(found: Result) -> Iterator[Found]:
    score, sizes = found["score"], found["sizes"]
    if "chance" not in score or len(sizes) < 2:
        return
    k, name = found["rule"]["k"], text.score_name(found)
    best = max(sizes, key=lambda each: each["score"])
    lost, above = best["score"] - score["cv"][0], best["score"] - score["chance"]
    if above > 0 and lost > COSTLY * above:
        more = {r: n for r, n in found["rule"]["others"].items() if n > k}
        rules = " or ".join(f"{rule} ({n})" for rule, n in more.items()) or "best"
        yield _warning(
            "costly_size",
            f"Fewer features cost accuracy here: {name} {text.fixed(score['cv'][0])} with {k}, "
            f"{text.fixed(best['score'])} with {best['k']}.",
            f"For accuracy use the rule {rules}.",
        )


# ---- Rows, probabilities, selection --------------------------------------------------------------


def _few_rows(found: Result) -> Iterator[Found]:
    counts = found["target"].get("counts", [])
    rows = found["data"]["n_train"]
    least = min(counts, default=rows)
    n_columns = len(found["model"].get("terms", [])) or sum(
        len(each["columns"]) for each in found["features"] if each["selected"]
    )
    per = (least if len(counts) == 2 else rows) / (n_columns * max(1, len(counts) - 1))
    if per >= ROWS_PER_COEFFICIENT and rows >= FEW_ROWS:
        return
    rarer = (
        f"{text.count(int(least), 'row')} of the rarer class"
        if len(counts) == 2
        else (text.count(rows, "row"))
    )
    coefficients = text.count(n_columns * max(1, len(counts) - 1), "coefficient")
    yield _warning(
        "few_rows",
        f"Too few rows: {rarer} for {coefficients} ({ROWS_PER_COEFFICIENT} each is the usual "
        f"minimum, and {FEW_ROWS} in all).",
        "Treat the result as a hint, gather more rows, or ask for fewer features.",
    )


def _small_classes(found: Result) -> Iterator[Found]:
    target = found["target"]
    counts = target.get("counts", [])
    pairs = sorted(zip(counts, map(str, target.get("classes", [])), strict=False))
    small = [f"{text.shortened(label)} ({n})" for n, label in pairs if n < SMALL_CLASS]
    if len(counts) > 2 and small:
        yield _warning(
            "small_classes",
            f"Very small classes: {text.joined(small, MAX_NAMES)} rows.",
            "Gather more rows of these classes, merge them, or leave them out.",
        )


def _separated(found: Result) -> Iterator[Found]:
    if found["search"]["separated"]:
        yield _warning(
            "separated",
            "The features separate the classes, so the coefficients have no finite optimum.",
            "Look for target leakage, choose fewer features, or use a penalty (C=1).",
        )


def _misfit(found: Result) -> Iterator[Found]:
    """Half of the groups or more differ from their prediction, and all together beyond chance."""
    test = found.get("test", {})
    fit = test.get("calibration", {})
    if 2 * fit.get("n_outside", 0) < len(test.get("bins", [0])):
        return
    if fit.get("p_value", 1.0) < MISFIT_LEVEL:
        used = {term["column"] for term in found["model"].get("terms", [])}
        columns = found["data"].get("columns", [])
        codes = [c["name"] for c in columns if c["name"] in used and c.get("few_values")]
        hint = f"If {text.joined(codes, MAX_NAMES)} " if codes else "If a column of numbers "
        hint += "hold codes" if len(codes) > 1 else "holds codes"
        yield _warning(
            "calibration",
            f"The probabilities are off. {text.calibration(found)}",
            f"{hint}, use --categories (TableEncoder). Otherwise calibrate before using "
            "probabilities (scikit-learn's CalibratedClassifierCV).",
        )


def _unstable(found: Result) -> Iterator[Found]:
    selected = [each for each in found["features"] if each["selected"]]
    k = len(selected)
    if k == found["data"]["n_features"]:
        return
    stability = found["search"].get("stability", {})
    if "index" in stability:
        told = (
            f"stability {text.fixed(stability['index'][0], 2)} over {stability['n']} half-samples"
        )
        is_poor = stability["index"][0] < POOR_INDEX
    else:
        shares = [each["splits"] for each in selected if "splits" in each]
        mean = sum(shares) / len(shares) if shares else 1.0
        told = f"a cross-validation split selects {text.fixed(mean * k, 1)} of these {k} on average"
        is_poor = mean < POOR_SHARE
    if is_poor:
        yield _warning(
            "unstable",
            f"The selection is unstable: {told}.",
            "Treat this subset as one of several good ones.",
        )


def _largest(found: Result) -> Iterator[Found]:
    sizes = found["sizes"]
    if len(sizes) > 1:
        k, largest = found["rule"]["k"], max(each["k"] for each in sizes)
        if k == largest < found["data"]["max_features"]:
            yield _warning(
                "largest_size",
                f"{k} is the largest size that was tried.",
                "Larger subsets may score better: try more sizes.",
            )


def _not_converged(found: Result) -> Iterator[Found]:
    if not found["search"]["converged"]:
        yield _warning(
            "not_converged",
            "The search had not converged when its steps ran out.",
            "Allow more steps (max_steps), or compare several seeds.",
        )


FINDERS = (
    *(_differs, _separated, _few_rows, _small_classes, _wide, _misfit, _unstable, _largest),
    _not_converged,
)
