"""Exports give the numbers of the model, whatever the table is called and holds."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

pa = pytest.importorskip("pyarrow")

from safdr._old_export.errors import ExportError, WrongFormulaError
from safdr._old_export.formula import Formula, Term
from safdr._old_export.python import to_python
from safdr._old_export.sql import to_sql
from safdr._old_export.write import export
from safdr._old_table.recipe import Feature

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
    "back\\slash",
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
    # Half of the numbers count between limits that many rows lie beyond.
    limits = [(-0.8, 0.7) if f.kind == "number" and i % 2 else () for i, f in enumerate(features)]
    terms = tuple(
        Term(feature, (float(rng.normal()),), *ends)
        for feature, ends in zip(features, limits, strict=True)
    )
    target, negative, positive = 'tar"get\n', "no'", '"""yes\n'
    return Formula(terms, (0.1,), target, (negative, positive), 'lo"ans; --')


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
    return table, formula, formula.sums(table)[:, 0]


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
    path.write_bytes(export(path, formula, table, formula.sums(table)[:, 0]))
    text = io.StringIO()
    writer = csv.DictWriter(text, table.column_names)
    writer.writeheader()
    writer.writerows(table.to_pylist())
    printed = run([sys.executable, "-I", "score.py"], tmp_path, text.getvalue())
    np.testing.assert_allclose(probabilities(printed), expit(formula.sums(table)[:, 0]), atol=1e-9)


def probabilities(printed, delimiter=","):
    """The last column, decimal commas as points."""
    names, *rows = csv.reader(io.StringIO(printed, newline=""), delimiter=delimiter)
    assert names[-2:] == ["log_odds", "probability"]
    return [float(row[-1].replace(",", ".")) for row in rows]


@pytest.fixture
def score(tmp_path):
    """A Python file on two numbers and a text, one number with something to fill in."""
    features = (
        Feature("a", "a", "number"),
        Feature("b", "b", "number", fill=2.5),
        Feature("t = x", "t", "level", "x"),
    )
    terms = tuple(
        Term(feature, (c,)) for feature, c in zip(features, (1.0, -0.5, 2.0), strict=True)
    )
    formula = Formula(terms, (0.1,), "late", ("no", "yes"), "rows")
    (tmp_path / "score.py").write_text(to_python(formula))
    return [sys.executable, "-I", "score.py"]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,t\n1.5,3,x\n2.0,,y\n",
        "a;b;t\n1.5;3;x\n2.0;NA;y\n",
        "t;a;b;other\nx;1,5;3,0;1.5\ny;2;?;0.1\n",
        "a\tb\tt\n1,5\t3\tx\n2,0\tnull\ty\n",
        "\ufeffa|b|t\r\n1.5|3|x\r\n2.0||y\r\n",
    ],
)
def test_the_python_file_reads_the_csv_files_that_the_model_came_from(score, tmp_path, text):
    delimiter = next(each for each in ",;\t|" if each in text.splitlines()[0])
    found = probabilities(run(score, tmp_path, text), delimiter)
    np.testing.assert_allclose(found, expit([0.1 + 1.5 - 1.5 + 2, 0.1 + 2 - 1.25]), atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;c;t\n1;2;x\n", "The file has no column 'b'. It has: 'a', 'c', 't'."),
        ("", "The file has no column 'a', 'b', 't'. It has: none."),
        ("a,b,t\n1,2,x\n,2,x\n", "Row 2: 'a' has no value."),
        ("a,b,t\n1,2,x\nmany,2,x\n", "Row 2: 'a' must be a number; got 'many'."),
    ],
)
def test_the_python_file_says_what_a_csv_file_lacks(score, tmp_path, text, message):
    done = start(score, tmp_path, text)
    assert (done.returncode, done.stderr.strip()) == (1, message)


def test_the_python_file_stops_with_its_reader(score, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    text = "a,b,t\n" + "1,2,x\n" * 3
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            score, cwd=tmp_path, input=text, stdout=closed, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == ""


def test_a_key_that_is_not_there_counts_as_missing(score, tmp_path):
    module = {"__name__": "score"}
    exec((tmp_path / "score.py").read_text(), module)
    assert module["log_odds"]({"a": 1, "t": "y"}) == pytest.approx(0.1 + 1 - 1.25)
    with pytest.raises(ValueError, match="'a' has no value"):
        module["log_odds"]({"b": 1, "t": "y"})


def run(command, folder, text=None):
    done = start(command, folder, text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(command, folder, text=None):
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=text,
        check=False,
    )


def test_the_header_of_a_query_speaks_of_text_only_where_there_is_some():
    number, level = Feature("a", "a", "number"), Feature("t = x", "t", "level", "x")
    heads = [
        to_sql(
            Formula((Term(feature, (1.0,)),), (0.0,), "late", ("no", "yes"), "loans"), {"a", "t"}
        )
        for feature in (number, level)
    ]
    line = 'Query: all columns of "loans" plus log_odds and probability; change the table name in'
    assert all(line in head for head in heads)
    assert ["never saw" in head for head in heads] == [False, True]


def check(found, wanted):
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:, 1], expit(wanted), atol=1e-9)


def test_the_query_runs_in_sqlite_and_touches_nothing(case):
    table, formula, wanted = case
    query = export(Path("m.sql"), formula, table, wanted).decode()
    with closing(sqlite3.connect(":memory:")) as database:
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


@pytest.mark.parametrize("fill", [None, 5.0])
@pytest.mark.parametrize("ending", ["py", "sql", "onnx"])
def test_a_number_beyond_the_limits_counts_as_the_nearest(ending, fill):
    if ending == "onnx":
        pytest.importorskip("onnx")
    term = Term(Feature("a", "a", "number", fill=fill), (2.0,), -1.0, 3.0)
    formula = Formula((term,), (0.5,), "t", ("0", "1"), "rows")
    table = pa.table({"a": [-1e9, -1.0, 0.0, 2.5, 3.0, 1e300]})
    wanted = 0.5 + 2.0 * np.array([-1.0, -1.0, 0.0, 2.5, 3.0, 3.0])
    # It runs what it made, and compares.
    assert export(Path(f"m.{ending}"), formula, table, wanted)
    if fill is not None:
        # What stands in for a gap is the fill as it is.
        gaps = pa.table({"a": [None, np.nan, np.inf, 0.0]})
        assert export(Path(f"m.{ending}"), formula, gaps, np.array([10.5, 10.5, 10.5, 0.5]))


def test_a_query_on_an_unknown_value_gives_none():
    table = make_table(["a"])
    formula = make_formula(table)
    query = to_sql(formula, set(table.column_names))
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("EXP", 1, lambda z: None if z is None else float(np.exp(z)))
        database.execute('CREATE TABLE "lo""ans; --" (a, "te\'x""t", "yes?")')
        database.execute('INSERT INTO "lo""ans; --" VALUES (1.0, NULL, 1)')
        assert database.execute(query).fetchone()[-2:] == (None, None)


@pytest.mark.parametrize("size", [-5000.0, 5000.0])
def test_extreme_log_odds_are_no_error_anywhere(size, tmp_path):
    table = pa.table({"a": [1.0, 1.0], "te'x\"t": ["1", "1"], "yes?": [True, False]})
    formula = Formula(
        (Term(Feature("a", "a", "number"), (size,)),), (0.0,), "t", ("0", "1"), "rows"
    )
    for ending in ("py", "sql"):
        assert export(Path(f"m.{ending}"), formula, table, formula.sums(table)[:, 0])


def test_the_graph_runs_in_onnxruntime(case):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from safdr._old_export.onnx import column_input

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
    assert json.loads(properties["classes"]) == list(formula.classes)


@pytest.mark.parametrize("make", [to_python, lambda f: to_sql(f, set())])
def test_comments_and_code_hold_no_line_of_the_table(make):
    name = "x\nimport shutil\n-- \nDROP TABLE t"
    formula = Formula((), (0.0,), name, (name, name), "rows")
    lines = make(formula).splitlines()
    assert not [line for line in lines if line.startswith(("import shutil", "DROP"))]


def test_what_has_no_formula_is_refused():
    feature = Feature("a", "a", "number")
    for coefficient in (np.nan, np.inf):
        with pytest.raises(ExportError, match="not finite"):
            Formula((Term(feature, (coefficient,)),), (0.0,), "t", ("0", "1"), "rows")
    with pytest.raises(ExportError, match="without a name"):
        Formula((Term(Feature("", "", "number"), (1.0,)),), (0.0,), "t", ("0", "1"), "rows")
    with pytest.raises(ExportError, match="zero character"):
        to_sql(
            Formula((Term(Feature("a\0", "a\0", "number"), (1.0,)),), (0,), "t", ("0", "1"), "r"),
            set(),
        )
