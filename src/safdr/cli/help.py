"""What ``--help`` shows: options that many runs need. ``--help-all`` shows the others too."""

from typing import Any

from cyclopts.help import DefaultFormatter

COMMON = {
    *("--target", "--positive", "--drop", "--categorical", "--missing"),
    *("--test-size", "--split-by", "--weight"),
    *("--k", "--k-max", "--rule", "--seed", "--jobs", "--prove", "--stability"),
    *("--always-include", "--never-include", "--sign"),
    *("--report", "--out", "--export", "--force", "--help-all"),
}


class CommonOptions(DefaultFormatter):
    """Leaves out rare options, and panels that have no others."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Print a panel of options."""
        common = [entry for entry in panel.entries if _is_common(entry.names)]
        if common:
            super().__call__(console, options, panel.copy(entries=common))


def _is_common(names: tuple[str, ...]) -> bool:
    """Whether one of the names is; some versions name the file, too, which is no option."""
    return not any(name.startswith("--") for name in names) or not COMMON.isdisjoint(names)


def print_all() -> None:
    """Print all options of ``safdr select``."""
    from safdr.cli.root import app

    app["select"].help_formatter = DefaultFormatter()
    app.help_print(["select"])
