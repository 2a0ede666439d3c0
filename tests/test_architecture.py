"""Imports between packages, and how much code a fit enters."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

import safdr
from safdr import AnnealingSelectorCV

SOURCE = Path(safdr.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What each package may import of safdr; `safdr` stands for the public names.
MAY_IMPORT = {
    "_files": set(),
    "_memory": set(),
    "errors": set(),
    "result": {"_engine", "errors"},
    "_engine": {"_core", "_memory", "errors", "result"},
    "_estimators": {"_engine", "_memory", "errors", "result", "sources"},
    "measures": set(),
    "sources": set(),
    "table": {"_memory", "errors", "text"},
    "export": {"_files"},
    "display": {"safdr", "_estimators", "result", "text"},
    "text": set(),
    "report": {
        *("safdr", "_files", "_estimators", "display", "export", "measures", "result", "text")
    },
    "cli": {
        *("safdr", "_files", "_memory", "errors", "export", "measures", "report", "result"),
        *("sources", "table", "text"),
    },
}
# Private by their spelling alone: the standard library's, and what a scorer of scikit-learn wraps.
NOT_PRIVATE = {"_meta_nonempty", "_exit", "_fields", "_getframe", "_replace", "_score_func"}
ARRAYS_ALONE = {"numpy", "scipy"} | sys.stdlib_module_names


@cache
def tree_of(path):
    """A file, parsed once by the process that asks for it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def package_of(path):
    """The first name below the package: a module, or a folder with all that is in it."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


PACKAGES = {path: package_of(path) for path in FILES}


def imported_modules(tree):
    """Dotted names of all that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the package they reach into"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_imported(module):
    """Part of safdr that an imported name belongs to; None for another library."""
    top, *rest = module.split(".")
    if top != "safdr":
        return None
    return rest[0] if rest and rest[0] in {*PACKAGES.values(), "_core"} else "safdr"


def private_names_defined(tree):
    """Private methods and attributes that a module gives its own objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (each.name for each in node.body if isinstance(each, ast.FunctionDef))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def reaches(tree):
    """Private names that a module reaches for in something other than itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"getattr", "hasattr"}:
            owner, name = node.args[0], ast.unparse(node.args[1]).strip("\"'")
        else:
            continue
        if isinstance(owner, ast.Call):
            owner = owner.func  # super()._name
        own = isinstance(owner, ast.Name) and owner.id in {"self", "cls", "super"}
        if re.match(r"_[^_]", name) and not own:
            yield name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("selector._search(rows)", {"_search"}),
        ("super()._search(rows) or self._search(rows)", set()),
        ("getattr(selector, '_search')(rows)", {"_search"}),
        ("self.selector._search(rows)", {"_search"}),
        ("selector.__dict__", set()),
    ],
)
def test_a_reach_into_another_object_is_seen(source, found):
    tree = ast.parse(f"def _search(): ...\n{source}")
    assert set(reaches(tree)) - set(private_names_defined(tree)) == found


def test_every_package_has_a_rule():
    assert {*PACKAGES.values()} == {*MAY_IMPORT, "__init__"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_those_it_may(package):
    found = {
        (path.name, module)
        for path in FILES
        if PACKAGES[path] == package
        for module in imported_modules(tree_of(path))
        if package_imported(module) not in {None, package, *MAY_IMPORT[package]}
    }
    assert not found


def test_the_engine_knows_arrays_only():
    for path in FILES:
        if PACKAGES[path] in {"_engine", "result", "errors"}:
            foreign = {name.split(".")[0] for name in imported_modules(tree_of(path))} - {"safdr"}
            # Torch is known in one folder, which is imported where a device is asked for.
            on_device = {"torch"} if path.parent.name == "device" else set()
            assert foreign <= ARRAYS_ALONE | on_device, path


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_leaves_the_private_names_of_others_alone(package):
    own = [tree_of(path) for path in FILES if PACKAGES[path] == package]
    defined = {name for tree in own for name in private_names_defined(tree)}
    found = {name for tree in own for name in reaches(tree)}
    assert not found - defined - NOT_PRIVATE


def test_the_experiments_know_public_names_only():
    paths = sorted((Path(__file__).parent.parent / "experiments").glob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    defined = {name for tree in trees for name in private_names_defined(tree)}
    assert trees
    for tree in trees:
        ours = {name for name in imported_modules(tree) if name.split(".")[0] == "safdr"}
        assert ours <= {"safdr", *(f"safdr.{name}" for name in safdr.__all__)}
        assert set(reaches(tree)) <= defined | NOT_PRIVATE


def functions_called(function, *arguments):
    """Files and functions of the package that a call enters."""
    entered = set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            entered.add((code.co_filename, code.co_qualname.split(".<")[0]))

    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return {
        (path, name)
        for path, name in entered
        if not name.startswith("<") and not name.endswith(("__init__", "__post_init__"))
    }


@pytest.mark.parametrize(
    ("selector", "max_files", "max_functions"),
    [
        (AnnealingSelectorCV.as_published([1, 2], cv=2), 12, 92),
        (AnnealingSelectorCV([1, 2], cv=2), 13, 121),
    ],
    ids=["as published", "recipe"],
)
def test_a_reader_can_follow_fit(selector, max_files, max_functions):
    """Of the estimators; the engine adds its own."""
    rows, labels = load_breast_cancer(return_X_y=True)
    selector.set_params(random_state=0, annealing__n_replicas=5)
    calls = functions_called(selector.fit, rows, labels)
    own = {call for call in calls if "_estimators" in call[0]}
    assert 5 < len({path for path, _ in own}) <= max_files
    assert len(own) <= max_functions


def test_the_version_is_the_same_everywhere():
    root = Path(__file__).parent.parent
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited.group(1) == safdr.__version__
