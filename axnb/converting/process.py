"""Convert rows of a log, in this process or in another: `python -m axnb.converting.process`.

A second process reads the private copy of a SQLite log by itself and hands on finished rows through
a pipe, which holds it back when nobody takes them. It ends when the pipe is gone.
"""

from __future__ import annotations

import gc
import pickle
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
from axnb.converting.rows import (
    USUAL,
    Frame,
    Kept,
    StoredRow,
    Tally,
    UsualRows,
    framed,
)
from axnb.text import cut_middle, safe

_NAMING = cache(Naming)
_NO_TEXT = "the payload is no text in UTF-8"


class Nameless(NamedTuple):
    """A conversation in which no row names an owner: who owns it, and its first row."""

    owner: str
    first: int


@dataclass(frozen=True)
class Names:
    """Owners that rows shall name. `is_guess` says that not every row was asked for one before."""

    nameless: Mapping[bytes, Nameless] = field(default_factory=dict)
    is_guess: bool = False


@dataclass(frozen=True)
class Setup:
    """How the rows of a log are converted."""

    column: str
    target: str
    names: Names


def convert_rows(rows: list[StoredRow], setup: Setup, tally: Tally) -> Frame:
    """Rows in the words of the target; what became of them is added to `tally`."""
    usual = [row for row in rows if not row[4]]
    odd = [_convert_odd(StoredRow(*row), setup, tally) for row in rows if row[4]]
    target, column = GENERATIONS[setup.target], setup.column
    nameless = setup.names.nameless
    quick, texts, seen = Way(column, target).convert, list[bytes](), list[str]()
    naming, is_same = None, 0
    # What is done here is done a million times.
    for row, conversation_id, step, raw, _ in usual:
        if nameless:
            naming = _naming(nameless, conversation_id, step)
        found = quick(raw, step, naming)
        if found is None:
            key = (row, conversation_id, step)
            found = _carefully(raw, key, column, target, naming, tally)
        text, shape, renumbered, named, _, owns = found
        seen.append(shape)
        if renumbered:
            tally.renumbered += 1
        if named and naming is not None:
            tally.name(naming.owner, conversation_id)
        if owns:
            tally.owned.add(conversation_id)
        is_same += text is raw
        texts.append(text)
    shapes = Counter(seen)
    tally.converted += len(usual) - is_same
    tally.rows += len(rows)
    tally.shapes += shapes
    numbers, ids, steps, _, _ = zip(*usual, strict=True) if usual else [()] * 5
    written = UsualRows.of(numbers, ids, steps, texts)
    return Frame(written, odd, any(shapes[shape] for shape in NAMELESS))


def _naming(nameless: Mapping[bytes, Nameless], conversation_id: bytes, step: int) -> Naming | None:
    about = nameless.get(conversation_id)
    return None if about is None else _NAMING(about.owner, step == about.first)


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
    return Usual(text, found.shape, *found[4:])


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
        naming = _naming(setup.names.nameless, stored.conversation_id, step)
        found = convert(text, setup.column, step, target, naming)
        if found.named and naming is not None:
            tally.name(naming.owner, stored.conversation_id)
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


def rows_of(
    connection: sqlite3.Connection, table: str, column: str, among: tuple[int, int]
) -> Iterator[StoredRow]:
    """The rows of a range, in the order in which they were committed."""
    values = ("conversation_id", column, "payload")
    classes = " || ',' || ".join(f"typeof({value})" for value in values)
    sql = (
        f"select rowid, {', '.join(values)}, case when {is_usual(column)} then '' else {classes} "
        f"end from {table} where rowid between ? and ? order by rowid"
    )
    found: Iterator[StoredRow] = connection.execute(sql, among)
    return found


def is_usual(column: str) -> str:
    """Has a row the classes that AX writes?"""
    kinds = zip(("conversation_id", column, "payload"), USUAL.decode().split(","), strict=True)
    return " and ".join(f"typeof({value}) = '{kind}'" for value, kind in kinds)


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


def _done(job: Job | Search, tally: Tally) -> Iterator[Iterator[Any]]:
    return frames(job, tally) if isinstance(job, Job) else iter([mentions(job)])


def main() -> None:
    """Do the job that stands on stdin; what it gives goes to stdout, pickled.

    For each range its frames and None, or what was looked for in each range and None; then the
    tally, or the text of an error of SQLite.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing here is made of rings: the collector would only walk through every row.
    gc.disable()
    # Only its parent writes to it.
    job: Job | Search = pickle.load(sys.stdin.buffer)  # noqa: S301
    out, tally = sys.stdout.buffer, Tally()
    end: Tally | str = tally
    try:
        for found in _done(job, tally):
            for frame in found:
                pickle.dump(frame, out, pickle.HIGHEST_PROTOCOL)
            pickle.dump(None, out)
    except sqlite3.Error as err:
        end = str(err)
    pickle.dump(end, out)
    out.flush()


if __name__ == "__main__":
    # What comes through the pipe names its classes by their own module, and not by this one.
    from axnb.converting import process

    try:
        process.main()
    except BrokenPipeError:
        # Nobody takes the rows any more.
        sys.stderr.close()
