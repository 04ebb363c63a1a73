"""SQLite backups: taken without a touch, restored whole, judged by what they are."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from axnb.backups import BadBackupError, inspect, judge, recognise, restore, sqlite, take
from axnb.errors import SourceChangedError, SourceError, UsageError
from axnb.evidence.sqlite import SqliteReader
from tests.ax_logs import ROOT
from tests.faults.looks import healthy
from tests.faults.pages import Pages, live_wal, write_ahead

from .made import SETTINGS, kinds, private, rows, tree

HOT = ROOT / "hot-journal-sqlite" / "log.sqlite"
LATER = [("c9", 1, '{"conversation_id":"c9","state":"STATE_COMPLETED"}')]

WAYS = {"backup": "backup API", "vacuum": "VACUUM INTO", "copy": "file copy"}


def _plain(folder: Path) -> Path:
    return healthy().write_sqlite(folder / "log.sqlite")


def _wal(folder: Path) -> Path:
    return write_ahead(folder / "log.sqlite", healthy(), LATER)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("make", [_plain, _wal])
def test_a_backup_is_restored_whole_and_the_source_is_not_touched(
    tmp_path: Path, make: Callable[[Path], Path], how: str
) -> None:
    folder = private(tmp_path / "source")
    source = make(folder)
    before = tree(folder)
    expected = len(healthy().rows) + (make is _wal)
    target, scratch = private(tmp_path / "backup"), private(tmp_path / "restored")
    backup = take(str(source), how, target, SETTINGS)
    assert backup.how == WAYS[how]
    assert backup.source["files"].keys() == before.keys()
    assert {path.stat().st_mode & 0o777 for path in target.iterdir()} == {0o600}
    given = recognise(backup.path)
    assert given.files == backup.files
    taken = tree(target)
    with restore(backup, scratch, SETTINGS) as restored:
        assert len(rows(restored.log)) == expected
        with SqliteReader(Path(restored.log)) as reader:
            assert reader.incomplete == []
        assert judge(backup, SETTINGS) == inspect(restored, SETTINGS) == ()
        assert [*restored.phases] == ["copy", "judge", "load", "inspect", "write"]
    assert tree(folder) == before
    assert tree(target) == taken
    assert [*scratch.iterdir()] == []


def test_a_database_in_use(tmp_path: Path) -> None:
    with live_wal(tmp_path / "live", healthy()) as (path, writer):
        writer.executemany("insert into conversation_log values (?, ?, ?)", LATER)
        writer.commit()
        for how in ("backup", "vacuum"):
            backup = take(str(path), how, private(tmp_path / how), SETTINGS, live=True)
            assert backup.source["mode"] == "live backup"
            with restore(backup, tmp_path / how, SETTINGS) as restored:
                assert len(rows(restored.log)) == 9
        with pytest.raises(UsageError, match="torn"):
            take(str(path), "copy", private(tmp_path / "copy"), SETTINGS, live=True)


def test_a_source_that_moves_leaves_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _plain(tmp_path)
    write = sqlite._write

    def written_meanwhile(*given: object) -> None:
        write(*given)  # type: ignore[arg-type]
        with closing(sqlite3.connect(source)) as writer:
            writer.executemany("insert into conversation_log values (?, ?, ?)", LATER)
            writer.commit()

    monkeypatch.setattr(sqlite, "_write", written_meanwhile)
    folder = private(tmp_path / "backup")
    with pytest.raises(SourceChangedError, match="changed while it was read"):
        take(str(source), "copy", folder, SETTINGS)
    assert [*folder.iterdir()] == []


def test_a_backup_is_not_written_over(tmp_path: Path) -> None:
    source, folder = _wal(tmp_path), private(tmp_path / "backup")
    take(str(source), "copy", folder, SETTINGS)
    before = tree(folder)
    assert {*before} == {"log.sqlite", "log.sqlite-wal"}
    for how in WAYS:
        with pytest.raises(SourceError, match="exists already"):
            take(str(source), how, folder, SETTINGS)
    assert tree(folder) == before


def test_what_cannot_be_backed_up_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    folder = private(tmp_path / "backup")
    for how in ("backup", "vacuum"):
        with pytest.raises(SourceError, match="cannot be backed up"):
            take(str(tmp_path / "log.sqlite"), how, folder, SETTINGS)
    with pytest.raises(UsageError, match="not by 'custom'"):
        take(str(tmp_path / "log.sqlite"), "custom", folder, SETTINGS)
    assert [*folder.iterdir()] == []


# --- a user's files ------------------------------------------------------------------------------


def _shared(path: Path) -> Path:
    """A plain copy of a log that a server has written to: one commit a row."""
    shutil.copyfile(ROOT / "g8-sqlite" / "log.sqlite", path)
    return path


def _judged(path: Path, source: Path | None = None) -> list[str]:
    return kinds(judge(recognise(path), SETTINGS, source=str(source) if source else None))


def test_a_plain_copy_of_a_log_may_hold_a_commit_that_never_ended(tmp_path: Path) -> None:
    copy = _shared(tmp_path / "copy")
    assert _judged(copy) == ["journal-unknown?"]
    assert _judged(copy, ROOT / "g8-sqlite" / "log.sqlite") == []


def test_what_sqlite_wrote_in_one_go_has_no_such_doubt(tmp_path: Path) -> None:
    for how in ("backup", "vacuum"):
        backup = take(str(HOT), how, private(tmp_path / how), SETTINGS)
        assert _judged(backup.path) == []


def test_a_hot_journal_beside_the_copy_is_rolled_back(tmp_path: Path) -> None:
    for part in HOT.parent.glob("log.sqlite*"):
        shutil.copyfile(part, tmp_path / part.name)
    assert _judged(tmp_path / "log.sqlite") == _judged(tmp_path / "log.sqlite", HOT) == []
    backup = recognise(tmp_path / "log.sqlite")
    with restore(backup, private(tmp_path / "restored"), SETTINGS) as restored:
        steps = [step for name, step, _ in rows(restored.log) if name == "busy"]
        assert max(steps) == len(steps) == 26
    assert {*backup.files} == {"log.sqlite", "log.sqlite-journal"}
    assert recognise(tmp_path / "log.sqlite").files == backup.files


def test_a_copy_without_its_hot_journal_is_bad(tmp_path: Path) -> None:
    shutil.copyfile(HOT, tmp_path / "copy")
    (flaw,) = judge(recognise(tmp_path / "copy"), SETTINGS)
    assert (flaw.kind, flaw.severity, flaw.evidence) == (
        "journal-unknown",
        "doubt",
        ("busy step 27",),
    )
    (flaw,) = judge(recognise(tmp_path / "copy"), SETTINGS, source=str(HOT))
    assert (flaw.kind, flaw.severity, flaw.evidence) == (
        "never-committed",
        "error",
        ("busy step 27",),
    )


def test_a_journal_of_another_moment(tmp_path: Path) -> None:
    """One of before several commits takes them all back."""
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("pragma cache_size = 1")
        writer.execute("begin")
        writer.executemany(
            "insert into conversation_log values ('c7', ?, ?)", [(n, "x" * 3000) for n in range(40)]
        )
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{path}{suffix}", f"{tmp_path / 'early'}{suffix}")
        writer.execute("commit")
    shutil.copyfile(tmp_path / "early-journal", f"{path}-journal")
    assert _judged(path) == ["journal-does-not-fit?"]


def test_a_file_longer_than_its_header_says(tmp_path: Path) -> None:
    copy = _shared(tmp_path / "copy")
    with copy.open("ab") as file:
        file.write(bytes(8192))
    assert _judged(copy) == ["unfinished-commit"]


def test_main_file_without_its_wal(tmp_path: Path) -> None:
    path = _wal(tmp_path)
    assert _judged(path) == []
    os.unlink(f"{path}-wal")
    assert _judged(path) == ["wal-missing?"]


def test_the_schema_itself_was_in_the_wal(tmp_path: Path) -> None:
    path = write_ahead(tmp_path / "log.sqlite", healthy(), checkpointed=False)
    assert _judged(path) == []
    os.unlink(f"{path}-wal")
    assert _judged(path) == ["wrong-database", "wal-missing?"]


def test_a_wal_of_another_day(tmp_path: Path) -> None:
    path = _wal(tmp_path)
    healthy().write_sqlite(tmp_path / "other.sqlite", pragmas=["page_size = 8192"])
    shutil.copyfile(tmp_path / "other.sqlite", path)
    assert _judged(path) == ["wal-does-not-fit"]
    folder = private(tmp_path / "restored")
    with pytest.raises(BadBackupError, match="--wal ignore") as raised:
        restore(recognise(path), folder, SETTINGS).__enter__()
    assert raised.value.flaw.kind == "wal-does-not-fit"
    with restore(recognise(path), folder, SETTINGS, wal="ignore") as restored:
        assert len(rows(restored.log)) == 8


def _long(path: Path) -> Path:
    log = healthy()
    for number in range(40):
        log.turn(f"long-{number}", "x" * 900)
    return log.write_sqlite(path)


def test_a_torn_page(tmp_path: Path) -> None:
    path = _long(tmp_path / "copy")
    assert _judged(path) == ["journal-unknown?"]
    pages = Pages(path)
    pages.write(pages.leaves()[5], b"\0" * 200, at=8)
    assert _judged(path) == ["damaged"]
    folder = private(tmp_path / "restored")
    with pytest.raises(BadBackupError) as raised:
        restore(recognise(path), folder, SETTINGS).__enter__()
    assert raised.value.flaw.kind == "damaged"
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("size", [50, 3 * 4096 + 100, 3 * 4096])
def test_a_file_that_was_cut_off(tmp_path: Path, size: int) -> None:
    path = _long(tmp_path / "copy")
    os.truncate(path, size)
    assert _judged(path)[0] == "truncated"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "zero-bytes"),
        (bytes(8192), "zero-filled"),
        (b"\x1f\x8b" + bytes(100), "packed"),
        (b"This is a note, and no database.", "no-backup"),
    ],
)
def test_what_is_no_backup(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "log.sqlite"
    path.write_bytes(content)
    with pytest.raises(BadBackupError) as raised:
        recognise(path)
    assert raised.value.flaw.kind == kind
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_and_a_name_of_any_bytes(tmp_path: Path) -> None:
    path = _wal(tmp_path)
    (tmp_path / "link").symlink_to(path)
    assert {*recognise(tmp_path / "link").files} == {"log.sqlite", "log.sqlite-wal"}
    odd = tmp_path / os.fsdecode(b"caf\xe9\x1b")
    odd.touch()
    with pytest.raises(BadBackupError, match=r"caf\\+xe9\\+x1b|caf\\+xe9\\+u001b"):
        recognise(odd)


def test_the_content_counts_and_not_the_name(tmp_path: Path) -> None:
    assert recognise(healthy().write_sqlite(tmp_path / "log.sql")).kind == "sqlite"


def test_another_database_and_an_empty_log(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("create table orders (id integer)")
    assert _judged(tmp_path / "other") == ["wrong-database"]
    log = healthy()
    log.rows.clear()
    assert _judged(log.write_sqlite(tmp_path / "empty")) == ["empty?"]


# --- what was restored ---------------------------------------------------------------------------


def _restored(path: Path) -> list[str]:
    folder = private(path.with_name(f"{path.name}.d"))
    with restore(recognise(path), folder, SETTINGS) as restored:
        return kinds(inspect(restored, SETTINGS))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select 1", []),
        ("update conversation_log set payload = cast(payload as blob)", ["storage-class"]),
        (
            "update conversation_log set payload = cast(x'7b22c3287d' as text) where step = 2",
            ["not-utf8"],
        ),
        (
            "create trigger t before insert on conversation_log begin "
            "select raise(abort, 'frozen'); end",
            ["trigger?", "first-write", "first-write"],
        ),
        (
            "create trigger t before insert on conversation_log begin select raise(ignore); end",
            ["trigger?", "first-write", "first-write"],
        ),
        (
            "create trigger t after insert on conversation_log begin update conversation_log set "
            "payload = '{}' where conversation_id = new.conversation_id; end",
            ["trigger?", "first-write", "first-write"],
        ),
        (
            "create unique index one_end on conversation_log (step) where step = 4",
            ["first-write"],
        ),
        (
            "update conversation_log set step = 9223372036854775807 where step = 5",
            ["first-write"],
        ),
    ],
)
def test_structure_and_first_write(tmp_path: Path, statement: str, expected: list[str]) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    assert _restored(path) == expected


def test_a_table_that_lost_its_key(tmp_path: Path) -> None:
    log = healthy()
    assert _restored(log.write_sqlite(tmp_path / "once", keyed=False)) == ["key-missing"]
    log.rows.append(log.rows[3])
    found = _restored(log.write_sqlite(tmp_path / "twice", keyed=False))
    assert found == ["key-missing", "number-repeated"]


def test_another_encoding(tmp_path: Path) -> None:
    path = healthy().write_sqlite(tmp_path / "log.sqlite", pragmas=["encoding = 'UTF-16'"])
    assert _restored(path) == ["other-encoding?"]


def test_a_payload_is_never_in_a_sentence(tmp_path: Path) -> None:
    secret = "sk-" + "7" * 40
    path = healthy().write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("update conversation_log set payload = cast(? as blob)", (secret,))
        connection.execute(
            "create trigger t before insert on conversation_log when new.payload <> '"
            f"{secret}' begin select raise(abort, 'no'); end"
        )
        connection.commit()
    with restore(recognise(path), private(tmp_path / "d"), SETTINGS) as restored:
        assert secret not in str(inspect(restored, SETTINGS))
