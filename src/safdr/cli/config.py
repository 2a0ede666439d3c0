"""Options from a TOML file; the command line comes first."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError
from cyclopts.config import Dict

OPTION = "--config"


def read_config(app: App, commands: tuple[str, ...], arguments: Any) -> None:
    """Fill in from the file of ``--config`` what the command line has not given.

    Parameters
    ----------
    app : App
        The command.
    commands : tuple of str
        The words that led to it.
    arguments : ArgumentCollection
        What was parsed so far; gets the rest.
    """
    path = _path(arguments)
    if path is None:
        return
    settings = {key.replace("_", "-"): value for key, value in _load(path).items()}
    _check(path, settings, arguments)
    Dict(settings, source=str(path), use_commands_as_keys=False)(app, commands, arguments)


def _path(arguments: Any) -> Path | None:
    for argument in arguments:
        if OPTION in argument.names and argument.tokens:
            return Path(argument.tokens[-1].value)
    return None


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CycloptsError(msg=f"{OPTION} {path} can't be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CycloptsError(msg=f"{OPTION} {path} is not TOML: {error}.") from None


def _check(path: Path, settings: dict[str, Any], arguments: Any) -> None:
    """Refuse what is no option, and name those that are."""
    known = {name.removeprefix("--").removeprefix("-") for a in arguments for name in a.names}
    known -= {OPTION.removeprefix("--")}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise CycloptsError(
            msg=f"{OPTION} {path} has unknown settings: {', '.join(unknown)}. Known are: "
            f"{', '.join(sorted(known))}."
        )
