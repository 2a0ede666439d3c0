"""Options from a TOML file; the command line comes first."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError
from cyclopts.config import Dict

from safdr.cli.lists import as_words
from safdr.errors import meant

OPTION = "--config"
# What is asked of one call, and is nothing to keep.
NO_SETTINGS = {OPTION, "--help-all"}


def read_config(app: App, commands: tuple[str, ...], arguments: Any) -> None:
    """Fill in from the file of ``--config`` what the command line has not given."""
    path = _path(arguments)
    if path is None:
        return
    settings = {key.replace("_", "-"): value for key, value in _load(path).items()}
    known = _long_names(arguments)
    _check(path, settings, known)
    settings = as_words({known[key]: value for key, value in settings.items()})
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


def _long_names(arguments: Any) -> dict[str, str]:
    """Every name of an option, and its long one; all without dashes."""
    found = {}
    for argument in arguments:
        names = [name for name in argument.names if name.startswith("-")]
        if NO_SETTINGS.isdisjoint(names):
            found.update({_bare(name): _bare(max(names, key=len)) for name in names})
    return found


def _bare(name: str) -> str:
    return name.removeprefix("--").removeprefix("-")


def _check(path: Path, settings: dict[str, Any], known: dict[str, str]) -> None:
    """Refuse what is no option, and name those that are."""
    tables = [key for key, value in settings.items() if isinstance(value, dict)]
    if tables:
        raise CycloptsError(
            msg=f"{OPTION} {path} has a table [{tables[0]}]. Options go at the top level, one "
            "`option = value` a line, without a line in brackets."
        )
    unknown = sorted(set(settings) - set(known))
    if unknown:
        listed = ", ".join(_with_guess(key, known) for key in unknown)
        raise CycloptsError(
            msg=f"{OPTION} {path} has unknown settings: {listed}. Known are: "
            f"{', '.join(sorted(set(known.values()), key=str.lower))}."
        )


def _with_guess(key: str, known: dict[str, str]) -> str:
    near = meant(key, set(known.values()))
    return key if near is None else f"{key} (did you mean {near}?)"
