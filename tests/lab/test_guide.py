"""Asking a person by a button, from work beside the kernel's thread."""

from __future__ import annotations

from threading import Event
from typing import Any

import ipywidgets as widgets
import pytest

from axnb.errors import AxnbError
from axnb.lab.guide import Guide
from axnb.runtimes import NotRunError
from tests.lab.desks import told


class Person:
    """Whoever looks at the guide: waits until something is asked, then presses.

    The work may have asked before anybody looks, and what it asks may come between a look and the
    word of it: what counts is what the guide shows.
    """

    def __init__(self, guide: Guide) -> None:
        said, self.text, buttons = guide.widget.children
        self.said: widgets.HTML = said
        self.done, self.stop = buttons.children
        self._heard = ""
        self._changed = Event()
        self.done.observe(lambda _: self._changed.set(), "disabled")

    def is_asked(self) -> str:
        """Wait for a sentence that was not heard yet."""
        while self.done.disabled or told(self.said) == self._heard:
            assert self._changed.wait(60)
            self._changed.clear()
        self._heard = told(self.said)
        return self._heard


def test_steps_are_done_one_after_the_other() -> None:
    guide = Guide()
    person = Person(guide)
    guide.begin(lambda ask: [ask("first <b>"), ask("second", wants_text=True)])
    assert person.is_asked() == "first <b>"
    with pytest.raises(AxnbError, match="not over"):
        guide.result()
    assert person.text.layout.display == "none"
    person.done.click()
    assert person.is_asked() == "second"
    assert person.text.layout.display is None
    person.text.value = " it says R-1 \n"
    person.done.click()
    assert guide.wait() == ["", "it says R-1"]
    assert "over" in told(person.said)
    assert person.done.disabled


def test_after_a_stop_nothing_is_asked_again() -> None:
    guide = Guide()
    person = Person(guide)
    stopped: list[str] = []

    def work(ask: Any) -> int:
        for step in ("first", "second"):
            try:
                ask(step)
            except NotRunError:
                stopped.append(step)
        return len(stopped)

    guide.begin(work)
    assert person.is_asked() == "first"
    person.stop.click()
    assert guide.wait() == 2
    assert stopped == ["first", "second"]


def test_what_goes_wrong_is_told_and_raised() -> None:
    guide = Guide()

    def work(_: Any) -> None:
        raise AxnbError("there is no deployment.")

    guide.begin(work)
    with pytest.raises(AxnbError, match="no deployment"):
        guide.wait()
    assert "there is no deployment." in told(Person(guide).said)
    with pytest.raises(AxnbError, match="another"):
        guide.begin(work)


def test_nothing_was_begun() -> None:
    with pytest.raises(AxnbError, match="begun"):
        Guide().result()
