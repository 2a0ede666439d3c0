"""What if: the page's program against Python, and the panel by mouse, by keyboard, on a phone."""

import base64
import re
from itertools import combinations

import numpy as np
import pytest
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from scipy.stats import norm

from helpers.html import HOSTILE
from report_cases import QUICK, rows
from safdr import AnnealingSelector, Constraints, SelectionReport, what_if
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr.report.risk.rows import GivenRows
from safdr.report.what_if import describe_what_if, program, program_hash

MEASURE = """([data, subsets]) => {
    const criterion = data === null ? safdrWhatIf.panel.criterion : safdrWhatIf.makeCriterion(data);
    return subsets.map(subset => criterion.measure(subset));
}"""
REPLACEMENT = """([data, subset, member]) =>
    safdrWhatIf.makeReplacements(safdrWhatIf.makeCriterion(data)).replacement(subset, member)
"""


def packed(numbers):
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()


def unpacked(text):
    return np.frombuffer(base64.b64decode(text), dtype="<f8")


def problem(A, D, groups=None, **limits):
    """A criterion as the program takes it; groups come first, the longest before the others."""
    groups = groups or []
    every = groups + [[j] for j in range(len(A)) if not any(j in group for group in groups)]
    order = np.concatenate(every).astype(int)
    features = [
        {
            "indices": columns,
            "count": 1,
            "cost": 0.0,
            "chosen": False,
            "required": i in limits.get("required", []),
            "signs": [limits.get("signs", {}).get(j, 0) for j in columns],
        }
        for i, columns in enumerate(every)
    ]
    inside = A[np.ix_(order, order)]
    return {
        "features": features,
        "A": packed(inside[np.tril_indices(len(A))]),
        "D": packed(D[order]),
        "n_outputs": D.shape[1],
        "collinear_tol": Criterion(A, D, np.ones(len(A)), 1e-6).collinear_tol,
        "kind": "r2",
        "class_means": None,
        "shares": None,
        "rivals": limits.get("rivals", []),
    }


def random_criterion(n, seed, n_outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * n, n)) @ (np.eye(n) + 0.5 * rng.normal(size=(n, n)))
    A = np.corrcoef(X.T) + 1e-6 * np.eye(n)
    return A, 0.3 * rng.normal(size=(n, n_outputs))


@pytest.fixture(scope="module")
def plain():
    """A selector without shrinkage, whose criterion stands for an AUC; and its rows."""
    X, y = rows(8)
    return AnnealingSelector(3, ridge=1e-6, **QUICK).fit(X, y), X, y


@pytest.fixture(scope="module")
def page(open_page, report):
    return open_page("what-if", report)


# ---- The program --------------------------------------------------------------------------------


OF_SEARCH = {
    "searched": "report",
    "grouped": "grouped_report",
    "classes_searched": "classes_report",
    "measured_searched": "measured_report",
}


@pytest.mark.parametrize("name", OF_SEARCH)
def test_hundreds_of_subsets_are_worth_what_python_says(open_page, request, name):
    search, *given = request.getfixturevalue(name)
    X, y = rows(8) if name == "grouped" else (given[0][:200], given[1][:200])
    ask = what_if(search, X, y)
    page = open_page(f"what-if-{name}", request.getfixturevalue(OF_SEARCH[name]))
    rng = np.random.default_rng(0)
    inside = rng.random((250, len(ask.names))) < rng.random((250, 1))
    subsets = [np.flatnonzero(each).tolist() for each in inside]
    columns = [[j for i in subset for j in ask.columns[i]] for subset in subsets]
    found = page.evaluate(MEASURE, [None, subsets])
    for each, some in zip(found, columns, strict=True):
        assert each["value"] == pytest.approx(ask.value(some), rel=1e-9, abs=1e-12)
        assert each["score"] == pytest.approx(ask.score(some), rel=1e-9, abs=1e-12)


def test_columns_that_follow_from_others_are_refused_as_in_the_search(page):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 9))
    X[:, 3] = X[:, 0]  # a copy
    X[:, 5] = X[:, 1] - X[:, 2] + 1e-4 * X[:, 5]  # all but a combination
    X[:, 6:9] = np.eye(3)[rng.integers(3, size=80)]  # a category, all of its levels
    A = np.corrcoef(X.T) + 1e-6 * np.eye(9)
    D = A @ rng.normal(size=(9, 2)) * 0.1
    groups = [[6, 7, 8], [2, 4]]
    order = [[6, 7, 8], [2, 4], [0], [1], [3], [5]]
    allowed = AllowedSubsets.make(9, groups=groups)
    engine = QuadraticFunction(Criterion(A, D, np.ones(9), 1e-6), constraints=allowed)
    subsets = [list(s) for size in range(1, 7) for s in combinations(range(6), size)]
    found = page.evaluate(MEASURE, [problem(A, D, groups), subsets])
    n_refused = 0
    for subset, each in zip(subsets, found, strict=True):
        columns = np.sort(np.concatenate([order[i] for i in subset]))
        value = engine(columns[None], np.array([-1]))[0]
        n_refused += value == -np.inf
        assert bool(each["collinear"]) == (value == -np.inf)
        exact = np.sum(D[columns] * np.linalg.solve(A[np.ix_(columns, columns)], D[columns]))
        assert each["value"] == pytest.approx(exact, rel=1e-6)
    assert 10 < n_refused < len(subsets) - 10


def test_the_normal_distribution_is_exact(page):
    points = np.concatenate([np.linspace(-9, 9, 181), [0.0, 2.999, 3.0, 3.001]])
    shares = page.evaluate("points => points.map(safdrWhatIf.normalShare)", points.tolist())
    np.testing.assert_allclose(shares, norm.cdf(points), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("rest", [[0, 2, 3], [1, 3], [2]])
@pytest.mark.parametrize("seed", range(4))
def test_the_replacement_is_the_best_of_all_that_constraints_allow(page, seed, rest):
    A, D = random_criterion(12, seed, 1 + seed % 2)
    required, rivals, member = 10, [{0, 4}, {1, 11}], 9
    signs = {} if seed % 2 else dict.fromkeys(range(4, 9), 1)
    values = {}
    for j in set(range(12)) - {*rest, member, required}:
        some = [*rest, j]
        weights = np.linalg.solve(A[np.ix_(some, some)], D[some])
        is_signed = all(w > 0 for i, w in zip(some, weights[:, 0], strict=True) if i in signs)
        if is_signed and not any(pair <= {*some} for pair in rivals):
            values[j] = np.sum(D[some] * weights)
    data = problem(A, D, required=[required], rivals=[sorted(r) for r in rivals], signs=signs)
    found = page.evaluate(REPLACEMENT, [data, [*rest, member], member])
    assert found["feature"] == max(values, key=values.get)
    assert found["value"] == pytest.approx(max(values.values()), rel=1e-9)


# ---- The panel ----------------------------------------------------------------------------------


@pytest.fixture
def panel(open_page, plain):
    """A page of its own, and what Python says of its sets."""
    ask = what_if(*plain)
    page = open_page("panel", SelectionReport.from_estimator(*plain))
    yield page, ask
    assert page.complaints == []
    page.close()


def shown(page):
    """J and AUC of the set that is ticked, as the table tells them."""
    cells = page.locator("[data-table=what-if] tbody tr td:nth-child(2)").all_inner_texts()
    return [float(text) for text in cells[:3]]


def ticked(page):
    """First columns of what is ticked."""
    boxes = page.locator("[data-feature]:has(input:checked)")
    indices = "features.map(each => each.index)"
    first = page.evaluate(f"safdrWhatIf.panel.criterion.{indices}")
    return sorted(first[int(each.get_attribute("data-feature"))] for each in boxes.all())


def row_of(page, ask, column):
    at = [int(columns[0]) for columns in ask.columns].index(column)
    return page.locator(f"[data-feature='{at}']")


def test_by_mouse(panel, plain):
    page, ask = panel
    chosen = sorted(plain[0].subset_.tolist())
    assert ticked(page) == chosen
    assert shown(page)[1:] == pytest.approx([ask.value(chosen), ask.score(chosen)], rel=1e-3)
    row_of(page, ask, chosen[0]).locator("input").click()
    rest = chosen[1:]
    assert ticked(page) == rest
    assert shown(page)[1:] == pytest.approx([ask.value(rest), ask.score(rest)], rel=1e-3)
    others = [int(c[0]) for c in ask.columns if c[0] not in chosen]
    best = max(others, key=lambda j: ask.value([*rest, j]))
    says = page.locator("[role=status]")
    assert f"Best in its place: x{best}" in says.inner_text()
    says.get_by_role("button", name="Put it in").click()
    assert ticked(page) == sorted([*rest, best])
    page.get_by_role("button", name="Back to the chosen set").click()
    assert ticked(page) == chosen


def test_by_keyboard(panel, plain):
    page, ask = panel
    chosen = plain[0].subset_.tolist()
    page.get_by_role("button", name="Back to the chosen set").focus()
    page.keyboard.press("Tab")  # the first feature
    first = page.evaluate("document.activeElement.id")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == first
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Space")
    assert len(ticked(page)) == len(chosen) - 1
    assert page.evaluate("document.activeElement.id") == first  # focus stays
    rest = ticked(page)
    assert shown(page)[1] == pytest.approx(ask.value(rest), rel=1e-3)


def test_on_a_phone_it_fits_and_can_be_touched(open_page, hostile_report):
    page = open_page("what-if-phone", hostile_report, 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator("#what-if :is(button, input):visible").all():
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["height"] >= 16
    assert page.complaints == []


def test_hostile_names_are_text(open_page, hostile_report):
    page = open_page("what-if-hostile", hostile_report)
    for box in page.locator("#what-if input[type=checkbox]").all():
        box.click()  # each name is said
    assert page.locator("#what-if :is(img, iframe, a, form)").count() == 0
    assert page.locator("script").count() == 2
    table = page.locator("[data-table=what-if-features]")
    assert HOSTILE[3] in table.inner_text()
    long = table.locator("label bdi[title]").evaluate_all("all => all.map(each => each.title)")
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[-1]} <= set(long)
    assert all(len(text) <= 48 for text in table.locator("label bdi").all_inner_texts())
    assert page.complaints == []


def test_constraints_hold_in_the_panel(open_page):
    X, y = rows(8)
    limits = Constraints(
        always_include=5, never_include=[7], at_most_one_of=[[0, 1]], groups={"g": [2, 3]}
    )
    selector = AnnealingSelector(3, constraints=limits, **QUICK).fit(X, y)
    ask = what_if(selector, X, y)
    page = open_page("limits", SelectionReport.from_estimator(selector, X, y))
    assert row_of(page, ask, 5).locator("input").is_disabled()
    assert row_of(page, ask, 5).locator("input").is_checked()
    assert page.locator("[data-feature]").count() == 6  # x7 is none, x3 is in g
    for column in (0, 1):
        if not row_of(page, ask, column).locator("input").is_checked():
            row_of(page, ask, column).locator("input").click()
    assert 1 in ticked(page)
    assert 0 not in ticked(page)
    assert "constraints keep them apart" in page.locator("[role=status]").inner_text()


def test_many_features_wait_behind_a_button(open_page):
    X, y = rows(20)
    selector = AnnealingSelector(3, **QUICK).fit(X, y)
    page = open_page("many", SelectionReport.from_estimator(selector, X, y))
    assert page.locator("[data-feature]:visible").count() == 3 + 8
    page.get_by_role("button", name="Show 9 more").click()
    assert page.locator("[data-feature]:visible").count() == 20
    last = page.locator("[data-feature]:visible input").nth(11)
    assert page.evaluate("document.activeElement.id") == last.get_attribute("id")


def test_in_a_notebook_it_works_too(browser, report, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>n</title>{report._repr_html_()}", "utf-8")
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    before = frame.locator("[role=status]").inner_text()
    frame.locator("[data-feature] input").first.click()
    assert frame.locator("[role=status]").inner_text() != before
    assert complaints == []
    page.close()


def test_without_scripts_a_sentence_is_left(browser, report, tmp_path):
    report.to_html(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    section = page.locator("#what-if")
    assert "none may run here" in section.inner_text()
    assert section.locator("input").count() == 0
    assert page.locator("figure svg:visible").count() >= 5
    context.close()


# ---- The content --------------------------------------------------------------------------------


def test_the_policy_names_the_program_and_nothing_else(report, fixed):
    page = report.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = "default-src 'none'; style-src 'unsafe-inline'; script-src"
    assert policy.replace("&#39;", "'") == f"{rules} '{program_hash()}'"
    assert page.count(program()) == 1
    assert "</script" not in program()
    without = SelectionReport.from_estimator(*fixed, what_if=False)
    assert without.to_dict()["what_if"] is None
    assert "script" not in re.search(r'Policy" content="([^"]*)"', without.to_html())[1]


def test_the_numbers_are_in_the_content(report, searched):
    search, X, y = searched
    found, ask = report.to_dict()["what_if"], what_if(search, X[:200], y[:200])
    n = sum(len(each["indices"]) for each in found["features"])
    A = np.zeros((n, n))
    A[np.tril_indices(n)] = unpacked(found["A"])
    np.testing.assert_array_equal(A, np.tril(ask.A))
    np.testing.assert_array_equal(unpacked(found["D"]), ask.D.ravel())
    assert found["value"] == pytest.approx(search.criterion_value_)
    assert [each["name"] for each in found["features"]] == list(ask.names)


def test_a_shrunk_criterion_stands_for_no_auc(fixed, plain):
    for given, is_shrunk in ((fixed, True), (plain, False)):
        report = SelectionReport.from_estimator(*given)
        found = report.to_dict()["what_if"]
        assert (given[0].ridge_ > 0.01) == is_shrunk
        assert found["shrunk"] == (found["score"] is None) == is_shrunk
        page = report.to_html()
        assert ("shrunk as in the search" in page) == is_shrunk
        assert ("an AUC of 0.841" in page) != is_shrunk
        assert ('"score_name": null' in page) == is_shrunk


def test_rows_with_weights_need_to_be_told(fixed):
    _, X, y = fixed
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    selector = AnnealingSelector(3, **QUICK).fit(X, y, sample_weight=weight)
    content = SelectionReport.from_estimator(selector, X, y).to_dict()
    assert "sample_weight=" in content["what_if"]["reason"]
    assert "can't be told here" in SelectionReport(content).to_html()
    ask = what_if(selector, X, y, sample_weight=weight)
    found = SelectionReport.from_estimator(selector, X, y, what_if=ask).to_dict()["what_if"]
    assert found["value"] == pytest.approx(selector.criterion_value_)
    told = SelectionReport.from_estimator(selector, X, y, sample_weight=weight).to_dict()
    assert told["what_if"]["value"] == pytest.approx(selector.criterion_value_)


def test_a_criterion_that_is_no_formula_has_no_panel(fixed):
    _, X, y = fixed
    own = AnnealingSelector(2, criterion=lambda X, y: float(X[0, 0]), **QUICK)
    own.fit(X, y)
    assert describe_what_if(own, True, GivenRows(X, y), None, None, []) is None
