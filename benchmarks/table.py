"""The tables, from the CSV files alone: results/table.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from benchmarks import proofs, recipe, signs, stability
from benchmarks.problem import title_of
from benchmarks.rows import RESULTS, read
from benchmarks.table_parts import Rows, compare, markdown
from benchmarks.task_table import tasks
from experiments.whole_files import write_whole

PARTS = ("moments", "annealing", "fits", "rest")


def main(options: argparse.Namespace) -> None:
    """Write the file anew."""
    parts = [text for name, make in TABLES.items() if (text := _section(name, make))]
    heading = "# Measured\n\nMade by `python -m benchmarks table` from the CSV files beside it.\n"
    write_whole(RESULTS / "table.md", "\n".join([heading, *parts]).encode())


def _section(name: str, make: Callable[[Rows], str]) -> str:
    rows = read(name)
    return make(rows) if rows else ""


def folds(rows: Rows) -> str:
    """Seconds of each contestant, beside ours; then the split of ours; then memory."""
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    by_data = _grouped(rows, "contestant")
    seconds = [
        [_describe(some), *(_seconds_beside_ours(some, name) for name in names)]
        for some in by_data.values()
    ]
    split = [
        [title_of(data), *(_share(some["sa-fdr"], part) for part in PARTS)]
        for data, some in by_data.items()
        if "sa-fdr" in some
    ]
    memory = [
        [title_of(data), *(some[n]["peak_mb"] if n in some else "" for n in names)]
        for data, some in by_data.items()
    ]
    return (
        "## One fold, all sizes\n\nProcessor seconds on one core, medians; in brackets as a "
        "multiple of ours. ~ is extrapolated. (Sizes are 1 to 30, or to the number of features; "
        "the Lasso has 30 penalties instead.)\n\n"
        + markdown(["data (rows × features)", *names], seconds)
        + "\n## Where our time goes\n\nProcessor seconds, and share of the fold.\n\n"
        + markdown(["data", *PARTS], split)
        + "\n## Peak memory\n\nMegabytes beyond the rows themselves.\n\n"
        + markdown(["data", *names], memory)
    )


def _describe(some: dict[str, dict[str, str]]) -> str:
    row = next(iter(some.values()))
    return f"{title_of(row['data'])} ({row['rows']} × {row['features']})"


def _seconds_beside_ours(some: dict[str, dict[str, str]], name: str) -> str:
    if name not in some:
        return ""
    seconds, mark = float(some[name]["process_s"]), "~" * int(some[name]["extrapolated"])
    text = f"{mark}{seconds:.3g}" if seconds < 1000 else f"{mark}{seconds:.0f}"
    if name == "sa-fdr" or "sa-fdr" not in some:
        return text
    return f"{text} ({seconds / float(some['sa-fdr']['process_s']):.3g})"


def _share(row: dict[str, str], part: str) -> str:
    seconds = float(row[f"{part}_s"])
    return f"{seconds:.3g} ({seconds / float(row['process_s']):.0%})"


def quality(rows: Rows) -> str:
    """How often the best candidate is better, equal or worse; and each size where it is worse."""
    header = ["rival", "better", "equal", "worse", "better (CE)", "equal (CE)", "worse (CE)"]
    rivals = dict.fromkeys(row["rival"] for row in rows)
    counts = [_counts(rival, [row for row in rows if row["rival"] == rival]) for rival in rivals]
    text = (
        "## Quality\n\nPairs of data and size: the best criterion value among our candidates "
        "against the rival's subset, and the winner's cross-entropy (CE) against the rival's. "
        "Equal is to 1e-9 of the value.\n\n" + markdown(header, counts)
    )
    worse: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        ours, theirs = float(row["ours"]), float(row["theirs"])
        if compare(ours, theirs) < 0:
            sizes = worse.setdefault((title_of(row["data"]), row["rival"]), [])
            sizes.append(f"{row['size']} ({ours / theirs - 1:.2%})")
    if not worse:
        return text + "\nNo pair has a worse criterion value.\n"
    listed = [[*pair, ", ".join(sizes)] for pair, sizes in worse.items()]
    return (
        f"{text}\nWhere our criterion value is worse, and by how much:\n\n"
        f"{markdown(['data', 'rival', 'sizes'], listed)}"
    )


def _counts(rival: str, rows: Rows) -> list[str]:
    """Pairs that are better, equal and worse: by criterion value, then by cross-entropy."""
    values = [compare(float(row["ours"]), float(row["theirs"])) for row in rows]
    entropies = [
        compare(float(row["their_cross_entropy"]), float(row["our_cross_entropy"])) for row in rows
    ]
    signs = (1, 0, -1)
    return [rival, *(str(which.count(sign)) for which in (values, entropies) for sign in signs)]


def _plain(title: str, columns: Sequence[str]) -> Callable[[Rows], str]:
    """A table of some columns as they are."""

    def make(rows: Rows) -> str:
        cells = [[title_of(row[c]) if c == "data" else row[c] for c in columns] for row in rows]
        return f"## {title}\n\n" + markdown(columns, cells)

    return make


TABLES: dict[str, Callable[[Rows], str]] = {
    "folds": folds,
    "quality": quality,
    "tasks": tasks,
    "proofs": proofs.table,
    "leaps": _plain(
        "What the diagonal bound is worth: nodes and processor seconds with it, without it "
        "(losses of single features alone), and nodes of plain leaps and bounds; > where time was "
        "up",
        ("data", "size", "ours_nodes", "ours_s", "singles_nodes", "singles_s", "leaps_nodes"),
    ),
    "stability": stability.table,
    "signs": signs.table,
    "recipe": recipe.table,
    "groups": _plain(
        "Groups: nine columns on their own, with one pair, and as three groups "
        "(processor seconds; in brackets as a multiple)",
        ("problem", "alone_s", "pair", "threes", "pair_by_column"),
    ),
    "sparse": _plain(
        "Sparse rows: 20 000 × 5 000 at 1 %, ten features, a fresh process",
        ("task", "process_s", "before_mb", "peak_mb"),
    ),
    "fold_memory": _plain(
        "Five splits beside one size, the largest: peak megabytes of a fresh process, with the "
        "rows, and as a multiple",
        (
            "rows",
            "features",
            "sizes",
            "one_size_mb",
            "splits_mb",
            "ratio",
            "two_jobs_mb",
            "two_jobs_ratio",
        ),
    ),
    "tts": _plain(
        "Time to the best known value with a probability of 99 %",
        ("data", "size", "seeds", "hit_share", "run_s", "tts99_s"),
    ),
    "threads": _plain("One thread and two", ("data", "call", "one_wall_s", "two_wall_s", "ratio")),
    "first_call": _plain("First call in a fresh process", ("program", "wall_s", "least_s")),
    "start_up": _plain("Imports in a fresh process", ("program", "process_s", "least_s")),
}


def _grouped(rows: Rows, key: str) -> dict[str, dict[str, dict[str, str]]]:
    """Rows by data, then by a column."""
    groups: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["data"], {})[row[key]] = row
    return groups
