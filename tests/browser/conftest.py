"""Fixtures: one browser and one JupyterLab for all tests here, and pages that complain.

Both are the package's and not the session's: Playwright's event loop must not run on beneath the
tests of other folders. All tests here are of one xdist group, so that one worker runs them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.browser import NO_BROWSER, find_browser, running_browser, watched_page
from tests.browser.jupyterlab import JupyterLab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser; where there is none the test is skipped, on a CI machine it fails."""
    program = find_browser()
    if program is None and os.environ.get("CI") == "true":
        pytest.fail(NO_BROWSER)
    elif program is None:
        pytest.skip(NO_BROWSER)
    else:
        with running_browser(program) as browser:
            yield browser


@pytest.fixture(scope="package")
def jupyterlab(chromium: Browser) -> Iterator[JupyterLab]:
    """A JupyterLab, where there is a browser to open it."""
    with JupyterLab() as lab:
        yield lab


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A fresh page; the test fails at its end for what the page should not have asked or said."""
    with watched_page(chromium) as fresh:
        yield fresh
