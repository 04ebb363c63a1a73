"""Faults of SQLite files: lost, mixed up, damaged, locked, drifted. Nothing of it goes unsaid."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from axnb.case.case import Case
from axnb.errors import SourceChangedError, SourceError
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say

from .looks import (
    END,
    Load,
    Run,
    contents,
    counts,
    doubts,
    fingerprint,
    healthy,
    incomplete,
    keys,
    refused,
    rejects,
    states,
    triaged,
    with_rows,
)
from .pages import Pages, live_wal, rewritten, unreadable_rows, write_ahead

DATA = Path(__file__).parents[1] / "data" / "ax-logs"
MISSING_WAL = "without its -wal"


#: Contents and states of a case.
Expected = tuple[list[tuple[Any, ...]], dict[str, str]]


class Stopped(Exception):  # noqa: N818
    """Raised by a test inside a load."""


def _stop(*_: object) -> None:
    raise Stopped


# --- LS-01, LS-02: the newest commits are in a -wal ----------------------------------------------


def _later(conversation_id: str = "c9") -> list[tuple[str, int, str]]:
    log = LogBuilder("G8")
    log.turn(conversation_id, "Later", say("Yes."))
    return [(r.conversation_id, r.step, r.payload) for r in log.rows]


def test_main_file_without_its_wal(axnb: Run, tmp_path: Path) -> None:
    path = write_ahead(tmp_path / "log.sqlite", healthy(), _later())
    (tmp_path / "log.sqlite-wal").unlink()
    found = triaged(axnb("triage", path, "--json"), 3)
    assert found["verdict"] == "inconclusive"
    assert MISSING_WAL in doubts(found)
    assert found["sources"][0]["read"] == 8
    assert {f["severity"] for f in found["findings"]} == {"info"}
    shown = " ".join(axnb("triage", path).stdout.split())
    assert "INCONCLUSIVE" in shown
    assert MISSING_WAL in shown


@pytest.mark.parametrize(
    "statement",
    [
        "insert into conversation_log values ('c2', 4, '{}')",
        "delete from conversation_log where conversation_id = 'c1'",
    ],
    ids=["a new row", "a conversation deleted"],
)
def test_both_files_give_the_newest_state(
    case: Case, load: Load, tmp_path: Path, statement: str
) -> None:
    log = healthy()
    path = write_ahead(tmp_path / "log.sqlite", log, statements=[statement])
    load(path)
    with closing(sqlite3.connect(log.write_sqlite(tmp_path / "expected.sqlite"))) as connection:
        connection.execute(statement)
        query = "select conversation_id, step, payload from conversation_log order by 1, 2"
        expected = connection.execute(query).fetchall()
    assert case.rows(query.replace("conversation_log", "events")) == expected
    # A deletion looks the same as a -wal that is older than the database.
    assert ("--wal ignore" in incomplete(case)) == statement.startswith("delete")


def test_a_log_without_wal_mode_needs_no_wal(axnb: Run, tmp_path: Path) -> None:
    found = triaged(axnb("triage", healthy().write_sqlite(tmp_path / "log.sqlite"), "--json"), 0)
    assert doubts(found) == ""
    assert found["sources"][0]["read"] == 8


def test_the_table_itself_was_in_the_wal(axnb: Run, tmp_path: Path) -> None:
    path = write_ahead(tmp_path / "log.sqlite", healthy(), checkpointed=False)
    assert triaged(axnb("triage", path, "--json"), 0)["sources"][0]["read"] == 8
    (tmp_path / "log.sqlite-wal").unlink()
    refused(axnb("triage", path), "no tables", "-wal")


# --- LS-03, LS-14: files that are no database, alone and among others ----------------------------

NO_DATABASES: dict[str, tuple[bytes, str]] = {
    "zero bytes": (b"", "0 bytes"),
    "NUL bytes": (bytes(4096), "no SQLite header"),
    "one byte": (b"S", "no SQLite header"),
    "a cut header": (b"SQLite format 3", "no SQLite header"),
    "a text": (b"SQLite format 2 is not it\n" * 200, "no SQLite header"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(range(256)) * 20, "no SQLite header"),
    "a dump": (b"CREATE TABLE conversation_log (a, b);\n", "no SQLite header"),
    "nothing after the magic": (b"SQLite format 3\x00", "SQLite"),
    "NULs after the magic": (b"SQLite format 3\x00" + bytes(4080), "SQLite"),
}


@pytest.mark.parametrize("name", NO_DATABASES)
def test_no_database_is_refused(axnb: Run, tmp_path: Path, name: str) -> None:
    content, words = NO_DATABASES[name]
    folder = tmp_path / "source"
    folder.mkdir()
    path = folder / "log.sqlite"
    path.write_bytes(content)
    before = fingerprint(folder)
    refused(axnb("triage", path, "--json"), str(path), words)
    assert fingerprint(folder) == before


def test_what_is_not_there_is_refused(axnb: Run, tmp_path: Path) -> None:
    refused(axnb("triage", tmp_path / "none.sqlite"), "does not exist")
    refused(axnb("triage", tmp_path), "folder")


def test_a_pipe_is_refused(axnb: Run) -> None:
    # `axnb triage <(xz -dc log.sqlite.xz)`: there are bytes, and no file to copy.
    reading, writing = os.pipe()
    try:
        os.write(writing, b"SQLite format 3\x00" + bytes(100))
        os.close(writing)
        assert "0 bytes" not in refused(axnb("triage", f"/dev/fd/{reading}"))
    finally:
        os.close(reading)


def test_an_empty_table_is_not_ok(axnb: Run, tmp_path: Path) -> None:
    path = LogBuilder("G8").write_sqlite(tmp_path / "log.sqlite")
    found = triaged(axnb("triage", path, "--json"), 3)
    assert found["verdict"] == "inconclusive"
    assert found["conversations"] == []


def _sweep(folder: Path) -> list[Path]:
    """A good log, a zero-byte one and somebody else's, in the order of their names."""
    good = healthy().write_sqlite(folder / "b-good.sqlite")
    empty = folder / "a-empty.sqlite"
    empty.touch()
    other = folder / "c-other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("create table players (name)")
    return [empty, good, other]


def test_a_placeholder_among_logs_does_not_hide_them(axnb: Run, tmp_path: Path) -> None:
    empty, good, other = _sweep(tmp_path)
    result = axnb("triage", empty, good, other, "--json")
    assert str(empty) in result.stderr
    assert str(other) in result.stderr
    found = triaged(result, 3)
    assert [c["conversation_id"] for c in found["conversations"]] == ["c1", "c2"]
    assert found["verdict"] == "inconclusive"


# --- LS-04, LS-05, LS-06: a reader leaves no trace and holds nothing ------------------------------


def _hot_journal(folder: Path) -> Path:
    for name in ("log.sqlite", "log.sqlite-journal"):
        packed = (DATA / "hot-journal-sqlite" / f"{name}.xz").read_bytes()
        (folder / name).write_bytes(lzma.decompress(packed))
    return folder / "log.sqlite"


def _foreign_wal(folder: Path) -> Path:
    path = write_ahead(folder / "log.sqlite", healthy(), _later())
    return rewritten(path.with_name("log.sqlite-wal"), lambda raw: _flip(raw, 16)).with_name(
        "log.sqlite"
    )


def _flip(raw: bytearray, *places: int) -> None:
    for at in places:
        raw[at] ^= 0xFF


SOURCES: dict[str, Callable[[Path], Path]] = {
    "plain": lambda folder: healthy().write_sqlite(folder / "log.sqlite"),
    "at rest in WAL mode": lambda folder: healthy().write_sqlite(
        folder / "log.sqlite", pragmas=["journal_mode = wal"]
    ),
    "with -wal and -shm": lambda folder: write_ahead(
        folder / "log.sqlite", healthy(), _later(), with_shm=True
    ),
    "with a foreign -wal": _foreign_wal,
    "with a hot journal": _hot_journal,
    "damaged": lambda folder: _damaged(folder / "log.sqlite"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_look_changes_nothing(axnb: Run, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    path = SOURCES[name](folder)
    before = fingerprint(folder)
    commands: list[Sequence[object]] = [["triage", path, "--json"]]
    if name == "with a foreign -wal":
        commands += [["triage", path, "--wal", choice] for choice in ("apply", "ignore")]
    if name == "with -wal and -shm":
        commands += [["load", path, "--case", tmp_path / "case.duckdb"], ["show", path, "c1"]]
    for command in commands:
        assert axnb(*command).exit_code in (0, 1, 2, 3), command
        assert fingerprint(folder) == before, command


def test_a_private_copy_is_gone_afterwards(
    axnb: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "axnb.toml").write_text(f'scratch = "{scratch}"\n')
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("with -wal and -shm", "with a foreign -wal"):
        shutil.rmtree(folder)
        folder.mkdir()
        axnb("triage", SOURCES[name](folder))
        assert list(scratch.rglob("*.sqlite*")) == []


def _unprivileged() -> list[str]:
    """A prefix that takes away root's right to write where the modes forbid it."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("root without setpriv may write everywhere")
    return [tool, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


def test_a_folder_without_write_permission_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    path = SOURCES["at rest in WAL mode"](folder)
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        script = "import sys; from axnb.cli import main; main()"
        probe = f"open({str(folder / 'probe')!r}, 'w')"
        command = [*_unprivileged(), sys.executable, "-c"]
        assert subprocess.run([*command, probe], capture_output=True).returncode == 1
        run = subprocess.run(
            [*command, script, "triage", str(path), "--json"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert run.stderr == ""
        assert run.returncode == 3
        assert '"parsed": 8' in run.stdout
        assert [p.name for p in folder.iterdir()] == ["log.sqlite"]
    finally:
        folder.chmod(0o755)


def _checkpoint(writer: sqlite3.Connection, path: Path) -> None:
    """Write 1,000 rows and truncate the -wal, which an open reader would forbid."""
    rows = [("later", step, END % "later") for step in range(1, 1001)]
    writer.executemany("insert into conversation_log values (?, ?, ?)", rows)
    writer.commit()
    assert writer.execute("pragma wal_checkpoint(truncate)").fetchall() == [(0, 0, 0)]
    assert path.with_name(path.name + "-wal").stat().st_size == 0


@pytest.mark.parametrize(
    ("moment", "live"),
    [("after", False), ("progress", False), ("after", True), ("none", True)],
    ids=["after", "progress", "live after", "live"],
)
def test_an_idle_reader_pins_nothing(case: Case, tmp_path: Path, moment: str, live: bool) -> None:
    with live_wal(tmp_path / "live", healthy()) as (path, writer):
        writer.executemany("insert into conversation_log values (?, ?, ?)", _later())
        writer.commit()
        log, options = locate(str(path), {}).log, LoadOptions(live=live)
        if moment == "none":
            load_log(case, log, options)
            assert counts(case) == (11, 11, 0)
        else:
            with pytest.raises((Stopped, SourceError)):
                load_log(case, log, options, **{moment: _stop})
            assert case.rows("select count(*) from events") == [(0,)]
        _checkpoint(writer, path)


_NOTEBOOK = """
import sys
from axnb import Case, load, triage
case = Case()
load(case, [sys.argv[1]])
print(triage(case).verdict, flush=True)
sys.stdin.read()
"""


def test_a_notebook_left_open_pins_nothing(tmp_path: Path) -> None:
    with live_wal(tmp_path / "live", healthy()) as (path, writer):
        writer.executemany("insert into conversation_log values (?, ?, ?)", _later())
        writer.commit()
        command = [sys.executable, "-c", _NOTEBOOK, str(path)]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        ) as kernel:
            assert kernel.stdout is not None
            assert kernel.stdout.readline() == "ok\n"
            _checkpoint(writer, path)
            kernel.communicate("")


def test_a_live_database_is_complete(axnb: Run, tmp_path: Path) -> None:
    with live_wal(tmp_path / "live", healthy()) as (path, writer):
        writer.executemany("insert into conversation_log values (?, ?, ?)", _later())
        writer.commit()
        found = triaged(axnb("triage", path, "--live", "--json"))
    assert found["sources"][0]["read"] == 11
    assert "live" in found["sources"][0]["custody"]["mode"]
    # The backup was taken through the -wal that is there: nothing can be missing.
    assert doubts(found) == ""
    assert found["verdict"] == "ok"


def test_a_source_that_moves_is_refused(case: Case, tmp_path: Path) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")

    def write(*_: object) -> None:
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("insert into conversation_log values ('new', 1, '{}')")
            writer.commit()

    with pytest.raises(SourceChangedError, match="--live") as caught:
        load_log(case, locate(str(path), {}).log, progress=write)
    assert caught.value.exit_code == 3
    assert case.rows("select count(*) from events") == [(0,)]


# --- LS-07: a database with the -wal of another moment --------------------------------------------


def _of_another_log(folder: Path) -> Path:
    other = LogBuilder("G8")
    for number in range(40):
        other.turn(f"other-{number}", "Hello", say("Hello."))
    write_ahead(folder / "other.sqlite", other, _later())
    (folder / "other.sqlite").unlink()
    return _with_wal(healthy().write_sqlite(folder / "log.sqlite"), folder / "other.sqlite-wal")


def _with_wal(path: Path, wal: Path) -> Path:
    wal.rename(path.with_name(path.name + "-wal"))
    return path


def _of_the_day_before(folder: Path, *, new_conversation: bool) -> Path:
    """The -wal of Monday beside the database of Tuesday, which has rows more."""
    with live_wal(folder / "made", healthy()) as (path, writer):
        insert = "insert into conversation_log values (?, ?, ?)"
        writer.executemany(insert, _later("monday"))
        writer.commit()
        shutil.copyfile(f"{path}-wal", folder / "monday-wal")
        rows = _later("tuesday")
        if not new_conversation:
            rows = [("c2", n + 3, text.replace("tuesday", "c2")) for _, n, text in rows]
        writer.executemany(insert, rows)
        writer.commit()
        writer.execute("pragma wal_checkpoint(truncate)")
        shutil.copyfile(path, folder / "log.sqlite")
    shutil.rmtree(folder / "made")
    return _with_wal(folder / "log.sqlite", folder / "monday-wal")


def _of_another_page_size(folder: Path) -> Path:
    write_ahead(folder / "other.sqlite", healthy(), _later(), page_size=8192)
    return _with_wal(healthy().write_sqlite(folder / "log.sqlite"), folder / "other.sqlite-wal")


def _wal_bytes(content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = write_ahead(folder / "log.sqlite", healthy(), _later())
        path.with_name("log.sqlite-wal").write_bytes(content)
        return path

    return make


def _shm_of_another_moment(folder: Path) -> Path:
    path = write_ahead(folder / "log.sqlite", healthy(), _later(), with_shm=True)
    rewritten(path.with_name("log.sqlite-shm"), lambda raw: _flip(raw, 32, 32 + 48))
    return path


MISFITS: dict[str, Callable[[Path], Path]] = {
    "of another log": _of_another_log,
    "of the day before": lambda folder: _of_the_day_before(folder, new_conversation=False),
    "of another page size": _of_another_page_size,
    "of other salts": _foreign_wal,
    "that -shm does not know": _shm_of_another_moment,
    "of garbage": _wal_bytes(b"garbage " * 1000),
    "of NULs": _wal_bytes(bytes(4096)),
    "cut in its header": _wal_bytes(b"\x37\x7f\x06\x82" + bytes(10)),
}


#: Those of which both readings are tried.
BOTH_WAYS = ("of another log", "of the day before", "of garbage")


@pytest.mark.parametrize("name", MISFITS)
def test_a_wal_that_does_not_belong(axnb: Run, tmp_path: Path, name: str) -> None:
    path = MISFITS[name](tmp_path)
    wal = path.with_name("log.sqlite-wal").read_bytes()
    refused(axnb("triage", path), "--wal apply", "--wal ignore", "-wal")
    for choice in ("apply", "ignore") if name in BOTH_WAYS else ():
        found = triaged(axnb("triage", path, "--wal", choice, "--json"))
        assert f"--wal {choice}" in doubts(found)
        assert found["verdict"] in ("inconclusive", "failed")
        assert found["sources"][0]["read"] >= 8
    assert path.with_name("log.sqlite-wal").read_bytes() == wal


def test_a_wal_that_makes_a_conversation_vanish(axnb: Run, tmp_path: Path) -> None:
    path = _of_the_day_before(tmp_path, new_conversation=True)
    alone = triaged(axnb("triage", path, "--wal", "ignore", "--json"))
    assert "tuesday" in {c["conversation_id"] for c in alone["conversations"]}
    # With the -wal `tuesday` is gone. A deletion looks the same, so it takes a person to say.
    assert axnb("triage", path, "--json").exit_code == 3


@pytest.mark.parametrize("choice", ["apply", "ignore"])
def test_a_choice_is_honoured_where_the_wal_fits(axnb: Run, tmp_path: Path, choice: str) -> None:
    path = write_ahead(tmp_path / "log.sqlite", healthy(), _later())
    found = triaged(axnb("triage", path, "--wal", choice, "--json"))
    read = {"apply": 11, "ignore": 8}[choice]
    assert found["sources"][0]["read"] == read
    if choice == "ignore":
        assert "-wal" in doubts(found)


# --- hot journals ---------------------------------------------------------------------------------


def test_a_hot_journal_is_rolled_back_in_the_copy(case: Case, load: Load, tmp_path: Path) -> None:
    path = _hot_journal(tmp_path)
    before = fingerprint(tmp_path)
    load(path)
    assert case.rows("select count(*) from events where conversation_id = 'busy'") == [(26,)]
    assert fingerprint(tmp_path) == before


def test_without_its_hot_journal_the_log_holds_what_was_never_committed(
    case: Case, load: Load, tmp_path: Path
) -> None:
    path = _hot_journal(tmp_path)
    path.with_name("log.sqlite-journal").unlink()
    load(path)
    assert case.rows("select count(*) from events where conversation_id = 'busy'") == [(27,)]


@pytest.mark.parametrize("kind", ["hot journal", "-wal"])
def test_a_link_leads_to_the_files_beside_its_target(axnb: Run, tmp_path: Path, kind: str) -> None:
    # SQLite itself looks for them beside the target.
    folder = tmp_path / "real"
    folder.mkdir()
    if kind == "-wal":
        path, read = write_ahead(folder / "log.sqlite", healthy(), _later()), 11
    else:
        path, read = _hot_journal(folder), 29
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    assert triaged(axnb("triage", link, "--json"))["sources"][0]["read"] == read


@pytest.mark.parametrize("content", [bytes(512), b"x" * 600], ids=["NULs", "garbage"])
def test_a_journal_that_is_not_hot_does_nothing(axnb: Run, tmp_path: Path, content: bytes) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    path.with_name("log.sqlite-journal").write_bytes(content)
    assert triaged(axnb("triage", path, "--json"), 0)["sources"][0]["read"] == 8


# --- LS-08: damaged pages -------------------------------------------------------------------------


def _long_log(keyed_by: str = "conversation") -> LogBuilder:
    """180 rows of equal size on some 40 pages, with an index of several pages."""
    log = LogBuilder("G8")
    for number in range(60):
        log.turn(f"{keyed_by}-{number:02}-{'k' * 60}", "u" * 900, say("a" * 900))
    return log


def _damaged(path: Path, damage: Callable[[Pages], None] | None = None) -> Path:
    pages = Pages(_long_log().write_sqlite(path))
    (damage or _zero_a_leaf)(pages)
    return path


def _middle(pages: Pages) -> int:
    leaves = pages.leaves()
    return leaves[len(leaves) // 2]


def _zero_a_leaf(pages: Pages) -> None:
    pages.write(_middle(pages), bytes(pages.size))


def _zero_two_leaves(pages: Pages) -> None:
    for number in (pages.leaves()[0], pages.leaves()[-1]):
        pages.write(number, bytes(pages.size))


def _zero_a_head(pages: Pages) -> None:
    pages.write(_middle(pages), bytes(200))


def _fill_a_leaf(pages: Pages) -> None:
    pages.write(_middle(pages), b"\xff" * pages.size)


def _zero_the_root(pages: Pages) -> None:
    pages.write(pages.roots["conversation_log"], bytes(pages.size))


def _empty_a_leaf(pages: Pages) -> None:
    pages.write(_middle(pages), b"\x0d" + bytes(pages.size - 1))


def _write_a_leaf_over_its_neighbour(pages: Pages) -> None:
    pairs = combinations(pages.leaves(), 2)
    a, b = next((a, b) for a, b in pairs if pages.cells(a) == pages.cells(b))
    pages.write(a, pages.read(b))


DAMAGES: dict[str, Callable[[Pages], None]] = {
    "a leaf of NULs": _zero_a_leaf,
    "two leaves of NULs": _zero_two_leaves,
    "a head of NULs": _zero_a_head,
    "a leaf of ones": _fill_a_leaf,
    "the root of NULs": _zero_the_root,
    "a leaf without rows": _empty_a_leaf,
    "a leaf in a wrong place": _write_a_leaf_over_its_neighbour,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_rows_of_a_damaged_page_are_rejects(
    case: Case, load: Load, tmp_path: Path, name: str
) -> None:
    path = _damaged(tmp_path / "log.sqlite", DAMAGES[name])
    lost = unreadable_rows(path)
    assert lost
    load(path)
    assert {key[:2] for key in rejects(case)} == lost
    assert {reason for *_, reason in rejects(case)} == {"damaged"}
    everything = sorted((r.conversation_id, r.step) for r in _long_log().rows)
    assert sorted([*keys(case, "events"), *keys(case, "rejects")]) == everything
    assert counts(case)[0] == len(everything)
    assert incomplete(case) != ""


def test_a_damaged_log_is_never_ok(axnb: Run, tmp_path: Path) -> None:
    path = _damaged(tmp_path / "log.sqlite")
    lost = unreadable_rows(path)
    found = triaged(axnb("triage", path, "--json"))
    assert found["verdict"] in ("inconclusive", "failed")
    assert found["sources"][0]["rejected"] == len(lost)
    named = [f["keys"] for f in found["findings"] if f["id"] == "AX120"]
    assert {(key["conversation_id"], key["step"]) for key in named} == lost
    # What AX does with a page that it cannot read is not known.
    asked = {c["conversation_id"]: c["next"]["empty"] for c in found["conversations"]}
    assert {asked[conversation_id] for conversation_id, _ in lost} == {"unknown"}
    untouched = asked.keys() - {conversation_id for conversation_id, _ in lost}
    assert {asked[conversation_id] for conversation_id in untouched} == {"nothing"}


def test_the_same_log_without_damage_is_ok(axnb: Run, tmp_path: Path) -> None:
    path = _long_log().write_sqlite(tmp_path / "log.sqlite")
    assert triaged(axnb("triage", path, "--json"), 0)["sources"][0]["read"] == 180


def test_one_conversation_beside_a_damaged_page_is_read(axnb: Run, tmp_path: Path) -> None:
    path = _damaged(tmp_path / "log.sqlite")
    lost = {conversation_id for conversation_id, _ in unreadable_rows(path)}
    whole = next(r.conversation_id for r in _long_log().rows if r.conversation_id not in lost)
    for name in (whole, min(lost)):
        result = axnb("triage", path, "--conversation", name, "--json")
        found = triaged(result)
        assert found["verdict"] != "ok"
        assert [c["conversation_id"] for c in found["conversations"]] == [name]


@pytest.mark.parametrize("page", [3, 4, 5], ids=["first", "second", "third"])
def test_an_overflow_page_costs_its_row_only(
    case: Case, load: Load, tmp_path: Path, page: int
) -> None:
    log = LogBuilder("G8")
    for number in range(4):
        log.turn(f"c{number}", "u" * 20_000, say("Yes."))
    pages = Pages(log.write_sqlite(tmp_path / "log.sqlite"))
    overflow = [n for n in range(2, len(pages) + 1) if pages.read(n)[0] == 0]
    pages.write(overflow[page], bytes(pages.size))
    load(pages.path)
    assert counts(case) == (12, 11, 1)
    assert incomplete(case) + rejects(case)[0][2] != ""


@pytest.mark.parametrize("where", ["content", "text"])
def test_a_few_lost_bytes_cost_their_row_only(
    case: Case, load: Load, tmp_path: Path, where: str
) -> None:
    def scratch(raw: bytearray) -> None:
        at = raw.index(b"STATE_PENDING" if where == "content" else b"uuuuuuuu", len(raw) // 2)
        raw[at : at + 4] = b"\x00\x00\xff\xff"

    load(rewritten(_long_log().write_sqlite(tmp_path / "log.sqlite"), scratch))
    assert counts(case) == (180, 179, 1)


def test_a_damaged_index_is_no_reason_for_ok(axnb: Run, tmp_path: Path) -> None:
    pages = Pages(_long_log().write_sqlite(tmp_path / "log.sqlite"))
    pages.write(pages.index_leaves()[1], bytes(pages.size))
    result = axnb("triage", pages.path, "--json")
    if result.stdout:
        found = triaged(result)
        assert found["verdict"] != "ok"
        assert found["sources"][0]["read"] == 180
    else:
        refused(result, "damaged")


def test_damage_in_a_table_without_a_key(axnb: Run, tmp_path: Path) -> None:
    pages = Pages(_long_log().write_sqlite(tmp_path / "log.sqlite", keyed=False))
    _zero_a_leaf(pages)
    result = axnb("triage", pages.path, "--json")
    if result.stdout:
        assert triaged(result)["verdict"] != "ok"
    else:
        refused(result, "damaged")


@pytest.mark.parametrize("stale", ["index", "table"])
def test_a_page_that_lost_its_newest_write(
    case: Case, load: Load, tmp_path: Path, stale: str
) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    pages = Pages(path)
    name = "conversation_log" if stale == "table" else "sqlite_autoindex_conversation_log_1"
    older = pages.read(pages.roots[name])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("insert into conversation_log values ('c2', 4, ?)", [END % "c2"])
        writer.commit()
    pages.write(pages.roots[name], older)
    load(path)
    assert incomplete(case) != ""
    if stale == "table":
        # The index names it, so it is unreadable and not absent.
        assert rejects(case) == [("c2", 4, "damaged")]
    else:
        assert ("c2", 4) in keys(case)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.99])
def test_a_file_that_was_cut_off_is_never_ok(axnb: Run, tmp_path: Path, part: float) -> None:
    path = _long_log().write_sqlite(tmp_path / "log.sqlite")
    rewritten(path, lambda raw: raw.__delitem__(slice(int(len(raw) * part), None)))
    result = axnb("triage", path, "--json")
    assert result.exit_code in (1, 3)
    if result.exit_code == 3 and not result.stdout:
        refused(result, "damaged")


# --- LS-09: text that is not UTF-8 ----------------------------------------------------------------

NOT_UTF8: dict[str, bytes] = {
    "a stray byte": b"a\xffb",
    "inside a document": b'{"conversation_id":"odd","state":"STATE_\xe9"}',
    "cut in a character": (END % "odd").encode() + "é".encode()[:1],
    "a surrogate": b'{"conversation_id":"\xed\xa0\x80"}',
    "overlong": b'{"conversation_id":"\xc0\xaf"}',
    "UTF-16": (END % "odd").encode("utf-16"),
    "Latin-1": '{"conversation_id":"Zoë"}'.encode("latin-1"),
}


@pytest.mark.parametrize("stored", ["text", "blob"])
def test_bytes_that_are_no_text_cost_their_row_only(
    case: Case, load: Load, tmp_path: Path, stored: str
) -> None:
    payloads = [END % "odd", *NOT_UTF8.values(), END % "odd"]
    path = with_rows(payloads).write_sqlite(tmp_path / "log.sqlite")
    if stored == "text":
        with closing(sqlite3.connect(path)) as writer:
            cast = "update conversation_log set payload = cast(payload as text)"
            writer.execute(f"{cast} where typeof(payload) = 'blob'")
            writer.commit()
    load(path)
    wounds = len(NOT_UTF8)
    assert counts(case) == (10 + wounds, 10, wounds)
    found = case.rows("select step, reason, size, raw, digest from rejects order by step")
    assert found == [
        (step, "invalid UTF-8", len(raw), raw, hashlib.sha256(raw).digest())
        for step, raw in enumerate(NOT_UTF8.values(), 2)
    ]


def test_the_sentence_names_row_and_byte(axnb: Run, tmp_path: Path) -> None:
    path = with_rows([b"a\xffb"]).write_sqlite(tmp_path / "log.sqlite")
    found = triaged(axnb("triage", path, "--json"), 1)
    (finding,) = [f for f in found["findings"] if f["id"] == "AX124"]
    assert finding["keys"] == {"conversation_id": "odd", "step": 1}
    assert "invalid UTF-8" in finding["sentence"]
    assert "byte 1" in finding["sentence"]


def test_a_conversation_id_that_is_no_text(case: Case, load: Load, tmp_path: Path) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("insert into conversation_log values (cast(x'63ff' as text), 1, '{}')")
        writer.commit()
    load(path)
    assert counts(case) == (9, 8, 1)
    assert rejects(case)[0][1:] == (1, "unreadable key")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """What the healthy log holds as AX writes it."""
    path = healthy().write_sqlite(tmp_path_factory.mktemp("healthy") / "log.sqlite")
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(path), {}).log)
        return contents(case), states(case)


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_every_encoding_of_sqlite_is_read(
    case: Case, load: Load, tmp_path: Path, expected: Expected, encoding: str
) -> None:
    pragmas = [f"encoding = '{encoding}'"]
    load(healthy().write_sqlite(tmp_path / "log.sqlite", pragmas=pragmas))
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected


# --- LS-11: values of another class than declared -------------------------------------------------

Drift = Callable[[StoredRow], StoredRow]

#: Numbers before texts: that is how SQLite sorts them, and AX reads them.
_CLASSES: dict[int, Callable[[int], Any]] = {1: float, 2: int, 3: str}

DRIFTS: dict[str, Drift] = {
    "as AX writes": lambda r: r,
    "ids as BLOB": lambda r: replace(r, conversation_id=r.conversation_id.encode()),
    "steps as TEXT": lambda r: replace(r, step=str(r.step)),
    "steps as REAL": lambda r: replace(r, step=float(r.step)),
    "steps as BLOB": lambda r: replace(r, step=str(r.step).encode()),
    "payloads as BLOB": lambda r: replace(r, payload=r.payload.encode()),
    "steps of all classes": lambda r: replace(r, step=_CLASSES[min(r.step, 3)](r.step)),
    "everything as BLOB": lambda r: StoredRow(
        r.conversation_id.encode(), str(r.step).encode(), r.payload.encode()
    ),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_drifted_classes_are_the_same_content(
    case: Case, load: Load, tmp_path: Path, expected: Expected, name: str
) -> None:
    log = healthy()
    log.rows = [DRIFTS[name](r) for r in log.rows]
    load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    assert counts(case) == (8, 8, 0)
    assert (contents(case), states(case)) == expected


NO_STEPS: dict[str, list[Any]] = {
    "nothing": ["", None, " "],
    "words": ["one", "0x10", "nan", "inf", "5.5", b"\xff\xfe"],
    "digits that are none": ["1_0", "٤"],
    "fractions": [5.5, -0.5],
    "infinite numbers": [float("inf"), float("-inf")],
    "far beyond 64 bits": [1e300, 2.0**63],
    "far beyond 64 bits as text": ["9223372036854775808", "9" * 1000],
}


@pytest.mark.parametrize("name", NO_STEPS)
def test_what_is_no_step_is_a_reject(case: Case, load: Load, tmp_path: Path, name: str) -> None:
    wounds = NO_STEPS[name]
    log = healthy()
    log.rows += [StoredRow(f"odd-{n}", step, END % "odd") for n, step in enumerate(wounds)]
    load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    assert counts(case) == (8 + len(wounds), 8, len(wounds))
    assert rejects(case) == [(f"odd-{n}", None, "unreadable step") for n in range(len(wounds))]


STEPS: dict[str, list[tuple[Any, int]]] = {
    "small": [(0, 0), (-1, -1), (4.0, 4)],
    "the largest": [(2**63 - 1, 2**63 - 1)],
    "the smallest": [(-(2**63), -(2**63))],
    "as text": [("9007199254740993", 9007199254740993), ("9223372036854775807", 2**63 - 1)],
}


@pytest.mark.parametrize(
    ("name", "stored"),
    [(name, "text") for name in STEPS] + [("the largest", "blob"), ("the smallest", "blob")],
)
def test_every_whole_number_is_a_step(
    case: Case, load: Load, tmp_path: Path, name: str, stored: str
) -> None:
    log = healthy()
    end = END % "far" if stored == "text" else (END % "far").encode()
    log.rows += [StoredRow(f"far-{n}", step, end) for n, (step, _) in enumerate(STEPS[name])]
    load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    assert rejects(case) == []
    found = [key for key in keys(case) if str(key[0]).startswith("far")]
    assert found == [(f"far-{n}", number) for n, (_, number) in enumerate(STEPS[name])]


def test_nulls_and_strangers_are_rejects(case: Case, load: Load, tmp_path: Path) -> None:
    end = END % "odd"
    wounds: list[tuple[StoredRow, tuple[str | None, int | None, str]]] = [
        (StoredRow(None, None, None), (None, None, "unreadable")),
        (StoredRow(None, 1, end), (None, 1, "unreadable key")),
        (StoredRow("odd", 1, None), ("odd", 1, "no payload")),
        (StoredRow("odd", 2, 12), ("odd", 2, "wrong type")),
        (StoredRow("odd", 3, 1.5), ("odd", 3, "wrong type")),
        (StoredRow("odd", 4, ""), ("odd", 4, "empty payload")),
        (StoredRow("odd", 5, b""), ("odd", 5, "empty payload")),
    ]
    log = healthy()
    log.rows += [row for row, _ in wounds]
    load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    assert counts(case) == (15, 8, 7)
    found = rejects(case)
    assert [key for *key, _ in found] == [key for _, (*key, _) in wounds]
    assert all(r.startswith(e) for (*_, r), (_, (*_, e)) in zip(found, wounds, strict=True))


def test_a_key_twice_is_two_rows(case: Case, load: Load, tmp_path: Path) -> None:
    log = healthy()
    log.rows.append(log.rows[-1])
    load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False))
    assert counts(case) == (9, 9, 0)
    assert keys(case).count(("c2", 3)) == 2


# --- LS-13: execution rows ------------------------------------------------------------------------


def _g3() -> LogBuilder:
    log = LogBuilder("G3")
    log.turn("c1", "Charge it", call("charge_card", {"amount": 9}), answer({"ok": True}))
    log.interrupted("c2", "Charge it", call("charge_card", {"amount": 9}))
    return log


@pytest.mark.parametrize("backwards", [False, True], ids=["in order", "backwards"])
def test_executions_of_one_instant(axnb: Run, tmp_path: Path, backwards: bool) -> None:
    log = _g3()
    ordered = axnb("triage", log.write_sqlite(tmp_path / "ordered.sqlite"), "--json")
    instant = "2026-05-22 10:00:00.0 +0000 UTC"
    log.executions = [(exec_id, payload, instant) for exec_id, payload, _ in log.executions]
    if backwards:
        log.executions.reverse()
    tied = axnb("triage", log.write_sqlite(tmp_path / "tied.sqlite"), "--json")
    # Nothing but the times may hang on an order that the log does not hold.
    times = {"first_seen", "last_seen"}
    told, expected = (
        [{k: v for k, v in c.items() if k not in times} for c in triaged(run)["conversations"]]
        for run in (tied, ordered)
    )
    assert told == expected


def test_broken_executions_are_counted(axnb: Run, tmp_path: Path) -> None:
    broken = ["{", "", "[]", '{"exec_id":"a","exec_id":"b"}', b"\xff", None]
    log = LogBuilder("G3")
    log.turn("c1", "Hello", say("Hello."))
    assert triaged(axnb("triage", log.write_sqlite(tmp_path / "healthy.sqlite"), "--json"), 0)
    path = log.write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("create table wider as select * from execution_log")
        writer.execute("drop table execution_log")
        writer.execute("alter table wider rename to execution_log")
        insert = "insert into execution_log values ('e', ?, '2026-05-22')"
        writer.executemany(insert, [[payload] for payload in broken])
        writer.commit()
    case = tmp_path / "case.duckdb"
    axnb("load", path, "--case", case)
    with Case(case, Settings()) as loaded:
        query = "select executions_read, executions_rejected from sources"
        assert loaded.rows(query) == [(2 + len(broken), len(broken))]
    # A source that was read in part only is never ok.
    assert triaged(axnb("triage", path, "--json"))["verdict"] == "inconclusive"


# --- what else lies in or around a file -----------------------------------------------------------


def test_odd_file_names(axnb: Run, tmp_path: Path) -> None:
    names = [
        "a b.db", "a?mode=ro.db", "a#b.db", "a%20b.db", "a'b\".db", "日本.db", "-x.db", "a\nb.db",
        "LOG", "a\x1b[31m.db",
    ]  # fmt: skip
    paths = [healthy().write_sqlite(tmp_path / name) for name in names]
    found = triaged(axnb("triage", "--json", "--", *paths), 0)
    assert [source["read"] for source in found["sources"]] == [8] * len(names)
    assert [source["name"] for source in found["sources"]][:3] == ["log", "log-10", "log-2"]
    assert len(found["conversations"]) == 2 * len(names)


def test_a_file_name_that_is_no_text(axnb: Run, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/log-\xff.sqlite"))
    try:
        healthy().write_sqlite(tmp_path / "log.sqlite").rename(path)
    except OSError:
        pytest.skip("this file system takes text only")
    assert triaged(axnb("triage", path, "--json"), 0)["sources"][0]["read"] == 8


def test_a_table_of_an_unknown_module_beside_the_log(axnb: Run, tmp_path: Path) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("pragma writable_schema = on")
        writer.execute(
            "insert into sqlite_master values ('table', 'memory', 'memory', 0, "
            "'CREATE VIRTUAL TABLE memory USING vec0(embedding float[3])')"
        )
        writer.commit()
    assert triaged(axnb("triage", path, "--json"), 0)["sources"][0]["read"] == 8


def _without_rowid(path: Path, log: LogBuilder) -> Path:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(f"{log.ddl()} WITHOUT ROWID")
        rows = [(r.conversation_id, r.step, r.payload) for r in log.rows]
        writer.executemany(
            "insert into conversation_log values (?1, ?2, case when typeof(?3) = 'blob' "
            "then cast(?3 as text) else ?3 end)",
            rows,
        )
        writer.commit()
    return path


def test_a_table_without_row_numbers(
    case: Case, load: Load, tmp_path: Path, expected: Expected
) -> None:
    load(_without_rowid(tmp_path / "log.sqlite", healthy()))
    assert (contents(case), states(case)) == expected


def test_a_bad_row_of_a_table_without_row_numbers(axnb: Run, tmp_path: Path) -> None:
    log = with_rows([b"a\xffb", '{"conversation_id":'])
    found = triaged(axnb("triage", _without_rowid(tmp_path / "log.sqlite", log), "--json"), 1)
    assert found["sources"][0]["rejected"] == 2
    unreadable = [
        c["conversation_id"] for c in found["conversations"] if c["state"] == "unreadable"
    ]
    assert unreadable == ["odd"]


def test_heap_order_means_nothing(axnb: Run, tmp_path: Path) -> None:
    log = healthy()
    ordered = axnb("triage", log.write_sqlite(tmp_path / "a.sqlite"), "--json")
    log.rows = [log.rows[n] for n in (5, 2, 7, 0, 3, 6, 1, 4)]
    shuffled = axnb("triage", log.write_sqlite(tmp_path / "b.sqlite"), "--json")
    again = axnb("triage", tmp_path / "b.sqlite", "--json")
    assert triaged(shuffled)["conversations"] == triaged(ordered)["conversations"]
    assert again.stdout == shuffled.stdout
