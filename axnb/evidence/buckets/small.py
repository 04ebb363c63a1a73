"""One small object, read whole, or the reason why not."""

from __future__ import annotations

from typing import Protocol

from axnb.errors import ObjectError
from axnb.evidence.buckets.objects import SmallObject, StoredObject
from axnb.evidence.buckets.streams import ObjectStream

#: The size of an object that was not listed.
UNLISTED = -1


class Reader(Protocol):
    """The part of a bucket that is needed here."""

    def read(self, key: str, version_id: str | None = None) -> ObjectStream:
        """The bytes of an object."""

    def name(self, key: str) -> str:
        """What a message calls it."""


def as_object(wanted: StoredObject | str) -> StoredObject:
    """An object that is named by its key alone was not listed: its size is not known."""
    return StoredObject(wanted, UNLISTED, None, None) if isinstance(wanted, str) else wanted


def read_whole(bucket: Reader, wanted: StoredObject, limit: int) -> SmallObject:
    """Read it, if it has at most `limit` bytes and is what was listed."""
    key, version = wanted.key, wanted.version_id
    try:
        _refuse_large(bucket.name(key), wanted.size, limit)
        with bucket.read(key, version) as stream:
            _refuse_large(bucket.name(key), stream.size, limit)
            refuse_other(bucket.name(key), wanted, stream)
            data = b"".join(stream)
            return SmallObject(key, version, data, stream.sha256)
    except ObjectError as problem:
        return SmallObject(key, version, None, problem=problem)


def _refuse_large(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise ObjectError(f"{name} has {size:,} bytes, more than the {limit:,} that are read.")


def refuse_other(name: str, wanted: StoredObject, stream: ObjectStream) -> None:
    """Raise ObjectError if what is read is not what was listed."""
    other_size = wanted.size not in (UNLISTED, stream.size)
    if other_size or (wanted.etag and stream.etag and wanted.etag != stream.etag):
        raise ObjectError(f"{name} has changed since it was listed; load it again.")
