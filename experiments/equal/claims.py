"""What must hold of `recipe`, and whether it does on these rows."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.equal.contrasts import METRICS, Comparison, Contrast, Model, Score
from experiments.equal.methods import METHODS
from experiments.equal.sets import PAPER_SETS, TITLES

RECIPE, PAPER = Model("recipe", "1"), Model("paper", "1")
RECIPE_UNPENALISED, AS_PUBLISHED = Model("recipe", "inf"), Model("paper", "inf")
PEERS = tuple(name for name in METHODS if name not in ("recipe", "paper"))
KINDS = {"all sets": ("wide", "few", "many"), "few rows": ("few",), "wide": ("wide",)}
# Where penalised models must have the smaller log-loss, and how far they may be behind elsewhere.
PENALTY_HELPS = ("heart", "cancer", "bankruptcy")
PENALTY_COSTS = 0.002


def to_lines(rows: Comparison) -> list[str]:
    """One line a claim; what breaks it is named."""
    by_kind = [(metric, kind) for metric in METRICS for kind in KINDS]
    broken = {
        "AUC of `recipe` behind `paper` by no more than the standard error, both with C = 1": (
            map(_named, _behind(rows, RECIPE, PAPER))
        ),
        "the same, both unpenalised": map(_named, _behind(rows, RECIPE_UNPENALISED, AS_PUBLISHED)),
        "ahead of `paper` by more than two standard errors on Spambase (AUC, C = 1)": _not_ahead(
            rows, "spambase"
        ),
        **{
            f"more cells won than lost against each peer ({metric}, C = 1, {kind})": _lost(
                rows, metric, KINDS[kind]
            )
            for metric, kind in by_kind
        },
        "log-loss of `recipe` with C = 1 below the unpenalised one on Heart, Cancer and "
        f"Bankruptcy, and no more than {PENALTY_COSTS} above it elsewhere": _penalty(rows),
        "mean log-loss of `recipe` with C = 1 below the constant model's on the paper's sets": (
            _above_constant(rows)
        ),
    }
    return [f"- {claim}: {_verdict(list(found))}" for claim, found in broken.items()]


def beside(rows: Comparison) -> str:
    """Where the paper's whole method is ahead, and how much of that is the subsets."""
    behind = []
    for data, found in _behind(rows, RECIPE, AS_PUBLISHED):
        same = rows.contrast(data, RECIPE, PAPER, "auc")
        bare = rows.contrast(data, RECIPE_UNPENALISED, AS_PUBLISHED, "auc")
        parts = {"both with C = 1": same, "both unpenalised": bare}
        told = [f"{how} {_difference(each)}" for how, each in parts.items() if each is not None]
        behind.append(f"{_named((data, found))} ({', '.join(told)})")
    return (
        "For information, since subsets and models differ at once: AUC of `recipe` with C = 1 "
        "behind `paper` unpenalised, as published, by more than the standard error: "
        f"{'; '.join(behind) or 'nowhere'}."
    )


def _verdict(broken: list[str]) -> str:
    return f"**no**: {'; '.join(broken)}" if broken else "yes"


def score(rows: Comparison, one: Model, other: Model, metric: str, kinds: Iterable[str]) -> Score:
    """Cells won and lost on all sets of some kinds."""
    found = [
        rows.contrast(data, one, other, metric) for data in rows.data if rows.kind(data) in kinds
    ]
    return sum((each.score for each in found if each is not None), Score())


def _behind(rows: Comparison, one: Model, other: Model) -> Iterable[tuple[str, Contrast]]:
    for data in rows.data:
        found = rows.contrast(data, one, other, "auc")
        if found is not None and -found.ahead > found.mean.error:
            yield data, found


def _not_ahead(rows: Comparison, data: str) -> Iterable[str]:
    found = rows.contrast(data, RECIPE, PAPER, "auc")
    if found is None:
        yield "there are no rows"
    elif found.ahead <= 2 * found.mean.error:
        yield _difference(found)


def _lost(rows: Comparison, metric: str, kinds: Iterable[str]) -> Iterable[str]:
    for peer in PEERS:
        found = score(rows, RECIPE, Model(peer, RECIPE.penalty), metric, kinds)
        if found.wins <= found.losses:
            yield f"{METHODS[peer].title} {found}"


def _penalty(rows: Comparison) -> Iterable[str]:
    for data in rows.data:
        found = rows.contrast(data, RECIPE, RECIPE_UNPENALISED, "log_loss")
        limit = 0.0 if data in PENALTY_HELPS else PENALTY_COSTS
        if found is not None and found.mean.value > limit:
            yield f"{TITLES[data]} {_difference(found)}"


def _above_constant(rows: Comparison) -> Iterable[str]:
    for data in PAPER_SETS:
        if rows.has(data, RECIPE.method):
            mean = float(rows.losses(data, RECIPE).mean())
            if mean > rows.constant(data):
                yield f"{TITLES[data]} {mean:.4g} > {rows.constant(data):.4g}"


def _named(found: tuple[str, Contrast]) -> str:
    data, contrast = found
    return f"{TITLES[data]} {_difference(contrast)}"


def _difference(contrast: Contrast) -> str:
    return f"{contrast.mean.value:+.4f} ± {contrast.mean.error:.4f}"
