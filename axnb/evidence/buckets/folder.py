"""A folder as a bucket: its regular files are the objects, and nothing outside of it is reached.

Folders and files are opened one step of the path after the other, without following a link, so
that a link that is put in place meanwhile leads nowhere. Where the system allows it, not even the
time of the last access moves.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

from axnb.errors import ObjectError, UnavailableError
from axnb.evidence.buckets.listing import Listing
from axnb.evidence.buckets.locators import BucketLocator
from axnb.evidence.buckets.objects import THREADS, SmallObject, StoredObject, Upload
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.buckets.small import as_object, read_whole
from axnb.evidence.buckets.streams import PIECE, ObjectStream
from axnb.text import is_path

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)

_FEW = 10
#: Files that make up a page, for the custody.
_PAGE = 1000

_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# A pipe or a device must not make us wait.
_FILE_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


class FileBucket:
    """A folder that holds what a bucket held; a context manager."""

    kind = "bucket"

    def __init__(self, locator: BucketLocator) -> None:
        self._locator = locator
        self._root = os.path.realpath(locator.bucket)
        self.place = str(locator)
        self.locator = str(BucketLocator("file", self._root, locator.prefix))
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        self.versions: Literal["none", "listed", "unknown"] = "none"
        self._listing = Listing(by_time=True)

    def __enter__(self) -> FileBucket:
        try:
            os.close(_opened(self._root, _FOLDER_FLAGS))
        except OSError as err:
            raise UnavailableError(f"{self.place} cannot be read: {err.strerror}.") from err
        return self

    def __exit__(self, *_: object) -> None:
        return

    def objects(self) -> Iterator[StoredObject]:
        """Every regular file, by folders, each in the order of its names' bytes.

        A link, a pipe, a device or a folder that cannot be read is a sentence of `incomplete`.
        """
        self._listing = Listing(by_time=True)
        odd: dict[str, list[str]] = {}
        yield from self._pages(self._listing, odd)
        self._listing.is_complete = True
        self.incomplete += [self._sentence(what, keys) for what, keys in sorted(odd.items())]

    def uploads(self) -> Iterator[Upload]:
        """None: a folder holds no uploads that were not ended, and the notes say so."""
        note = f"{self.place} is a folder: uploads that were not ended are not seen in it."
        if note not in self.notes:
            self.notes.append(note)
        return iter(())

    def find(self, key: str, version_id: str | None = None) -> StoredObject | None:
        """The file of this key, or None; ObjectError where a link would have to be followed."""
        if version_id is not None:
            return None
        try:
            file = self._open(key)
        except OSError as err:
            if err.errno in _NOT_THERE:
                return None
            raise self._unreadable(key, err) from err
        try:
            return _stored(key, os.fstat(file))
        finally:
            os.close(file)

    def read(self, key: str, version_id: str | None = None) -> ObjectStream:
        """The bytes of a file."""
        name = self._locator.of(key)
        if version_id is not None:
            raise ObjectError(f"{name} is a file and has no versions.")
        try:
            file = self._open(key)
        except OSError as err:
            raise self._unreadable(key, err) from err
        return ObjectStream(
            name, self._pieces(key, file), lambda: os.close(file), size=os.fstat(file).st_size
        )

    def read_small(self, wanted: Iterable[StoredObject | str], limit: int) -> Iterator[SmallObject]:
        """Many small files, in the order in which they are wanted."""
        return in_order(lambda one: read_whole(self, as_object(one), limit), wanted, THREADS)

    def name(self, key: str) -> str:
        """What a message calls an object."""
        return self._locator.of(key)

    def custody(self) -> dict[str, Any]:
        """What was listed, and whether a second listing is equal; call it last."""
        if not self._listing.is_complete:
            for _ in self.objects():
                continue
        again = Listing(by_time=True)
        for _ in self._pages(again, {}):
            continue
        changes = self._listing.compared(again)
        if changes:
            self.incomplete.append(changes.sentence(self.place))
        return {
            **self._listing.custody(),
            "versions": self.versions,
            "stable": not changes,
            "changes": changes.custody(),
        }

    # --- listing -------------------------------------------------------------------------------

    def _pages(self, listing: Listing, odd: dict[str, list[str]]) -> Iterator[StoredObject]:
        page: list[StoredObject] = []
        for found in self._walk(odd):
            page.append(found)
            if len(page) == _PAGE:
                yield from listing.add_page(page)
                page = []
        yield from listing.add_page(page)

    def _walk(self, odd: dict[str, list[str]]) -> Iterator[StoredObject]:
        """Files below the prefix; deep trees need no deep stack."""
        waiting = [self._locator.prefix]
        while waiting:
            folder = waiting.pop()
            below = []
            for key, info in self._entries(folder, odd):
                if stat.S_ISREG(info.st_mode):
                    yield _stored(key, info)
                elif stat.S_ISDIR(info.st_mode):
                    below.append(key)
                else:
                    what = "links" if stat.S_ISLNK(info.st_mode) else "pipes, sockets or devices"
                    odd.setdefault(what, []).append(key)
            waiting += reversed(below)

    def _entries(self, folder: str, odd: dict[str, list[str]]) -> list[tuple[str, os.stat_result]]:
        found = []
        try:
            opened = self._open_folder(folder.split("/") if folder else [])
        except FileNotFoundError:
            return []
        except OSError:
            odd.setdefault("folders that cannot be read", []).append(folder)
            return []
        try:
            for name in sorted(os.listdir(opened), key=os.fsencode):
                key = f"{folder}/{name}" if folder else name
                with suppress(FileNotFoundError):
                    found.append((key, os.stat(name, dir_fd=opened, follow_symlinks=False)))
        finally:
            os.close(opened)
        return found

    def _sentence(self, what: str, keys: list[str]) -> str:
        more = f", … {len(keys) - _FEW:,} more" if len(keys) > _FEW else ""
        named = ", ".join(map(self._locator.of, keys[:_FEW]))
        return f"{len(keys):,} {what} in {self.place} are not followed or read: {named}{more}."

    # --- opening -------------------------------------------------------------------------------

    def _open_folder(self, steps: list[str]) -> int:
        folder = _opened(self._root, _FOLDER_FLAGS)
        for step in steps:
            try:
                below = _opened(step, _FOLDER_FLAGS, folder)
            finally:
                os.close(folder)
            folder = below
        return folder

    def _open(self, key: str) -> int:
        """A file, opened without following a link. Raises OSError, ObjectError."""
        steps = key.split("/")
        if not is_path(key) or any(step in ("", ".", "..") for step in steps):
            raise ObjectError(f"{self.name(key)} is no name of a file in this folder.")
        folder = self._open_folder(steps[:-1])
        try:
            file = _opened(steps[-1], _FILE_FLAGS, folder)
        finally:
            os.close(folder)
        mode = os.fstat(file).st_mode
        if stat.S_ISREG(mode):
            return file
        os.close(file)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise ObjectError(f"{self.name(key)} is no regular file.")

    def _pieces(self, key: str, file: int) -> Iterator[bytes]:
        try:
            while piece := os.read(file, PIECE):
                yield piece
        except OSError as err:
            raise self._unreadable(key, err) from err

    def _unreadable(self, key: str, err: OSError) -> ObjectError:
        if err.errno == errno.ELOOP:
            return ObjectError(f"{self.name(key)} is a link, which is not followed.")
        return ObjectError(f"{self.name(key)} cannot be read: {err.strerror}.")


def _opened(path: str, flags: int, folder: int | None = None) -> int:
    """Open without moving the time of the last access, if we may."""
    flags |= getattr(os, "O_CLOEXEC", 0)
    if quiet := getattr(os, "O_NOATIME", 0):
        with suppress(PermissionError):
            return os.open(path, flags | quiet, dir_fd=folder)
    return os.open(path, flags, dir_fd=folder)


def _stored(key: str, info: os.stat_result) -> StoredObject:
    return StoredObject(key, info.st_size, None, _time(info.st_mtime_ns))


def _time(nanoseconds: int) -> datetime | None:
    """A time of a file, which may lie outside of all calendars."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1000 / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return None
