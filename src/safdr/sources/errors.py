"""What can be wrong with a source."""


class SourceError(ValueError):
    """Rows can't be read; the message names the source."""


class MissingExtraError(ImportError):
    """A package that a kind of source needs is not installed."""


def require(module: str, extra: str, what: str) -> None:
    """Say how to get a package that is missing."""
    from importlib.util import find_spec

    if find_spec(module.partition(".")[0]) is None:
        raise MissingExtraError(
            f"{what} needs {module.partition('.')[0]}, which is not installed. Install it with: "
            f"pip install 'safdr[{extra}]'"
        )
