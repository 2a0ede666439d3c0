"""The tables of more classes and regression, from the CSV files alone."""

from __future__ import annotations

from benchmarks.rows import read
from benchmarks.table_parts import Rows, compare, markdown

# Where the losses are shown; the counts are over all sizes.
SHOWN = (1, 2, 3, 5, 8, 10, 15, 20, 30)


def tasks(rows: Rows) -> str:
    """Seconds beside ours; losses at some sizes; at how many ours is the smaller one."""
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    return (
        "## More classes and regression\n\nProcessor seconds on one core for all sizes, medians; "
        "in brackets as a multiple of ours.\n\n"
        + markdown(["problem (rows × features), sizes", *names], _seconds(rows, names))
        + "\nLoss on the training rows at equal size: cross-entropy, or mean squared error. (The "
        "Lasso's path leaves sizes out.)\n\n"
        + markdown(["problem", "contestant", *map(str, SHOWN)], _losses())
        + "\nSizes at which our loss is smaller, equal (to 1e-9) and larger:\n\n"
        + markdown(["problem", "rival", "smaller", "equal", "larger"], _counts())
    )


def _seconds(rows: Rows, names: list[str]) -> list[list[str]]:
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        some = {row["contestant"]: row for row in rows if row["problem"] == problem}
        ours = some["sa-fdr"]
        shape = f"{problem} ({ours['rows']} × {ours['features']}), 1 to {ours['max_size']}"
        lines.append([shape, *(_beside(some, name, float(ours["process_s"])) for name in names)])
    return lines


def _beside(some: dict[str, dict[str, str]], name: str, ours: float) -> str:
    if name not in some:
        return ""
    seconds = float(some[name]["process_s"])
    return f"{seconds:.3g}" + ("" if name == "sa-fdr" else f" ({seconds / ours:.3g})")


def _by_size() -> dict[tuple[str, str], dict[int, float]]:
    """Losses of each problem and contestant."""
    losses: dict[tuple[str, str], dict[int, float]] = {}
    for row in read("tasks_found"):
        key = (row["problem"], row["contestant"])
        losses.setdefault(key, {})[int(row["size"])] = float(row["loss"])
    return losses


def _losses() -> list[list[str]]:
    return [
        [*key, *(f"{losses[size]:.4g}" if size in losses else "" for size in SHOWN)]
        for key, losses in _by_size().items()
    ]


def _counts() -> list[list[str]]:
    losses = _by_size()
    lines = []
    for (problem, rival), theirs in losses.items():
        if rival != "sa-fdr":
            ours = losses[problem, "sa-fdr"]
            signs = [compare(theirs[size], ours[size]) for size in theirs]
            lines.append([problem, rival, *(str(signs.count(sign)) for sign in (1, 0, -1))])
    return lines
