"""Every widget of the first notebook, used as a person uses it: does the answer change rightly?"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from axnb.case.case import Case
from axnb.loading import load
from axnb.settings import Settings
from tests.browser.browser import OUTPUT_TIMEOUT, watched_page
from tests.browser.jupyterlab import REPOSITORY, JupyterLab, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

NOTEBOOK = REPOSITORY / "notebooks" / "01_triage.ipynb"


@pytest.fixture(scope="module")
def notebook(chromium: Browser, jupyterlab: JupyterLab) -> Iterator[Notebook]:
    """The notebook after all its cells have run on the sample log.

    All tests share it, so each puts its own fields in order before it looks.
    """
    name = jupyterlab.add(NOTEBOOK, "widgets.ipynb", settings="sample_data/axnb.toml", out="out")
    with watched_page(chromium) as page, Notebook.open(page, jupyterlab, name) as opened:
        opened.run_all()
        yield opened


def _cell(notebook: Notebook, call: str) -> Locator:
    """The outputs of the cell that makes a call."""
    cell = notebook.page.locator(".jp-CodeCell", has_text=f"work.{call}()")
    return cell.locator(".jp-Cell-outputArea")


def _expect(place: Locator, text: str | re.Pattern[str]) -> None:
    expect(place).to_contain_text(text, timeout=OUTPUT_TIMEOUT)


def _choose(field: Locator, part: str) -> None:
    """Choose the option of a list whose label holds a text."""
    option = field.locator("option", has_text=part).first
    field.select_option(option.inner_text())


def _type(field: Locator, text: str) -> None:
    """Fill a field in, as a person who ends with the enter key."""
    field.fill(text)
    field.press("Enter")


#: Fields of the first view as they are at the beginning.
_FIELDS = {"Source": "sample_data/log.sqlite", "Beside it": "", "Harnesses": "", "Conversation": ""}


def _load(notebook: Notebook, version: str = "the newest that the log shows", **given: str) -> None:
    """Choose anew, and press the button."""
    choice = _cell(notebook, "choice")
    button = choice.get_by_role("button", name="Load and triage")
    # Whoever types while something is still being loaded may be overtaken by it.
    expect(button).to_be_enabled(timeout=OUTPUT_TIMEOUT)
    for label, value in {**_FIELDS, **given}.items():
        field = choice.get_by_label(label, exact=True)
        field.fill(value)
        expect(field).to_have_value(value, timeout=OUTPUT_TIMEOUT)
    choice.get_by_label("AX version").select_option(version)
    button.click()


def _rows(place: Locator, caption: str) -> list[list[str]]:
    """The rows of the table whose caption holds a text."""
    table = place.locator("table", has=place.page.locator("caption", has_text=caption))
    # In one go: a view may be drawn anew at any moment.
    found: list[list[str]] = table.evaluate(
        "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(c => c.innerText))"
    )
    return found


@pytest.fixture
def sample_again(notebook: Notebook) -> Iterator[None]:
    """Whatever a test chooses, the next one begins with the sample log."""
    yield
    _load(notebook)
    _expect(_cell(notebook, "summary"), "11 of 30 conversations are blocked for good.")
    _expect(_cell(notebook, "choice"), "The result is in out.")


@pytest.mark.usefixtures("sample_again")
def test_choosing_another_version_asks_anew_everywhere(notebook: Notebook) -> None:
    _load(notebook, "v0.2.3 (G8)")
    _expect(_cell(notebook, "summary"), "v0.2.3 reads this log's content as empty")
    _expect(_cell(notebook, "choice"), "The result is in out.")
    _expect(_cell(notebook, "conversations"), "Do not touch")
    _choose(_cell(notebook, "findings").get_by_label("Class"), "AX141")
    _expect(_cell(notebook, "findings"), "AX141")
    result = json.loads((notebook.lab.root / "out" / "result.json").read_text("utf-8"))
    assert result["parameters"]["ax_version"] == "G8"


@pytest.mark.usefixtures("sample_again")
def test_choosing_harnesses_asks_anew(notebook: Notebook) -> None:
    _load(notebook, Harnesses="antigravity=accepts")
    _expect(_cell(notebook, "summary"), "interrupted and would be resumed")


@pytest.mark.usefixtures("sample_again")
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("nothing.sqlite", "nothing.sqlite does not exist"),
        ("postgresql://user:hunter2@127.0.0.1/db", "holds a password"),
        ("sample_data/README.md", "README.md"),
    ],
)
def test_a_source_that_cannot_be_read_leaves_what_was_shown(
    source: str, told: str, notebook: Notebook
) -> None:
    choice = _cell(notebook, "choice")
    _load(notebook, Source=source)
    _expect(choice, "✗")
    _expect(choice, told)
    _expect(_cell(notebook, "summary"), "11 of 30 conversations are blocked for good.")
    assert "Traceback" not in "".join(notebook.outputs.all_inner_texts())


@pytest.mark.usefixtures("sample_again")
def test_an_empty_log_is_shown_as_one(notebook: Notebook) -> None:
    with closing(sqlite3.connect(notebook.lab.root / "empty.sqlite")) as connection:
        connection.execute(
            "create table conversation_log (conversation_id text, step integer, payload text, "
            "primary key (conversation_id, step))"
        )
    _load(notebook, Source="empty.sqlite")
    _expect(_cell(notebook, "choice"), "empty.sqlite")
    _expect(_cell(notebook, "summary"), "? inconclusive")
    _expect(_cell(notebook, "conversations"), "The case holds no conversation.")
    _expect(_cell(notebook, "timeline"), "The case holds no conversation.")
    _expect(_cell(notebook, "findings"), "Nothing was found.")
    _expect(_cell(notebook, "tables"), "No row fits.")


def test_conversations_are_filtered_and_paged(notebook: Notebook) -> None:
    place = _cell(notebook, "conversations")
    assert len(_rows(place, "15 of 30 conversations need attention")) == 15
    place.get_by_label("What to do").select_option("all")
    _expect(place, "1–25 of 30 conversations")
    first = _rows(place, "of 30 conversations")
    place.get_by_role("button", name="Next").click()
    _expect(place, "26–30 of 30 conversations")
    second = _rows(place, "of 30 conversations")
    assert (len(first), len(second)) == (25, 5)
    assert not {row[0] for row in first} & {row[0] for row in second}
    place.get_by_role("button", name="Previous").click()
    _expect(place, "1–25 of 30 conversations")
    _type(place.get_by_label("Id contains"), "kill9")
    _expect(place, re.compile("1–[0-9] of [0-9] conversations"))
    assert all("kill9" in row[0] for row in _rows(place, "conversations fit"))
    _type(place.get_by_label("Id contains"), "no such id")
    _expect(place, "No conversation fits.")
    _type(place.get_by_label("Id contains"), "")
    place.get_by_label("What to do").select_option("needs attention")
    _expect(place, "15 of 30 conversations need attention")


def test_a_conversation_is_chosen_in_every_place(notebook: Notebook) -> None:
    timeline = _cell(notebook, "timeline")
    _cell(notebook, "conversations").get_by_label("Show below").select_option("kill9-after-effect")
    _expect(timeline, "kill9-after-effect log, G6")
    _expect(timeline, "read order-4 back from charge_card; then unblock")
    _type(timeline.get_by_label("Find id"), "hello")
    offered = timeline.get_by_label("Conversation").locator("option")
    expect(offered.filter(has_text="awaiting")).to_have_count(0)
    timeline.get_by_label("Conversation").select_option("hello-world")
    _expect(timeline, "hello-world log, G6")
    findings = _cell(notebook, "findings")
    findings.get_by_label("Severity").select_option("all")
    _choose(findings.get_by_label("Class"), "AX214")
    _expect(findings, "1–1 of 1 findings")
    _choose(findings.get_by_label("Show its conversation"), "result-first")
    _expect(timeline, "result-first log, G6")
    timeline.get_by_label("Rows").select_option("all")
    _expect(timeline, "result-first log, G6")
    _type(timeline.get_by_label("Find id"), "")


def test_a_payload_is_hidden_until_it_is_asked_for_and_that_is_recorded(
    notebook: Notebook,
) -> None:
    timeline = _cell(notebook, "timeline")
    timeline.get_by_label("Conversation").select_option("kill9-after-effect")
    _expect(timeline, "kill9-after-effect log, G6")
    secret = '"idempotency_key"'
    reveal = timeline.get_by_role("button", name="Reveal")
    assert reveal.is_disabled()
    _choose(timeline.get_by_label("Payload", exact=True), "◆ call")
    _expect(timeline, re.compile(r"◆ call, [0-9]+ bytes, keyed digest"))
    assert secret not in timeline.inner_text()
    reveal.click()
    _expect(timeline, secret)
    _expect(timeline, re.compile("revealed by .+ at .+Z: 1 part"))


def test_findings_are_filtered_and_explained(notebook: Notebook) -> None:
    place = _cell(notebook, "findings")
    place.get_by_label("Class").select_option("all")
    place.get_by_label("Severity").select_option("all")
    _expect(place, "1–25 of 41 findings")
    place.get_by_label("Severity").select_option("error")
    _expect(place, "1–11 of 11 findings")
    assert {row[0] for row in _rows(place, "11 findings")} == {"✗ AX110 interrupted-turn"}
    place.get_by_label("Severity").select_option("all")
    _choose(place.get_by_label("Class"), "AX203")
    _expect(place, "Read it back from the tool's own system")
    _expect(place, "1–9 of 9 findings")
    place.get_by_label("Severity").select_option("info")
    _expect(place, "No finding fits.")


def _charges() -> int:
    """How many parts of the sample log are calls of charge_card."""
    with Case(settings=Settings()) as case:
        load(case, [str(REPOSITORY / "sample_data" / "log.sqlite")])
        (found,) = case.rows(
            "select count(*) from parts where kind = 'tool_call' and tool = 'charge_card'"
        )
    return int(found[0])


def test_rows_are_filtered_and_paged(notebook: Notebook) -> None:
    place = _cell(notebook, "tables")
    _expect(place, "1–25 of 195 rows")
    before = _rows(place, "Rows of the log")
    place.get_by_role("button", name="Next").click()
    _expect(place, "26–50 of 195 rows")
    assert not {tuple(r) for r in before} & {tuple(r) for r in _rows(place, "Rows of the log")}
    place.get_by_label("Kind").select_option("tool_call")
    _type(place.get_by_label("Tool contains"), "charge")
    charges = _charges()
    _expect(place, f"1–{charges} of {charges} rows")
    found = _rows(place, "Rows of the log")
    assert len(found) == charges
    assert {(row[4], row[6]) for row in found} == {("tool_call", "charge_card")}
    _type(place.get_by_label("From step"), "two")
    _expect(place, "is no step: write a number")
    _type(place.get_by_label("From step"), "9000")
    _expect(place, "No row fits.")


def test_two_conversations_are_compared(notebook: Notebook) -> None:
    place = _cell(notebook, "tables")
    place.get_by_label("First").select_option("kill9-after-effect")
    place.get_by_label("Second").select_option("sigterm-mid-turn")
    place.get_by_role("button", name="Compare").click()
    _expect(place, re.compile("[0-9] of [0-9] parts say the same"))
    assert {row[-1] for row in _rows(place, "parts say the same")} <= {"= same", "≠ another text"}


@pytest.mark.usefixtures("sample_again")
def test_two_sources_are_compared(notebook: Notebook) -> None:
    place = _cell(notebook, "tables")
    place.get_by_label("Compare").select_option("two sources")
    _expect(place, "There is one log only")
    (notebook.lab.root / "second.sqlite").write_bytes(
        (REPOSITORY / "sample_data" / "log.sqlite").read_bytes()
    )
    with closing(sqlite3.connect(notebook.lab.root / "second.sqlite")) as second:
        second.execute("delete from conversation_log where conversation_id = 'hello-world'")
        second.commit()
    _load(notebook, **{"Beside it": "second.sqlite"})
    _expect(_cell(notebook, "choice"), "log-2")
    place.get_by_role("button", name="Compare").click()
    _expect(place, "1 of the 30 conversations below differ")
    assert _rows(place, "conversations below differ")[0][:4] == ["hello-world", "0", "0", "6"]
    place.get_by_label("Compare").select_option("two conversations")


def test_sql_answers_refuses_and_stops(notebook: Notebook) -> None:
    place = _cell(notebook, "tables")
    box = place.get_by_label("SQL")
    run, stop = (place.get_by_role("button", name=name) for name in ("Run", "Stop"))
    box.fill("select count(*) as n, '<b>x</b>' as shown from events")
    run.click()
    _expect(place, "<b>x</b>")
    assert _rows(place, "1 row") == [["195", "<b>x</b>"]]
    box.fill("select nothing from nowhere")
    run.click()
    _expect(place, "✗ the query fails")
    box.fill("delete from findings")
    run.click()
    _expect(place, "✗ the query fails")
    box.fill("select count(*) from range(1000000000) a, range(1000000000) b")
    run.click()
    _expect(place, "running …")
    stop.last.click()
    _expect(place, "✗ the query was stopped.")
    box.fill("select 42 as answer")
    run.click()
    _expect(place, "42")


def test_the_keyboard_is_enough(notebook: Notebook) -> None:
    """From the first field of a view the tab key reaches the others, in reading order."""
    place = _cell(notebook, "conversations")
    place.get_by_label("What to do").focus()
    notebook.page.keyboard.press("Tab")
    assert place.get_by_label("Id contains").evaluate("e => e === document.activeElement")
    notebook.page.keyboard.type("awaiting")
    notebook.page.keyboard.press("Enter")
    _expect(place, "1–1 of 1 conversations")
    _type(place.get_by_label("Id contains"), "")
