"""What stands in the way of trusting the answer, worst first: for the page, the terminal, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any

from safdr._old_report import claims
from safdr._old_report.numbers import counted, decimals, percent
from safdr._old_report.risk import words as risk_words
from safdr._old_report.score_tests import LEVEL_OF_AGREEMENT, LEVEL_OF_TESTS
from safdr._old_report.tasks import score_name, task_of
from safdr._old_report.text import fit, one_line

Content = Mapping[str, Any]

# Ten rows of the rarer class for each coefficient are the custom; and fewer rows than these are
# few for any model.
ROWS_PER_COLUMN = 10
FEW_ROWS = 100
# A class of fewer rows leaves five to a validation split.
HANDFUL = 20
# An interval is wide, and a rule gives up much, from these shares of the way from guessing to a
# perfect score, and to the best one.
WIDE = 0.3
MUCH = 0.05
# Probabilities are said to fail where chance leaves so many tenths so far off more seldom.
LEVEL_OF_MISFIT = 1e-3
# Of the chosen features, those that a split chose too.
SELDOM = 0.5
# Names in one sentence, and about how many characters of each.
MOST_NAMES = 4
LONGEST = 48


def describe_warnings(content: Content, given: Iterable[Mapping[str, Any]] = ()) -> list[Any]:
    """Give what a careful reader should know first: of each `title`, `text` and `advice`.

    Those that are `serious` say that the scores may not hold. `given` are those that whoever made
    the table knows.
    """
    told = [_checked(each) for each in given]
    found = [each for find in FINDERS for each in find(content)]
    return sorted([*told, *found], key=lambda each: (not each["serious"], _order(each["kind"])))


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """One that was given, with all keys."""
    wanted = ("title", "text", "advice")
    if not isinstance(given, Mapping) or not all(isinstance(given.get(k), str) for k in wanted):
        raise ValueError(
            f"warnings must be dicts with a title, a text and an advice, all text; got {given!r}."
        )
    return _warning(
        given.get("kind", "given"),
        *(given[name] for name in wanted),
        serious=bool(given.get("serious")),
        columns=given.get("columns", ()),
    )


def _order(kind: str) -> int:
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def _warning(
    kind: str, title: str, text: str, advice: str, *, serious: bool = False, columns: Any = ()
) -> dict[str, Any]:
    return {
        "kind": kind,
        "serious": serious,
        "title": title,
        "text": text,
        "advice": advice,
        "columns": list(columns),
    }


# ---- Scores that may not hold -------------------------------------------------------------------


def _gives_away(content: Content) -> Iterator[dict[str, Any]]:
    leaks = content["leaks"]
    if leaks:
        told = "; ".join(_leak(each, content) for each in leaks[:MOST_NAMES])
        more = f"; and {len(leaks) - MOST_NAMES} more" if len(leaks) > MOST_NAMES else ""
        yield _warning(
            "gives_the_target_away",
            "A chosen column may give the target away",
            f"{told[:1].upper() + told[1:] if told.startswith('all ') else told}{more}.",
            "Ask whether this is known before the outcome is; if not, leave the column out and "
            "search again.",
            serious=True,
            columns=dict.fromkeys(each["name"] for each in leaks),
        )


def _leak(each: Mapping[str, Any], content: Content) -> str:
    name = _short(each["name"])
    if each["class"] is None:
        return f"{name} alone {task_of(content).tells_all}"
    label = _short(content["target"]["classes"][each["class"]])
    which = "" if each["value"] == 1 else f" = {each['value']:g}"
    rows = counted(each["n_rows"], "row")
    some = "all" if each["share"] == 1 else percent(each["share"], 1)
    return f"{some} of the {rows} with {name}{which} are of class {label}"


def _guessing(content: Content) -> Iterator[dict[str, Any]]:
    if claims.no_better_than_guessing(content):
        yield _warning(
            "no_better_than_guessing",
            "No better than guessing, as far as can be told",
            f"The {score_name(content)} is {_both_scores(content)}; guessing gives "
            f"{task_of(content).chance:g}, and what is above that may be chance.",
            "Don't use this model. Look for other columns, or for more rows.",
            serious=True,
        )


def _held_out_differs(content: Content) -> Iterator[dict[str, Any]]:
    found = content["scores"]["agreement"]
    if found is None or found["p_value"] >= LEVEL_OF_AGREEMENT:
        return
    side, p = "lower" if found["difference"] < 0 else "higher", found["p_value"]
    often = "less than once in 1,000 times" if p < 1e-3 else f"{percent(p, 1)} of the time"
    yield _warning(
        "held_out_differs",
        f"Held-out rows score {side} than validation",
        f"The {score_name(content)} is {_both_scores(content)}. Chance makes so large a difference "
        f"{often}.",
        "Ask how the held-out rows differ (another time, other places, another mix), or hold out "
        "others. Until you know, count on the lower score.",
        serious=p < LEVEL_OF_TESTS,
    )


def _both_scores(content: Content) -> str:
    """The scores that there are, with what they are of."""
    test, validation = content["scores"]["test"], content["scores"]["validation"]
    said = []
    if test is not None:
        said.append(f"{decimals(test['value'])} on {counted(test['n_rows'], 'held-out row')}")
    if validation is not None:
        spread = f"{decimals(validation['mean'])} ± {decimals(validation['std'])}"
        said.append(f"{spread} over the validation splits")
    return " and ".join(said)


# ---- A model, or a choice, on weak ground -------------------------------------------------------


def _separated(content: Content) -> Iterator[dict[str, Any]]:
    if content["separated"]:
        yield _warning(
            "separated",
            "The features separate the classes",
            "The chosen features separate the classes, completely or in part: the coefficients of "
            "the unpenalised model then grow without bound, and their size means nothing.",
            "Look for a column that gives the label away, choose fewer features, or penalise the "
            "model (C=1).",
        )


def _few_rows(content: Content) -> Iterator[dict[str, Any]]:
    rows, columns = content["rows"]["train"], content["size"]["columns"]
    counts = list(content["target"]["counts"].values())
    two, least = len(counts) == 2, min(counts, default=rows)
    # With more classes, each but one has coefficients of its own.
    per_column = (least if two else rows) / (columns * max(1, len(counts) - 1))
    if per_column >= ROWS_PER_COLUMN and rows >= FEW_ROWS and (not two or least >= HANDFUL):
        return
    rarer = f", {least:,} of them of the rarer class" if two else ""
    yield _warning(
        "few_rows",
        "Few rows",
        f"The model has {counted(columns, 'column')}, chosen from {content['n_columns']:,}, and "
        f"learnt from {counted(rows, 'row')}{rarer}. The custom is {ROWS_PER_COLUMN} or more "
        f"{'of the rarer class ' if two else ''}for each coefficient, and not below {FEW_ROWS}.",
        "Gather more rows or ask for fewer features; until then take the choice for a hint.",
    )


def _handful(content: Content) -> Iterator[dict[str, Any]]:
    counts = content["target"]["counts"]
    small = sorted((n, label) for label, n in counts.items() if n < HANDFUL)
    if len(counts) > 2 and small:
        told = ", ".join(f"{_short(label)} ({n})" for n, label in small[:MOST_NAMES])
        more = f" and {len(small) - MOST_NAMES} more" if len(small) > MOST_NAMES else ""
        yield _warning(
            "classes_of_a_handful",
            "Classes of a handful",
            f"Rows to learn from of {told}{more}: fewer than {HANDFUL}. What is said of "
            f"{'it' if len(small) == 1 else 'them'} hangs on single rows.",
            "Gather more of these, put rare classes together, or leave them out.",
        )


def _wide(content: Content) -> Iterator[dict[str, Any]]:
    test, task = content["scores"]["test"], task_of(content)
    if test is None or test["low"] is None:
        return
    low, high = test["low"], test["high"]
    if high - low <= WIDE * (1 - task.chance):
        return
    guess = " On these rows alone it can't be told from guessing." if low <= task.chance else ""
    yield _warning(
        "few_held_out_rows",
        "The held-out score is rough",
        f"From {counted(test['n_rows'], 'held-out row')} the {score_name(content)} may be anything "
        f"from {decimals(low)} to {decimals(high)} (95 % interval).{guess}",
        "Hold out more rows, or quote the interval and not the score alone.",
    )


def _probabilities_fail(content: Content) -> Iterator[dict[str, Any]]:
    """Half of the tenths or more are not as predicted, and all together beyond chance."""
    found = content["risk"]["calibration"]
    if found is None or 2 * found["n_outside"] < len(found["bins"]):
        return
    p_value = found["misfit"]["p_value"]
    if p_value is None or p_value >= LEVEL_OF_MISFIT:
        return
    yield _warning(
        "probabilities_do_not_hold",
        "The probabilities don't hold",
        f"{risk_words.outside(content)} Chance makes so much of it less than once in 1,000 times.",
        f"{risk_words.CALIBRATE} If a column of numbers is a code, make it a category "
        "(--categorical).",
    )


def _unstable(content: Content) -> Iterator[dict[str, Any]]:
    size = content["size"]["chosen"]
    if size == content["n_features"]:
        return
    again = content["stability"]
    if again is not None and again.get("index") is not None:
        if claims.STEADINESS[1][0] <= again["index"]:
            return
        told = f"Of {claims.resamples(content)} each chose mostly other features (stability index "
        told += f"{again['index']:.2f}, where 1 is always the same and 0 is chance)."
    else:
        share, splits = _chosen_in_splits(content)
        if share >= SELDOM:
            return
        told = f"Of the {counted(size, 'chosen feature')}, each of the {splits} validation splits "
        told += f"chose {share * size:.1f} too, on average."
    yield _warning(
        "other_rows_choose_other_features",
        "Other rows choose other features",
        told,
        "Take the set for one good one among several, and don't read meaning into what is in it "
        "and what is not.",
    )


def _chosen_in_splits(content: Content) -> tuple[float, int]:
    """The mean share of the splits that chose each chosen feature, at the same size."""
    found, size = content["selection"], content["size"]["chosen"]
    if size not in found["sizes"]:
        return inf, 0
    place = found["sizes"].index(size)
    shares = {j: own[place] for j, own in zip(found["indices"], found["share"], strict=True)}
    first = {j: group["indices"][0] for group in content["groups"] for j in group["indices"]}
    chosen = {first.get(each["index"], each["index"]) for each in content["features"]}
    splits = len(content["path"][0]["splits"])
    return sum(shares.get(j, 0.0) for j in chosen) / len(chosen), splits


def _largest(content: Content) -> Iterator[dict[str, Any]]:
    size = content["size"]
    if size["chosen"] == size["largest"] < size["possible"]:
        yield _warning(
            "largest_size",
            "The largest size won",
            f"{size['chosen']} is the largest number of features that was tried.",
            "Larger sets may score better: raise the limit (max_features, --k-max) and search "
            "again.",
        )


def _gave_up(content: Content) -> Iterator[dict[str, Any]]:
    task, size = task_of(content), content["size"]
    if content["scores"]["scoring"] != task.scoring or not content["path"]:
        return
    best = max(content["path"], key=lambda each: each["mean"])
    own = next(each for each in content["path"] if each["size"] == size["chosen"])
    lost, all_of_it = best["mean"] - own["mean"], best["mean"] - task.chance
    if all_of_it > 0 and lost > MUCH * all_of_it:
        yield _warning(
            "small_size_costs",
            "The small size has its price",
            f"The rule {_short(size['rule'])} took {counted(size['chosen'], 'feature')} with a "
            f"mean {score_name(content)} of {decimals(own['mean'])}; {best['size']} have "
            f"{decimals(best['mean'])}. That is {percent(lost / all_of_it)} of what these predict "
            "beyond guessing.",
            "Where the score counts for more than the number of features, choose by the rule "
            f"{_rules_of_more(size)}.",
        )


def _rules_of_more(size: dict[str, Any]) -> str:
    """Rules that take more features than were chosen."""
    more = [rule for rule, taken in size["by_rule"].items() if taken > size["chosen"]]
    more = more or ["best"]
    return " or ".join([", ".join(more[:-1]), more[-1]] if len(more) > 1 else more)


def _not_settled(content: Content) -> Iterator[dict[str, Any]]:
    if not content["trace"]["converged"]:
        yield _warning(
            "not_settled",
            "The search had not settled",
            "The annealing had not settled when its steps ran out: there may be better sets.",
            "Allow more steps (max_steps), or compare a few seeds.",
        )


FINDERS = (
    *(_gives_away, _guessing, _held_out_differs, _separated, _few_rows, _handful, _wide),
    _probabilities_fail,
    *(_unstable, _largest, _gave_up, _not_settled),
)
# Of equally serious ones, what comes first.
ORDER = (
    *("gives_the_target_away", "missing_depends_on_target", "no_better_than_guessing"),
    *("held_out_differs", "separated", "few_rows", "classes_of_a_handful", "few_held_out_rows"),
)


def _short(name: Any) -> str:
    """A name in a sentence."""
    return fit(one_line(name), LONGEST, 1 / 0.63)
