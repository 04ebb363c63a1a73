"""What every bucket hands on, whatever store it lies in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from axnb.errors import ObjectError
from axnb.evidence.buckets.streams import ObjectStream

#: Objects that are read at the same time.
THREADS = 8


class StoredObject(NamedTuple):
    """An object as the store lists it; nothing of it was read yet."""

    #: Bytes of a file's name that are no UTF-8 stand as lone surrogates (`os.fsencode` undoes it).
    key: str
    size: int
    #: As the store gives it, without quotes; None of a file.
    etag: str | None
    #: In UTC; when it was written, by the store's clock.
    modified: datetime | None
    version_id: str | None = None
    is_latest: bool = True
    is_delete_marker: bool = False
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that was begun and not ended; its parts take up space."""

    key: str
    upload_id: str
    initiated: datetime | None


@dataclass(frozen=True, slots=True)
class SmallObject:
    """A small object that was read whole, or why it could not be."""

    key: str
    version_id: str | None
    data: bytes | None
    #: Our own, of the bytes that came; hexadecimal.
    sha256: str | None = None
    problem: ObjectError | None = None


class Bucket(Protocol):
    """A store of objects, of which nothing is ever written. Opened by `with`."""

    kind: str
    #: What a message calls it; never with keys.
    place: str
    #: What tells this bucket from every other, wherever it was named from.
    locator: str
    #: What a person must know, a sentence each.
    notes: list[str]
    #: Why the bucket may hold other objects than those listed, a sentence each.
    incomplete: list[str]
    #: Are the noncurrent versions known? Complete once `objects` has come to its end.
    versions: Literal["none", "listed", "unknown"]

    def __enter__(self) -> Bucket: ...

    def __exit__(self, *error: object) -> None: ...

    def objects(self) -> Iterator[StoredObject]:
        """Every current object under the prefix, then noncurrent versions and delete markers."""

    def uploads(self) -> Iterator[Upload]:
        """Multipart uploads that were not ended; a note says why, if they cannot be known."""

    def find(self, key: str, version_id: str | None = None) -> StoredObject | None:
        """Ask for one object by its key: None if the store says that it is not there.

        Ask this before calling an object missing: a listing can lack what is there.
        """

    def read(self, key: str, version_id: str | None = None) -> ObjectStream:
        """The bytes of an object. Raises ObjectError, UnavailableError."""

    def read_small(self, wanted: Iterable[StoredObject | str], limit: int) -> Iterator[SmallObject]:
        """Many objects of at most `limit` bytes, in the order in which they are wanted.

        Some are read ahead, several at a time. An object that cannot be read has a problem and
        does not keep the others; UnavailableError is raised where the store as a whole fails.
        """

    def custody(self) -> dict[str, Any]:
        """What was listed, and whether a second listing is equal; call it last."""
