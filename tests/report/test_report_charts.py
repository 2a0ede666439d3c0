"""Charts: round numbers on the scales, marks where the numbers are, labels that keep apart."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from safdr.report.charts import draw_alternatives, draw_coefficients, draw_path, draw_selection
from safdr.report.charts.scale import Scale, padded, size_ticks, tick_text
from safdr.report.page import WIDTH
from safdr.report.text import labels_of


def drawn(draw, content):
    return ElementTree.fromstring(draw(content, labels_of(content), WIDTH))


def by_class(root, name):
    return [each for each in root.iter() if name in each.get("class", "").split()]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.912, 0.987), (-25.6, 1.8), (0, 2e8), (-3e-7, -1e-7)]
)
def test_ticks_are_round_within_the_scale_and_told_apart(low, high):
    ticks = Scale(low, high, 0, 100).ticks(5)
    assert 2 <= len(ticks) <= 6
    assert low - 1e-9 <= ticks[0] < ticks[-1] <= high + 1e-9 * abs(high)
    texts = [tick_text(tick, ticks) for tick in ticks]
    assert len(set(texts)) == len(ticks)
    assert max(map(len, texts)) <= 7


def test_a_range_of_one_number_is_drawn_in_the_middle():
    low, high = padded([0.8, 0.8])
    assert low < 0.8 < high
    assert Scale(3, 3, 10, 30)(3) == 20


@pytest.mark.parametrize("pixels", [5.0, 8.0, 12.0, 30.0])
def test_sizes_are_written_where_they_have_room(pixels):
    ticks = size_ticks(list(range(1, 31)), pixels)
    assert all((b - a) * pixels >= 16 for a, b in pairwise(ticks))


def test_bars_begin_at_zero_and_are_as_long_as_their_numbers(report):
    content = report.to_dict()
    values = [feature["standardised_coefficient"] for feature in content["features"]]
    root = drawn(draw_coefficients, content)
    bars = list(root.iter("rect"))
    lengths = [
        float(bar.get("width")) / abs(value) for bar, value in zip(bars, values, strict=True)
    ]
    assert lengths == pytest.approx([lengths[0]] * len(bars), rel=0.02)
    assert [bar.get("class") for bar in bars] == ["raises" if v > 0 else "lowers" for v in values]


def test_every_size_has_a_dot_and_the_chosen_one_is_marked(report):
    content = report.to_dict()
    dots = by_class(drawn(draw_path, content), "point")
    assert len(dots) == len(content["path"])
    (marked,) = [i for i, dot in enumerate(dots) if "chosen" in dot.get("class")]
    assert content["path"][marked]["size"] == content["size"]["chosen"]
    heights = [-float(dot.get("cy")) for dot in dots]
    means = [each["mean"] for each in content["path"]]
    order = sorted(range(len(dots)), key=means.__getitem__)
    assert [heights[i] for i in order] == sorted(heights)


def test_labels_of_neighbours_become_one(report):
    content = report.to_dict()
    first = content["path"][0]
    means = {size: 0.7 + size / 200 for size in range(1, 31)}
    content["path"] = [first | {"size": s, "mean": m, "splits": [m]} for s, m in means.items()]
    content["size"]["chosen"] = 29
    texts = [each.text or "" for each in by_class(drawn(draw_path, content), "chosen")]
    assert any("chosen: 29" in text and "best mean: 30" in text for text in texts)


def test_ribbons_cover_what_was_chosen(report):
    content = report.to_dict()
    root = drawn(draw_selection, content)
    column = float(by_class(root, "column")[0].get("width")) - 1
    covered = sum(round((float(r.get("width")) + 1) / column) for r in by_class(root, "ribbon"))
    assert covered == sum(share > 0 for row in content["selection"]["share"] for share in row)


def test_a_worse_set_has_a_longer_bar(hostile_report):
    content = hostile_report.to_dict()
    assert len(content["alternatives"]) > 2
    bars = [float(bar.get("width")) for bar in by_class(drawn(draw_alternatives, content), "worse")]
    assert bars == sorted(bars)
    assert len(bars) == len(content["alternatives"])


def test_near_ties_can_be_told_apart(hostile_report):
    content = hostile_report.to_dict()
    for i, each in enumerate(content["alternatives"]):
        each["excess"] = 0.001 * min(i, 3)
    bars = [float(bar.get("width")) for bar in by_class(drawn(draw_alternatives, content), "worse")]
    assert bars[1] > 20
    assert max(bars) == pytest.approx(3 * bars[1], rel=0.01)
