"""The box for SQL: it reads, refuses all else, and can be stopped."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from axnb.errors import UsageError
from axnb.lab.query import QueryBox
from axnb.lab.rows import RowsBrowser
from axnb.notebook.workspace import TriageWorkspace
from axnb.report.query import Queries
from axnb.testing.logs import LogBuilder, call
from tests.lab.desks import control, desk_of, opened, rows_of, told

READS = {
    "select 1 as a; select 'b' as c": [["b"]],
    "from (values (1), (2))": [["1"], ["2"]],
    "with x as (select 3) from x": [["3"]],
    "select count(*) from events": [["2"]],
    "explain select 1": None,
    "describe events": None,
    "summarize select 1": None,
    "show tables": None,
}
REFUSED = (
    *("commit", "rollback", "begin", "abort", "checkpoint", "force checkpoint", "vacuum"),
    *("set threads = 1", "reset threads", "set variable x = 1", "use memory", "analyze"),
    *("attach ':memory:' as x", "detach memory", "load json", "install httpfs"),
    *("copy (select 1) to 'owned.csv'", "export database 'owned'", "import database 'owned'"),
    *("delete from meta", "truncate meta", "insert into meta values ('a', 'b')", "drop table meta"),
    *("update meta set value = 'x'", "alter table meta rename to x", "create table t (a int)"),
    *("create temp table t (a int)", "create macro f() as 1", "create secret (type s3)"),
    *(
        "comment on table meta is 'x'",
        "merge into meta using (select 1) on true when matched then delete",
    ),
    *("pragma database_size", "pragma threads = 1", "call force_checkpoint()"),
    *("prepare p as select 1", "execute p", "deallocate p"),
    *("select 1; commit; delete from meta", "commit; select 1"),
    *("explain analyze delete from meta", "explain analyze create table t (a int)"),
    *("explain analyze copy (select 1) to 'owned.csv'", "select * from force_checkpoint()"),
    *("with x as (delete from meta returning *) from x", "select * from query('delete from meta')"),
    *("select * from read_text('/etc/hostname')", "select * from '/etc/hostname'"),
    *("select * from read_csv('/etc/hostname')", "select * from glob('/*')", "select nothing"),
    *("select error('a payload')", "select 1 from", "'", "\ud800"),
)


@pytest.fixture(scope="module", params=["private", "file"])
def work(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TriageWorkspace:
    """A private case, and a case file."""
    log = LogBuilder("G8")
    log.interrupted("cut", "hi", call("pay", {"n": 1}))
    folder = tmp_path_factory.mktemp(request.param)
    return opened(folder, log, case="" if request.param == "private" else str(folder / "c.duckdb"))


@pytest.fixture
def box(work: TriageWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueryBox:
    """A box, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return QueryBox(desk_of(work))


def _run(box: QueryBox, text: str) -> str:
    box._text.value = text
    control(box.box, "Run").click()
    box.task.wait()
    return told(box.box)


@pytest.mark.parametrize("text", READS)
def test_what_reads_is_answered(text: str, box: QueryBox) -> None:
    assert "done." in _run(box, text)
    rows = rows_of(box.box)
    assert rows == READS[text] if READS[text] is not None else rows
    assert len(box.frame) == len(rows)


def test_what_does_not_read_is_refused(
    box: QueryBox, work: TriageWorkspace, tmp_path: Path
) -> None:
    look = "select * from meta union all select current_setting('threads'), 'threads' order by all"
    before = work.case.rows(look)
    assert "done." in _run(box, "select 'before' as a")
    for text in REFUSED:
        said = _run(box, text)
        assert "✗ the query " in said, text
        assert "a payload" not in said
        assert "this is a fault of axnb" not in said
        assert rows_of(box.box) == [["before"]], text
    assert work.case.rows(look) == before
    assert list(tmp_path.iterdir()) == []


def test_a_text_without_a_query(box: QueryBox) -> None:
    _run(box, "select 'before' as a")
    for text in ("", " ; ", "-- nothing"):
        assert "There is no query." in _run(box, text)


def test_what_strangers_wrote_is_text(box: QueryBox) -> None:
    hostile = "</td><img src=x onerror=alert(1)>' || chr(27) || '[31m' || chr(8238) || '"
    said = _run(box, f"select '{hostile}' as \"<b>\x1b\", ['a' || chr(27)] as l, 'x'::blob as b")
    assert "<b>\\u001b" in said
    assert rows_of(box.box)[0][0] == "</td><img src=x onerror=alert(1)>\\u001b[31m\\u202e"
    assert box.frame.columns[0] == "<b>\\u001b"
    assert "\x1b" not in box.frame.to_string()
    assert box.frame["l"][0] == ["a\\u001b"]


def test_many_rows_are_cut(box: QueryBox) -> None:
    said = _run(box, "select range as n from range(5000)")
    assert "1,000 rows or more" in said
    assert "The first 100 are shown; frame has more." in said
    assert len(rows_of(box.box)) == 100
    assert len(box.frame) == 1000


def test_a_query_is_broken_off(box: QueryBox) -> None:
    stop = control(box.box, "Stop")
    box._text.value = "select count(*) from range(1000000000) a, range(1000000000) b"
    control(box.box, "Run").click()
    # Whoever stops before it has begun asks again.
    waiting = Thread(target=box.task.wait)
    waiting.start()
    while waiting.is_alive():
        stop.click()
        waiting.join(0.01)
    assert "✗ the query was stopped." in told(box.box)
    assert "42" in _run(box, "select 42 as a")


def test_no_query_begins_after_a_stop(work: TriageWorkspace) -> None:
    queries = Queries(work.case, "select 1; select 2")
    answers = iter(queries)
    assert next(answers).rows == [(1,)]
    queries.interrupt()
    with pytest.raises(UsageError, match="the query was stopped"):
        next(answers)


def test_two_threads_read_at_once(box: QueryBox, work: TriageWorkspace) -> None:
    browser = RowsBrowser(desk_of(work))
    browser.refresh()
    errors: list[Any] = []

    def ask(number: int) -> None:
        try:
            for _ in range(5):
                query = f"select distinct {number} from events, range(1000)"
                (answer,) = Queries(work.case, query)
                assert answer.rows == [(number,)]
        except BaseException as err:
            errors.append(err)

    threads = [Thread(target=ask, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        control(browser.box, "Id contains").value = "cut"
        control(browser.box, "Id contains").value = ""
        assert len(rows_of(browser.box)) == 2
    assert errors == []
    assert "✗" not in told(browser.box)
