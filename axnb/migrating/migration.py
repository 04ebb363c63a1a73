"""Take a log over into the words of another generation, row by row, and read the copy back."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from axnb.ax import versions
from axnb.ax.conversion import check_target
from axnb.ax.versions import Generation
from axnb.converting.process import Names, Setup
from axnb.converting.rows import Frame, Kept, Tally, Written
from axnb.errors import AxnbError, SourceError, UsageError
from axnb.evidence.locators import PostgresLocator, SqliteLocator, locate
from axnb.migrating.destination import (
    Destination,
    NoDestination,
    RefusedRowError,
    SqliteDestination,
    refused,
)
from axnb.migrating.owners import find_names, guess_names
from axnb.migrating.source import PostgresSource, Source, SqliteSource
from axnb.settings import Settings
from axnb.text import count, cut_middle, safe

#: What a row of a shape shows of its generation. A row of `exec` is G3's if the log has executions.
_SHOWS = {"steps": "G7|G8", "state": "G7|G8", "exec": "G4", "": "unreadable"}

Progress = Callable[[int], None]


@dataclass(frozen=True)
class MigrationOptions:
    """What a log is taken to, and what may be lost on the way.

    `accept` names paths of losses, as `Migrated.losses` has them. `live` backs up a SQLite file
    that is in use.
    """

    target: str = "G8"
    accept: tuple[str, ...] = ()
    default_harness: str = versions.BUILT_IN_HARNESSES[0]
    live: bool = False
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True)
class AsItIs:
    """A row that was copied byte for byte, and why."""

    conversation_id: str
    step: str
    reason: str


@dataclass(frozen=True)
class Migrated:
    """What became of a log: the `axnb.migrate/1` object."""

    source: str
    #: Empty for an examination that names none.
    destination: str
    target: str
    rows_read: int
    #: Rows of the copy as they were read back; None for an examination.
    rows_written: int | None
    #: sha256 over the keys and texts of the copy, in order; it was compared with what was written.
    digest: str | None
    converted: int
    #: Rows that stay as they are, and the first of them.
    as_it_is: int
    as_it_is_first: tuple[AsItIs, ...]
    #: Rows that told another number than their key.
    renumbered: int
    #: Owners that were named where no row named one: how many conversations, by owner.
    owners: dict[str, int]
    #: What the target cannot hold: how many times, by path.
    losses: dict[str, int]
    #: How many rows show which generation.
    generations: dict[str, int]
    executions: int
    notes: tuple[str, ...]
    #: Proof of what was read: hashes of the file, or the server's snapshot.
    custody: dict[str, Any]

    def unaccepted(self, accept: tuple[str, ...]) -> dict[str, int]:
        """The losses that nobody has accepted."""
        return {path: n for path, n in self.losses.items() if path not in accept}

    def as_dict(self) -> dict[str, Any]:
        """The `axnb.migrate/1` object."""
        first = [dict(vars(row)) for row in self.as_it_is_first]
        return {
            "schema": "axnb.migrate/1",
            **vars(self),
            "as_it_is_first": first,
            "notes": list(self.notes),
        }


class LossError(AxnbError):
    """The target cannot hold all of the log, and not all of that was accepted."""

    exit_code = 1

    def __init__(self, examined: Migrated, unaccepted: dict[str, int]) -> None:
        named = ", ".join(cut_middle(safe(path), 60) for path in [*unaccepted][:3])
        more = f" and {len(unaccepted) - 3} more" if len(unaccepted) > 3 else ""
        super().__init__(
            f"{examined.target} cannot hold all of {examined.source} ({named}{more}); nothing was "
            "written. Accept each path by --accept-loss, or keep the log where it is."
        )
        self.examined = examined
        self.unaccepted = unaccepted


def migrate(
    source: str,
    destination: str,
    options: MigrationOptions | None = None,
    progress: Progress | None = None,
) -> Migrated:
    """Write the log `source` into `destination` in the words of another generation.

    Both are a path or a DSN; the destination must not exist (a file, or the tables in a schema).
    The source is only read. `progress` is called with the number of rows so far. Raises UsageError,
    SourceError where the source cannot be read whole, LossError and RefusedRowError where something
    would be lost; then nothing is written.
    """
    options = options or MigrationOptions()
    environment = options.settings.environment
    target = _target(options)
    found = locate(destination, environment).log
    if isinstance(found, SqliteLocator):
        return _run(source, SqliteDestination(found.path, target), str(found), options, progress)
    from axnb.migrating.postgres import PostgresDestination

    return _run(source, PostgresDestination(found, target), str(found), options, progress)


def examine(
    source: str,
    options: MigrationOptions | None = None,
    progress: Progress | None = None,
    destination: str = "",
) -> Migrated:
    """What `migrate` would do, without writing anything; losses are listed and not refused.

    `destination` only tells which kind of store is meant; nothing is looked up there. Raises as
    `migrate` does, apart from LossError.
    """
    options = options or MigrationOptions()
    target = _target(options)
    named = locate(destination, options.settings.environment).log if destination else None
    nowhere = NoDestination(target, to_postgres=isinstance(named, PostgresLocator))
    return _run(source, nowhere, str(named or ""), options, progress)


def _target(options: MigrationOptions) -> Generation:
    target = versions.resolve(options.target)
    check_target(target)
    if not options.default_harness:
        raise UsageError("the default harness needs a name.")
    return target


def _run(
    source: str,
    destination: Destination,
    shown: str,
    options: MigrationOptions,
    progress: Progress | None,
) -> Migrated:
    from axnb.evidence.load import LoadOptions, open_reader

    located = locate(source, options.settings.environment).log
    with open_reader(located, LoadOptions(live=options.live), options.settings) as reader:
        if reader.incomplete:
            raise SourceError(
                f"{reader.place} cannot be read whole, and a migration must not lose a row: "
                f"{reader.incomplete[0]}"
            )
        opened: Source
        if isinstance(located, SqliteLocator):
            opened = SqliteSource(reader)  # type: ignore[arg-type]
        else:
            opened = PostgresSource(reader)  # type: ignore[arg-type]
        with destination, _no_collector():
            return _Migration(opened, destination, shown, options, progress).run()


@contextmanager
def _no_collector() -> Iterator[None]:
    """Rows are made of no rings: the collector would only walk through each of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Migration:
    """One migration: what its steps share."""

    def __init__(
        self,
        source: Source,
        destination: Destination,
        shown: str,
        options: MigrationOptions,
        progress: Progress | None,
    ) -> None:
        self._source, self._destination, self._shown = source, destination, shown
        self._options, self._progress = options, progress
        self._target = versions.resolve(options.target)
        self._is_examination = isinstance(destination, NoDestination)
        self._written = Written()

    def run(self) -> Migrated:
        reader = self._source.reader
        tally = self._convert()
        notes = [*reader.notes, *self._tables_left()]
        tally.losses.update({n: k for n, k in self._source.other_columns() if k})
        executions = self._destination.write_executions(self._source.executions())
        tally.losses.update(self._destination.lost())
        self._check_count(tally)
        if self._is_examination:
            self._refuse_doubles()
        written, found_digest = self._read_back()
        reader.finish()
        result = self._result(tally, executions, notes, written, found_digest, reader.custody())
        if self._is_examination:
            return result
        if unaccepted := result.unaccepted(self._options.accept):
            raise LossError(replace(result, rows_written=None, digest=None), unaccepted)
        self._destination.finish()
        return result

    def _convert(self) -> Tally:
        """Write every row; begin again where one of them contradicts what was guessed."""
        source, default = self._source, self._options.default_harness
        guess = None
        if source.reader.layout.column == "step":
            # Rows of servers that name no default are rare there.
            guess = Names(is_guess=True)
        elif isinstance(source, SqliteSource):
            guess = guess_names(source, default)
        tally = self._write(guess or find_names(source, default))
        if tally is None:
            self._destination.clear()
            tally = self._write(find_names(source, default))
            assert tally is not None
        return tally

    def _write(self, names: Names) -> Tally | None:
        """What became of all rows; None as soon as one contradicts a guess of their owners."""
        setup = Setup(self._source.reader.layout.column, self._target.name, names)
        tally, self._written = Tally(), Written()
        with closing(self._source.frames(setup, tally)) as frames:
            for frame in frames:
                if names.is_guess and self._contradicts(frame, names):
                    return None
                self._destination.write(frame)
                self._written.add(frame)
                if self._progress is not None:
                    self._progress(self._written.rows)
        return None if names.is_guess and tally.is_contradicted() else tally

    def _contradicts(self, frame: Frame, names: Names) -> bool:
        """Where none was named, rows of other classes may name an owner unseen."""
        return bool(frame.odd) if names.nameless else frame.nameless

    def _refuse_doubles(self) -> None:
        """Writing would find a key that is there twice by itself."""
        for conversation_id, step in self._source.doubles():
            raise refused((0, conversation_id, step), "its key is there twice")

    def _check_count(self, tally: Tally) -> None:
        """A damaged page can drop rows without an error."""
        reader = self._source.reader
        handed_on = self._written.rows
        claimed = reader.count() if isinstance(self._source, SqliteSource) else handed_on
        if handed_on != claimed or tally.rows != handed_on:
            raise SourceError(
                f"{reader.place} claims to have {count(claimed, 'row')}, and {handed_on:,} can be "
                "read: it is damaged, and a migration must not lose a row."
            )

    def _read_back(self) -> tuple[int | None, str | None]:
        """Compare the copy with what was written, part by part; its rows, and one digest."""
        if self._is_examination:
            return None, None
        number = self._destination.count()
        parts = self._written.parts()
        found = self._destination.read_back(parts)
        for part, (rows, digest) in zip(parts, found, strict=True):
            if (rows, digest) != (part.rows, part.digest):
                raise AxnbError(f"{self._shown} does not hold what was written; it was removed.")
        if number != self._written.rows:
            raise AxnbError(f"{self._shown} holds more than was written; it was removed.")
        return number, self._written.digest().hex()

    def _tables_left(self) -> Iterator[str]:
        if others := self._source.other_tables():
            shown = ", ".join(cut_middle(safe(name), 40) for name in others[:12])
            more = f", … {len(others) - 12} more" if len(others) > 12 else ""
            yield f"Not carried over: {shown}{more}."

    def _result(
        self,
        tally: Tally,
        executions: int,
        notes: list[str],
        written: int | None,
        found_digest: str | None,
        custody: dict[str, Any],
    ) -> Migrated:
        shows = dict(_SHOWS) | ({"exec": "G3|G4"} if executions else {})
        generations: dict[str, int] = {}
        for shape, number in tally.shapes.items():
            name = shows.get(shape, shape)
            generations[name] = generations.get(name, 0) + number
        return Migrated(
            source=self._source.reader.place,
            destination=self._shown,
            target=self._target.name,
            rows_read=tally.rows,
            rows_written=written,
            digest=found_digest,
            converted=tally.converted,
            as_it_is=tally.as_it_is,
            as_it_is_first=tuple(_shown(kept) for kept in sorted(tally.kept)),
            renumbered=tally.renumbered,
            owners={name: len(found) for name, found in sorted(tally.owners.items())},
            losses=dict(sorted(tally.losses.items())),
            generations=dict(sorted(generations.items())),
            executions=executions,
            notes=tuple(notes),
            custody=custody,
        )


def _shown(kept: Kept) -> AsItIs:
    return AsItIs(kept.conversation_id, kept.step, kept.reason)


__all__ = [
    "AsItIs",
    "LossError",
    "Migrated",
    "MigrationOptions",
    "RefusedRowError",
    "examine",
    "migrate",
]
