"""Exports give the numbers of the model, whatever the table is called and holds."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

pa = pytest.importorskip("pyarrow")

from safdr.export.errors import ExportError, WrongFormulaError  # noqa: E402
from safdr.export.formula import Formula, Term  # noqa: E402
from safdr.export.python import to_python  # noqa: E402
from safdr.export.sql import to_sql  # noqa: E402
from safdr.export.write import export  # noqa: E402
from safdr.table.recipe import Feature  # noqa: E402

# Each would do something if it were ever pasted into code.
HOSTILE = [
    "plain",
    "with space",
    "<script>alert(1)</script>",
    'double " quote',
    "single ' quote",
    '"; DROP TABLE "loans"; --',
    "'); import os; os._exit(7) #",
    "{target} %s {0}",
    "back\\slash\\",
    "new\nline -- comment\n; SELECT 1",
    '"""',
    "emoji 🦊 and ünïcode",
    "right \u202eto left",
    "line\u2028separator",
    "log_odds",
    "Probability",
    "tensor_3",
    "rows_to_score",
    "x" * 300,
    "SELECT",
    "[b]markup[/b]",
]
LEVELS = ["a' OR '1'='1", 'say "hi"', "new\nline", "🦊", "\\", "1", "--"]


def make_table(names=HOSTILE, n_rows=50):
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=n_rows).tolist() for name in names}
    columns["te'x\"t"] = [LEVELS[i % len(LEVELS)] for i in range(n_rows)]
    columns["yes?"] = [bool(i % 3) for i in range(n_rows)]
    return pa.table(columns)


def make_formula(table, fill=None):
    rng = np.random.default_rng(2)
    features = [
        Feature(name, name, "number", fill=fill)
        for name in table.column_names
        if table.schema.field(name).type == pa.float64()
    ]
    features += [Feature("level", "te'x\"t", "level", level, fill and 0.0) for level in LEVELS[:-1]]
    features.append(Feature("yes?", "yes?", "boolean", fill=fill and 1.0))
    terms = tuple(Term(feature, float(rng.normal())) for feature in features)
    target, negative, positive = 'tar"get\n', "no'", '"""yes\n'
    return Formula(terms, 0.1, target, negative, positive, 'lo"ans; --')


@pytest.fixture(params=[False, True], ids=["complete", "gaps"])
def case(request):
    """A table with hostile names, a formula on it, and its log-odds."""
    table = make_table()
    if request.param:
        for name in ("plain", "te'x\"t", "yes?"):
            values = table.column(name).to_pylist()
            values[3::5] = [None] * len(values[3::5])
            i = table.column_names.index(name)
            table = table.set_column(i, name, pa.array(values))
    formula = make_formula(table, fill=0.25 if request.param else None)
    return table, formula, formula.log_odds(table)


@pytest.mark.parametrize("ending", ["py", "sql", "onnx"])
def test_an_export_is_checked_as_it_is_made(case, ending):
    if ending == "onnx":
        pytest.importorskip("onnx")
    table, formula, wanted = case
    path = Path(f"model.{ending}")
    assert export(path, formula, table, wanted)
    with pytest.raises(WrongFormulaError, match="differs from the model by up to"):
        export(path, formula, table, wanted * (1 + 1e-7))


def test_the_python_file_runs_on_its_own(case, tmp_path):
    table, formula, wanted = case
    path = tmp_path / "model.py"
    path.write_bytes(export(path, formula, table, wanted))
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(table.to_pylist()))
    script = (
        "import json, model\n"
        "rows = json.load(open('rows.json'))\n"
        "print(json.dumps([[model.log_odds(r), model.probability(r)] for r in rows]))\n"
    )
    found = json.loads(
        run([sys.executable, "-I", "-c", "import sys; sys.path[:0]=['.']\n" + script], tmp_path)
    )
    check(np.array(found), wanted)


def test_the_python_file_scores_a_csv_file(tmp_path):
    table = make_table(["height", "weight"])
    formula = make_formula(table)
    path = tmp_path / "score.py"
    path.write_bytes(export(path, formula, table, formula.log_odds(table)))
    text = io.StringIO()
    writer = csv.DictWriter(text, table.column_names)
    writer.writeheader()
    writer.writerows(table.to_pylist())
    printed = run([sys.executable, "-I", "score.py"], tmp_path, text.getvalue())
    np.testing.assert_allclose(
        [float(line) for line in printed.split()], formula.probability(table), atol=1e-9
    )


def run(command, folder, text=None):
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, input=text, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(found, wanted):
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:, 1], expit(wanted), atol=1e-9)


def test_the_query_runs_in_sqlite_and_touches_nothing(case):
    table, formula, wanted = case
    query = export(Path("m.sql"), formula, table, wanted).decode()
    with sqlite3.connect(":memory:") as database:
        database.create_function("EXP", 1, lambda z: None if z is None else float(np.exp(z)))
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in table.column_names)
        database.execute(f'CREATE TABLE "lo""ans; --" ({listed})')
        database.execute("CREATE TABLE loans (a)")
        marks = ", ".join("?" * table.num_columns)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        database.executemany(f'INSERT INTO "lo""ans; --" VALUES ({marks})', rows)
        # sqlite3 refuses more than one statement.
        cursor = database.execute(query)
        names = [each[0] for each in cursor.description]
        found = np.array([row[-2:] for row in cursor], dtype=float)
        assert names == [*table.column_names, "log_odds_", "probability_"]
        assert database.execute("SELECT COUNT(*) FROM loans").fetchone() == (0,)
    check(found, wanted)


def test_the_query_runs_in_duckdb(case):
    duckdb = pytest.importorskip("duckdb")
    table, formula, wanted = case
    query = export(Path("m.sql"), formula, table, wanted).decode()
    with duckdb.connect() as database:
        database.register("given", table)
        database.execute('CREATE TABLE "lo""ans; --" AS SELECT * FROM given')
        found = np.array([row[-2:] for row in database.execute(query).fetchall()])
    check(found, wanted)


def test_a_query_on_an_unknown_value_gives_none():
    table = make_table(["a"])
    formula = make_formula(table)
    query = to_sql(formula, set(table.column_names))
    with sqlite3.connect(":memory:") as database:
        database.create_function("EXP", 1, lambda z: None if z is None else float(np.exp(z)))
        database.execute('CREATE TABLE "lo""ans; --" (a, "te\'x""t", "yes?")')
        database.execute('INSERT INTO "lo""ans; --" VALUES (1.0, NULL, 1)')
        assert database.execute(query).fetchone()[-2:] == (None, None)


@pytest.mark.parametrize("size", [-5000.0, 5000.0])
def test_extreme_log_odds_are_no_error_anywhere(size, tmp_path):
    table = pa.table({"a": [1.0, 1.0], "te'x\"t": ["1", "1"], "yes?": [True, False]})
    formula = Formula((Term(Feature("a", "a", "number"), size),), 0.0, "t", "0", "1", "rows")
    for ending in ("py", "sql"):
        assert export(Path(f"m.{ending}"), formula, table, formula.log_odds(table))


def test_the_graph_runs_in_onnxruntime(case):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from safdr.export.onnx import column_input

    table, formula, wanted = case
    content = export(Path("m.onnx"), formula, table, wanted)
    model = onnx.load_model_from_string(content)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    feeds = {
        each.name: column_input(table, each.name, each.type.tensor_type.elem_type)
        for each in model.graph.input
    }
    assert set(feeds) == set(table.column_names)
    assert [each.name for each in session.get_outputs()] == ["log_odds_", "probability_"]
    check(np.hstack(session.run(None, feeds)), wanted)
    properties = {each.key: each.value for each in model.metadata_props}
    assert properties["target"] == formula.target
    assert json.loads(properties["classes"]) == [formula.negative, formula.positive]


@pytest.mark.parametrize("make", [to_python, lambda f: to_sql(f, set())])
def test_comments_and_code_hold_no_line_of_the_table(make):
    name = "x\nimport os\n-- \nDROP TABLE t"
    formula = Formula((), 0.0, name, name, name, "rows")
    lines = make(formula).splitlines()
    assert not [line for line in lines if line.startswith(("import os", "DROP"))]


def test_what_has_no_formula_is_refused():
    feature = Feature("a", "a", "number")
    for coefficient in (np.nan, np.inf):
        with pytest.raises(ExportError, match="not finite"):
            Formula((Term(feature, coefficient),), 0.0, "t", "0", "1", "rows")
    with pytest.raises(ExportError, match="without a name"):
        Formula((Term(Feature("", "", "number"), 1.0),), 0.0, "t", "0", "1", "rows")
    with pytest.raises(ExportError, match="zero character"):
        to_sql(Formula((Term(Feature("a\0", "a\0", "number"), 1.0),), 0, "t", "0", "1", "r"), set())
