"""The answer on a terminal, out of the dict of a report; no number is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from safdr.cli.coefficients import DIM, coefficients
from safdr.cli.words import duration, name_text, number, safe
from safdr.report import claims
from safdr.report.numbers import signed
from safdr.report.tasks import task_of

RULES = {
    "one_se": "the fewest within one standard error of the best score, or all but perfect",
    "one_sd": "the fewest within one standard deviation of the best score",
    "tolerance": "the fewest within {tolerance} of the best score",
    "best": "the best score",
}
WARNING = "yellow"
WIDEST = 120
# Names in one list; result.json has them all.
MOST_LISTED = 12
# Features whose replacement is told; result.json has those of all.
MOST_REPLACED = 3


def print_answer(content: dict[str, Any], written: Sequence[Path]) -> None:
    """Print what was chosen, how well it does, and what to know about it."""
    console = Console()
    console.width = min(console.width, WIDEST)
    console.print()
    console.print(Padding(_sentence(content), (0, 0, 0, 2), expand=False))
    for warning in content["warnings"]:
        console.print()
        console.print(Padding(_warning(warning), (0, 0, 0, 2), expand=False))
    console.print(Padding(coefficients(content), (0, 0, 0, 1), expand=False))
    console.print(Padding(_facts(content), (0, 0, 0, 2), expand=False))
    for note in content["notes"]:
        console.print()
        console.print(Padding(_note(note), (0, 0, 0, 2), expand=False))
    console.print()
    last = Text(f"{duration(content['seconds'])}", style=DIM)
    for path in written:
        last.append(f" · wrote {safe(path, None)}", style="")
    console.print(Padding(last, (0, 0, 0, 2), expand=False))


def _sentence(content: dict[str, Any]) -> Text:
    """The answer in one sentence; it claims no more than the warnings leave."""
    size, total = content["size"]["chosen"], content["n_features"]
    features = "feature" if total == 1 else "features"
    guessing, doubt = claims.no_better_than_guessing(content), claims.in_doubt(content)
    colour = WARNING if doubt else "green"
    text = Text(f"{size} of {total} {features}", style=f"bold {colour}")
    if content["size"]["columns"] != size:
        text.append(f" ({content['size']['columns']} columns)", style=colour)
    quoted = claims.score_to_quote(content)
    s = "" if size > 1 else "s"
    if guessing:
        text.append(f" {'were' if size > 1 else 'was'} chosen, but not shown to")
        return _does(content, text, "").append(" better than guessing.")
    if doubt:
        text.append(f" seem{s} to")
    # Without rows to score on, only what the features are for.
    _does(content, text, "" if doubt else s, scored=quoted is not None)
    if quoted is None:
        return text.append(".")
    value, where = quoted
    text.append(f" {value:.3f}", style=f"bold {colour}")
    return text.append(f" on {where}{', if the warnings can be settled' if doubt else ''}.")


def _does(content: dict[str, Any], text: Text, s: str, *, scored: bool = False) -> Text:
    """What the features are for, and by what score."""
    task, target = task_of(content), content["target"]
    classes = [safe(label) for label in target["classes"]] or [""]
    answer = task.answer if scored else task.answer.partition(" with ")[0]
    for i, part in enumerate(answer.split("**")):
        words = part.format(
            s=s,
            target=safe(target["name"]),
            first=classes[0],
            second=classes[-1],
            n_classes=len(classes),
        )
        text.append(words, style="bold" if i % 2 else "")
    return text


def _warning(warning: Mapping[str, Any]) -> Table:
    """What stands in the way, and what to do."""
    style = "bold red" if warning["serious"] else f"bold {WARNING}"
    grid = Table.grid(Column(style=style, no_wrap=True), Column(), padding=(0, 2))
    title, said, advice = (safe(warning[key], None) for key in ("title", "text", "advice"))
    grid.add_row("Careful", Text.assemble((f"{title}. ", "bold"), f"{said} {advice}"))
    return grid


def _facts(content: dict[str, Any]) -> Table:
    """Scores, size, rows, coding and what was left out."""
    grid = Table.grid(Column(style="bold", no_wrap=True), Column(), padding=(0, 2))
    for label, lines in (
        ("Task", _task(content)),
        (task_of(content).score_in_short, _scores(content)),
        ("Size", _sizes(content)),
        ("Slopes", _said(claims.calibration(content))),
        ("Proof", _proof(content)),
        ("Stability", _stability(content)),
        ("Instead", _replacements(content)),
        ("Rows", _rows(content)),
        ("Coded", _coding(content)),
        ("Left out", _left_out(content["left_out"])),
        ("Duplicates", _said(claims.duplicates(content))),
    ):
        for i, line in enumerate(lines):
            grid.add_row("" if i else label, line)
    return grid


def _task(content: dict[str, Any]) -> Iterator[Text]:
    """What the target was taken for, and why."""
    title = task_of(content).title.format(n_classes=len(content["target"]["classes"]))
    yield Text.assemble(title, (f"  {safe(content['task_note'], None)}", DIM))


def _said(sentence: str | None) -> Iterator[Text]:
    """A sentence, if there is one to say."""
    if sentence is not None:
        yield Text(sentence)


def _scores(content: dict[str, Any]) -> Iterator[Text]:
    validation, test = content["scores"]["validation"], content["scores"]["test"]
    if validation:
        spread = f"{validation['mean']:.4f} ± {validation['std']:.4f}"
        splits = f"  mean and standard deviation over {len(validation['splits'])} splits"
        yield Text.assemble("validation  ", (spread, "green"), (splits, DIM))
    if test:
        interval = (
            f"  95 % interval {test['low']:.4f} to {test['high']:.4f}"
            if test["low"] is not None
            else ""
        )
        yield Text.assemble("held out    ", (f"{test['value']:.4f}", "green"), (interval, DIM))
    if (validation or test) and (about := task_of(content).about_score):
        yield Text(about, style=DIM)


def _sizes(content: dict[str, Any]) -> Iterator[Text]:
    size = content["size"]
    if size["by_rule"] is None:
        yield Text.assemble(f"{size['chosen']}", ("  as asked for", DIM))
    else:
        yield from _choice(size, content["settings"]["tolerance"])
    if content["groups"]:
        yield Text("columns that enter together count as one: a category is one feature", style=DIM)


def _choice(size: dict[str, Any], tolerance: float) -> Iterator[Text]:
    """How the size was chosen, what that gives up, and what other rules would take."""
    tried = f"of {size['smallest']} to {size['largest']}"
    why = f"  {RULES[size['rule']].format(tolerance=tolerance)} ({size['rule']}), {tried}"
    yield Text.assemble("k* = ", (str(size["chosen"]), "green"), (why, DIM))
    yield Text(size["note"])
    if size["by_rule"]["best"] == size["largest"] < size["possible"]:
        yield Text("the best score is at the largest size; try a larger --k-max", style=WARNING)


def _proof(content: dict[str, Any]) -> Iterator[Text]:
    """What is known about other sets of this size, and what that is about."""
    if (proof := content["proof"]) is None:
        return
    yield Text(claims.proof(content), style="green" if proof["optimal"] else "")
    if proof["reason"] is None and not proof["chosen_is_best_known"]:
        yield _instead(content["features"], proof)
    if near := claims.near_ties(content):
        yield Text(near)
    if proof["reason"] is None:
        yield Text(claims.WHAT_IS_PROVEN, style=DIM)


def _stability(content: dict[str, Any]) -> Iterator[Text]:
    """How often half-samples choose the chosen features, and others."""
    if (found := content["stability"]) is None:
        return
    if found["features"]:
        chosen = [each for each in found["features"] if each["chosen"]]
        yield Text(f"In {claims.resamples(content)}: {_counts(chosen)}")
    if instead := (claims.often_instead(content) if found["features"] else []):
        yield Text(f"not chosen, but often there: {_counts(instead)}")
    yield Text(claims.stability(content), style=DIM if found["features"] else "")


def _replacements(content: dict[str, Any]) -> Iterator[Text]:
    """The chosen features that are replaced at the least price."""
    found = claims.best_replacements(content) if content["substitutes"] else []
    for each in found[:MOST_REPLACED]:
        pair = name_text(each["replacement"]), " for ", name_text(each["chosen"])
        score = task_of(content).score_in_short
        yield Text.assemble(*pair, (f"  {signed(each['score_difference'])} {score}", DIM))


def _counts(features: Sequence[Mapping[str, Any]]) -> str:
    return _list([f"{safe(each['name'])} {each['count']}" for each in features])


def _instead(chosen: list[dict[str, Any]], proof: dict[str, Any]) -> Text:
    """What the best set has in place of some of the chosen features."""
    own = {feature["index"]: feature["name"] for feature in chosen}
    best = dict(zip(proof["indices"], proof["features"], strict=True))
    gained = [safe(name) for i, name in best.items() if i not in own]
    lost = [safe(name) for i, name in own.items() if i not in best]
    return Text(f"that set has {_list(gained)} instead of {_list(lost)}", style=DIM)


def _rows(content: dict[str, Any]) -> Iterator[Text]:
    train, test = content["rows"]["train"], content["rows"]["test"]
    held_out = f", {test:,} held out" if test else ", none held out"
    scored = content["scores"]["test"]
    if scored and scored["n_rows"] != test:
        held_out += f", {scored['n_rows']:,} of them tested on"
    yield Text.assemble(f"{train:,} to learn from{held_out}", (f"  {_spread(content)}", DIM))


def _spread(content: dict[str, Any]) -> str:
    """How the target is spread over the rows to learn from."""
    target, train = content["target"], content["rows"]["train"]
    shares = {label: f"{100 * n / train:.1f} %" for label, n in target["counts"].items()}
    if not shares:
        mean, deviation = number(target["mean"]), number(target["standard_deviation"])
        return f"{safe(target['name'])}: mean {mean}, standard deviation {deviation}"
    if len(shares) == 2:
        label = target["classes"][1]
        return f"{shares[label]} are {safe(label)}"
    return _list([f"{safe(label, 20)} {share}" for label, share in shares.items()])


def _coding(content: dict[str, Any]) -> Iterator[Text]:
    """Text columns: levels and reference of those in the model, names of the others."""
    chosen = {feature["name"] for feature in content["features"]}
    used = [coding for coding in content["coding"] if chosen & set(coding["names"])]
    for coding in used:
        levels = [safe(name[len(coding["column"]) + 3 :], 20) for name in coding["names"]]
        rare = f" and {len(coding['pooled'])} rare ones" if coding["pooled"] else ""
        yield Text.assemble(
            name_text(coding["column"]),
            f" = {_list(levels)}",
            (f"  against {safe(coding['reference'], 20)}{rare}", DIM),
        )
    others = [safe(coding["column"]) for coding in content["coding"] if coding not in used]
    if others:
        yield Text(f"not in the model: {_list(others)}", style=DIM)


def _left_out(columns: list[dict[str, str]]) -> Iterator[Text]:
    """Columns with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for each in columns:
        by_reason.setdefault(each["reason"], []).append(safe(each["column"]))
    for reason, names in by_reason.items():
        yield Text.assemble(_list(names), (f"  {safe(reason, None)}", DIM))


def _list(names: list[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more


def _note(note: str) -> Table:
    grid = Table.grid(Column(style=f"bold {WARNING}", no_wrap=True), Column(), padding=(0, 2))
    grid.add_row("Note", Text(safe(note, None)))
    return grid
