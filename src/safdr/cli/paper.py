"""``safdr paper``: the paper's experiments. Heavy imports wait inside the commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from safdr.paper.protocol import ProtocolSettings
    from safdr.paper.store import Row

app = App(name="paper", help="Run the experiments of the paper, and make its table and figures.")

UCI_SETS = "heart,cancer,ozone,spambase,student,bankruptcy,card_default,madelon"
# The ablation's default: small enough to repeat often, and different enough to tell.
ABLATION_SETS = "heart,cancer,ozone,spambase,student,bankruptcy"

DataDir = Annotated[
    Path | None,
    Parameter(name="--data-dir", help="Folder of the data; else $SAFDR_DATA, else a cache folder."),
]
Out = Annotated[Path, Parameter(name="--out", help="Folder of rows, tables and figures.")]
Repeats = Annotated[int, Parameter(name="--repeats", help="Repeats of each data set and method.")]
Jobs = Annotated[int, Parameter(name="--jobs", help="Cells done at the same time.")]
MaxFeatures = Annotated[int, Parameter(name="--max-features", help="Largest size scanned.")]
ScaleBy = Annotated[
    Literal["train", "test"],
    Parameter(name="--scale-by", help="Rows that standardise; the paper took the test part."),
]
HERE = Path("paper")


@app.command
def data(*, fetch: str = "", data_dir: DataDir = None) -> None:
    """List the data sets: which are there, and how to get the others.

    Parameters
    ----------
    fetch
        Names of data sets to download first, separated by commas; "all" for all that can be.
    """
    from rich.console import Console
    from rich.table import Table

    from safdr.paper.datasets import DATASETS, data_folder, how_to_get
    from safdr.paper.datasets import fetch as fetch_one

    with _clear_errors():
        known = [name for name, each in DATASETS.items() if each.source is not None]
        for name in known if fetch == "all" else _split(fetch):
            fetch_one(name, data_dir)
        table = Table("Name", "Data", "Rows × features", "State", "How to get it")
        for name, each in DATASETS.items():
            shape = "unknown" if each.counts is None else f"{each.counts[0]} × {each.counts[1]}"
            table.add_row(name, each.title, shape, _state(name, data_dir), how_to_get(each))
        console = Console()
        console.print(f"Data folder: {data_folder(data_dir)}", soft_wrap=True)
        console.print(table)


def _state(name: str, data_dir: Path | None) -> str:
    """Whether the data set can be used."""
    from safdr.paper.datasets import get_dataset, is_there, load
    from safdr.paper.errors import DataError

    if not is_there(get_dataset(name), data_dir):
        return "missing"
    try:
        load(name, data_dir)
    except DataError:
        return "wrong"
    return "there"


@app.command
def run(
    *,
    data: str = UCI_SETS,
    methods: str = "sa-fdr,rfe,lasso",
    repeats: Repeats = 20,
    jobs: Jobs = 1,
    out: Out = HERE,
    data_dir: DataDir = None,
    max_features: MaxFeatures = 30,
    scale_by: ScaleBy = "train",
) -> None:
    """Do the cells (data, method, repeat) that are missing; stop and go on at any moment.

    Parameters
    ----------
    data
        Names of data sets, separated by commas.
    methods
        Of sa-fdr, rfe, lasso and abess, separated by commas. SA-FDR with other settings is
        written as sa-fdr+n_batches=10+batch_draw=proposal.
    """
    from safdr.paper.protocol import ProtocolSettings

    protocol = ProtocolSettings(max_features=max_features, scale_by=scale_by)
    with _clear_errors():
        _run(out, _split(data), _split(methods), repeats, jobs, protocol, data_dir)


@app.command
def table(*, out: Out = HERE) -> None:
    """Print our table beside the paper's; keep it as table.md, table.csv and table.tex."""
    from safdr.paper.table import make_lines, to_csv, to_latex, to_markdown

    with _clear_errors():
        lines = make_lines(_rows(out))
        texts = {"md": to_markdown(lines), "csv": to_csv(lines), "tex": to_latex(lines)}
        _keep(out, "table", texts)
        print(texts["md"], end="")


@app.command
def figures(*, data: str = "", out: Out = HERE, data_dir: DataDir = None) -> None:
    """Draw Figure 1 (the search on Heart) and Figure 2 (curves against k) as SVG and PNG.

    Parameters
    ----------
    data
        Data sets to draw Figure 2 for, separated by commas; all that have rows if not given.
    """
    import matplotlib

    matplotlib.use("Agg")
    from safdr.paper.datasets import load
    from safdr.paper.figures import draw_figure_1, draw_figure_2, save

    with _clear_errors():
        rows = _rows(out)
        folder = out / "figures"
        paths = save(draw_figure_1(load("heart", data_dir)), folder, "figure1")
        for name in _split(data) or sorted({row["data"] for row in rows}):
            paths += save(draw_figure_2(rows, name), folder, f"figure2-{name}")
        print("\n".join(map(str, paths)))


@app.command
def ablation(
    *,
    data: str = ABLATION_SETS,
    repeats: Repeats = 20,
    jobs: Jobs = 1,
    out: Out = HERE,
    data_dir: DataDir = None,
    max_features: MaxFeatures = 30,
    scale_by: ScaleBy = "train",
) -> None:
    """Run SA-FDR with other batch settings, and compare it with the defaults in pairs.

    The rows go where those of ``safdr paper run`` go; the comparison to ablation.md and .csv.

    Parameters
    ----------
    data
        Names of data sets, separated by commas.
    """
    from safdr.paper.ablation import VARIANTS, make_contrasts, to_csv, to_markdown
    from safdr.paper.methods import SA_FDR
    from safdr.paper.protocol import ProtocolSettings

    protocol = ProtocolSettings(max_features=max_features, scale_by=scale_by)
    with _clear_errors():
        _run(out, _split(data), [SA_FDR, *VARIANTS], repeats, jobs, protocol, data_dir)
        contrasts = make_contrasts(_rows(out))
        texts = {"md": to_markdown(contrasts), "csv": to_csv(contrasts)}
        _keep(out, "ablation", texts)
        print(texts["md"], end="")


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Print what the user can mend without a traceback."""
    from safdr.paper.errors import PaperError

    try:
        yield
    except PaperError as error:
        sys.exit(f"safdr paper: {error}")
    except KeyboardInterrupt:
        _say("Stopped. Finished cells are kept; the same command goes on from here.")
        sys.exit(130)


def _say(text: str) -> None:
    """To the terminal, past whatever the output is piped into."""
    print(text, file=sys.stderr)


def _rows(out: Path) -> list[Row]:
    """All rows that can be read; the others are named."""
    from safdr.paper.errors import PaperError
    from safdr.paper.store import RowStore

    rows, problems = RowStore(out).read_all()
    for problem in problems:
        _say(f"Left out: {problem}")
    if not rows:
        raise PaperError(f"{out} holds no rows. Make some with: safdr paper run --out {out}")
    return rows


def _keep(out: Path, name: str, texts: dict[str, str]) -> None:
    from safdr.paper.atomic import write_atomically

    for kind, text in texts.items():
        write_atomically(out / f"{name}.{kind}", text.encode())


def _run(
    out: Path,
    data: Sequence[str],
    methods: Sequence[str],
    repeats: int,
    jobs: int,
    protocol: ProtocolSettings,
    data_dir: Path | None,
) -> None:
    """Plan, do, and say what failed."""
    from safdr.cli.progress import CellProgress
    from safdr.paper.run import make_plan, run_all

    plan = make_plan(
        out, data=data, methods=methods, repeats=repeats, protocol=protocol, data_dir=data_dir
    )
    for problem in plan.problems:
        _say(problem)
    with CellProgress(plan.n_done, len(plan.tasks)) as progress:
        failed = run_all(plan, jobs, progress.report)
    _say(f"{plan.n_done} cells were there, {len(plan.tasks) - len(failed)} done now.")
    for outcome in failed:
        _say(f"Failed: {outcome.cell}\n{outcome.error}")
    if failed:
        sys.exit(1)
