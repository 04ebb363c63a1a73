"""Rows of a source: filters and pages against the plainest reading of the case."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings

from axnb.case.browse import RowFilter, count_of_rows, page_of_rows
from axnb.case.case import Case
from axnb.errors import CaseLockedError, UsageError
from axnb.lab import rows as rows_module
from axnb.lab.rows import RowsBrowser
from axnb.notebook.workspace import TriageWorkspace
from axnb.testing.logs import LogBuilder
from tests.lab.desks import control, desk_of, opened, rows_of, told
from tests.lab.mixed import filters, fits, lines_of, logs, mixed


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> TriageWorkspace:
    """Two sources with the same conversations."""
    return opened(tmp_path_factory.mktemp("rows"), mixed(), mixed(1))


@pytest.fixture
def browser(work: TriageWorkspace) -> Iterator[RowsBrowser]:
    """A browser at its first page."""
    found = RowsBrowser(desk_of(work))
    found.refresh()
    return found


def test_the_log_holds_a_bit_of_everything(work: TriageWorkspace) -> None:
    lines = lines_of(work.case, "log")
    assert {line[5] for line in lines} >= {None, "unreadable", "image", "confirmation", "thought"}
    assert {line[2] for line in lines} >= {None, "c1", ""}
    assert any(line[1] > 1 for line in lines)


def _check(case: Case, wanted: RowFilter, limit: int) -> None:
    expected = [line[:4] for line in lines_of(case, wanted.source) if fits(line, wanted)]
    found, after = [], None
    with case.reading() as session:
        assert count_of_rows(session, wanted) == len(expected)
        while True:
            place = {} if after is None else {"after": after}
            page = page_of_rows(session, wanted, limit=limit, **place)
            assert len(page) <= limit
            if not page:
                break
            found += [(r["row"], r["part"], r["conversation_id"], r["step"]) for r in page]
            after = page[-1]["row"], page[-1]["part"]
    assert found == expected


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(filters())
def test_the_pages_together_are_what_the_filter_chooses(
    work: TriageWorkspace, wanted: RowFilter
) -> None:
    _check(work.case, wanted, 7)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(logs(), logs(), filters())
def test_pages_of_any_log(one: LogBuilder, other: LogBuilder, wanted: RowFilter) -> None:
    with TemporaryDirectory() as folder:
        work = opened(Path(folder), one, other)
        for source in ("log", "log-2"):
            _check(work.case, RowFilter(source), 3)
            _check(work.case, replace(wanted, source=source), 2)
        work.case.close()


def test_rows_below_zero_are_rows(tmp_path: Path) -> None:
    path = LogBuilder("G8").write_sqlite(tmp_path / "log0.sqlite", keyed=False)
    with closing(sqlite3.connect(path)) as connection:
        for number in (-7, 0, 3):
            payload = f'{{"conversation_id":"c{number}","state":"STATE_COMPLETED"}}'
            connection.execute(
                "insert into conversation_log (rowid, conversation_id, step, payload) "
                "values (?, ?, 1, ?)",
                [number, f"c{number}", payload],
            )
        connection.commit()
    from axnb.notebook.workspace import open_triage

    browser = RowsBrowser(desk_of(open_triage(str(path))))
    browser.refresh()
    assert [row[0] for row in rows_of(browser.box)] == ["-7", "0", "3"]


# --- pages of the view ---------------------------------------------------------------------------


def _next(browser: RowsBrowser) -> bool:
    button = control(browser.box, "Next ›")
    if button.disabled:
        return False
    button.click()
    return True


def _rows(browser: RowsBrowser) -> list[list[str]]:
    return rows_of(browser.box) if "<tbody>" in browser._table.value else []


def test_paging_there_and_back(browser: RowsBrowser, work: TriageWorkspace) -> None:
    pages = [_rows(browser)]
    while _next(browser):
        pages.append(_rows(browser))
    total = len(lines_of(work.case, "log"))
    assert sum(map(len, pages)) == total
    assert len(pages) > 3
    assert f"of {total:,} rows" in told(browser.box)
    for page in reversed(pages[:-1]):
        control(browser.box, "‹ Previous").click()
        assert _rows(browser) == page
    assert control(browser.box, "‹ Previous").disabled
    assert len(browser.frame) == total
    assert [str(row) for row in browser.frame["row"]] == [row[0] for page in pages for row in page]


def test_a_filter_that_changes_while_paging_begins_anew(browser: RowsBrowser) -> None:
    _next(browser)
    _next(browser)
    control(browser.box, "Kind").value = "confirmation"
    assert {row[4] for row in _rows(browser)} == {"confirmation"}
    assert control(browser.box, "‹ Previous").disabled
    assert "1–" in told(browser.box)
    control(browser.box, "Source").value = "log-2"
    assert {row[4] for row in _rows(browser)} == {"confirmation"}
    control(browser.box, "Id contains").value = "nobody"
    assert "No row fits." in told(browser.box)
    assert "no rows" in told(browser.box)
    assert control(browser.box, "Next ›").disabled


@pytest.mark.parametrize(
    "step", ["two", "1.5", "--1", "-", "１", "²", "1e3", "0x1", "9" * 5000, "<b>"]
)
def test_what_is_no_step_is_said(step: str, browser: RowsBrowser) -> None:
    control(browser.box, "From step").value = step
    assert "is no step: write a number." in told(browser.box)
    assert control(browser.box, "Next ›").disabled
    with pytest.raises(UsageError):
        len(browser.frame)
    control(browser.box, "From step").value = ""
    assert _rows(browser)


@pytest.mark.parametrize(
    ("lowest", "highest", "steps"),
    [
        ("-4", "-4", {"-4"}),
        (" 1 ", "1", {"1"}),
        (str(2**62), "9" * 30, {str(2**62)}),
        ("-" + "9" * 30, "-1", {"-4"}),
        ("9" * 30, "", set()),
        ("3", "2", set()),
    ],
)
def test_steps_choose_rows(
    lowest: str, highest: str, steps: set[str], browser: RowsBrowser
) -> None:
    control(browser.box, "From step").value = lowest
    control(browser.box, "To step").value = highest
    assert {row[2] for row in _rows(browser)} == steps


def test_half_a_letter_is_no_text(browser: RowsBrowser) -> None:
    control(browser.box, "Id contains").value = "\ud800"
    assert "no text in UTF-8" in told(browser.box)


def test_more_rows_than_anybody_counts(
    browser: RowsBrowser, work: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = len(lines_of(work.case, "log"))
    monkeypatch.setattr("axnb.case.browse.MOST_COUNTED", 30)
    monkeypatch.setattr(rows_module, "MOST_COUNTED", 30)
    browser.refresh()
    seen = [row[0] for row in _rows(browser)]
    assert "1–25 of more than 30 rows" in told(browser.box)
    while _next(browser):
        seen += [row[0] for row in _rows(browser)]
        assert "of more than 30 rows" in told(browser.box)
    assert len(seen) == total
    assert f"–{total} of more than 30 rows" in told(browser.box)


def test_a_page_that_fails_is_tried_again(
    browser: RowsBrowser, work: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody gets lost: the next click shows the page that failed."""
    page = rows_module.page_of_rows

    def fail(*_: object) -> None:
        raise CaseLockedError("the case is held.")

    for _ in range(2):
        monkeypatch.setattr(rows_module, "page_of_rows", fail)
        assert _next(browser)
        assert told(browser.box).startswith("✗ the case is held.")
        monkeypatch.setattr(rows_module, "page_of_rows", page)
    assert _next(browser)
    expected = [str(line[0]) for line in lines_of(work.case, "log")]
    assert [row[0] for row in _rows(browser)] == expected[25:50]
