"""The rooms of the house, and who may know whom; the public names, and what they say."""

import ast
import inspect
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

import safdr
from safdr import AnnealingSelector, testing

SOURCE = Path(safdr.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What each room may import of the package; `safdr` is the public names. A plain name is a module.
MAY_IMPORT = {
    "_atomic": set(),
    "_frames": set(),
    "_memory": set(),
    "errors": set(),
    "result": {"_engine", "errors", "trace"},
    "trace": {"_engine"},
    "_engine": {"_core", "_memory", "errors", "result", "trace"},
    "_estimators": {
        *("_atomic", "_engine", "_frames", "_memory", "errors", "measures", "result", "sources"),
    },
    "measures": set(),
    "sources": set(),
    "table": {"errors"},
    "export": {"_atomic", "_frames", "errors", "measures", "table"},
    "display": {"safdr", "_frames", "result"},
    "report": {"safdr", "_atomic", "_estimators", "display", "measures", "result"},
    "cli": {
        "safdr",
        "_atomic",
        "_memory",
        "errors",
        "export",
        "measures",
        "report",
        "result",
        "sources",
        "table",
    },
    "testing": {"_engine"},
}
# Private by their spelling alone: the standard library's, and what a scorer of scikit-learn wraps.
NOT_PRIVATE = {"_exit", "_fields", "_getframe", "_replace", "_score_func"}
ARRAYS_ALONE = {"numpy", "scipy"} | sys.stdlib_module_names


@cache
def tree_of(path):
    """A file, parsed once by the process that asks for it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path):
    """The first name below the package: a module, or a folder with all that is in it."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


ROOMS = {path: room_of(path) for path in FILES}


def imported_modules(tree):
    """Dotted names of all that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room they reach into"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_imported(module):
    """The room of the package that an imported name belongs to; None for another package's."""
    top, *rest = module.split(".")
    if top != "safdr":
        return None
    return rest[0] if rest and rest[0] in {*ROOMS.values(), "_core"} else "safdr"


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


def test_the_map_names_every_module_and_no_other():
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Where things are\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(?:safdr/)?([\w/]*)` \| (.*?) \|", section, flags=re.MULTILINE)
    named = [room + name for room, names in rows for name in re.findall(r"`(\w+)`", names)]
    modules = [path.relative_to(SOURCE).with_suffix("") for path in FILES]
    assert sorted(named) == sorted(str(each) for each in modules if each.name != "__init__")
    assert len(section.splitlines()) <= 60


def test_every_room_has_a_rule():
    assert {*ROOMS.values()} == {*MAY_IMPORT, "__init__"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_those_it_may(room):
    found = {
        (path.name, module)
        for path in FILES
        if ROOMS[path] == room
        for module in imported_modules(tree_of(path))
        if room_imported(module) not in {None, room, *MAY_IMPORT[room]}
    }
    assert not found


def test_the_engine_knows_arrays_only():
    for path in FILES:
        if ROOMS[path] in {"_engine", "measures", "result"}:
            foreign = {name.split(".")[0] for name in imported_modules(tree_of(path))} - {"safdr"}
            # Torch is known in one folder, which is imported where a device is asked for.
            on_device = {"torch"} if path.parent.name == "device" else set()
            assert foreign <= ARRAYS_ALONE | on_device, path


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_leaves_the_private_names_of_others_alone(room):
    own = [tree_of(path) for path in FILES if ROOMS[path] == room]
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


def files_called(function, *arguments):
    """Files of the package in the order in which calls enter them."""
    entered = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            entered.append(path)

    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize(
    ("make", "n_files", "n_ways"),
    [(AnnealingSelector.as_published, 20, 60), (AnnealingSelector, 33, 120)],
    ids=["as published", "recipe"],
)
def test_a_reader_can_follow_fit(make, n_files, n_ways):
    """A way from one file to another counts once, however often a loop takes it."""
    rows, labels = load_breast_cancer(return_X_y=True)
    entered = files_called(make(3, random_state=0).fit, rows, labels)
    ways = {(here, there) for here, there in pairwise(entered) if here != there}
    assert 10 < len(set(entered)) <= n_files
    assert len(ways) <= n_ways


# ---- Public names -------------------------------------------------------------------------------


# Those of the contract tests are public too, but not handed out by the package.
PUBLIC = dict.fromkeys(safdr.__all__, safdr) | dict.fromkeys(testing.__all__, testing)


@pytest.mark.parametrize("name", safdr.__all__)
def test_a_public_name_resolves_and_is_listed(name):
    assert getattr(safdr, name).__name__ == name
    assert name in dir(safdr)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Annealer"):
        _ = safdr.Annealer


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_of_its_own(name):
    doc = getattr(PUBLIC[name], name).__doc__
    assert doc
    assert doc.strip().splitlines()[0].endswith(".")


def is_function_or_estimator(name):
    member = getattr(PUBLIC[name], name)
    return inspect.isfunction(member) or hasattr(member, "fit")


@pytest.mark.parametrize("name", [n for n in PUBLIC if is_function_or_estimator(n)])
def test_functions_and_estimators_document_parameters_and_show_an_example(name):
    member = getattr(PUBLIC[name], name)
    doc = inspect.getdoc(member)
    assert "\nParameters\n----------\n" in doc
    assert "\nExamples\n--------\n>>> " in doc
    assert set(inspect.signature(member).parameters) <= set(documented_parameters(doc))


def documented_parameters(doc):
    """Names at the head of the entries under Parameters; one entry may serve several."""
    section = doc.split("\nParameters\n----------\n")[1].split("\n-----")[0]
    for head in re.findall(r"^\S.*$", section, flags=re.MULTILINE):
        yield from (name.strip().lstrip("*") for name in head.split(" : ")[0].split(","))


def signature(name):
    """A public name as users write it, with its parameters."""
    member = getattr(PUBLIC[name], name)
    if inspect.isclass(member) and issubclass(member, Exception):
        return name
    return f"{name}({', '.join(inspect.signature(member).parameters)})"


def test_public_names_change_on_purpose_only():
    kept = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8").splitlines()
    now = [signature(name) for name in sorted(PUBLIC)]
    came, went = sorted({*now} - {*kept}), sorted({*kept} - {*now})
    said = "If that is meant, change tests/public_names.txt and say so in CHANGELOG.md."
    assert now == kept, f"Came: {came}. Went: {went}. {said}"


def test_code_such_as_users_write_uses_every_public_name():
    used = (
        Path(__file__).with_name("typed_use.py").read_text(encoding="utf-8").split("\n\n\n", 1)[1]
    )
    assert [name for name in PUBLIC if not re.search(rf"\b{name}\b", used)] == []


def test_the_version_is_the_same_everywhere():
    root = Path(__file__).parent.parent
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited.group(1) == safdr.__version__
