"""The page in a browser: nothing is said on the console, it fits, it is read, it answers."""

import numpy as np
import pytest

import safdr
from report.conftest import NAMES

CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  function rgb(colour) {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data);
  }
  const linear = (x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  function light(c) {
    const [r, g, b] = c.slice(0, 3).map((x) => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  }
  function ground(e) {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255, 255];
  }
  const bad = [];
  for (const e of document.querySelectorAll("main *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    if (e.closest("script, style, svg defs, :disabled") || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const own = light(rgb(e instanceof SVGElement ? style.fill : style.color));
    const other = light(ground(e)), ratio = Math.max(own, other) / Math.min(own, other);
    if (ratio < 4.5) bad.push([e.tagName, e.textContent.slice(0, 30), ratio]);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [820, 390])
@pytest.mark.parametrize("name", NAMES)
def test_pages_fit_and_can_be_read(case, open_page, name, width, scheme):
    page = open_page(f"{name}-{width}-{scheme}", case(name).report, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    assert page.complaints == []
    page.close()


@pytest.mark.parametrize("width", [820, 390])
def test_hostile_names_stay_text(hostile, open_page, width):
    page = open_page(f"hostile-{width}", hostile, width)
    assert page.title().startswith("<script>")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#panel input").first.click()
    assert page.complaints == []
    page.close()


def named(page, name):
    return page.locator("#panel tbody tr").filter(has=page.locator("th bdi", has_text=name)).first


def test_what_if_is_the_criterion(case, open_page):
    made = case("two")
    page = open_page("what-if", made.report)
    ask = safdr.what_if(made.selector, *made.train)
    selected = [each["name"] for each in made.report["features"] if each["selected"]]
    says = page.locator("[role=status]")
    before = ask.value(selected)
    assert f"{before:.4g}" in says.inner_text()
    other = next(name for name in ask.names if name not in selected)
    change = 100 * (ask.value([*selected, other]) / before - 1)
    cell = named(page, other).locator("td").first.inner_text().replace("−", "-")
    assert float(cell.split("\u00a0")[0]) == pytest.approx(change, abs=0.051)
    # The best in place of a member.
    member = selected[0]
    rest = [name for name in selected if name != member]
    outside = [name for name in ask.names if name not in selected]
    values = [ask.value([*rest, name]) for name in outside]
    instead = named(page, member).locator("td").nth(1).inner_text()
    assert instead.startswith(outside[int(np.argmax(values))])
    named(page, other).locator("input").check()
    assert f"{len(selected) + 1} features" in says.inner_text()
    page.locator("#panel button").click()
    assert "the selected ones." in says.inner_text()
    assert page.complaints == []
    page.close()


@pytest.mark.parametrize("name", ["classes", "regression", "groups", "constraints"])
def test_what_if_of_other_results(case, open_page, name):
    made = case(name)
    page = open_page(f"what-if-{name}", made.report)
    ask = safdr.what_if(made.selector, *made.train)
    selected = [each["name"] for each in made.report["features"] if each["selected"]]
    assert f"{ask.value(selected):.4g}" in page.locator("[role=status]").inner_text()
    if name == "constraints":
        assert named(page, "column 7").locator("input").is_disabled()
        excluded = "column 5" if "column 0" in selected else "column 0"
        assert named(page, excluded).locator("input").is_disabled()
        assert named(page, excluded).locator("td").first.inner_text() == "excluded"
    page.close()


def test_keyboard(case, open_page):
    page = open_page("keyboard", case("two").report)
    boxes = page.locator("#panel input")
    boxes.first.focus()
    page.keyboard.press("Tab")
    assert boxes.nth(1).evaluate("box => box === document.activeElement")
    was = boxes.nth(1).is_checked()
    page.keyboard.press("Space")
    assert boxes.nth(1).is_checked() != was
    page.keyboard.press("Shift+Tab")
    assert boxes.first.evaluate("box => box === document.activeElement")
    page.close()
