"""The comparison in Markdown, and all numbers as CSV: from the rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from experiments.environment import mixed_engines
from experiments.equal import claims
from experiments.equal.claims import RECIPE
from experiments.equal.contrasts import (
    FEW_ROWS,
    METRIC_TITLES,
    METRICS,
    Comparison,
    Contrast,
    Model,
    Score,
)
from experiments.equal.methods import METHODS
from experiments.equal.protocol import PENALTIES
from experiments.equal.sets import TITLES
from experiments.store import Row
from experiments.table import MISSING, csv_text, markdown_table

AS_PUBLISHED = Model("paper", "inf")
PENALTY_TITLES = {"1": "C = 1", "inf": "unpenalised"}
KINDS = {"all sets": ("wide", "few", "many"), "few rows": ("few",), "wide": ("wide",)}
OTHERS = tuple(name for name in METHODS if name != RECIPE.method)
ABOUT = (
    "Subsets of equal size k, chosen on the training rows of each split, refitted by the same "
    "code twice (unpenalised, and with C = 1 on standardised columns) and scored on the test "
    "rows: AUC (more is better) and log-loss (less is better). Differences are `recipe` − the "
    "other, in pairs, mean over the splits ± a standard error that allows for test parts that "
    "overlap: the variance over J splits times 1/J + t/(1 − t), where t is the share of all "
    "rows that a split tests on (Nadeau and Bengio 2003; where no row is left out, t/(1 − t) "
    "is n_test/n_train). Bold: beyond two standard errors. A cell is a data set and a k; it is "
    "won or lost where the difference is beyond one standard error. Few rows: at most "
    f"{FEW_ROWS} to train on. Wide: more features than training rows."
)


def to_markdown(rows: Sequence[Row]) -> str:
    """The whole page."""
    compared = Comparison(rows)
    parts = ["# Methods at equal k", ABOUT]
    warning = mixed_engines(rows, "recipe")
    parts += [warning] if warning else []
    parts += ["## What must hold", "\n".join(claims.to_lines(compared))]
    parts += [claims.exceptions(compared)]
    parts += ["## Cells won and lost by `recipe`", *_scores(compared)]
    for penalty, title in PENALTY_TITLES.items():
        for metric, name in METRIC_TITLES.items():
            parts += [f"## {name}, {title}: `recipe` − the other, mean over k"]
            parts += [_differences(compared, metric, penalty)]
    for metric, name in METRIC_TITLES.items():
        parts += [f"## {name}, C = 1: cells won and lost by `recipe`, by data set"]
        parts += [_scores_by_set(compared, metric)]
    parts += ["## Log-loss with and without penalty, mean over k", _penalties(compared)]
    parts += ["## Mean log-loss above the constant model's", _above_constant(compared)]
    parts += ["## Seconds to choose the subsets of all sizes, median", _seconds(compared)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _scores(rows: Comparison) -> Iterable[str]:
    """One table a penalty: methods down, metrics and kinds of sets across."""
    columns = [(metric, kind) for metric in METRICS for kind in KINDS]
    header = ["Method", *(f"{METRIC_TITLES[metric]}, {kind}" for metric, kind in columns)]
    for penalty, title in PENALTY_TITLES.items():
        body = []
        for name in OTHERS:
            one, other = Model("recipe", penalty), Model(name, penalty)
            found = [_score(rows, one, other, m, kind) for m, kind in columns]
            body.append([METHODS[name].title, *map(str, found)])
        yield f"Both {title}:"
        yield markdown_table(header, body)


def _score(rows: Comparison, one: Model, other: Model, metric: str, kind: str) -> Score:
    """Cells won and lost on all sets of a kind."""
    sets = [data for data in rows.data if rows.kind(data) in KINDS[kind]]
    found = [rows.contrast(data, one, other, metric) for data in sets]
    return sum((each.score for each in found if each is not None), Score())


def _differences(rows: Comparison, metric: str, penalty: str) -> str:
    """Data sets down, methods across; with the penalty also the paper's whole method."""
    others = {METHODS[name].title: Model(name, penalty) for name in OTHERS}
    if penalty == RECIPE.penalty:
        others = {"paper as published": AS_PUBLISHED, **others}
    body = []
    for data in rows.data:
        found = [rows.contrast(data, Model("recipe", penalty), o, metric) for o in others.values()]
        body.append([TITLES[data], rows.kind(data), *(_signed(each) for each in found)])
    return markdown_table(["Data", "rows", *others], body)


def _scores_by_set(rows: Comparison, metric: str) -> str:
    others = [Model(name, RECIPE.penalty) for name in OTHERS]
    body = []
    for data in rows.data:
        found = [rows.contrast(data, RECIPE, other, metric) for other in others]
        body.append([TITLES[data], *(str(each.score) if each else MISSING for each in found)])
    return markdown_table(["Data", *(METHODS[name].title for name in OTHERS)], body)


def _penalties(rows: Comparison) -> str:
    """The same subsets with either model."""
    header, body = ["Data"], []
    for method in ("paper", "recipe"):
        header += [f"{method}, {PENALTY_TITLES[p]}" for p in PENALTIES] + [f"{method}, difference"]
    for data in rows.data:
        cells = [TITLES[data]]
        for method in ("paper", "recipe"):
            models = [Model(method, penalty) for penalty in PENALTIES]
            cells += [_loss(rows, data, model) for model in models]
            cells.append(_signed(rows.contrast(data, models[1], models[0], "log_loss")))
        body.append([*cells, f"{rows.constant(data):.4f}"])
    return markdown_table([*header, "constant"], body)


def _loss(rows: Comparison, data: str, model: Model) -> str:
    if not rows.has(data, model.method):
        return MISSING
    return _plain(float(np.mean(rows.losses(data, model))))


def _above_constant(rows: Comparison) -> str:
    """Sets and methods whose mean log-loss is above that of knowing nothing, and where."""
    body = []
    for data in rows.data:
        for model in (Model(name, penalty) for name in METHODS for penalty in PENALTIES):
            if not rows.has(data, model.method):
                continue
            means = rows.losses(data, model).mean(axis=0)
            above = [
                str(size)
                for size, mean in zip(rows.sizes(data), means, strict=True)
                if mean > rows.constant(data)
            ]
            if means.mean() > rows.constant(data):
                title = f"{METHODS[model.method].title}, {PENALTY_TITLES[model.penalty]}"
                loss, constant = _plain(means.mean()), f"{rows.constant(data):.4f}"
                body.append([TITLES[data], title, loss, constant, ", ".join(above)])
    return markdown_table(["Data", "Method", "log-loss", "constant", "at k"], body)


def _seconds(rows: Comparison) -> str:
    body = [
        [
            TITLES[data],
            *(f"{rows.seconds(data, m):.2f}" if rows.has(data, m) else MISSING for m in METHODS),
        ]
        for data in rows.data
    ]
    return markdown_table(["Data", *(method.title for method in METHODS.values())], body)


def _signed(contrast: Contrast | None) -> str:
    """A difference with its error; in bold where it is beyond two of them."""
    if contrast is None:
        return MISSING
    mean = contrast.mean
    text = f"{_plain(mean.value, '+')} ± {_plain(mean.error)}"
    return f"**{text}**" if abs(mean.value) > 2 * mean.error else text


def _plain(value: float, sign: str = "") -> str:
    """Four decimals, unless it is far too large for them."""
    return f"{value:{sign}.4f}" if abs(value) < 100 else f"{value:{sign}.1e}"


def to_csv(rows: Iterable[Row]) -> str:
    """One line for each data set, split, method, size and penalty."""
    return csv_text([record for row in rows for record in _records(row)])


def _records(row: Row) -> Iterable[dict[str, object]]:
    for penalty, scores in row["scores"].items():
        for i, k in enumerate(row["sizes"]):
            yield {
                **{key: row[key] for key in ("data", "repeat", "method")},
                "k": k,
                "C": penalty,
                "n_features": len(row["subsets"][i]),
                "auc": scores["auc"][i],
                "log_loss": scores["log_loss"][i],
                "constant_log_loss": row["constant_log_loss"],
                "selection_seconds": row["selection_seconds"],
            }
