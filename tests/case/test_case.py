"""The case: the same from the same, whole after a kill, shared politely, closed outwards."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result
from duckdb.sqltypes import INTEGER

from axnb.case import case as case_module
from axnb.case.case import Case
from axnb.checks import registry
from axnb.checks.registry import checks
from axnb.errors import CaseError, CaseLockedError, SourceError
from axnb.loading import load, load_state
from axnb.mapping import state_map
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call
from axnb.triaging import Question, triage
from tests import ax_logs

REPOSITORY = Path(__file__).parents[2]

Cli = Callable[..., Result]


def _log(path: Path, *ids: str, generation: str = "G6") -> Path:
    log = LogBuilder(generation)
    for number, conversation_id in enumerate(ids):
        log.turn(conversation_id, "hi", call("charge", {"n": number}), answer({"ok": True}))
        log.interrupted(conversation_id, "again", call("charge", {"n": number}, call_id="b"))
    path.parent.mkdir(exist_ok=True)
    return log.write_sqlite(path)


def _tables(case: Case) -> list[str]:
    return [name for (name,) in case.rows("select table_name from duckdb_tables() order by all")]


def _content(case: Case, source: str | None = None) -> dict[str, list[str]]:
    """Every table, its rows as text and in no order; of one source, without its name."""
    found = {}
    for table in _tables(case):
        query = f'select * from "{table}"'
        if source is not None and table == "meta":
            # The rest of it is about all sources together.
            query += " where name = 'schema'"
        elif source is not None:
            query = f"select * replace ('' as source) from \"{table}\" where source = '{source}'"
        found[table] = sorted(map(repr, case.rows(query)))
    return found


def _load(case: Case, *sources: Path) -> None:
    load(case, [str(source) for source in sources])


# --- the same from the same ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["crafted-sqlite", "g3-sqlite", "upgraded-g6-g8-sqlite"])
def test_loading_twice_changes_nothing(name: str, case: Case) -> None:
    log = ax_logs.ROOT / name / "log.sqlite"
    _load(case, log)
    once = _content(case)
    _load(case, log)
    assert _content(case) == once
    assert once["event_rows"] != []


def test_a_case_file_holds_what_a_private_case_holds(case: Case, tmp_path: Path) -> None:
    log = _log(tmp_path / "log.sqlite", "a", "b")
    _load(case, log)
    kept = Case(tmp_path / "case.duckdb", Settings())
    _load(kept, log)
    assert _content(kept) == _content(case)


def test_a_private_case_that_memory_cannot_hold_is_a_file_of_its_own(
    case: Case, tmp_path: Path
) -> None:
    log = _log(tmp_path / "log.sqlite", "a", "b")
    _load(case, log)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Case(settings=Settings(scratch=scratch)) as large:
        large.make_room(10**12)
        assert len(list(scratch.rglob("case.duckdb"))) == 1
        _load(large, log)
        large.make_room(10**12)
        assert _content(large) == _content(case)
    del large
    assert list(scratch.iterdir()) == []


def test_a_private_case_makes_ready_for_large_sources(case: Case) -> None:
    def cores() -> int:
        ((found,),) = case.rows("select current_setting('threads')")
        return int(found)

    def disabled() -> set[str]:
        ((found,),) = case.rows("select current_setting('disabled_optimizers')")
        return set(filter(None, found.split(",")))

    case.make_room(1000)
    assert cores() == 1
    assert len(disabled()) > 10
    # Without it, each row would be compared with each other.
    assert "filter_pushdown" not in disabled()
    case.make_room(1_000_000)
    assert 0 < len(disabled()) < 10
    case.make_room(1000)
    assert 0 < len(disabled()) < 10
    case.make_room(10_000_000, whole=False)
    assert cores() == duckdb.execute("select current_setting('threads')").fetchall()[0][0]
    assert disabled() == set()


def _sized(monkeypatch: pytest.MonkeyPatch, tiny: int, small: int) -> None:
    """Cases are tiny or small up to so many bytes."""
    monkeypatch.setattr(case_module, "_TINY", tiny)
    monkeypatch.setattr(case_module, "_SMALL", small)


@pytest.mark.slow
def test_a_case_of_any_size_answers_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of a small case are planned in a hurry, and those of a large one with care."""
    sample, found = REPOSITORY / "sample_data", []
    for limits in ((10**9, 10**9), (0, 10**9), (0, 0)):
        _sized(monkeypatch, *limits)
        with Case(settings=Settings()) as case:
            load_state(case, [str(sample / "snapshots")], [sample / "records"])
            _load(case, sample / "log.sqlite")
            # When something was read is told of a source.
            content = {k: v for k, v in _content(case).items() if k not in ("meta", "sources")}
            answers = replace(triage(case), sources=()), replace(state_map(case), sources=())
            found.append((content, answers))
    assert found[0] == found[1]
    assert found[0] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize("log", ax_logs.sqlite_logs(), ids=lambda log: log.name)
def test_a_hurry_changes_nothing(log: ax_logs.RealLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tiny case finds by the signs of checks, a large one finds by every check."""
    found = []
    for is_large in (False, True):
        _sized(monkeypatch, *((0, 0) if is_large else (10**9, 10**9)))
        if is_large:
            every = frozenset(check.sign for check in checks())
            monkeypatch.setattr(registry, "signs", lambda *_, every=every: every)
        with Case(settings=Settings()) as case:
            _load(case, log.sqlite)
            found.append((triage(case), triage(case, Question("G3")), _content(case)))
    assert found[0] == found[1]


def test_a_second_source_is_kept_apart(case: Case, tmp_path: Path) -> None:
    """Both logs have the same conversations; each is derived as if it were alone."""
    first = _log(tmp_path / "a" / "log.sqlite", "same", "first")
    second = _log(tmp_path / "b" / "log.sqlite", "same", "second", generation="G8")
    _load(case, first, second)
    together = {"log": first, "log-2": second}
    for name, path in together.items():
        with Case(settings=Settings()) as alone:
            _load(alone, path)
            assert _content(alone, "log") == _content(case, name)


def test_loading_one_source_again_leaves_the_other(case: Case, tmp_path: Path) -> None:
    first, second = _log(tmp_path / "a.sqlite", "a"), _log(tmp_path / "b.sqlite", "b")
    _load(case, first, second)
    before = _content(case, "log-2")
    _log(first.with_name("new.sqlite"), "a", "c").replace(first)
    _load(case, first)
    assert _content(case, "log-2") == before
    ids = case.rows("select conversation_id from conversations where source = 'log' order by all")
    assert ids == [("a",), ("c",)]


def test_one_relative_path_in_two_folders_is_two_sources(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second load must not silently replace another folder's log."""
    for folder in ("a", "b"):
        _log(tmp_path / folder / "log.sqlite", f"in-{folder}")
        monkeypatch.chdir(tmp_path / folder)
        _load(case, Path("log.sqlite"))
    ids = case.rows("select conversation_id from conversations order by all")
    assert ids == [("in-a",), ("in-b",)]


def test_one_file_under_two_spellings_is_one_source(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log(tmp_path / "log.sqlite", "a")
    monkeypatch.chdir(tmp_path)
    load(case, ["log.sqlite", "./log.sqlite", str(log), f"sqlite://{log}"])
    assert case.rows("select count(*) from sources") == [(1,)]


def test_a_source_that_cannot_be_read_leaves_the_case_as_it_was(case: Case, tmp_path: Path) -> None:
    log = _log(tmp_path / "log.sqlite", "a")
    _load(case, log)
    before = _content(case)
    log.write_bytes(log.read_bytes()[:100] + bytes(4000))
    with pytest.raises(SourceError):
        _load(case, log)
    assert _content(case) == before


def test_equal_numbers_do_not_make_one_call_two(case: Case, tmp_path: Path) -> None:
    """Without a key two rows may share a number; a call between two turns is still one call."""
    log = LogBuilder("G8")
    log.turn("c", "hi")
    log.interrupted("c", "again", call("charge", {"n": 1}), answer({"ok": True}))
    steps = [1, 2, 2, 2, 3]
    log.rows = [
        StoredRow(row.conversation_id, step, row.payload)
        for row, step in zip(log.rows, steps, strict=True)
    ]
    _load(case, log.write_sqlite(tmp_path / "log.sqlite", keyed=False))
    calls = case.rows("select tool, outcome from tool_calls")
    assert calls == [("charge", "completed")]
    errors = case.rows("select id from findings where severity = 'error' order by all")
    assert errors == [("AX104",), ("AX110",)]


# --- atomic under kill -9 ------------------------------------------------------------------------

_TURNS = 5000


@cache
def _big_log() -> Path:
    """Some 20,000 rows: one turn of four rows under many names."""
    log = LogBuilder("G6")
    log.turn("c-00000", "x" * 60, call("charge", {"n": 1}), answer({"ok": True}))
    turn = log.rows
    log.rows = [
        StoredRow(name, row.step, row.payload.replace("c-00000", name))
        for name in (f"c-{number:05}" for number in range(_TURNS))
        for row in turn
    ]
    return log.write_sqlite(Path(_scratch(), "big.sqlite"))


@cache
def _scratch() -> str:
    """A folder that goes with the test process."""
    folder = tempfile.mkdtemp(prefix="axnb-test-case-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _small_log() -> Path:
    return _log(Path(_scratch(), "small.sqlite"), "a", "b")


@cache
def _old_case() -> tuple[Path, dict[str, Any]]:
    """A case that holds another load, and what is in it."""
    path = Path(_scratch(), "old.duckdb")
    case = Case(path, Settings())
    _load(case, _small_log())
    return path, _fingerprints(case)


@cache
def _new_state() -> dict[str, Any]:
    """What the case holds once the big log is in it, too."""
    path = Path(_scratch(), "new.duckdb")
    shutil.copyfile(_old_case()[0], path)
    case = Case(path, Settings())
    _load(case, _big_log())
    return _fingerprints(case)


def _fingerprints(case: Case) -> dict[str, Any]:
    return {
        table: case.rows(f'select count(*), bit_xor(hash(t)), sum(hash(t)) from "{table}" t')[0]
        for table in _tables(case)
    }


_KILLED_AT_ROWS = """
import os, signal, sys
import axnb.cli, axnb.cli.loading
last = int(sys.argv[1])
def progress(rows):
    if rows >= last:
        os.kill(os.getpid(), signal.SIGKILL)
axnb.cli.loading._progress = lambda: progress
axnb.cli.main(sys.argv[2:])
"""

_KILLED_BEFORE_COMMIT = """
import os, signal, sys
import axnb.cli, axnb.loading
keep = axnb.loading.keep_findings
def killed(session):
    keep(session)
    os.kill(os.getpid(), signal.SIGKILL)
axnb.loading.keep_findings = killed
axnb.cli.main(sys.argv[1:])
"""


def _environment() -> dict[str, str]:
    # What is killed leaves its private copy behind: in a folder that goes with us.
    places = {"PYTHONPATH": str(REPOSITORY), "TMPDIR": _scratch()}
    return {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}


def _start(case: Path, *command: str) -> subprocess.Popen[bytes]:
    arguments = ["load", str(_big_log()), "--case", str(case)]
    return subprocess.Popen(
        [sys.executable, *command, *arguments],
        env=_environment(),
        cwd=_scratch(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_at_rows(rows: int) -> Callable[[Path], None]:
    def kill(case: Path) -> None:
        with _start(case, "-c", _KILLED_AT_ROWS, str(rows)) as process:
            assert process.wait() == -signal.SIGKILL

    return kill


def _kill_before_commit(case: Path) -> None:
    with _start(case, "-c", _KILLED_BEFORE_COMMIT) as process:
        assert process.wait() == -signal.SIGKILL


def _wal_bytes(case: Path) -> int:
    wal = case.with_name(case.name + ".wal")
    try:
        return wal.stat().st_size
    except FileNotFoundError:
        return 0


def _kill_when(reached: Callable[[Path], bool]) -> Callable[[Path], None]:
    """Kill the command line itself, once a file has grown so far, or when it is done."""

    def kill(case: Path) -> None:
        with _start(case, "-m", "axnb.cli") as process:
            while process.poll() is None and not reached(case):
                time.sleep(0.001)
            process.kill()

    return kill


def _grown(case: Path) -> bool:
    return case.stat().st_size > _old_case()[0].stat().st_size


def _grown_half(case: Path) -> bool:
    return case.stat().st_size > 2 * _old_case()[0].stat().st_size


def _logged(size: int) -> Callable[[Path], bool]:
    return lambda case: _wal_bytes(case) >= size


MOMENTS: dict[str, Callable[[Path], None]] = {
    "commit begun": _kill_when(_logged(1)),
}
#: These are the same moment each time.
HELD_MOMENTS: dict[str, Callable[[Path], None]] = {
    "first rows": _kill_at_rows(1),
    "half of the rows": _kill_at_rows(10_000),
    "all rows": _kill_at_rows(20_000),
    "before the commit": _kill_before_commit,
}
#: And these are another one each time.
PASSING_MOMENTS: dict[str, Callable[[Path], None]] = {
    "checkpoint begun": _kill_when(_grown),
    "commit at 3 MB": _kill_when(_logged(3 << 20)),
    "commit at 6 MB": _kill_when(_logged(6 << 20)),
    "commit at 8 MB": _kill_when(_logged(8 << 20)),
    "checkpoint half done": _kill_when(_grown_half),
}


def _check_kill(kill: Callable[[Path], None], path: Path) -> None:
    before, old = _old_case()
    shutil.copyfile(before, path)
    kill(path)
    case = Case(path, Settings())
    # First as a reader, who may change nothing and must see a whole state all the same.
    found = _fingerprints(case)
    assert found in (old, _new_state())
    # Then as a writer: what was killed is not in anybody's way.
    _load(case, _small_log())
    assert _fingerprints(case) == found


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_load_leaves_all_or_nothing(moment: str, tmp_path: Path) -> None:
    _check_kill(MOMENTS[moment], tmp_path / "case.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("moment", HELD_MOMENTS)
def test_a_killed_load_at_more_moments(moment: str, tmp_path: Path) -> None:
    _check_kill(HELD_MOMENTS[moment], tmp_path / "case.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("moment", PASSING_MOMENTS)
def test_a_killed_load_at_passing_moments(moment: str, tmp_path: Path) -> None:
    _check_kill(PASSING_MOMENTS[moment], tmp_path / "case.duckdb")


@pytest.mark.slow
def test_old_and_new_state_differ() -> None:
    """Else the tests above would prove nothing."""
    old, new = _old_case()[1], _new_state()
    assert new["event_rows"][0] == old["event_rows"][0] + 4 * _TURNS
    assert {t for t in old if old[t] != new[t]} >= {"event_rows", "turns", "tool_calls", "sources"}


def test_a_stopped_load_leaves_the_case_as_it_was(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    case = Case(tmp_path / "case.duckdb", Settings())
    _load(case, _log(tmp_path / "a.sqlite", "a"))
    before = _content(case)
    with pytest.raises(KeyboardInterrupt):
        load(case, [str(_log(tmp_path / "b.sqlite", "b"))], progress=stop)
    assert _content(case) == before


def test_an_interrupt_in_a_function_of_ours_is_one(case: Case) -> None:
    """DuckDB hands it on as an error of its own."""

    def stop(_: int) -> int:
        raise KeyboardInterrupt

    def ask() -> None:
        with case.reading() as session:
            session.create_function("stop", stop, [INTEGER], INTEGER)
            session.execute("select stop(1)")

    with pytest.raises(KeyboardInterrupt):
        ask()


# --- shared politely -----------------------------------------------------------------------------

_HOLDER = """
import duckdb, sys
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def _holder(path: Path, how: str) -> Iterator[int]:
    """Another process that holds the case for writing or for reading; its pid."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A case file that holds a log of the conversations `a` and `b`."""
    shutil.copyfile(_old_case()[0], tmp_path / "case.duckdb")
    return tmp_path / "case.duckdb"


def _one_sentence(result: Result) -> str:
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "fault of axnb" not in result.stderr
    return result.stderr


def test_a_writer_elsewhere_is_named(axnb: Cli, kept: Path) -> None:
    log = _small_log()
    verbs = (["load", log], ["triage"], ["triage", log], ["show", log, "a"], ["sql", "select 1"])
    with _holder(kept, "write") as pid:
        for verb in verbs:
            result = axnb(*verb, "--case", kept)
            assert result.exit_code == 4, verb
            assert f"process {pid} " in _one_sentence(result)
            assert str(kept) in result.stderr


def test_a_reader_elsewhere_stops_only_writers(axnb: Cli, kept: Path) -> None:
    with _holder(kept, "read") as pid:
        result = axnb("load", _small_log(), "--case", kept)
        assert result.exit_code == 4
        assert f"process {pid} " in _one_sentence(result)
        assert axnb("triage", "--case", kept).exit_code == 1
        assert axnb("sql", "select 1", "--case", kept).exit_code == 0


def test_the_lock_error_is_of_its_own_class(kept: Path) -> None:
    with _holder(kept, "write"), pytest.raises(CaseLockedError) as caught:
        Case(kept, Settings()).rows("select 1")
    assert caught.value.exit_code == 4


def test_a_notebook_left_open_blocks_nobody(kept: Path) -> None:
    """A Case object that lives on, after reading and after loading, holds no lock."""
    notebook = Case(kept, Settings())
    assert notebook.rows("select count(*) from sources") == [(1,)]
    _load(notebook, _small_log())
    command = [sys.executable, "-m", "axnb.cli", "load", str(_small_log()), "--case", str(kept)]
    run = subprocess.run(command, env=_environment(), capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert notebook.frame("select * from sources").shape[0] >= 1


def test_a_session_ends_after_an_error(kept: Path) -> None:
    case = Case(kept, Settings())
    with pytest.raises(duckdb.Error):
        case.rows("select nothing from nowhere")
    with pytest.raises(ZeroDivisionError), case.writing():
        1 / 0  # noqa: B018
    duckdb.connect(str(kept)).close()


# --- what is no case -----------------------------------------------------------------------------


def _text_file(path: Path) -> None:
    path.write_text("no database\n" * 1000)


def _other_database(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table mine (a int)")


def _other_version(path: Path) -> None:
    shutil.copyfile(_old_case()[0], path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update meta set value = '0' where name = 'schema'")


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "a text file": (_text_file, "no DuckDB file"),
    "another database": (_other_database, "not a case"),
    "another version": (_other_version, "another version"),
}


def _verbs(case: Path) -> dict[str, list[str | Path]]:
    """Each verb that uses a case, on this one."""
    log = _small_log()
    return {
        "load": ["load", log, "--case", case],
        "triage": ["triage", "--case", case],
        "triage SOURCE": ["triage", log, "--case", case],
        "show": ["show", log, "a", "--case", case],
        "sql": ["sql", "select 1", "--case", case],
    }


@pytest.mark.parametrize("verb", _verbs(Path()))
@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_case_is_told_in_one_sentence(
    axnb: Cli, what: str, verb: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.duckdb"
    make, said = WRONG[what]
    make(path)
    before = path.read_bytes()
    result = axnb(*_verbs(path)[verb])
    assert result.exit_code == 4
    assert said in _one_sentence(result)
    assert path.read_bytes() == before


def test_a_path_with_the_word_lock_in_it_says_nothing_of_locks(axnb: Cli, tmp_path: Path) -> None:
    _text_file(tmp_path / "clock.duckdb")
    result = axnb("triage", "--case", tmp_path / "clock.duckdb")
    assert "no DuckDB file" in _one_sentence(result)


@pytest.mark.parametrize("verb", ["load", "triage SOURCE", "show"])
def test_a_folder_that_is_missing_is_not_called_a_file(
    axnb: Cli, verb: str, tmp_path: Path
) -> None:
    result = axnb(*_verbs(tmp_path / "none" / "case.duckdb")[verb])
    assert result.exit_code == 4
    assert "no DuckDB file" not in _one_sentence(result)


def test_a_missing_case_says_so(axnb: Cli, tmp_path: Path) -> None:
    result = axnb("sql", "select 1", "--case", tmp_path / "none.duckdb")
    assert result.exit_code == 4
    assert "does not exist" in _one_sentence(result)
    assert not (tmp_path / "none.duckdb").exists()
    with pytest.raises(CaseError):
        Case(tmp_path / "none.duckdb", Settings()).rows("select 1")


# --- closed outwards -----------------------------------------------------------------------------

WRITES = (
    "delete from events",
    "update sources set read = 0",
    "insert into meta values ('a', 'b')",
    "create table mine (a int)",
    "drop view parts",
    "alter table events drop column payload",
)
REACHES = (
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from read_parquet('/etc/passwd')",
    "select * from glob('/etc/*')",
    "from '/etc/passwd'",
    "copy (select 1) to '{folder}/out.csv'",
    "copy sources from '/etc/passwd'",
    "export database '{folder}/out'",
    "attach '{folder}/new.duckdb' as new",
    "attach '{folder}/log.sqlite' as log (type sqlite)",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "select * from kept",
)


@pytest.mark.parametrize("query", WRITES)
def test_a_reading_session_cannot_write(query: str, kept: Path) -> None:
    case = Case(kept, Settings())
    before = kept.read_bytes()
    with pytest.raises(duckdb.Error):
        case.rows(query)
    assert kept.read_bytes() == before


@pytest.mark.parametrize("query", WRITES)
def test_a_reading_session_of_a_private_case_cannot_write(query: str, case: Case) -> None:
    _load(case, _small_log())
    with pytest.raises(duckdb.Error):
        case.rows(query)


@pytest.mark.parametrize("query", [*WRITES, *REACHES])
def test_a_typed_query_reaches_nothing(axnb: Cli, query: str, kept: Path) -> None:
    before = {path.name for path in kept.parent.iterdir()}
    result = axnb("sql", query.format(folder=kept.parent), "--case", kept)
    assert result.exit_code == 2
    assert "root:" not in _one_sentence(result)
    assert {path.name for path in kept.parent.iterdir()} == before


@pytest.mark.parametrize("query", REACHES)
def test_no_session_reaches_outside(query: str, kept: Path, case: Case) -> None:
    query = query.format(folder=kept.parent)
    on_file = Case(kept, Settings())
    for session in (on_file.reading, on_file.writing, case.reading, case.writing):
        with session() as connection, pytest.raises(duckdb.Error):
            connection.execute(query)


def test_a_typed_query_has_nothing_written(axnb: Cli, kept: Path) -> None:
    log = kept.parent / "queries"
    query = f"select * from enable_logging(storage = 'file', storage_config = {{'path': '{log}'}})"
    assert axnb("sql", query, "--case", kept).exit_code == 2
    assert not log.exists()


def test_sessions_of_one_file_do_not_disturb_each_other(kept: Path) -> None:
    case = Case(kept, Settings())
    with case.reading() as one, case.reading() as other:
        assert one.execute("select 1").fetchall() == other.execute("select 1").fetchall()


def test_a_typed_query_cannot_unlock_its_session(axnb: Cli, kept: Path) -> None:
    for query in ("set python_enable_replacements = true", "set memory_limit = '1TB'"):
        assert axnb("sql", query, "--case", kept).exit_code == 2
