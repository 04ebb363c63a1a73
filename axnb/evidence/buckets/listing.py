"""What was listed: its digest, its extent, and whether a second listing is the same."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from axnb.evidence.buckets.objects import StoredObject
from axnb.text import safe

#: Keys that a sentence or a custody names.
_FEW = 10

#: An entry of a listing: its key, and its version where versions were listed.
_Entry = tuple[str, str | None]


@dataclass
class Listing:
    """Objects as they are listed, of which only fingerprints are kept: 300 bytes an object.

    The digest is the sha256 over the sha256 of each entry, sorted by the bytes of the key, then
    by the version. An entry is its size, ETag, version id, whether it is the latest and whether it
    is a delete marker (`1` or `0` each) and its key, in UTF-8, with a NUL between.
    """

    #: Is the store's time of an object part of what makes it the same? For files it is all we have.
    by_time: bool = False
    pages: int = 0
    first_page: datetime | None = None
    last_page: datetime | None = None
    #: Keys come in the order of their bytes, as S3 promises.
    in_order: bool = True
    #: The last key of each page.
    page_ends: list[str] = field(default_factory=list)
    #: Bytes of all entries.
    size: int = 0
    current: int = 0
    noncurrent: int = 0
    delete_markers: int = 0
    #: Entries that came more than once.
    repeated: int = 0
    is_complete: bool = False

    _seen: dict[_Entry, bytes] = field(default_factory=dict, repr=False)
    _old: set[_Entry] = field(default_factory=set, repr=False)
    _last: bytes = b""

    def add_page(self, page: Iterable[StoredObject]) -> list[StoredObject]:
        """Take note of a page of current objects; returns those that are new."""
        self.note_page()
        new = [entry for entry in page if self._add(entry)]
        if new:
            self.page_ends.append(new[-1].key)
        for entry in new:
            key = _encoded(entry.key)
            self.in_order = self.in_order and key > self._last
            self._last = key
        return new

    def add_version(self, entry: StoredObject) -> bool:
        """Take note of what is not a current object; False if it was there already."""
        self._old.add((entry.key, entry.version_id))
        return self._add(entry)

    def note_page(self) -> None:
        """A page has come."""
        self.pages += 1
        self.last_page = datetime.now(UTC)
        self.first_page = self.first_page or self.last_page

    def _add(self, entry: StoredObject) -> bool:
        place = entry.key, entry.version_id
        if place in self._seen:
            self.repeated += 1
            return False
        self._seen[place] = _fingerprint(entry, by_time=self.by_time)
        if entry.is_delete_marker:
            self.delete_markers += 1
        elif entry.is_latest:
            self.current += 1
        else:
            self.noncurrent += 1
        self.size += entry.size
        return True

    def digest(self) -> str:
        """The sha256 of the sorted listing; hexadecimal."""
        whole = hashlib.sha256()
        for place in sorted(self._seen, key=lambda e: (_encoded(e[0]), e[1] or "")):
            whole.update(self._seen[place][:32])
        return whole.hexdigest()

    def compared(self, again: Listing) -> Changes:
        """What a later listing of the current objects has otherwise."""
        before = {place: seen for place, seen in self._seen.items() if place not in self._old}
        after = again._seen
        return Changes(
            came=_keys(place for place in after if place not in before),
            went=_keys(place for place in before if place not in after),
            changed=_keys(p for p, print_ in after.items() if before.get(p, print_) != print_),
        )

    def custody(self) -> dict[str, Any]:
        """Extent, digest and times, for JSON."""
        return {
            "objects": self.current,
            "noncurrent_versions": self.noncurrent,
            "delete_markers": self.delete_markers,
            "bytes": self.size,
            "listing_sha256": self.digest(),
            "pages": self.pages,
            "first_page": self.first_page.isoformat() if self.first_page else None,
            "last_page": self.last_page.isoformat() if self.last_page else None,
        }


@dataclass(frozen=True)
class Changes:
    """Keys that came, went or changed between two listings, sorted."""

    came: list[str]
    went: list[str]
    changed: list[str]

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.changed)

    def sentence(self, place: str) -> str:
        """Which keys differ."""
        told = [
            f"{len(keys):,} {word} ({', '.join(map(_shown, keys[:_FEW]))}"
            f"{', …' if len(keys) > _FEW else ''})"
            for word, keys in (("came", self.came), ("went", self.went), ("changed", self.changed))
            if keys
        ]
        return (
            f"unstable listing: two listings of {place} differ: {', '.join(told)}; load it again "
            "when nothing writes to it."
        )

    def custody(self) -> dict[str, Any]:
        """The first keys of each kind and how many there are, for JSON."""
        return {
            word: {"count": len(keys), "keys": [_shown(key) for key in keys[:_FEW]]}
            for word, keys in (("came", self.came), ("went", self.went), ("changed", self.changed))
        }


def _keys(places: Iterable[_Entry]) -> list[str]:
    return sorted({key for key, _ in places}, key=_encoded)


def _encoded(key: str) -> bytes:
    return key.encode(errors="surrogateescape")


def _shown(key: str) -> str:
    return safe(_encoded(key).decode(errors="backslashreplace"))[:200]


def _fingerprint(entry: StoredObject, *, by_time: bool) -> bytes:
    line = (
        f"{entry.size}\0{entry.etag or ''}\0{entry.version_id or ''}\0{entry.is_latest:d}\0"
        f"{entry.is_delete_marker:d}\0{entry.key}"
    )
    digest = hashlib.sha256(line.encode(errors="surrogateescape")).digest()
    if not by_time or entry.modified is None:
        return digest
    return digest + struct.pack("<d", entry.modified.timestamp())
