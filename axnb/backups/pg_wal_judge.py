"""What speaks against the WAL of a base backup, and where a recovery of it has to end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from axnb.backups.flaws import FEW
from axnb.backups.model import Backup, Flaw
from axnb.backups.pg_wal import (
    HISTORY,
    SEGMENT,
    Control,
    Histories,
    Reach,
    Start,
    fork_of,
    is_what_its_name_says,
    reach,
    read_histories,
    read_start,
    segments_in,
    shown_lsn,
)
from axnb.backups.programs import bare_environment, program, run
from axnb.text import count, cut_middle, safe

_COMMIT = re.compile(r"COMMIT (?:PREPARED )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC)")

#: What else a server puts into an archive.
_NOTE = re.compile(r"[0-9A-F]{24}\.[0-9A-F]{8}\.backup")


@dataclass(frozen=True)
class Wal:
    """The WAL at hand: in the backup itself and in its archive."""

    start: Start
    histories: Histories
    #: Those that are what their names say.
    segments: dict[str, Path]
    #: Names of the others, from the start of the backup on.
    unsound: tuple[str, ...]
    #: Names in the archive that are no server's.
    strange: tuple[str, ...]

    @property
    def reach(self) -> Reach:
        """How far it leads."""
        return reach(self.start, self.segments, self.histories)


def read_wal(backup: Backup, control: Control) -> Wal | None:
    """The WAL of a base backup; None of one without a `backup_label`."""
    start = read_start(backup.path, backup.wal_archive, control.segment_size)
    if start is None:
        return None
    archives = [backup.wal_archive] if backup.wal_archive else []
    folders = [backup.path / "pg_wal", *archives]
    found = segments_in(folders)
    sound = {name for name, path in found.items() if is_what_its_name_says(path, control)}
    first = start.start // start.segment_size
    names = sorted(path.name for folder in archives for path in folder.iterdir())
    return Wal(
        start,
        read_histories(folders),
        {name: path for name, path in found.items() if name in sound},
        tuple(name for name in sorted(found.keys() - sound) if start.number(name) >= first),
        tuple(
            name
            for name in names
            if not (SEGMENT.fullmatch(name) or HISTORY.fullmatch(name) or _NOTE.fullmatch(name))
        ),
    )


def judge_wal(backup: Backup, wal: Wal, target_time: str | None) -> Iterator[Flaw]:
    """What speaks against it; a gap does not where a target time is to be reached."""
    if wal.strange:
        yield Flaw(
            "archive-unread",
            "doubt",
            f"the WAL archive of {backup.place} holds {count(len(wal.strange), 'file')} of other "
            "names than a server gives: what is packed or partial in it is not restored.",
            tuple(cut_middle(safe(name), 100) for name in wal.strange[:FEW]),
        )
    if fork := fork_of(wal.start, wal.histories):
        common = f"both branched off timeline {fork.common}" if fork.common else "not related"
        yield Flaw(
            "wrong-timeline",
            "error",
            f"{backup.place} is on timeline {fork.backup}, and the archive's newest is timeline "
            f"{fork.newest}, which does not descend from it ({common}): take a base backup of "
            f"timeline {fork.newest}, or set its history file aside.",
            (f"timeline {fork.backup}", f"timeline {fork.newest}"),
        )
        return
    found = wal.reach
    if found.is_needed:
        end = f" (at {shown_lsn(wal.start.end)})" if wal.start.end is not None else ""
        yield Flaw(
            "wal-gap",
            "error",
            f"{backup.place} lacks the WAL segment {found.missing}, which it needs to become "
            f"consistent{end}: it cannot be restored.",
            (str(found.missing),),
        )
    elif found.missing and target_time is None:
        yield _gap(backup, found, wal.segments)
    if wal.unsound and target_time is None:
        yield Flaw(
            "wal-damaged",
            "error",
            f"{count(len(wal.unsound), 'WAL segment')} of {backup.place} are not what their names "
            "say: cut off, empty, of another place or of another server.",
            wal.unsound[:FEW],
        )


def _gap(backup: Backup, found: Reach, segments: dict[str, Path]) -> Flaw:
    assert found.beyond is not None
    assert found.last is not None
    time = _last_commit(segments[found.last])
    latest = f", the last commit at {time}" if time else ""
    return Flaw(
        "wal-gap",
        "error",
        f"the WAL of {backup.place} has a gap: {found.missing} is missing. It can be restored "
        f"from {found.first} to {found.last}{latest}; not to what is in {found.beyond[0]} to "
        f"{found.beyond[1]}.",
        (str(found.missing), f"{found.first} to {found.last}"),
    )


def _last_commit(segment: Path) -> str | None:
    """The time of the last commit in a segment, if pg_waldump can say it."""
    _, said = run(
        [program("pg_waldump"), "--rmgr=Transaction", str(segment.resolve())],
        environment=bare_environment(),
        seconds=60,
    )
    found = _COMMIT.findall(said)
    return str(found[-1]) if found else None


def stopped_early(backup: Backup, wal: Wal, end: int | None) -> Flaw | None:
    """Where a recovery to the end of the WAL ended before it: a server stops at damage."""
    last = wal.reach.last
    if last is None or end is None:
        return None
    number = end // wal.start.segment_size
    if number >= wal.start.number(last):
        return None
    at = wal.start.name(int(last[:8], 16), number)
    return Flaw(
        "wal-damaged",
        "error",
        f"the recovery of {backup.place} ended at {shown_lsn(end)}, in the WAL segment {at}, "
        f"although there are segments up to {last}: what follows is damaged.",
        (at, last),
    )
