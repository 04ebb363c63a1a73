"""Faults of backups: holes, wrong branches, half a restore, a backup of nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from axnb.backups import bucket, inspect, judge, pg_take, recognise, restore, sqlite, take
from axnb.backups.bucket import copy_bucket
from axnb.backups.bucket_compare import compare_bucket
from axnb.backups.pg_inspect import structure_of_postgres
from axnb.backups.pg_wal import Start, fork_of, reach
from axnb.settings import Settings
from axnb.testing.buckets import BucketBuilder
from tests.backups.made import kinds, private
from tests.servers import PostgresServer

from .looks import healthy

SEGMENT = 16 << 20


def _start(segment: int, timeline: int = 1, end: int | None = None) -> Start:
    return Start(timeline, segment * SEGMENT + 40, end, SEGMENT)


def _names(*numbers: int, timeline: int = 1) -> list[str]:
    return [_start(0).name(timeline, number) for number in numbers]


# --- DB-01, DB-05: a segment is gone -------------------------------------------------------------


def test_retention_removed_the_first_segment() -> None:
    found = reach(_start(5), _names(6, 7), {})
    assert (found.last, found.missing, found.is_needed) == (None, _names(5)[0], True)
    found = reach(_start(5), _names(5, 6, 7), {})
    assert (found.last, found.missing) == (_names(7)[0], None)


@pytest.mark.parametrize(
    ("first", "last", "missing"), [(5, 10, 11), (15, 20, None), (12, 20, None)]
)
def test_each_base_backup_has_a_range_of_its_own(
    first: int, last: int, missing: int | None
) -> None:
    """Segments 1 to 10 and 12 to 20 are there."""
    names = _names(*range(1, 11), *range(12, 21))
    found = reach(_start(first, end=first * SEGMENT + 400), names, {})
    assert (found.first, found.last) == (*_names(first), *_names(last))
    assert found.missing == (_names(missing)[0] if missing else None)
    assert found.beyond == ((*_names(12), *_names(20)) if missing else None)
    assert not found.is_needed


def test_a_segment_that_the_backup_itself_needs() -> None:
    found = reach(_start(5, end=7 * SEGMENT + 1), _names(5, 6), {})
    assert (found.last, found.missing, found.is_needed) == (_names(6)[0], _names(7)[0], True)
    assert reach(_start(5, end=7 * SEGMENT), _names(5, 6), {}).missing is None


# --- DB-06: another branch -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backup", "histories", "newest"),
    [
        (_start(5, 1), {}, None),
        (_start(5, 1), {2: ((1, 9 << 24),)}, None),
        (_start(5, 2), {2: ((1, 3 << 24),), 3: ((1, 4 << 24),)}, 3),
        (_start(5, 2), {2: ((1, 3 << 24),), 3: ((1, 3 << 24), (2, 9 << 24))}, None),
        # It branched off before the backup was begun.
        (_start(5, 1), {2: ((1, 4 << 24),)}, 2),
    ],
)
def test_the_newest_branch_must_descend_from_the_backups(
    backup: Start, histories: dict[int, tuple[tuple[int, int], ...]], newest: int | None
) -> None:
    fork = fork_of(backup, histories)
    assert (fork.newest if fork else None) == newest
    if fork and backup.timeline == 2:
        assert (fork.backup, fork.common) == (2, 1)


# --- DB-02, DB-12: stopped in the middle ---------------------------------------------------------


class _StoppedError(Exception):
    pass


def _stopping(monkeypatch: pytest.MonkeyPatch, module: object, phase: str) -> None:
    """Stop at the end of a phase, when all that it writes is there."""

    @contextmanager
    def timed(phases: dict[str, float], name: str) -> Iterator[None]:
        yield
        if name == phase:
            raise _StoppedError

    monkeypatch.setattr(module, "timed", timed)


@pytest.mark.parametrize("how", ["backup", "vacuum", "copy"])
def test_a_stopped_backup_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    source = healthy().write_sqlite(tmp_path / "log.sqlite")
    scratch, folder = private(tmp_path / "scratch"), private(tmp_path / "backup")
    _stopping(monkeypatch, sqlite, "take")
    with pytest.raises(_StoppedError):
        take(str(source), how, folder, Settings(scratch=scratch))
    assert [*folder.iterdir(), *scratch.iterdir()] == []


@pytest.mark.parametrize("phase", ["copy", "judge", "load"])
def test_a_stopped_restore_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    backup = recognise(healthy().write_sqlite(tmp_path / "log.sqlite"))
    scratch, folder = private(tmp_path / "scratch"), private(tmp_path / "restored")
    from axnb.backups import sqlite_judge

    _stopping(monkeypatch, sqlite if phase == "load" else sqlite_judge, phase)
    with pytest.raises(_StoppedError):
        restore(backup, folder, Settings(scratch=scratch)).__enter__()
    assert [*folder.iterdir(), *scratch.iterdir()] == []


def test_whoever_fails_with_a_restored_log_leaves_none(tmp_path: Path) -> None:
    backup = recognise(healthy().write_sqlite(tmp_path / "log.sqlite"))
    folder = private(tmp_path / "restored")
    seen = []
    with suppress(_StoppedError), restore(backup, folder, Settings()) as restored:
        seen = [*folder.iterdir()]
        raise _StoppedError
    assert seen == [Path(restored.log)]
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("how", ["custom", "plain", "directory"])
def test_a_stopped_dump_leaves_nothing(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    _stopping(monkeypatch, pg_take, "take")
    folder = private(tmp_path / "backup")
    with pytest.raises(_StoppedError):
        take(dsn, how, folder, Settings())
    assert [*folder.iterdir()] == []


def test_a_stopped_copy_of_a_bucket_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _bucket(tmp_path / "source")
    _stopping(monkeypatch, bucket, "take")
    with pytest.raises(_StoppedError):
        copy_bucket(str(source), private(tmp_path / "copy"), {})
    assert [*(tmp_path / "copy").iterdir()] == []


# --- DB-03: the rows are there, and the numbers go on from the past ------------------------------


@pytest.mark.parametrize(("sequence", "expected"), [(11, ["sequence-behind"]), (400, [])])
def test_a_sequence_beside_its_rows(
    postgres: PostgresServer, sequence: int, expected: list[str]
) -> None:
    dsn = healthy().write_postgres(postgres.create_database())
    postgres.execute(
        "alter table conversation_log add id serial; "
        "update conversation_log set id = 337 where conversation_id = 'c1' and step = 1; "
        f"select setval('conversation_log_id_seq', {sequence})",
        dsn,
    )
    assert kinds(structure_of_postgres(dsn, Settings())) == expected


# --- DB-09, DB-10: a success that is none --------------------------------------------------------


def _bucket(folder: Path) -> Path:
    built = BucketBuilder()
    for number in range(3):
        built.snapshot("B3b", actor_name=f"conv-{number}")
    built.write(private(folder))
    return folder


def test_a_backup_of_an_empty_log_says_so(tmp_path: Path) -> None:
    log = healthy()
    log.rows.clear()
    source = log.write_sqlite(tmp_path / "log.sqlite")
    backup = take(str(source), None, private(tmp_path / "backup"), Settings())
    assert kinds(judge(backup, Settings())) == ["empty?"]
    with restore(backup, private(tmp_path / "restored"), Settings()) as restored:
        assert kinds(inspect(restored, Settings())) == ["empty?"]


def test_one_of_three_files_is_missing(tmp_path: Path) -> None:
    source = _bucket(tmp_path / "source")
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    assert compare_bucket(str(copy), {}, str(source)) == ()
    sorted(copy.rglob("pages.img.zstd"))[1].unlink()
    flaws = compare_bucket(str(copy), {}, str(source))
    assert kinds(flaws) == kinds(compare_bucket(str(copy), {})) == ["object-missing"]
    assert all(flaw.evidence and flaw.sentence.endswith(".") for flaw in flaws)


def _lose_pages(folder: Path) -> None:
    for path in folder.rglob("pages.img.zstd"):
        path.unlink()


def _cut_pages(folder: Path) -> None:
    for path in folder.rglob("pages.img.zstd"):
        path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("damage", "kind"), [(_lose_pages, "object-missing"), (_cut_pages, "object-damaged")]
)
def test_every_damaged_snapshot_is_named(
    tmp_path: Path, damage: Callable[[Path], None], kind: str
) -> None:
    copy = _bucket(tmp_path / "copy")
    assert compare_bucket(str(copy), {}) == ()
    damage(copy)
    (flaw,) = compare_bucket(str(copy), {})
    assert flaw.kind == kind
    assert len({line.rpartition("/")[0] for line in flaw.evidence}) == 3
