"""Convert rows of a log, in this process or in another: `python -m axnb.migrating.converting`.

A second process reads the private copy of a SQLite log by itself and hands on finished rows through
a pipe, which holds it back when nobody takes them. It ends when the pipe is gone.
"""

from __future__ import annotations

import gc
import marshal
import pickle
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from axnb.ax.conversion import (
    NAMELESS,
    Naming,
    Way,
    convert,
    convert_carefully,
    left_as_it_is,
)
from axnb.ax.conversion_fast import Usual
from axnb.ax.versions import GENERATIONS, Generation
from axnb.migrating.rows import (
    USUAL,
    Frame,
    Kept,
    StoredRow,
    Tally,
    UsualRow,
    digest,
    framed,
    split,
)
from axnb.text import cut_middle, safe

_NO_TEXT = "the payload is no text in UTF-8"


@dataclass(frozen=True)
class Names:
    """Owners of conversations in which no row names one, and the first row of each."""

    owners: Mapping[bytes, str] = field(default_factory=dict)
    first: frozenset[tuple[bytes, int]] = frozenset()


@dataclass(frozen=True)
class Setup:
    """How the rows of a log are converted."""

    column: str
    target: str
    names: Names


def convert_rows(rows: list[StoredRow], setup: Setup, tally: Tally) -> Frame:
    """Rows in the words of the target; what became of them is added to `tally`."""
    usual: list[UsualRow] = []
    odd: list[StoredRow] = []
    target, column = GENERATIONS[setup.target], setup.column
    owners, first = setup.names.owners, setup.names.first
    quick, seen = Way(column, target).convert, list[str]()
    owner, naming, is_same = None, None, 0
    # What is done here is done a million times.
    for row, conversation_id, step, raw, classes in rows:
        if classes:
            stored = StoredRow(row, conversation_id, step, raw, classes)
            odd.append(_convert_odd(stored, setup, tally))
            continue
        if owners:
            owner = owners.get(conversation_id)
            naming = None if owner is None else Naming(owner, (conversation_id, step) in first)
        found = quick(raw, step, naming)
        if found is None:
            key = (row, conversation_id, step)
            found = _carefully(raw, key, column, target, naming, tally)
        text, shape, renumbered, named, _ = found
        seen.append(shape)
        if renumbered:
            tally.renumbered += 1
        if named and owner is not None:
            tally.named += 1
            tally.owners.setdefault(owner, set()).add(conversation_id)
        is_same += text is raw
        usual.append((row, conversation_id, step, text))
    shapes = Counter(seen)
    tally.converted += len(usual) - is_same
    tally.rows += len(rows)
    tally.shapes += shapes
    return Frame(usual, odd, digest(usual, odd), any(shapes[shape] for shape in NAMELESS))


def _carefully(
    raw: bytes,
    key: tuple[int, bytes, int],
    column: str,
    target: Generation,
    naming: Naming | None,
    tally: Tally,
) -> Usual:
    """A row that AX does not write so."""
    try:
        payload = raw.decode()
    except UnicodeDecodeError:
        tally.keep(_kept(*key, _NO_TEXT))
        return Usual(raw, "")
    found = convert_carefully(payload, column, key[2], target, naming)
    if found.losses:
        tally.lose(found.losses)
    if found.reason:
        tally.keep(_kept(*key, found.reason))
    text = raw if found.text == payload else found.text.encode()
    return Usual(text, found.shape, found.renumbered, found.named, found.state)


def _convert_odd(stored: StoredRow, setup: Setup, tally: Tally) -> StoredRow:
    """A row of other classes than AX writes; what is no number or no text stays as it is."""
    target = GENERATIONS[setup.target]
    payload, step = stored.payload, stored.step
    try:
        text = payload.decode() if isinstance(payload, bytes) else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        tally.keep(_kept(*stored[:3], _NO_TEXT))
        return stored
    if isinstance(step, int):
        found = convert(text, setup.column, step, target)
    elif target.content_key == "steps":
        # Rows of G7 and G8 do not tell their number, so none is needed.
        found = convert(text, setup.column, 0, target)._replace(renumbered=False)
    else:
        found = left_as_it_is(text, setup.column, target, "its number is no whole number")
    tally.lose(found.losses)
    tally.shapes[found.shape] += 1
    tally.converted += found.text != text
    tally.renumbered += found.renumbered
    if found.reason:
        tally.keep(_kept(*stored[:3], found.reason))
    return stored._replace(payload=found.text.encode())


def _kept(row: int, conversation_id: Any, step: Any, reason: str) -> Kept:
    return Kept(row, shown(conversation_id), shown(step), reason)


def shown(key: object) -> str:
    """A key for a person, whatever it is."""
    text = key.decode(errors="backslashreplace") if isinstance(key, bytes) else str(key)
    return cut_middle(safe(text), 60)


# --- a SQLite log, in a process of its own -------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """Ranges of rows of a private copy that one process converts."""

    database: Path
    table: str
    setup: Setup
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Search:
    """Ranges of rows of a private copy in which one process looks for names of owners."""

    database: Path
    table: str
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Reading:
    """Frames of a copy that one process reads back."""

    database: Path
    column: str
    frames: tuple[tuple[int, int], ...]


def rows_of(
    connection: sqlite3.Connection, table: str, column: str, among: tuple[int, int]
) -> Iterator[StoredRow]:
    """The rows of a range, in the order in which they were committed."""
    values = ("conversation_id", column, "payload")
    classes = " || ',' || ".join(f"typeof({value})" for value in values)
    kinds = zip(values, USUAL.decode().split(","), strict=True)
    is_usual = " and ".join(f"typeof({value}) = '{kind}'" for value, kind in kinds)
    sql = (
        f"select rowid, {', '.join(values)}, case when {is_usual} then '' else {classes} end "
        f"from {table} where rowid between ? and ? order by rowid"
    )
    found: Iterator[StoredRow] = connection.execute(sql, among)
    return found


def opened(database: Path) -> sqlite3.Connection:
    """A connection that only reads, and takes texts as bytes."""
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    connection.text_factory = bytes
    return connection


def frames(job: Job, tally: Tally) -> Iterator[Iterator[Frame]]:
    """The frames of each range."""
    with closing(opened(job.database)) as connection:
        for among in job.ranges:
            rows = rows_of(connection, job.table, job.setup.column, among)
            yield (convert_rows(held, job.setup, tally) for held in framed(rows))


def mentions(job: Search) -> Iterator[list[tuple[Any, bytes]]]:
    """(conversation_id, payload) of rows of each range that may name an owner: an escape may hide
    any name, and AX reads blobs as well."""
    columns = "conversation_id, cast(payload as blob)"
    sql = f"select {columns} from {job.table} where rowid between ? and ?"
    with closing(opened(job.database)) as connection:
        for among in job.ranges:
            yield [
                (conversation_id, raw)
                for conversation_id, raw in connection.execute(sql, among)
                if raw and (b"arness" in raw or b"gent" in raw or b"\\u" in raw)
            ]


def digests(job: Reading) -> Iterator[tuple[int, bytes]]:
    """How many rows each frame has, and its digest."""
    with closing(opened(job.database)) as connection:
        for among in job.frames:
            rows = list(rows_of(connection, "conversation_log", job.column, among))
            yield len(rows), digest(*split(rows))


def _done(job: Job | Reading | Search, tally: Tally) -> Iterator[Iterator[Any]]:
    if isinstance(job, Job):
        return frames(job, tally)
    return iter([digests(job) if isinstance(job, Reading) else mentions(job)])


def hand_on(found: Any, out: IO[bytes]) -> None:
    """Write a frame, or what else was found. Rows are plain values, which marshal writes sooner."""
    if isinstance(found, Frame):
        rows = marshal.dumps(found.usual)
        pickle.dump((rows, found._replace(usual=[])), out, pickle.HIGHEST_PROTOCOL)
    else:
        pickle.dump(found, out)


def unpacked(found: Any) -> Any:
    """What another process has handed on, as it was there."""
    if isinstance(found, tuple) and isinstance(found[1], Frame):
        rows, frame = found
        # Our own process wrote them a moment ago.
        return frame._replace(usual=marshal.loads(rows))  # noqa: S302
    return found


def main() -> None:
    """Do the job that stands on stdin; what it gives goes to stdout, pickled.

    For each range its frames and None, or what was looked for in each range, or the rows and digest
    of each frame that is read back, and None; then the tally, or the text of an error of SQLite.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing here is made of rings: the collector would only walk through every row.
    gc.disable()
    # Only its parent writes to it.
    job: Job | Reading | Search = pickle.load(sys.stdin.buffer)  # noqa: S301
    out, tally = sys.stdout.buffer, Tally()
    end: Tally | str = tally
    try:
        for found in _done(job, tally):
            for frame in found:
                hand_on(frame, out)
            pickle.dump(None, out)
    except sqlite3.Error as err:
        end = str(err)
    pickle.dump(end, out)
    out.flush()


if __name__ == "__main__":
    # What comes through the pipe names its classes by their own module, and not by this one.
    from axnb.migrating import converting

    try:
        converting.main()
    except BrokenPipeError:
        # Nobody takes the rows any more.
        sys.stderr.close()
