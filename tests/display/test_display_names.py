"""Names nobody vouches for are drawn as text, and shortened so that they stay distinct."""

from __future__ import annotations

from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from display_cases import DISPLAYS, check_legible, selection
from safdr.display import (
    DiscriminantDisplay,
)
from safdr.display.labels import fitted, fitted_distinct, plain
from safdr.display.style import FIRST, SECOND

HOSTILE = [
    "price in $ and $",
    r"$\frac{1}{",
    r"\input{/etc/passwd} ^_{x}",
    "under_score^2 & 100% #1 ~",
    "two\nlines\tand\rmore",
    "emoji 🧬 👩‍🔬 中文",
    "\ud83d lone \u202e turned \x00 null",
    "",
    "   ",
    "x" * 5000,
]


def test_hostile_names_are_drawn_as_text(monkeypatch):
    counts = np.tile([1, 3, 5], (len(HOSTILE), 1))
    display = selection(counts, names=np.array(HOSTILE, dtype=object)).plot()
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert not any(is_math_text(label) for label in labels)
    assert labels[0] == r"price in \$ and \$"
    assert labels[4] == "two lines and more"
    check_legible(display.figure_, monkeypatch)


@pytest.mark.parametrize(("one", "other"), list(zip(HOSTILE[::2], HOSTILE[1::2], strict=True)))
def test_hostile_names_of_axes_and_classes(one, other, tmp_path):
    values = np.random.default_rng(0).normal(size=(40, 2))
    display = DiscriminantDisplay(
        values=values,
        codes=np.arange(40) % 2,
        sample_weight=np.ones(40),
        classes=np.array([one, f"{other}$"], dtype=object),
        names=np.array([other, f"{one}$"], dtype=object),
        directions=np.array([[1.0, 0.0], [0.0, 1.0]]),
        projections=values.T,
        ratios=np.ones(2),
    ).plot()
    for kind in ("png", "svg", "pdf"):
        display.figure_.savefig(tmp_path / f"picture.{kind}")
    drawn = {
        element.tag.split("}")[-1] for element in ElementTree.parse(tmp_path / "picture.svg").iter()
    }
    assert "path" in drawn
    assert "script" not in drawn


@pytest.mark.parametrize("kind", DISPLAYS)
@pytest.mark.parametrize("own_figure", [True, False])
def test_latex_never_sees_a_name(made, kind, own_figure):
    with plt.rc_context({"text.usetex": True}):
        ax = None if own_figure else plt.subplots()[1]
        display = made(kind, 2).plot(ax)
        legends = display.figure_.legends or [display.ax_]
        axes = getattr(display, "axes_", [display.ax_])
        texts = [text for artist in (*axes, *legends) for text in artist.findobj(Text)]
        assert any(text.get_text() for text in texts)
        assert not any(text.get_usetex() for text in texts)


def test_long_names_keep_both_ends():
    name = "the beginning " + "x" * 100 + " the end"
    short = fitted(name, width=100, size=10)
    assert short.startswith("the b")
    assert "…" in short
    assert short.endswith("end")
    assert fitted("short", width=100, size=10) == "short"
    assert fitted(name, width=1, size=10) == "…"


def test_names_that_shorten_to_the_same_stay_distinct():
    names = [f"start of the name {i} and the end of it" for i in range(3)]
    labels = fitted_distinct(names, [4, 5, 6], width=90, size=10)
    assert len(set(labels)) == 3
    assert [label.split("#")[1] for label in labels] == ["4", "5", "6"]


def test_font_that_has_a_character_draws_it():
    assert plain("naïve Ω 中") == "naïve Ω \N{REPLACEMENT CHARACTER}"


def test_colours_differ_in_grey():
    grey = [np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in (FIRST, SECOND)]
    assert abs(grey[0] - grey[1]) > 0.25
