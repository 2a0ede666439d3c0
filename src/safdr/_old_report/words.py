"""The answer in words: what a colleague reads first, and what to be careful about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from safdr._old_report import claims
from safdr._old_report.numbers import counted, decimals, percent, signed, spelled
from safdr._old_report.tasks import score_name, task_of
from safdr._old_report.text import features_in, fit, one_line

# Names in running text: so many of them, each of about so many characters.
MOST_NAMES = 6
LONGEST = 48

RULES = {
    "one_se": "the fewest features whose mean score is at most one standard error (of the best "
    "size over the splits) below the best mean, or within half a test row of a perfect score",
    "one_sd": "the fewest features whose mean score is at most one standard deviation (of the best "
    "size over the splits) below the best mean",
    "tolerance": "the fewest features whose mean score is at most {tolerance} below the best",
    "best": "the number of features with the best mean score",
}

# Settings that say which features may be chosen, and at what price.
CONSTRAINTS = (
    *("always_include", "never_include", "groups", "split_categories", "at_most_one_of", "signs"),
    *("class_weight", "feature_cost"),
)


def inline(name: Any) -> Markup:
    """Write an untrusted name within a sentence: isolated, and short, with all of it on hover."""
    text = str(name)  # classes may be numbers
    short = fit(text, LONGEST, 1 / 0.63)
    if short == text:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}</bdi>').format(text, short)


def listed(names: list[str]) -> Markup:
    """Write names with commas and an "and"; only the first where there are many."""
    shown = [inline(name) for name in names]
    if len(names) > MOST_NAMES:
        shown = [*shown[: MOST_NAMES - 1], Markup("{} more").format(len(names) - MOST_NAMES + 1)]
    if len(shown) == 1:
        return shown[0]
    return Markup(", ").join(shown[:-1]) + Markup(" and ") + shown[-1]


def headline(content: Mapping[str, Any], labels: Mapping[int, str]) -> Markup:
    """Give the answer in one sentence."""
    chosen = features_in((feature["index"] for feature in content["features"]), content)
    return Markup("{}: {}.").format(_claim(content), listed([labels[i] for i in chosen]))


def counting(content: Mapping[str, Any]) -> str | None:
    """Say what counts as one feature, where that is not one column."""
    size, total, columns = content["size"], content["n_features"], content["n_columns"]
    if total == columns:
        return None
    return (
        "Columns that enter together, such as the values of a category, count as one feature: the "
        f"{counted(size['chosen'], 'chosen feature')} {'is' if size['chosen'] == 1 else 'are'} "
        f"{counted(size['columns'], 'column')}, of {counted(columns, 'column')} in all."
    )


def constraints(content: Mapping[str, Any]) -> list[str]:
    """Say which constraints, costs and weights were given."""
    settings = content["settings"]
    given = [name for name in CONSTRAINTS if settings.get(name)]
    if "feature_cost" in given:
        given.append("cost_strength")
    return [f"{name} {setting(settings[name])}" for name in given]


def setting(value: Any) -> str:
    """Write the value of a setting."""
    if value is None:
        return "default"
    if isinstance(value, Mapping):
        # Keys are names too, and nobody has put them on one line before.
        return ", ".join(f"{one_line(name)}: {setting(each)}" for name, each in value.items())
    if isinstance(value, list):
        nested = any(isinstance(each, list) for each in value)
        return ("; " if nested else ", ").join(setting(each) for each in value)
    return str(value)


def explanation(content: Mapping[str, Any]) -> list[Markup | str]:
    """Say how well the model predicts, in words and in numbers."""
    scores, task = content["scores"], task_of(content)
    quoted = claims.score_to_quote(content)
    if quoted is None:
        return ["How well this predicts new rows is not known: no rows were held out to try."]
    sentences: list[Markup | str] = []
    value, where = quoted
    if scores["scoring"] == task.scoring and not claims.no_better_than_guessing(content):
        share = percent(value, 1)
        sentences.append(in_words(content, task.explanation, where=where, share=share))
    return sentences + _numbers(content)


def in_words(content: Mapping[str, Any], text: str, where: str = "", **more: Any) -> Markup:
    """Fill in what a sentence about the task says of the target."""
    target = content["target"]
    classes = [Markup("<b>{}</b>").format(inline(label)) for label in target["classes"]]
    held_out = "held-out " if where == "held-out rows" else ""
    return Markup(text).format(
        target=Markup("the target") if target["name"] is None else inline(target["name"]),
        positive=_positive(target),
        first=classes[0] if classes else "",
        second=classes[-1] if classes else "",
        n_classes=len(classes),
        row=f"{held_out}row",
        rows=f"{held_out or 'new '}rows",
        **more,
    )


def _positive(target: Mapping[str, Any]) -> Markup:
    """Write what the odds are the odds of."""
    if not target["classes"]:
        return Markup("")
    label = inline(target["classes"][-1])
    name = Markup("label") if target["name"] is None else inline(target["name"])
    return Markup("{} = {}").format(name, label)


def certainty(content: Mapping[str, Any]) -> list[Markup | str]:
    """Say how sure the choice is, as far as that was looked into."""
    found: list[Markup | str | None] = []
    if content["proof"] is not None:
        found.append(claims.proof(content))
    if content["near_ties"] is not None:
        found.append(claims.near_ties(content))
    if content["stability"] is not None:
        found += _chosen_again(content)
    if content["substitutes"] is not None:
        found.append(_replaced(content))
    return [sentence for sentence in found if sentence]


def _replaced(content: Mapping[str, Any]) -> Markup | None:
    """Say which chosen feature is replaced at the least price, and which at the highest."""
    best = claims.best_replacements(content)
    if not best:
        return None
    score = score_name(content)
    easiest, hardest = best[0], best[-1]
    text = Markup("{} can be replaced by {} at {} {}").format(
        inline(easiest["chosen"]),
        inline(easiest["replacement"]),
        signed(easiest["score_difference"]),
        score,
    )
    if len(best) > 1:
        text += Markup("; hardest to replace is {}, at {}").format(
            inline(hardest["chosen"]), signed(hardest["score_difference"])
        )
    return text + Markup(".")


def _chosen_again(content: Mapping[str, Any]) -> list[Markup | str]:
    """Say how often other rows choose the chosen features, and what they choose instead."""
    if not content["stability"]["features"]:
        return [claims.stability(content)]
    chosen = [each for each in content["stability"]["features"] if each["chosen"]]
    others = [
        Markup("{} {}").format(inline(each["name"]), each["count"]) for each in chosen[1:MOST_NAMES]
    ]
    name, times = inline(chosen[0]["name"]), counted(chosen[0]["count"], "time")
    first = Markup("In {}, {} was chosen {}").format(claims.resamples(content), name, times)
    rest = Markup("")
    if (more := len(chosen) - MOST_NAMES) > 0:
        least, most = chosen[-1]["count"], chosen[MOST_NAMES]["count"]
        span = str(most) if least == most else f"{least} to {most}"
        rest = Markup(" and {} more {} times").format(more, span)
    sentences: list[Markup | str] = [Markup(", ").join([first, *others]) + rest + Markup(".")]
    if instead := claims.often_instead(content):
        named = (Markup("{} {}").format(inline(each["name"]), each["count"]) for each in instead)
        text = Markup("Not chosen, but often on other rows: {}.")
        sentences.append(text.format(Markup(", ").join(named)))
    return sentences


def rule(content: Mapping[str, Any]) -> str:
    """Say what the rule takes."""
    name = content["size"]["rule"]
    if name not in RULES:
        return f"what the function {name} says"
    return RULES[name].format(tolerance=content["settings"]["tolerance"])


def _claim(content: Mapping[str, Any]) -> Markup:
    """The first half of the answer; it claims no more than the scores do."""
    size, total = content["size"], content["n_features"]
    chosen, largest = size["chosen"], size["largest"]
    count = f"{spelled(chosen)} of {counted(total, 'feature')}"
    if claims.no_better_than_guessing(content):
        return _no_claim(content)
    if largest is None and chosen < total:
        return _best_of_its_size(content)
    task = _task(content, chosen == 1)
    if claims.in_doubt(content):
        seem = "seems" if chosen == 1 else "seem"
        task = Markup("{} to {}").format(seem, _task(content, False))
    if chosen == total:
        best = " best" if largest and total > 1 else ""
        return Markup("{} {}{}").format(_everything(total), task, best)
    if chosen == largest:
        return Markup("{}, the most that were tried, {} best").format(count, task)
    if (better := claims.better_size(content)) is not None:
        return Markup("{} {} somewhat less well than {} would").format(count, task, better)
    if size["rule"] in ("one_se", "one_sd", "tolerance"):
        return Markup("{} {} about as well as any larger set tried").format(count, task)
    if size["rule"] == "best":
        return Markup("{} {} best").format(count, task)
    return Markup("{} {}, chosen by the rule {}").format(count, task, inline(size["rule"]))


def _no_claim(content: Mapping[str, Any]) -> Markup:
    """What to say of features that may be worth nothing; a given number of them was no choice."""
    size, total = content["size"], content["n_features"]
    task = _task(content, False)
    if size["largest"] is not None:
        most = counted(size["largest"], "feature")
        text = "No set of up to {} could be shown to {} better than guessing; chosen"
        return Markup(text).format(most, task)
    if size["chosen"] == total:
        text = "{} could not be shown to {} better than guessing"
        return Markup(text).format(_everything(total), task)
    text = "{} could not be shown to do so better than guessing"
    return Markup(text).format(_best_of_its_size(content))


def _best_of_its_size(content: Mapping[str, Any]) -> Markup:
    """What a given number of features is."""
    chosen, total = content["size"]["chosen"], counted(content["n_features"], "feature")
    best = "best single feature" if chosen == 1 else f"best {chosen}"
    return Markup("The {} of {} found to {}").format(best, total, _task(content, False))


def _everything(total: int) -> str:
    return "The only feature" if total == 1 else f"All {total} features together"


def _task(content: Mapping[str, Any], singular: bool) -> Markup:
    """What the features do: predict a target that has a name, or tell classes apart."""
    task = task_of(content)
    text = task.does_unnamed if content["target"]["name"] is None else task.does
    return in_words(content, text, s="s" if singular else "")


def _numbers(content: Mapping[str, Any]) -> list[Markup | str]:
    """The scores with their spread; that of held-out rows first."""
    scores, sentences = content["scores"], []
    name = score_name(content)
    name = name[:1].upper() + name[1:]
    if (test := scores["test"]) is not None:
        interval = ""
        if test["low"] is not None:
            interval = f" (95 % interval {decimals(test['low'])} to {decimals(test['high'])})"
        rows = counted(test["n_rows"], "row")
        sentences.append(f"{name} on {rows} held out: {decimals(test['value'])}{interval}.")
    if (validation := scores["validation"]) is not None:
        splits = counted(len(validation["splits"]), "validation split")
        sentences.append(
            f"{name} over {splits}: {decimals(validation['mean'])} ± {decimals(validation['std'])}."
        )
    return [Markup("{}").format(sentence) for sentence in sentences]
