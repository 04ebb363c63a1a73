"""A real browser, and pages that notice all they ask for and all they say.

with running_browser(find_browser()) as browser, watched_page(browser) as page:
    page.goto(report.as_uri())
    assert axe_findings(page) == []

At the end of `watched_page` an AssertionError tells what the page should not have done.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urldefrag, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        FloatRect,
        Page,
        Request,
    )

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

NO_BROWSER = "no Chromium: `make browser` installs one, AXNB_CHROMIUM names one"

#: Milliseconds within which a widget answers on a slow machine.
OUTPUT_TIMEOUT = 30_000

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever asks for another machine gets no answer, and is still seen to have asked.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

Theme = Literal["light", "dark"]

THEMES: tuple[Theme, ...] = ("light", "dark")

#: Rules of WCAG 2 at the levels A and AA.
_AXE_OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "resultTypes": ["violations"],
}

#: A taller picture is one that Chromium repeats or leaves blank.
_MAX_PICTURE = 16_384


class BrowserError(RuntimeError):
    """The browser is not there, or cannot do what was asked."""


def find_browser() -> Path | None:
    """The browser that AXNB_CHROMIUM names, else the first of the known names on PATH."""
    if named := os.environ.get("AXNB_CHROMIUM"):
        if found := shutil.which(named):
            return Path(found)
        raise BrowserError(f"AXNB_CHROMIUM names no program: {named}")
    return next((Path(found) for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def running_browser(program: Path) -> Iterator[Browser]:
    """The browser, with a home of its own."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory(prefix="axnb-browser-", ignore_cleanup_errors=True) as home,
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=program,
            args=_FLAGS,
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
        ) as browser,
    ):
        yield browser


class Watch:
    """What the pages of a context asked for and said.

    The first address is home: a file may ask for nothing else and say nothing, a server's page
    may ask for what its own server has and report no error.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.requests: list[str] = []
        self.messages: list[tuple[str, str]] = []
        context.on("request", self._note_request)
        context.on("console", self._note_message)
        context.on("weberror", lambda error: self.messages.append(("error", str(error.error))))
        context.on("page", self._note_page)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _note_message(self, message: ConsoleMessage) -> None:
        self.messages.append((message.type, message.text))

    def _note_page(self, page: Page) -> None:
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def complaints(self) -> list[str]:
        """What the pages should not have done, in words."""
        strange = [url for url in dict.fromkeys(self.requests) if not self._is_home(url)]
        said = [f"said ({kind}): {text}" for kind, text in self.messages if self._is_wrong(kind)]
        return [*(f"asked for {url}" for url in strange), *said]

    @property
    def _home(self) -> str:
        return urldefrag(self.requests[0]).url

    def _is_home(self, url: str) -> bool:
        if self._home.startswith("file:"):
            return urldefrag(url).url == self._home
        here, there = urlsplit(self._home), urlsplit(url.removeprefix("blob:"))
        return there.netloc == here.netloc and there.scheme in (here.scheme, "ws")

    def _is_wrong(self, kind: str) -> bool:
        return kind in ("error", "assert") or self._home.startswith("file:")


@contextmanager
def watched_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A fresh page with its own cookies and cache; complains at the end.

    `options` are those of Playwright's `new_context`, such as `color_scheme` and `viewport`.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    watch = Watch(context)
    try:
        yield context.new_page()
        context.cookies()  # its answer comes after all events that are on their way
        complaints = watch.complaints()
    finally:
        context.close()
    if complaints:
        raise AssertionError("\n".join(["the page", *complaints]))


# --- what to look at -----------------------------------------------------------------------------


def axe_findings(page: Page, *within: str) -> list[str]:
    """What axe finds against WCAG 2 A and AA in the page, or in the parts that selectors name."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    context = {"include": [[selector] for selector in within]} if within else None
    found = page.evaluate(
        "([context, options]) => axe.run(context ?? document, options)", [context, _AXE_OPTIONS]
    )
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def picture(page: Page, path: Path, box: FloatRect | None = None, style: str = "") -> None:
    """A PNG of the whole page as it stands, however long it is, or of a box in it."""
    height = box["height"] if box else page.evaluate("document.documentElement.scrollHeight")
    if height > _MAX_PICTURE:
        raise BrowserError(f"{height} pixels are too many for one picture")
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, full_page=True, clip=box, style=style, animations="disabled")


@contextmanager
def printing(page: Page) -> Iterator[None]:
    """Style the page as for print, on an endless sheet as wide as A4; the theme stays."""
    size = page.viewport_size
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})
    yield
    page.emulate_media(media="screen")
    if size:
        page.set_viewport_size(size)


def print_pdf(page: Page, path: Path) -> None:
    """A PDF as a person prints it: A4, without backgrounds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    page.pdf(path=path, format="A4", print_background=False)
