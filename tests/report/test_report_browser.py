"""The page in a real browser: Debian's Chromium, driven by Playwright. Nothing is downloaded."""

from itertools import pairwise

import pytest

from helpers.html import HOSTILE
from safdr.report.text import one_line

WIDTHS = {"desktop": 1280, "phone": 390}
PAGES = [
    *("report", "hostile_report", "fixed_report", "grouped_report"),
    *("classes_report", "measured_report", "folded_report"),
]

# Elements that are seen, with what they are; text that is empty has no box.
TEXT_BOXES = """svg => [...svg.querySelectorAll('text')].filter(t => t.textContent).map(t => {
    const b = t.getBoundingClientRect();
    return {text: t.textContent, left: b.left, right: b.right, top: b.top, bottom: b.bottom};
})"""

# Contrast by the formula of WCAG 2, of every visible text against the ground that it stands on.
CONTRASTS = """() => {
    const rgb = c => c.match(/[\\d.]+/g).map(Number);
    const light = c => { const [r, g, b] = rgb(c).slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = e => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor;
        if (rgb(c).length === 3 || rgb(c)[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
    const shown = [...document.querySelectorAll('h1,h2,h3,p,b,th,td,dt,dd,summary,li,svg text')];
    return shown.filter(e => e.checkVisibility() && e.textContent.trim()).map(e => {
        const style = getComputedStyle(e);
        const ink = light(e.closest('svg') ? style.fill : style.color), back = light(ground(e));
        return [(Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05), e.textContent];
    }).sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.fixture(scope="session")
def fixed_report(fixed):
    from safdr import SelectionReport

    return SelectionReport.from_estimator(*fixed)


@pytest.fixture(scope="module")
def seen():
    """Pages that are open already, by what was asked for."""
    return {}


@pytest.fixture
def opened(open_page, seen, request):
    """Open a report to look at, once for all tests."""

    def look_at(name, width=1280, scheme="light"):
        how = (name, width, scheme)
        if how not in seen:
            seen[how] = open_page(name, request.getfixturevalue(name), width, scheme)
        return seen[how]

    return look_at


def overlap(a, b):
    """Whether two boxes share more than the blank edge of a line."""
    wide = min(a["right"], b["right"]) - max(a["left"], b["left"])
    high = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return wide > 1 and high > 3


def charts(page):
    return page.locator("figure svg:visible")


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_a_complaint_and_fits_the_screen(opened, name, width):
    page = opened(name, width)
    assert page.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Numbers, and the one program that works with them.
    types = page.evaluate("[...document.scripts].map(each => each.type)")
    assert types == ["application/json", ""]


def test_a_name_never_runs(opened):
    page = opened("hostile_report")
    assert page.title() == one_line(HOSTILE[0])
    assert page.locator("img, iframe, a, form").count() == 0
    assert page.locator("script").count() == 2
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontWeight") == "600"


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_charts_are_there_and_no_text_runs_into_another(opened, name, width):
    page = opened(name, width)
    n_charts = {"fixed_report": 3, "folded_report": 3, "grouped_report": 5, "hostile_report": 7}
    # Of model risk: curves, calibration, residuals and estimates, as far as there are any.
    n_charts |= {"report": 5 + 3, "classes_report": 7 + 1, "measured_report": 7 + 3}
    assert charts(page).count() == n_charts[name]
    boxes = [chart.bounding_box() for chart in charts(page).all()]
    assert all(box["width"] > 300 and box["height"] > 40 for box in boxes)
    assert all(a["y"] + a["height"] <= b["y"] for a, b in pairwise(boxes))
    for chart in charts(page).all():
        texts = chart.evaluate(TEXT_BOXES)
        # On a phone a chart scrolls.
        assert all(text["left"] >= 0 and text["right"] <= max(width, 760) for text in texts)
        pairs = [(a, b) for i, a in enumerate(texts) for b in texts[:i]]
        assert [(a["text"], b["text"]) for a, b in pairs if overlap(a, b)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["hostile_report", "separated_report", "classes_report", "warned_report"]
)
def test_every_text_has_contrast(opened, name, scheme):
    page = opened(name, scheme=scheme)
    contrast, text = page.evaluate(CONTRASTS)
    assert contrast >= 4.5, text
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def numbers(page, table):
    """Exact values of a table, row by row."""
    return page.evaluate(
        """name => [
            ...document.querySelectorAll(`[data-table=${name}] tbody tr:not(.group)`)
        ].map(row => [...row.querySelectorAll('data')].map(cell => Number(cell.value)))""",
        table,
    )


def known(*values):
    return [value for value in values if value is not None]


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_hold_the_numbers_of_the_dict(opened, request, name):
    page, content = opened(name), request.getfixturevalue(name).to_dict()
    keys = ("coefficient", "odds_ratio", "standard_deviation", "standardised_coefficient")
    keys += ("odds_ratio_per_deviation",)
    assert numbers(page, "features") == [
        known(*(f["coefficients"] or ()), *map(f.get, keys)) for f in content["features"]
    ]
    assert numbers(page, "path") == [
        known(each["mean"], each["std"], each["threshold"], *each["splits"])
        for each in content["path"]
    ]
    loss = "squared_error" if name == "measured_report" else "cross_entropy"
    keys = ("held_out", loss, "excess", "criterion_value")
    assert numbers(page, "alternatives") == [
        known(*map(each.get, keys)) for each in content["alternatives"]
    ]
    trace = content["trace"]
    columns = (trace[key] for key in ("beta", "mean", "std", "acceptance"))
    assert numbers(page, "trace") == [known(*row) for row in zip(*columns, strict=True)]
    near = (content["near_ties"] or {"sets": []})["sets"][:20]
    near = near if len(near) > 1 else []  # one alone is no table
    keys = ("criterion_value", "shortfall")
    assert numbers(page, "near-ties") == [known(*map(each.get, keys)) for each in near]
    often = (content["stability"] or {"features": []})["features"]
    keys = ("count", "frequency")
    assert numbers(page, "stability") == [known(*map(each.get, keys)) for each in often]
    keys = [f"{name}_difference" for name in ("score", "loss", "criterion_value")]
    keys.insert(1, "score_difference_std")
    replaced = content["substitutes"] or []
    assert numbers(page, "substitutes") == [known(*map(each.get, keys)) for each in replaced]
    cells = page.locator("[data-table=selection] td").all_text_contents()
    shares = [share for row in content["selection"]["share"] for share in row]
    assert [float(cell or 0) for cell in cells] == [round(100 * share) for share in shares]


def measures(part):
    """Numbers in the tables of segments."""
    score = part["score"] or {}
    keys = ("n_rows", "expected", "observed")
    return known(*map(part.get, keys), score.get("value"))


def of_each_class(feature):
    """Rows of the table of coefficients: one, or one for each class."""
    told, p_value = feature["standardised"], feature["p_value"]
    columns = [told["model"], told["estimate"], told["standard_error"], p_value]
    if not isinstance(told["model"], list):
        return [known(*columns, feature["vif"])]
    rows = zip(*(each or [None] * len(told["model"]) for each in columns), strict=True)
    return [known(*row, *([] if i else [feature["vif"]])) for i, row in enumerate(rows)]


@pytest.mark.parametrize("name", ["report", "classes_report", "measured_report", "fixed_report"])
def test_the_tables_on_model_risk_hold_the_numbers_of_the_dict(opened, request, name):
    page, risk = opened(name), request.getfixturevalue(name).to_dict()["risk"]
    curve = (risk["discrimination"] or {"curve": {}})["curve"].values()
    assert numbers(page, "curve") == [list(row) for row in zip(*curve, strict=True)]
    keys = ("cut_off", "flagged", "precision", "recall", "approval_rate", "bad_rate")
    assert numbers(page, "cut-offs") == [known(*map(e.get, keys)) for e in risk["cut_offs"]]
    tenths = (risk["calibration"] or risk["classes"] or risk["errors"] or {"bins": []})["bins"]
    keys = ("n_rows", "expected", "observed", "root_mean_squared_error")
    assert numbers(page, "bins") == [known(*map(each.get, keys)) for each in tenths]
    classes = risk["classes"] or {"confusion": [], "each": []}
    assert numbers(page, "confusion") == classes["confusion"]
    keys = ("expected", "observed", "precision", "recall", "brier")
    assert numbers(page, "classes") == [
        known(e["n_rows"], e["auc"]["value"], e["ks"], *map(e.get, keys)) for e in classes["each"]
    ]
    again = (risk["coefficients"] or {"features": []})["features"]
    assert numbers(page, "coefficients") == [row for each in again for row in of_each_class(each)]
    segments = [each for part in risk["segments"] for each in part["segments"]]
    assert numbers(page, "segments") == [measures(each) for each in segments]
    assert name == "fixed_report" or len(segments) == 8


def test_a_large_group_opens_by_mouse_and_keyboard_and_is_open_on_paper(open_page, folded_report):
    page = open_page("folded_report", folded_report)
    members = page.locator("[data-table=features] tr.member")
    n_columns = sum(f["group"] is not None for f in folded_report.to_dict()["features"])
    shown = page.locator("[data-table=features] tr.member:visible")
    assert (members.count(), shown.count()) == (n_columns, 0)
    page.locator(".fold").click()
    assert shown.count() == n_columns
    page.locator(".fold").focus()
    page.keyboard.press("Space")
    assert shown.count() == 0
    page.emulate_media(media="print")
    assert shown.count() == n_columns


def test_a_table_that_goes_on_says_so_and_keeps_its_names(opened):
    """The shade at the right edge goes away where the table ends."""
    page = opened("folded_report", 390)
    region = page.locator(".scroll:has([data-table=features])")
    assert region.evaluate("e => e.scrollWidth > e.clientWidth")
    name = region.locator("tr:not(.member) th[scope=row]").first
    left = name.bounding_box()["x"]

    def right_edge():
        """How far the last columns of pixels are from the ground, at the height of the head."""
        box = region.bounding_box()
        clip = {"x": box["x"] + box["width"] - 3, "y": box["y"] + 2, "width": 2, "height": 2}
        return page.screenshot(clip=clip)

    before = right_edge()
    region.evaluate("e => { e.scrollLeft = e.scrollWidth }")
    assert name.bounding_box()["x"] == left
    assert right_edge() != before
    region.evaluate("e => { e.scrollLeft = 0 }")


def test_headings_are_in_order_and_charts_have_names(opened):
    page = opened("hostile_report")
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for chart in charts(page).all():
        assert chart.get_attribute("role") == "img"
        assert chart.get_attribute("aria-label")


def test_the_keyboard_reaches_and_opens_every_table(open_page, report):
    page = open_page("report", report)
    closed = page.locator("details").count()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('details:not([open]) > summary')"):
            page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == closed > 0
    assert page.locator("table:visible").count() == page.locator("table").count()


def test_pointing_at_a_mark_gives_its_numbers(opened, request):
    page = opened("report")
    first = request.getfixturevalue("report").to_dict()["path"][0]
    title = page.locator("#path circle title").first.text_content()
    assert f"{first['mean']:.4f}" in title
    for kind in ("g.mark", "rect.ribbon", "rect.hover"):
        assert page.locator(f"{kind} > title").count() > 0


def test_paper_gets_charts_in_light_colours(open_page, report):
    page = open_page("report", report, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.locator("details:visible").count() == 0
    # A legend stays with its chart, a warning in one piece.
    before = page.evaluate(
        "getComputedStyle(document.querySelector('.legend + figure')).breakBefore"
    )
    assert before == "avoid"
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert 1 <= paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 8
