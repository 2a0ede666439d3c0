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
    from safdr.cli.listing import print_data_sets
    from safdr.paper.datasets import DATASETS
    from safdr.paper.datasets import fetch as fetch_one

    with _clear_errors():
        known = [name for name, each in DATASETS.items() if each.source is not None]
        for name in known if fetch == "all" else _split(fetch):
            fetch_one(name, data_dir)
        print_data_sets(data_dir)


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

    with _clear_errors():
        protocol = ProtocolSettings(max_features=max_features, scale_by=scale_by)
        names, specs = _some("--data", data), _some("--methods", methods)
        _run(out, names, specs, repeats, jobs, protocol, data_dir)


@app.command
def table(*, out: Out = HERE) -> None:
    """Print our table beside the paper's, and where its claims hold on our rows.

    The table is kept as table.md, table.csv and table.tex; the claims as claims.md.
    """
    from safdr.paper import against
    from safdr.paper.environment import mixed_engines
    from safdr.paper.errors import PaperError
    from safdr.paper.table import compared, make_lines, to_csv, to_latex, to_markdown

    with _clear_errors():
        rows = compared(_rows(out))
        if not rows:
            raise PaperError(
                f"{out} has rows of other settings of SA-FDR only, which make no table."
            )
        lines, warning = make_lines(rows), mixed_engines(rows)
        markdown = to_markdown(lines, warning)
        texts = {"md": markdown, "csv": to_csv(lines), "tex": to_latex(lines, warning)}
        _keep(out, "table", texts)
        claims = against.to_markdown(against.make_checks(lines))
        _keep(out, "claims", {"md": claims})
        print(f"{markdown}\n{claims}", end="")


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
    from safdr.paper.figures import draw_figure_1, draw_figure_2, save, sets_to_draw

    with _clear_errors():
        rows = _rows(out)
        names = sets_to_draw(rows, _split(data))
        folder = out / "figures"
        paths = save(draw_figure_1(load("heart", data_dir)), folder, "figure1")
        for name in names:
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

    The rows go where those of ``safdr paper run`` go; the comparison to ablation.md and .csv. The
    validation rows of the folds decide; the test part is shown for information only.

    Parameters
    ----------
    data
        Names of data sets, separated by commas.
    """
    from safdr.paper.ablation import VARIANTS, make_contrasts, to_csv, to_markdown
    from safdr.paper.methods import SA_FDR
    from safdr.paper.protocol import ProtocolSettings

    with _clear_errors():
        protocol = ProtocolSettings(max_features=max_features, scale_by=scale_by)
        names = _some("--data", data)
        _run(out, names, [SA_FDR, *VARIANTS], repeats, jobs, protocol, data_dir)
        contrasts = make_contrasts(_rows(out))
        texts = {"md": to_markdown(contrasts), "csv": to_csv(contrasts)}
        _keep(out, "ablation", texts)
        print(texts["md"], end="")


def _split(names: str) -> list[str]:
    """Each name once, in order."""
    return list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def _some(option: str, names: str) -> list[str]:
    """At least one name."""
    from safdr.paper.errors import UsageError

    found = _split(names)
    if not found:
        raise UsageError(f"{option} must name at least one, separated by commas; got {names!r}.")
    return found


def _check_positive(**options: int) -> None:
    from safdr.paper.errors import UsageError

    for name, value in options.items():
        if value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1; got {value}.")


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Print what the user can mend without a traceback."""
    from safdr.paper.errors import PaperError

    try:
        yield
    except PaperError as error:
        _say(f"safdr paper: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("Stopped. Finished cells are kept; the same command goes on from here.")
        sys.exit(130)


def _say(text: str) -> None:
    """To the terminal, past whatever the output is piped into."""
    from safdr.cli.words import printable_lines

    print(printable_lines(text), file=sys.stderr)


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
    from safdr._atomic import write_atomically

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

    _check_positive(repeats=repeats, jobs=jobs, max_features=protocol.max_features)
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
