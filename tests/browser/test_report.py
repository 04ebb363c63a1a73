"""Reports as a browser shows them: silent, readable on any screen and paper, and open to all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.browser.browser import THEMES, Theme, axe_findings, print_pdf, printing
from tests.browser.reports import LOGS, OTHERS, build_report

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

Open = Callable[[str], "Page"]

NARROW: ViewportSize = {"width": 360, "height": 800}

#: All but the longest, which takes axe too long.
every_log = pytest.mark.parametrize(
    "log", [name for name in (*LOGS, *OTHERS) if name != "all-hostile"]
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report of a log, built once."""

    @cache
    def built(log: str) -> Path:
        return build_report(log, tmp_path_factory.mktemp(log))

    return built


@pytest.fixture
def open_report(page: Page, report: Callable[[str], Path]) -> Open:
    """Open the report of a log as a file, without a network, and unfold all of it.

    The test fails at its end if the report asked for anything or said anything.
    """

    def opened(log: str) -> Page:
        page.context.set_offline(True)
        page.goto(report(log).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        return page

    return opened


@every_log
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(log: str, theme: Theme, open_report: Open) -> None:
    page = open_report(log)
    page.emulate_media(color_scheme=theme)
    assert axe_findings(page) == []


def test_all_hostile_texts_are_only_shown(open_report: Open) -> None:
    shown = open_report("all-hostile").inner_text("body")
    assert "<script>alert(1)</script>" in shown


def test_the_themes_differ(open_report: Open) -> None:
    page = open_report("sample")
    grounds = set()
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


@every_log
def test_a_narrow_window_does_not_scroll_sideways(log: str, open_report: Open) -> None:
    page = open_report(log)
    page.set_viewport_size(NARROW)
    assert page.evaluate(_TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


@every_log
def test_headings_are_in_order(log: str, open_report: Open) -> None:
    """One of the first level, at the start; none is deeper by two than the one before it."""
    headings = open_report(log).locator("h1, h2, h3, h4, h5, h6")
    levels = [int(name[1]) for name in headings.evaluate_all("all => all.map(e => e.tagName)")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


class Text(NamedTuple):
    """A piece of text as it is shown."""

    text: str
    is_seen: bool
    contrast: float  # to white paper


@every_log
def test_print_shows_all_text_without_backgrounds(log: str, open_report: Open) -> None:
    page = open_report(log)
    on_screen = [Text(*found) for found in page.evaluate(_TEXTS)]
    with printing(page):
        on_paper = [Text(*found) for found in page.evaluate(_TEXTS)]
    assert any(text.is_seen for text in on_screen)
    pairs = zip(on_screen, on_paper, strict=True)
    assert [paper.text for screen, paper in pairs if screen.is_seen and not paper.is_seen] == []
    assert [text for text in on_paper if text.is_seen and text.contrast < 4.5] == []


def test_it_prints(open_report: Open, tmp_path: Path) -> None:
    print_pdf(open_report("sample"), tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


#: What sticks out on the right, the innermost alone; what scrolls by itself may be wide inside.
_TOO_WIDE = """() => {
    const scrolls = element => ["auto", "scroll", "hidden"].includes(
        getComputedStyle(element).overflowX);
    const isInside = element => element.parentElement !== document.body
        && (scrolls(element.parentElement) || isInside(element.parentElement));
    return [...document.body.querySelectorAll("*")]
        .filter(element => element.getBoundingClientRect().right > innerWidth + 1)
        .filter(element => !element.firstElementChild && !isInside(element))
        .map(element => `${element.tagName.toLowerCase()}: ${element.textContent.slice(0, 60)}`);
}"""

#: Each text with its contrast to white; text inside a picture has the picture behind it.
_TEXTS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const light = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const contrast = colour => {
        canvas.fillStyle = "white";
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data]
            .map(part => light(part / 255));
        return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
    };
    const contrasts = new Map();
    const of = element => {
        const colour = element.closest("svg") ? "black" : getComputedStyle(element).color;
        if (!contrasts.has(colour)) contrasts.set(colour, contrast(colour));
        return contrasts.get(colour);
    };
    const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
        const seen = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
        if (text) texts.push([text.slice(0, 60), seen, of(element)]);
    }
    return texts;
}"""
