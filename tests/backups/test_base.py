"""Base backups: their files, their WAL, their branch, and a restore to a point in time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from axnb.backups import BadBackupError, inspect, judge, recognise, restore, take
from axnb.backups.pg_wal import Start, lsn, reach, read_start, shown_lsn
from axnb.backups.programs import program
from axnb.errors import UsageError
from tests.faults.looks import healthy
from tests.servers import PostgresServer

from .made import SETTINGS, kinds, postgres_rows, private, tree

MB = 1 << 20


# --- segments and timelines ----------------------------------------------------------------------


def _start(segment: int, timeline: int = 1, end: int | None = None) -> Start:
    return Start(timeline, segment * 16 * MB + 40, end, 16 * MB)


def _names(*numbers: int, timeline: int = 1) -> list[str]:
    return [_start(0).name(timeline, number) for number in numbers]


def test_numbers_and_names() -> None:
    assert lsn("1/2000028") == 0x102000028
    assert shown_lsn(0x102000028) == "1/2000028"
    start = _start(0)
    assert start.name(3, 257) == "000000030000000100000001"
    assert start.number("000000030000000100000001") == 257


def test_segments_of_a_timeline_that_branched_off() -> None:
    """Timeline 2 left 1 in segment 7; both have one of that number."""
    histories = {2: ((1, 7 * 16 * MB + 900),)}
    names = [*_names(5, 6, 7), *_names(7, 8, 9, timeline=2)]
    assert reach(_start(5), names, histories).last == _names(9, timeline=2)[0]
    without = [name for name in names if name != _names(8, timeline=2)[0]]
    found = reach(_start(5), without, histories)
    assert found.missing == _names(8, timeline=2)[0]
    assert found.last == _names(7, timeline=2)[0]


# --- real ones -----------------------------------------------------------------------------------


class Taken:
    """A base backup, an archive of later WAL, and when each later row was there."""

    def __init__(self, postgres: PostgresServer, folder: Path) -> None:
        dsn = healthy().write_postgres(postgres.create_database("axeventlog"))
        self.base = take(dsn, "base", private(folder / "backup"), SETTINGS).path
        self.times: list[datetime] = []
        with psycopg.connect(dsn, autocommit=True) as connection:
            for step in range(1, 5):
                connection.execute("insert into conversation_log values ('c9', %s, '{}')", [step])
                # A later commit is what a recovery stops before.
                connection.execute("select txid_current()")
                (now,) = connection.execute("select clock_timestamp()").fetchone() or ()
                self.times.append(now)
                connection.execute("select txid_current(), pg_switch_wal()")
            (last,) = (
                connection.execute("select pg_walfile_name(pg_current_wal_lsn())").fetchone() or ()
            )
        self.archive = folder / "archive"
        self.archive.mkdir()
        for segment in (postgres._folder / "data/pg_wal").iterdir():
            if len(segment.name) == 24 and segment.name < last:
                shutil.copyfile(segment, self.archive / segment.name)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """A base backup of a server whose superuser has a name of his own; the server is gone.

    Not of the shared one: it grows with every test.
    """
    with _OwnServer() as server:
        return Taken(server, tmp_path_factory.mktemp("base"))


class _OwnServer(PostgresServer):
    superuser = "somebody"


def test_a_base_backup_is_sound(taken: Taken) -> None:
    assert recognise(taken.base).kind == "pg-base"
    assert judge(recognise(taken.base), SETTINGS) == ()
    assert judge(recognise(taken.base, taken.archive), SETTINGS) == ()
    start = read_start(taken.base, None, 16 * MB)
    assert start is not None
    assert start.timeline == 1
    assert start.end is not None
    assert start.start < start.end


@pytest.mark.slow
def test_a_point_in_time(taken: Taken, tmp_path: Path) -> None:
    backup = recognise(taken.base, taken.archive)
    before = tree(taken.base), tree(taken.archive)
    target = taken.times[1].isoformat()
    with restore(backup, private(tmp_path / "r"), SETTINGS, target_time=target) as restored:
        found = [step for name, step, _ in postgres_rows(restored.log) if name == "c9"]
        assert found == [1, 2]
        assert restored.flaws == inspect(restored, SETTINGS) == ()
        facts = restored.facts
        assert facts["recovered_system_identifier"] != facts["system_identifier"]
        assert facts["recovered_encoding"] == facts["encoding"] == "UTF8"
        assert [*restored.phases] == [
            "judge", "dump", "recover", "start server", "load", "inspect", "write"
        ]  # fmt: skip
    assert [*(tmp_path / "r").iterdir()] == []
    assert (tree(taken.base), tree(taken.archive)) == before


def _copied(taken: Taken, folder: Path) -> Path:
    """Hard links: what a test changes it must replace."""
    return Path(shutil.copytree(taken.base, folder / "base", copy_function=os.link))


def _lose(name: str) -> Callable[[Path], None]:
    return lambda base: (base / name).unlink()


def _replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def _large(base: Path) -> Path:
    return next(path for path in sorted((base / "base/1").iterdir()) if path.stat().st_size > 9000)


def _truncate(base: Path) -> None:
    victim = _large(base)
    _replace(victim, victim.read_bytes()[:-8192])


def _tear(base: Path) -> None:
    victim = _large(base)
    content = bytearray(victim.read_bytes())
    content[4000:4400] = bytes(b ^ 0xFF for b in content[4000:4400])
    _replace(victim, bytes(content))


def _without_wal(base: Path) -> None:
    for segment in (base / "pg_wal").glob("0*"):
        segment.unlink()


def _incremental(base: Path) -> None:
    _large(base).rename(_large(base).with_name(f"INCREMENTAL.{_large(base).name}"))


def _of_other_version(base: Path) -> None:
    _replace(base / "PG_VERSION", b"9.4\n")


def _with_links(base: Path) -> None:
    (base / "pg_tblspc/16999").symlink_to("/var/lib")


def _torn_control(base: Path) -> None:
    _replace(base / "global/pg_control", bytes(8192))


@pytest.mark.parametrize(
    ("wound", "expected"),
    [
        pytest.param(_lose("backup_manifest"), ["no-manifest?"], marks=pytest.mark.slow),
        pytest.param(_lose("backup_label"), ["damaged", "no-backup-label"], marks=pytest.mark.slow),
        pytest.param(_truncate, ["damaged"], marks=pytest.mark.slow),
        (_tear, ["damaged"]),
        (_without_wal, ["wal-gap"]),
        pytest.param(_of_other_version, ["needs-server?"], marks=pytest.mark.slow),
        pytest.param(_incremental, ["damaged", "incremental"], marks=pytest.mark.slow),
        (_with_links, ["links?"]),
        pytest.param(_torn_control, ["damaged"], marks=pytest.mark.slow),
    ],
)
def test_wounds_of_a_base_backup(
    taken: Taken, tmp_path: Path, wound: Callable[[Path], None], expected: list[str]
) -> None:
    base = _copied(taken, tmp_path)
    wound(base)
    backup = recognise(base)
    assert kinds(judge(backup, SETTINGS)) == expected
    if expected != ["no-manifest?"]:
        with pytest.raises(BadBackupError):
            restore(backup, tmp_path, SETTINGS).__enter__()
        assert [path.name for path in tmp_path.iterdir()] == ["base"]


def test_a_gap_in_the_archive(taken: Taken, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(taken.archive, tmp_path / "archive"))
    names = sorted(path.name for path in archive.iterdir())
    (archive / names[-2]).unlink()
    backup = recognise(taken.base, archive)
    (flaw,) = judge(backup, SETTINGS)
    assert (flaw.kind, flaw.severity) == ("wal-gap", "error")
    assert names[-2] in flaw.evidence
    assert f"to {names[-3]}, the last commit at {taken.times[2]:%Y-%m-%d}" in flaw.sentence
    with pytest.raises(BadBackupError) as raised:
        restore(backup, tmp_path, SETTINGS).__enter__()
    assert raised.value.flaw == flaw
    # Whether a point in time lies before the gap, the recovery tells.
    assert judge(backup, SETTINGS, target_time=taken.times[0].isoformat()) == ()


def test_segments_that_are_not_what_their_names_say(taken: Taken, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(taken.archive, tmp_path / "archive"))
    backup = recognise(taken.base, archive)
    last = sorted(archive.iterdir())[-1]
    content = last.read_bytes()
    for wrong in (
        content[: 4 * MB],
        bytes(len(content)),
        sorted(archive.iterdir())[-2].read_bytes(),
    ):
        last.write_bytes(wrong)
        (flaw,) = judge(backup, SETTINGS)
        assert (flaw.kind, flaw.severity, flaw.evidence) == ("wal-damaged", "error", (last.name,))
    last.write_bytes(content)
    assert judge(backup, SETTINGS) == ()
    last.rename(last.with_name(f"{last.name}.partial"))
    (flaw,) = judge(backup, SETTINGS)
    assert (flaw.kind, flaw.severity) == ("archive-unread", "doubt")


@pytest.mark.slow
def test_damage_inside_of_a_segment(taken: Taken, tmp_path: Path) -> None:
    """A server takes it for the end of the WAL, and says nothing."""
    archive = Path(shutil.copytree(taken.archive, tmp_path / "archive"))
    victim = sorted(archive.iterdir())[-3]
    content = bytearray(victim.read_bytes())
    content[40:4096] = bytes(4056)
    victim.write_bytes(content)
    backup = recognise(taken.base, archive)
    assert judge(backup, SETTINGS) == ()
    folder = private(tmp_path / "restored")
    with pytest.raises(BadBackupError, match="what follows is damaged") as raised:
        restore(backup, folder, SETTINGS).__enter__()
    assert raised.value.flaw.kind == "wal-damaged"
    assert [*folder.iterdir()] == []


def test_a_branch_that_is_not_the_backups(taken: Taken, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(taken.archive, tmp_path / "archive"))
    (archive / "00000003.history").write_text("1\t0/1000000\tno recovery target specified\n")
    (flaw,) = judge(recognise(taken.base, archive), SETTINGS)
    assert (flaw.kind, flaw.evidence) == ("wrong-timeline", ("timeline 1", "timeline 3"))


def test_targets(taken: Taken, tmp_path: Path) -> None:
    backup = recognise(taken.base, taken.archive)
    for target, words in (("yesterday", "no time"), ("2026-01-01T00:00:00", "no zone")):
        with pytest.raises(UsageError, match=words):
            restore(backup, tmp_path, SETTINGS, target_time=target).__enter__()
    at = taken.times[0].isoformat()
    with pytest.raises(UsageError, match="WAL archive"):
        restore(recognise(taken.base), tmp_path, SETTINGS, target_time=at).__enter__()
    with pytest.raises(BadBackupError, match="take an older base backup") as raised:
        restore(backup, tmp_path, SETTINGS, target_time="2006-01-01T00:00:00Z").__enter__()
    assert raised.value.flaw.kind == "target-outside"


def _base(server: PostgresServer, folder: Path) -> Path:
    """A base backup as a user takes it."""
    path = folder / "base"
    options = [f"--pgdata={path}", "--checkpoint=fast", "--no-sync"]
    command = [program("pg_basebackup"), f"--dbname={server.dsn()}", *options]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.mark.slow
def test_a_locale_that_is_not_here(tmp_path: Path) -> None:
    with _OwnServer() as server:
        healthy().write_postgres(server.create_database("axeventlog"))
        server.execute(
            "update pg_database set datcollate = 'xx_YY', datctype = 'xx_YY', datlocprovider = 'c' "
            "where datname = 'axeventlog'"
        )
        server.execute("checkpoint")
        base = _base(server, tmp_path)
    with pytest.raises(BadBackupError) as raised:
        restore(recognise(base), tmp_path, SETTINGS).__enter__()
    assert kinds([raised.value.flaw]) == ["other-collation?"]


@pytest.mark.slow
def test_several_logs(tmp_path: Path) -> None:
    with _OwnServer() as server:
        for name in ("one", "two"):
            healthy().write_postgres(server.create_database(name))
        base = _base(server, tmp_path)
    with pytest.raises(BadBackupError, match="one, two") as raised:
        restore(recognise(base), tmp_path, SETTINGS).__enter__()
    assert kinds([raised.value.flaw]) == ["several-logs?"]
    with restore(recognise(base), tmp_path, SETTINGS, database="two") as restored:
        assert len(postgres_rows(restored.log)) == 8


@pytest.mark.slow
def test_a_target_behind_the_end(taken: Taken, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(taken.archive, tmp_path / "archive"))
    names = sorted(path.name for path in archive.iterdir())
    folder = private(tmp_path / "restored")
    at = taken.times[3].isoformat()
    (archive / names[-2]).unlink()
    with pytest.raises(BadBackupError, match=f"{names[-2]} is missing") as raised:
        restore(recognise(taken.base, archive), folder, SETTINGS, target_time=at).__enter__()
    assert raised.value.flaw.kind == "target-outside"
    assert [*folder.iterdir()] == []
    with restore(
        recognise(taken.base, archive), folder, SETTINGS, target_time=taken.times[0].isoformat()
    ) as restored:
        assert [s for c, s, _ in postgres_rows(restored.log) if c == "c9"] == [1]


@pytest.mark.slow
def test_a_base_backup_alone_and_with_all_of_its_archive(taken: Taken, tmp_path: Path) -> None:
    for archive, steps in ((None, []), (taken.archive, [1, 2, 3, 4])):
        with restore(recognise(taken.base, archive), tmp_path, SETTINGS) as restored:
            assert [s for c, s, _ in postgres_rows(restored.log) if c == "c9"] == steps
            assert inspect(restored, SETTINGS) == ()
