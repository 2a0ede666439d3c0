"""The commands, each a function of its options."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from experiments import ablation as batches
from experiments import against, simulations_table
from experiments import probabilities as slopes
from experiments import simulations as simulated
from experiments import table as ours
from experiments.datasets import DATASETS, SMALL, fetch, is_there, load
from experiments.environment import mixed_engines
from experiments.equal import other_tasks
from experiments.equal import regression as equal_regression
from experiments.equal import table as equal_table
from experiments.equal.methods import METHODS
from experiments.equal.protocol import EQUAL, EqualSettings
from experiments.equal.regression_sets import SETS as REGRESSION_SETS
from experiments.equal.sets import PAPER_SETS
from experiments.equal.sets import TITLES as SETS
from experiments.errors import PaperError
from experiments.listing import print_data_sets
from experiments.methods import SA_FDR
from experiments.progress import CellProgress
from experiments.protocol import ProtocolSettings
from experiments.run import Experiment, Plan, make_plan, run_all
from experiments.simulated_methods import METHODS as SIMULATED_METHODS
from experiments.store import Row, RowStore
from experiments.whole_files import write_whole


def data(options: Namespace) -> None:
    """List the data sets, and download some first."""
    every = [name for name, each in DATASETS.items() if each.source is not None]
    for name in every if options.fetch == ["all"] else options.fetch:
        fetch(name, options.data_dir)
    print_data_sets(options.data_dir)


def run(options: Namespace) -> None:
    """Do the cells that are missing."""
    names = _small(options.data_dir) if options.data == ["small"] else options.data
    _run(names, options.methods, options)


def table(options: Namespace) -> None:
    """Print and keep the table, and where the paper's claims hold."""
    rows = ours.compared(_rows(options.out))
    if not rows:
        raise PaperError(
            f"{options.out} has rows of other settings of SA-FDR only, which make no table."
        )
    lines, warning = ours.make_lines(rows), mixed_engines(rows)
    texts = {
        "table.md": ours.to_markdown(lines, warning),
        "table.csv": ours.to_csv(lines),
        "table.tex": ours.to_latex(lines, warning),
        "claims.md": against.to_markdown(against.make_checks(lines)),
    }
    _keep(options.out, texts)
    print(f"{texts['table.md']}\n{texts['claims.md']}", end="")


def figures(options: Namespace) -> None:
    """Draw Figure 1, and Figure 2 for each data set."""
    import matplotlib

    matplotlib.use("Agg")
    from experiments.figures import draw_figure_1, draw_figure_2, save, sets_to_draw

    rows = _rows(options.out)
    names = sets_to_draw(rows, options.data)
    folder = options.out / "figures"
    paths = save(draw_figure_1(load("heart", options.data_dir)), folder, "figure1")
    for name in names:
        paths += save(draw_figure_2(rows, name), folder, f"figure2-{name}")
    print("\n".join(map(str, paths)))


def ablation(options: Namespace) -> None:
    """Run the variants of the batches, and compare them with the defaults."""
    _run(options.data, [SA_FDR, *batches.VARIANTS], options)
    contrasts = batches.make_contrasts(_rows(options.out))
    markdown = batches.to_markdown(contrasts)
    _keep(options.out, {"ablation.md": markdown, "ablation.csv": batches.to_csv(contrasts)})
    print(markdown, end="")


def equal(options: Namespace) -> None:
    """Do the cells that are missing, and compare the methods at equal k."""
    if not options.table:
        _run_equal(options)
    rows = _rows(options.out, "equal")
    markdown = equal_table.to_markdown(rows)
    _keep(options.out, {"equal.md": markdown, "equal.csv": equal_table.to_csv(rows)})
    print(markdown, end="")


def _run_equal(options: Namespace) -> None:
    """Plan the cells of the comparison, and do them."""
    data = [name.lower() for name in options.data] or _there(options.data_dir)
    methods = options.method or list(METHODS)
    if options.again:
        RowStore(options.out).remove(data, methods)
    plan = make_plan(
        options.out,
        data=data,
        methods=methods,
        repeats=options.repeats,
        first=options.first,
        protocol=EqualSettings(),
        data_dir=options.data_dir,
        experiment=EQUAL,
    )
    _do(plan, options.jobs)


def other(options: Namespace) -> None:
    """The same for more classes and measured outputs."""
    data = options.data or list(other_tasks.SETS)
    methods = options.method or list(other_tasks.METHODS)
    settings = other_tasks.OtherSettings()
    _run_splits(options, data, methods, settings, other_tasks.OTHER_TASKS)
    markdown = other_tasks.to_markdown(_rows(options.out, "other"))
    _keep(options.out, {"other.md": markdown})
    print(markdown, end="")


def regression(options: Namespace) -> None:
    """Compare subsets of equal size by R² on test rows."""
    data = options.data or list(REGRESSION_SETS)
    methods = options.method or list(equal_regression.METHODS)
    settings = equal_regression.RegressionSettings()
    _run_splits(options, data, methods, settings, equal_regression.EXPERIMENT)
    markdown = equal_regression.to_markdown(_rows(options.out, "regression"))
    _keep(options.out, {"regression.md": markdown})
    print(markdown, end="")


def simulations(options: Namespace) -> None:
    """Run the simulations that are missing, and compare the methods' errors."""
    data = simulated.names_of(options.data or list(simulated.PROBLEMS))
    methods = options.method or list(SIMULATED_METHODS)
    settings = simulated.SimulationSettings()
    _run_splits(options, data, methods, settings, simulated.EXPERIMENT)
    rows = _rows(options.out, "simulations")
    markdown = simulations_table.to_markdown(rows)
    texts = {"simulations.md": markdown, "simulations.csv": simulations_table.to_csv(rows)}
    _keep(options.out, texts)
    print(markdown, end="")


def _run_splits(
    options: Namespace,
    data: Sequence[str],
    methods: Sequence[str],
    protocol: object,
    experiment: Experiment,
) -> None:
    """Plan the cells of a comparison, and run those that are missing."""
    if options.again:
        RowStore(options.out).remove(data, methods)
    plan = make_plan(
        options.out,
        data=data,
        methods=methods,
        repeats=options.repeats,
        first=options.first,
        protocol=protocol,
        experiment=experiment,
    )
    _do(plan, options.jobs)


def probabilities(options: Namespace) -> None:
    """Do the cells that are missing, and compare losses with the calibration slope and without."""
    data = options.data or [*_there(options.data_dir), *other_tasks.SETS]
    if options.again:
        RowStore(options.out).remove(data, [slopes.SELECTOR])
    plan = make_plan(
        options.out,
        data=data,
        methods=[slopes.SELECTOR],
        repeats=options.repeats,
        first=options.first,
        protocol=slopes.SlopeSettings(),
        data_dir=options.data_dir,
        experiment=slopes.PROBABILITIES,
    )
    _do(plan, options.jobs)
    markdown = slopes.to_markdown(_rows(options.out, "probabilities"))
    _keep(options.out, {"probabilities.md": markdown})
    print(markdown, end="")


def pack(options: Namespace) -> None:
    """Merge the rows of each data set and method into one file."""
    RowStore(options.out).pack()


def _there(data_dir: Path | None) -> list[str]:
    """The sets of the comparison that need no download; the others are named."""
    missing = [name for name in PAPER_SETS if not is_there(DATASETS[name], data_dir)]
    _say_missing(missing)
    return [name for name in SETS if name not in missing]


def _small(data_dir: Path | None) -> list[str]:
    """The small data sets that need no download; the others are named."""
    there = [name for name in SMALL if is_there(DATASETS[name], data_dir)]
    _say_missing([name for name in SMALL if name not in there])
    return there


def _say_missing(names: Sequence[str]) -> None:
    if names:
        _say(
            f"Left out, since they are not there: {', '.join(names)}. "
            "To get them: python -m experiments data"
        )


def _run(names: Sequence[str], methods: Sequence[str], options: Namespace) -> None:
    """Plan the paper's cells, and do them."""
    plan = make_plan(
        options.out,
        data=names,
        methods=methods,
        repeats=options.repeats,
        protocol=ProtocolSettings(max_features=options.max_features, scale_by=options.scale_by),
        data_dir=options.data_dir,
    )
    _do(plan, options.jobs)


def _do(plan: Plan, jobs: int) -> None:
    """Do what is missing, and say what failed."""
    for problem in plan.problems:
        _say(problem)
    with CellProgress(plan.n_done, len(plan.tasks)) as progress:
        failed = run_all(plan, jobs, progress.report)
    _say(f"{plan.n_done} cells were there, {len(plan.tasks) - len(failed)} done now.")
    for outcome in failed:
        _say(f"Failed: {outcome.cell}\n{outcome.error}")
    if failed:
        sys.exit(1)


def _rows(out: Path, command: str = "run") -> list[Row]:
    """All rows that can be read; the others are named."""
    rows, problems = RowStore(out).read_all()
    for problem in problems:
        _say(f"Left out: {problem}")
    if not rows:
        raise PaperError(
            f"{out} holds no rows. Make some with: python -m experiments {command} --out {out}"
        )
    return rows


def _keep(out: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        write_whole(out / name, text.encode())


def _say(text: str) -> None:
    """To the terminal, past whatever the output is piped into."""
    print(text, file=sys.stderr)
