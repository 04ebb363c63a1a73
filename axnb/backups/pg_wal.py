"""Which WAL segments a base backup needs, which are there, and how far they lead.

Segments are named by timeline and number, so what is missing can be said before a server is
started; a server that recovers stops at a gap without a word.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

SEGMENT = re.compile(r"[0-9A-F]{24}")
HISTORY = re.compile(r"([0-9A-F]{8})\.history")

_START = re.compile(r"START WAL LOCATION: ([0-9A-F]+/[0-9A-F]+)")
_FILE = re.compile(r"\(file ([0-9A-F]{24})\)")
_TIMELINE = re.compile(r"START TIMELINE: (\d+)")
_SWITCH = re.compile(r"\s*(\d+)\s+([0-9A-F]+/[0-9A-F]+)")

#: The head of a segment's first page: magic, info, timeline, address, length left, padding, then
#: the identifier of its system, the size of a segment and of a page (`XLogLongPageHeaderData`).
_HEAD = struct.Struct("=HHIQI4xQII")

#: Timeline -> its ancestors, the oldest first: (timeline, the LSN at which it was left).
Histories = Mapping[int, tuple[tuple[int, int], ...]]


def lsn(text: str) -> int:
    """An LSN such as `0/2000028` as a number."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def shown_lsn(number: int) -> str:
    """An LSN as PostgreSQL writes it."""
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


@dataclass(frozen=True)
class Control:
    """What a backup's pg_control says."""

    identifier: str
    is_shut_down: bool
    segment_size: int
    #: Of the checkpoint that the backup begins with.
    time: datetime | None


@dataclass(frozen=True)
class Start:
    """Where the recovery of a base backup begins, and where it is consistent, if that is known."""

    timeline: int
    start: int
    end: int | None
    segment_size: int

    def name(self, timeline: int, number: int) -> str:
        """The name of a segment by its number."""
        per_file = (1 << 32) // self.segment_size
        return f"{timeline:08X}{number // per_file:08X}{number % per_file:08X}"

    def number(self, name: str) -> int:
        """The number of a segment by its name."""
        return int(name[8:16], 16) * ((1 << 32) // self.segment_size) + int(name[16:], 16)


@dataclass(frozen=True)
class Reach:
    """How far the WAL at hand leads, on the timeline that a recovery would follow."""

    first: str
    #: The last segment without a gap before it; None if not even the first is there.
    last: str | None
    #: The segment that is missing while later ones are there, or that the backup itself needs.
    missing: str | None
    #: The first and the last segment behind a gap.
    beyond: tuple[str, str] | None = None
    #: Is the missing segment one that the backup needs to be consistent?
    is_needed: bool = False


@dataclass(frozen=True)
class Fork:
    """A newest timeline that does not descend from the backup's."""

    backup: int
    newest: int
    #: The newest timeline that both descend from, if they are related, and where each left it.
    common: int | None


def read_start(folder: Path, archive: Path | None, segment_size: int) -> Start | None:
    """What `backup_label` and the manifest say; None without a label."""
    label = folder / "backup_label"
    if not label.is_file():
        return None
    text = label.read_text(encoding="utf-8", errors="replace")
    start, timeline = _START.search(text), _TIMELINE.search(text)
    if start is None:
        return None
    number = int(timeline[1]) if timeline else 1
    end = _end_of_manifest(folder / "backup_manifest")
    if end is None and archive is not None:
        end = _end_of_history(archive, start[1])
    return Start(number, lsn(start[1]), end, segment_size)


def first_segment(label: str) -> str:
    """The first segment that a `backup_label` names; an empty text if it names none."""
    found = _FILE.search(label)
    return found[1] if found else ""


def _end_of_manifest(manifest: Path) -> int | None:
    try:
        ranges = json.loads(manifest.read_bytes())["WAL-Ranges"]
        return max(lsn(entry["End-LSN"]) for entry in ranges)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _end_of_history(archive: Path, start: str) -> int | None:
    """The end that the server itself noted in the archive when the backup was done."""
    for note in archive.glob("*.backup"):
        text = note.read_text(encoding="utf-8", errors="replace")
        stop = re.search(r"STOP WAL LOCATION: ([0-9A-F]+/[0-9A-F]+)", text)
        if stop and f"START WAL LOCATION: {start} " in text:
            return lsn(stop[1])
    return None


def read_histories(folders: Iterable[Path]) -> Histories:
    """The timelines that have a history file in one of some folders."""
    found: dict[int, tuple[tuple[int, int], ...]] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.history")):
            if name := HISTORY.fullmatch(path.name):
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                parsed = [_SWITCH.match(line) for line in lines]
                found[int(name[1], 16)] = tuple((int(s[1]), lsn(s[2])) for s in parsed if s)
    return found


def segments_in(folders: Iterable[Path]) -> dict[str, Path]:
    """Whole segments in some folders, by name; the last folder that has one wins."""
    return {
        path.name: path
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if SEGMENT.fullmatch(path.name) and path.is_file() and path.stat().st_size
    }


def is_what_its_name_says(path: Path, control: Control) -> bool:
    """Is a segment whole, of this system, and of the place that its name gives?

    A server takes anything else for the end of the WAL, and says nothing.
    """
    size = control.segment_size
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or path.stat().st_size != size:
        return False
    _, _, _, address, _, identifier, _, _ = _HEAD.unpack(head)
    place = int(path.name[8:16], 16) << 32 | int(path.name[16:], 16) * size
    return bool(address == place and str(identifier) == control.identifier)


def fork_of(start: Start, histories: Histories) -> Fork | None:
    """The newest timeline, where it is none that the backup can follow.

    A backup can follow what branched off its own timeline after it was begun.
    """
    newest = max(histories, default=start.timeline)
    if newest <= start.timeline:
        return None
    left = dict(histories[newest]).get(start.timeline)
    if left is not None and left >= start.start:
        return None
    own = {start.timeline} | {timeline for timeline, _ in histories.get(start.timeline, ())}
    common = [timeline for timeline, _ in histories[newest] if timeline in own]
    return Fork(start.timeline, newest, max(common, default=None))


def reach(start: Start, available: Iterable[str], histories: Histories) -> Reach:
    """How far the segments lead from the start of a backup."""
    names = set(available)
    newest = max(histories, default=start.timeline)
    path = [entry for entry in histories.get(newest, ()) if entry[0] >= start.timeline]
    timelines = [timeline for timeline, _ in path] + [max(newest, start.timeline)]
    size = start.segment_size

    def found(number: int) -> str | None:
        """The segment, of the newest timeline that had begun by its end."""
        for timeline in reversed(timelines):
            left = [lsn for of, lsn in path if of < timeline]
            begun = not left or max(left) < (number + 1) * size
            if begun and (name := start.name(timeline, number)) in names:
                return name
        return None

    number = start.start // size
    first, last = start.name(start.timeline, number), None
    while (name := found(number)) is not None:
        last, number = name, number + 1
    missing = start.name(timelines[-1] if last else start.timeline, number)
    is_needed = number <= (start.start if start.end is None else start.end - 1) // size
    later = sorted(
        (start.number(name), name)
        for name in names
        if int(name[:8], 16) in timelines and start.number(name) > number
    )
    beyond = (later[0][1], later[-1][1]) if later else None
    return Reach(first, last, missing if later or is_needed else None, beyond, is_needed)
