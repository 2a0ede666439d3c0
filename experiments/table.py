"""Our table beside the paper's: rows in, Markdown, CSV and LaTeX out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.datasets import DATASETS
from experiments.methods import COMPARED, RECIPE, TITLES
from experiments.protocol import RULES
from experiments.published import PUBLISHED, Published
from experiments.store import Row, check_comparable
from experiments.summary import Group, Mean, best_within_error, group

MISSING = "–"
TEXT_COLUMNS = ("Data", "Method", "Settings")
HEADER = (
    *("Data", "N", "K", "Method", "Repeats"),
    *(f"{what} ({rule})" for rule in RULES for what in ("k*", "AUC")),
    *("s/fold", "paper k*", "paper AUC", "paper s/fold"),
)
# Data, N and K: said once for each data set.
N_SHARED = 3
CAPTION = (
    "k*: number of features chosen. AUC: on the test part, of the model refitted at k*. "
    "Mean ± standard error over the repeats. Bold: the best method, and those behind it by no more "
    "than one standard error of the difference in pairs. one_sd: "
    "k* is the smallest k whose mean validation AUC is within one standard deviation over the "
    "folds of the best. one_se: within one standard error of the difference to the best on the "
    "same folds. s/fold: median processor time on one core for all k of a fold; the paper's times "
    "are from another machine."
)

ABOUT_RECIPE = (
    f"{TITLES[RECIPE]}: the default recipe with its penalised models; it is shown beside the "
    "others."
)


@dataclass(frozen=True)
class Result:
    """One quantity: its mean, and whether it is the best of the methods, within the error."""

    mean: Mean
    best: bool


@dataclass(frozen=True)
class Line:
    """One method on one data set."""

    data: str
    method: str
    k: dict[str, Result]
    auc: dict[str, Result]
    refit_k: dict[str, float]
    seconds: float
    published: Published | None

    @property
    def repeats(self) -> int:
        """Number of rows behind it."""
        return self.k[RULES[0]].mean.n


def compared(rows: Iterable[Row]) -> list[Row]:
    """The rows that go in: those of other settings of SA-FDR are left to the ablation."""
    return [row for row in rows if row["method"] in TITLES]


def make_lines(rows: Iterable[Row]) -> list[Line]:
    """The numbers of the table, in the order of the paper's."""
    kept = compared(rows)
    check_comparable(kept)
    groups = group(kept)
    lines = []
    for data in DATASETS:
        by_method = {m: groups[data, m] for m in TITLES if (data, m) in groups}
        lines.extend(_lines_of(by_method))
    return lines


def _lines_of(by_method: dict[str, Group]) -> list[Line]:
    """The methods on one data set; the best of them is found by pairs."""
    k = {rule: {m: g.k(rule) for m, g in by_method.items()} for rule in RULES}
    auc = {rule: {m: g.auc(rule) for m, g in by_method.items()} for rule in RULES}
    if not by_method:
        return []
    best_k = {rule: best_within_error(_judged(k[rule]), largest=False) for rule in RULES}
    best_auc = {rule: best_within_error(_judged(auc[rule]), largest=True) for rule in RULES}
    return [
        Line(
            g.data,
            m,
            {r: Result(Mean.of(k[r][m].values()), m in best_k[r]) for r in RULES},
            {r: Result(Mean.of(auc[r][m].values()), m in best_auc[r]) for r in RULES},
            {r: Mean.of(g.refit_k(r).values()).value for r in RULES},
            g.fold_seconds(),
            PUBLISHED.get((g.data, m)),
        )
        for m, g in by_method.items()
    ]


def _judged(values: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Without the method whose models are penalised, where there are others."""
    return {m: of for m, of in values.items() if m in COMPARED} or values


def _cells(line: Line, bold: str, plus_minus: str) -> list[str]:
    """The texts of a line; `bold` is a format such as "**{}**"."""
    data = DATASETS[line.data]
    rows, features = data.counts[:2] if data.counts else (MISSING, MISSING)
    found = []
    for rule in RULES:
        found.append(_result(line.k[rule], 2, bold, plus_minus))
        auc = _result(line.auc[rule], 4, bold, plus_minus)
        found.append(MISSING if data.is_stand_in else auc)
    start = [data.title, str(rows), str(features), TITLES[line.method], str(line.repeats)]
    return [*start, *found, f"{line.seconds:.2f}", *_published(line.published)]


def _body(lines: Sequence[Line], bold: str, plus_minus: str) -> list[list[str]]:
    """The texts of all lines; what a line shares with the one above is left blank."""
    body = [_cells(line, bold, plus_minus) for line in lines]
    for (above, line), cells in zip(pairwise(lines), body[1:], strict=True):
        if above.data == line.data:
            cells[:N_SHARED] = [""] * N_SHARED
    return body


def _result(result: Result, digits: int, bold: str, plus_minus: str) -> str:
    text = f"{result.mean.value:.{digits}f}"
    text = bold.format(text) if result.best else text
    if math.isnan(result.mean.error):
        return text
    return f"{text}{plus_minus}{result.mean.error:.{digits}f}"


def _published(published: Published | None) -> list[str]:
    if published is None:
        return [MISSING] * 3
    return [f"{published.k:.2f}", f"{published.auc:.4f}", f"{published.seconds:g}"]


def to_markdown(lines: Sequence[Line], warning: str | None = None) -> str:
    """The table for the README, with a caption below."""
    table = markdown_table(HEADER, _body(lines, "**{}**", " ± "))
    notes = [CAPTION.replace("*", r"\*"), *_about_recipe(lines), *([warning] if warning else [])]
    return table + "".join(f"\n{note}\n" for note in notes)


def _about_recipe(lines: Sequence[Line]) -> list[str]:
    """What the recipe is, where it has no rows yet, and what makes them."""
    there = {line.data for line in lines if line.method == RECIPE}
    missing = [data for data in dict.fromkeys(line.data for line in lines) if data not in there]
    if not there:
        return []
    if not missing:
        return [ABOUT_RECIPE]
    command = f"python -m experiments run --data {','.join(missing)} --methods {RECIPE}"
    return [
        ABOUT_RECIPE,
        f"{TITLES[RECIPE]} has no rows of the other data sets: `{command}` makes them.",
    ]


def markdown_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; texts to the left, numbers to the right."""
    rule = ["---" if name in TEXT_COLUMNS else "---:" for name in header]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *body))


def to_latex(lines: Sequence[Line], warning: str | None = None) -> str:
    """The same table for a paper; it needs booktabs."""
    caption = _in_latex(" ".join([CAPTION, *([warning] if warning else [])]))
    header = [_in_latex(name) for name in HEADER]
    body = _body(lines, r"\textbf{{{}}}", r" $\pm$ ")
    return "".join(
        [
            f"\\begin{{table}}\n\\caption{{{caption}}}\n",
            "\\begin{tabular}{lrrl" + "r" * (len(HEADER) - 4) + "}\n\\toprule\n",
            *(" & ".join(cells) + " \\\\\n" for cells in [header]),
            "\\midrule\n",
            *(" & ".join(cells).replace(MISSING, "--") + " \\\\\n" for cells in body),
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n",
        ]
    )


def _in_latex(text: str) -> str:
    """A text of ours; k* becomes mathematics."""
    return text.replace("k*", "$k^*$").replace("±", r"$\pm$").replace("_", r"\_")


def to_csv(lines: Sequence[Line]) -> str:
    """All numbers in full, one line a method and data set."""
    return csv_text([_record(line) for line in lines])


def csv_text(records: Sequence[dict[str, object]]) -> str:
    """A CSV file with a header."""
    sink = io.StringIO()
    if records:
        writer = csv.DictWriter(sink, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return sink.getvalue()


def _record(line: Line) -> dict[str, object]:
    record: dict[str, object] = {"data": line.data, "method": line.method, "repeats": line.repeats}
    for rule in RULES:
        for name, result in (("k", line.k[rule]), ("auc", line.auc[rule])):
            hidden = name == "auc" and DATASETS[line.data].is_stand_in
            record[f"{name}_{rule}"] = "" if hidden else result.mean.value
            record[f"{name}_{rule}_error"] = "" if hidden else result.mean.error
            record[f"{name}_{rule}_best"] = "" if hidden else result.best
        record[f"refit_k_{rule}"] = line.refit_k[rule]
    record["seconds_per_fold"] = line.seconds
    for name in Published._fields:
        record[f"paper_{name}"] = "" if line.published is None else getattr(line.published, name)
    return record
