"""Take a private copy of a SQLite database without touching it, and prove that it is one.

The database, `-wal`, `-journal` and `-shm` belong together and are copied together, into a folder
that only this user can enter. The copy is hashed, and the source is compared with it at the end:
if they are equal, the copy is faithful and the source did not change while it was read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from axnb.errors import SourceChangedError, UnavailableError

#: File name -> size and sha256.
Digests = dict[str, dict[str, Any]]

#: Bytes to hash at once, and seconds until more of them may have come.
_PIECE = 1 << 20
_MOMENT = 0.002

SIDECARS = ("", "-wal", "-journal", "-shm")


def _parts(database: Path) -> list[Path]:
    """The database and those of its sidecars that exist."""
    paths = [database.with_name(database.name + suffix) for suffix in SIDECARS]
    return [path for path in paths if path.exists()]


def _digests(paths: list[Path], written: Event | None = None) -> Digests:
    """Sizes and hashes of files, which may still grow until `written` is set."""
    found = {}
    for path in paths:
        while written is not None and not path.exists() and not written.wait(_MOMENT):
            continue
        # A journal comes and goes with each write: one that has gone is missing from the digests.
        with suppress(FileNotFoundError, IsADirectoryError):
            found[_shown(path)] = _file_digest(path, written)
    return found


def _file_digest(path: Path, written: Event | None) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb", buffering=0) as file:
        while True:
            is_whole = written is None or written.is_set()
            while piece := file.read(_PIECE):
                digest.update(piece)
                size += len(piece)
            if is_whole:
                return {"size": size, "sha256": digest.hexdigest()}
            assert written is not None
            written.wait(_MOMENT)


def _are_equal(one: Path, other: Path) -> bool:
    """Have two files the same bytes? A file that has gone has none."""
    with (
        suppress(OSError),
        one.open("rb", buffering=0) as left,
        other.open("rb", buffering=0) as right,
    ):
        while True:
            piece = left.read(_PIECE)
            if piece != right.read(_PIECE):
                return False
            if not piece:
                return True
    return False


def _shown(path: Path) -> str:
    """A file's name as text; a name may be any bytes."""
    return os.fsencode(path.name).decode(errors="backslashreplace")


@dataclass
class PrivateCopy:
    """A copy of a SQLite database and its sidecars in a private folder; a context manager.

    Raises UnavailableError if the source cannot be read, SourceChangedError from `verify` if it
    changed while it was copied or read.
    """

    source: Path
    live: bool = False
    scratch: Path | None = None
    path: Path = field(init=False)
    _folder: Path = field(init=False)
    _workers: ThreadPoolExecutor = field(init=False)
    _before: Future[Digests] = field(init=False)
    _moved: Future[list[str]] | None = field(init=False, default=None)

    def __enter__(self) -> PrivateCopy:
        self._folder = Path(tempfile.mkdtemp(prefix="axnb-", dir=self.scratch))
        self.path = self._folder / self.source.name
        self._workers = ThreadPoolExecutor(1)
        try:
            parts = self._back_up() if self.live else self._copy()
            # Hashing takes as long as reading, so it goes on beside it; but what SQLite may roll
            # back or merge when it opens the copy must be hashed before.
            if parts > 1:
                self._before.result()
        except OSError as err:
            self.__exit__()
            raise UnavailableError(f"{self.source} cannot be copied: {err.strerror}.") from err
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.shutdown(cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copy(self) -> int:
        """Copy the database and its sidecars, hashed as they come; how many files these are."""
        if not self.source.exists():
            raise UnavailableError(f"{self.source} does not exist.")
        parts = _parts(self.source)
        copied = Event()
        copies = [self._folder / part.name for part in parts]
        self._before = self._workers.submit(_digests, copies, copied)
        try:
            for part, target in zip(parts, copies, strict=True):
                try:
                    shutil.copyfile(part, target)
                except FileNotFoundError:
                    # A journal that was there a moment ago: somebody writes.
                    raise self._changed(part.name) from None
                os.chmod(target, 0o600)
        finally:
            copied.set()
        return len(parts)

    def _back_up(self) -> int:
        """Copy a database that is in use, through SQLite's backup API; the copy is one file."""
        uri = f"{self.source.resolve().as_uri()}?mode=ro"
        try:
            with (
                closing(sqlite3.connect(uri, uri=True)) as live,
                closing(sqlite3.connect(self.path)) as copy,
            ):
                live.backup(copy)
        except sqlite3.Error as err:
            raise UnavailableError(f"{self.source} cannot be backed up live: {err}.") from err
        self._before = self._workers.submit(_digests, [self.path])
        return 1

    def finish(self) -> None:
        """Everything that is wanted of the copy has been read: compare the source, and end it.

        Both go on in the background.
        """
        if self._moved is None:
            self._moved = self._workers.submit(self._end)

    def _end(self) -> list[str]:
        moved = [] if self.live else self._find_moved()
        shutil.rmtree(self._folder, ignore_errors=True)
        return moved

    def verify(self) -> dict[str, Any]:
        """Compare the source with its copy and return the custody record.

        A live source moves by nature, so only its copy is on record. Raises SourceChangedError.
        """
        self.finish()
        files = self._before.result()
        assert self._moved is not None
        if moved := self._moved.result():
            raise self._changed(", ".join(moved))
        return {
            "mode": "live backup" if self.live else "copy",
            "sha256": files[_shown(self.path)]["sha256"],
            "files": files,
        }

    def _find_moved(self) -> list[str]:
        """Files of the source that are not what was copied.

        Comparing a file with its copy takes half the time of hashing it. But a copy that SQLite
        rolled back or merged is not what was copied any more, and then only hashes can tell.
        """
        before = self._before.result()
        parts = _parts(self.source)
        is_one_file = [*before] == [_shown(self.path)] and parts == [self.source]
        if is_one_file and _are_equal(self.source, self.path):
            return []
        after = _digests(parts)
        return sorted(
            name for name in after.keys() | before.keys() if after.get(name) != before.get(name)
        )

    def _changed(self, what: str) -> SourceChangedError:
        return SourceChangedError(
            f"{self.source} changed while it was read ({what}): stop its writer, or use --live to "
            "take a backup of a database in use."
        )
