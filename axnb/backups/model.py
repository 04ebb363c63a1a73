"""What a backup is, what speaks against it, and what a restore of it gives."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axnb.errors import SourceError
from axnb.text import safe

#: `pg-base` is the folder of a base backup; `pg-custom` is also a dump in tar format.
Kind = Literal["sqlite", "pg-custom", "pg-plain", "pg-directory", "pg-base"]

Severity = Literal["error", "doubt"]

_PIECE = 1 << 20


@dataclass(frozen=True)
class Flaw:
    """What speaks against a backup or a restored log.

    An `error` is known; a `doubt` says that something cannot be known. `kind` is one word of the
    list in `axnb.backups`; `evidence` names the rows, files or numbers that show it.
    """

    kind: str
    severity: Severity
    sentence: str
    evidence: tuple[str, ...] = ()


class BadBackupError(SourceError):
    """A backup is none, or cannot be restored; `flaw` says why."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.sentence)
        self.flaw = flaw


def bad(kind: str, sentence: str, *evidence: str) -> BadBackupError:
    """The error for a flaw that nothing can be done with."""
    return BadBackupError(Flaw(kind, "error", sentence, evidence))


@dataclass(frozen=True)
class Backup:
    """A backup of an event log, as it lies there; it is never written."""

    kind: Kind
    #: The file, or the folder of `pg-directory` and `pg-base`.
    path: Path
    #: `backup API`, `VACUUM INTO`, `file copy`, `pg_dump --format=custom`, …, or `given`.
    how: str
    #: The folder of archived WAL segments; `pg-base` only.
    wal_archive: Path | None = None
    #: File name, relative to `path`'s folder -> size and sha256.
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    #: The custody of the source, of a backup that was taken here.
    source: Mapping[str, Any] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """What a message calls it: a path may be any bytes."""
        return shown_path(self.path)

    @property
    def is_ours(self) -> bool:
        """Was it taken here?"""
        return self.how != "given"


@dataclass(frozen=True)
class Restored:
    """A log that was restored from a backup, in a runtime of its own."""

    backup: Backup
    #: A path or a DSN, as `axnb load` takes it; a DSN holds a password and is not to be shown.
    log: str = field(repr=False)
    #: system_identifier, server_version, encoding, collation, page_count, …
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: What the restore itself met.
    flaws: tuple[Flaw, ...] = ()
    #: Seconds by phase, in order; `inspect` adds its own.
    phases: dict[str, float] = field(default_factory=dict)


@contextmanager
def timed(phases: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds of the `with` block to a phase."""
    start = time.monotonic()
    try:
        yield
    finally:
        phases[name] = phases.get(name, 0.0) + time.monotonic() - start


@contextmanager
def written_aside(target: Path) -> Iterator[Path]:
    """Where a new file or folder is to be written, with what belongs beside it.

    At the end of the block all of it is moved to its place, the target last, so that it is there
    whole or not at all. Raises SourceError where the target exists.
    """
    if target.exists():
        raise SourceError(f"{shown_path(target)} exists already: name a folder without a backup.")
    aside = target.parent / f".{target.name}.part"
    shutil.rmtree(aside, ignore_errors=True)  # of a run that was killed
    try:
        aside.mkdir(mode=0o700)
        yield aside / target.name
        for part in sorted(aside.iterdir(), key=lambda part: part.name == target.name):
            if part.is_file():
                with part.open("rb") as file:
                    os.fsync(file.fileno())
            os.rename(part, target.parent / part.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def digests(paths: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Size and sha256 of files, by name. Raises SourceError for one that cannot be read."""
    return {name: _digest(path) for name, path in sorted(paths.items())}


def _digest(path: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                size += len(piece)
    except OSError as err:
        raise SourceError(f"{shown_path(path)} cannot be read: {err.strerror}.") from err
    return {"size": size, "sha256": digest.hexdigest()}


def shown_path(path: Path) -> str:
    """A path as a message shows it."""
    return safe(os.fsencode(path).decode(errors="backslashreplace"))


def files_of(path: Path) -> dict[str, Path]:
    """The regular files of a file or folder, by name; a link is not followed."""
    if path.is_file():
        return {path.name: path}
    return {
        found.relative_to(path).as_posix(): found
        for found in path.rglob("*")
        if found.is_file() and not found.is_symlink()
    }
