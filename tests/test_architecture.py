"""The rooms of the house, and who may know whom; the public names, and what they say."""

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest

import safdr
from safdr import testing

SOURCE = Path(safdr.__file__).parent

# What each room of the engine may import of the package: arrays go down, nothing comes back up.
ENGINE = {
    "moments": {"moments"},
    "checkpoint": set(),
    "result": {"moments"},
    "criterion": {"moments"},
    "constraints": {"constraints", "moments"},
    "batches": {"moments"},
    "annealing": {
        *("annealing", "_core", "checkpoint", "constraints", "criterion", "moments", "result")
    },
    "design": {"_core", "moments"},
    "contest": {"moments"},
    "logistic": {"_core", "contest", "design", "moments"},
    "multinomial": {"_core", "contest", "design", "moments"},
    "least_squares": {"checkpoint", "moments"},
    "picks": {"moments"},
    "problem": {
        *("criterion", "least_squares", "logistic", "moments", "multinomial", "picks"),
    },
    "spaces": {"annealing", "constraints", "criterion", "moments"},
    "search": {
        *("annealing", "batches", "constraints", "criterion", "moments", "picks"),
        *("problem", "result", "spaces"),
    },
    "testing": {"testing", "annealing", "criterion", "moments"},
}
# Rooms that know matrices; results and the estimators stand between them and the readers.
INNER = set(ENGINE) - {"checkpoint", "result"} | {"_core"}
READERS = {"display", "report", "export", "cli", "paper"}
# Rooms about tables, and what they may import of the package: neither models nor engine.
ABOUT_TABLES = {"table": {"table"}, "export": {"export", "table"}}
ENGINE_MAY_USE = {"numpy", "scipy"}


def room_of(path):
    """The first name below the package: a module, or a folder with all that is in it."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(tree):
    """Dotted names of all that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room they reach into"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms():
    """Room by room: the rooms of the package and the other packages that it imports."""
    own, foreign = {}, {}
    names = {room_of(path) for path in SOURCE.rglob("*.py")} | {"_core"}
    for path in SOURCE.rglob("*.py"):
        room = room_of(path)
        own.setdefault(room, set())
        foreign.setdefault(room, set())
        for module in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
            top, *rest = module.split(".")
            if top != "safdr":
                foreign[room].add(top)
            elif rest and rest[0] in names:
                own[room].add(rest[0])
    return own, foreign


OWN, FOREIGN = rooms()


def test_the_rooms_are_found():
    assert set(ENGINE) <= set(OWN)
    assert "criterion" in OWN["search"]
    assert "_core" in OWN["annealing"]
    assert "sklearn" in FOREIGN["selector_base"]


@pytest.mark.parametrize("room", sorted(ENGINE))
def test_a_room_of_the_engine_imports_only_those_below(room):
    assert OWN[room] <= ENGINE[room]


@pytest.mark.parametrize("room", sorted(ENGINE))
def test_a_room_of_the_engine_knows_arrays_only(room):
    assert FOREIGN[room] <= ENGINE_MAY_USE | sys.stdlib_module_names


@pytest.mark.parametrize("room", sorted(READERS & set(OWN)))
def test_a_reader_of_results_never_reaches_into_the_engine(room):
    assert not OWN[room] & INNER


@pytest.mark.parametrize("room", sorted(ABOUT_TABLES))
def test_a_room_about_tables_knows_no_estimator(room):
    assert OWN[room] == ABOUT_TABLES[room]


# The package itself hands out the names of all rooms.
@pytest.mark.parametrize("room", sorted(set(OWN) - READERS - {"__init__"}))
def test_nothing_but_readers_imports_a_reader(room):
    assert not OWN[room] & READERS


@pytest.mark.parametrize("room", sorted(set(OWN) - {"cli", "__main__"}))
def test_nothing_imports_the_command_line(room):
    assert "cli" not in OWN[room]


@pytest.mark.parametrize("room", sorted(set(OWN) - {"testing"}))
def test_nothing_imports_the_contract_tests(room):
    assert "testing" not in OWN[room]


def test_only_the_page_of_the_report_knows_the_template_engine():
    knowing = {
        path.name
        for path in (SOURCE / "report").rglob("*.py")
        if "jinja2" in set(imported_modules(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert knowing == {"page.py"}


def test_whole_files_are_written_with_the_standard_library_alone():
    assert not OWN["atomic"]
    assert FOREIGN["atomic"] <= sys.stdlib_module_names


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
