"""The ground that the other tests here stand on: a browser is found, and its pages are watched."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.browser import BrowserError, axe_findings, find_browser, watched_page
from tests.browser.jupyterlab import JupyterLab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def _program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_browser_is_the_named_one_or_one_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AXNB_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_browser() is None
    usual = _program(tmp_path / "bin" / "google-chrome")
    assert find_browser() == usual
    named = _program(tmp_path / "own" / "my-browser")
    monkeypatch.setenv("AXNB_CHROMIUM", str(named))
    assert find_browser() == named
    monkeypatch.setenv("AXNB_CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(BrowserError, match="AXNB_CHROMIUM"):
        find_browser()


def _complaint(browser: Browser, address: str, script: str = "0") -> str:
    """What is complained about when a page is opened and runs a script."""
    try:
        with watched_page(browser) as page:
            page.goto(address)
            page.evaluate(script)
    except AssertionError as complaint:
        return str(complaint)
    return ""


POLICY = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"


@pytest.mark.parametrize(
    ("html", "complaint"),
    [
        ("<img src='http://192.0.2.1/x.png'>", "asked for http://192.0.2.1/x.png"),
        ("<link rel=stylesheet href='https://evil.example/x.css'>", "asked for https://evil"),
        ("<img src='beside.png'>", "asked for file:"),
        ("<script>fetch('http://127.0.0.1:1/x').catch(() => 0)</script>", "asked for http://127"),
        ("<script>new WebSocket('ws://127.0.0.1:1/x')</script>", "asked for ws://127.0.0.1:1"),
        ("<script>console.info('hello')</script>", "said (info): hello"),
        ("<script>throw new Error('broken')</script>", "broken"),
        (f"{POLICY}<p style='top:0'>", "Content Security Policy"),
    ],
)
def test_a_file_that_asks_or_speaks_is_complained_about(
    html: str, complaint: str, chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html>{html}", encoding="utf-8")
    assert complaint in _complaint(chromium, (tmp_path / "page.html").as_uri())


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("console.info('hello')", ""),
        ("fetch('/login').then(() => 0)", ""),
        ("fetch('http://localhost:1/').catch(() => 0)", "asked for http://localhost:1/"),
        ("console.error('wrong')", "said (error): wrong"),
    ],
)
def test_a_page_of_a_server_may_ask_that_server_alone(
    script: str, complaint: str, chromium: Browser, jupyterlab: JupyterLab
) -> None:
    found = _complaint(chromium, f"{jupyterlab.url}/login", script)
    assert complaint in found
    assert bool(complaint) == bool(found)


def test_axe_finds_what_it_should(page: Page, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang=en><title>t</title>"
        "<main><p id=pale style='color:#ccc;background:#fff'>pale</p></main><p id=good>good</p>",
        encoding="utf-8",
    )
    page.goto((tmp_path / "page.html").as_uri())
    (found,) = axe_findings(page)
    assert found.startswith("color-contrast: #pale")
    assert axe_findings(page, "#good") == []
    assert axe_findings(page, "#pale") == [found]
