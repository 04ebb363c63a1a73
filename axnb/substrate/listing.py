"""A listing of a bucket, grouped: the snapshots in it, and what belongs to none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from axnb.substrate.layouts import MANIFEST, SUFFIX, Place, parse_prefix

#: The part of an object that an upload to GCS composes and deletes (since 2026-08-21).
_PART = re.compile(r"(?P<object>.+)\.part-(?P<run>[0-9a-f]{16})-(?P<number>[0-9]{4,9})", re.DOTALL)

#: Objects that a manifest's assets point to; installations without another store keep them beside.
ASSET_NAMES = (
    "runsc",
    "gvisor",
    "cloud-hypervisor",
    "virtiofsd",
    "kata-kernel",
    "kata-image",
    "kata-config",
    "kata-shim",
)
_ASSET = re.compile(rf"(?:{'|'.join(ASSET_NAMES)})(?:\.tar(?:\.[a-z0-9]+)?)?")

#: The one folder below a snapshot that builds of about October write into.
_INNER = "fs"

OtherKind = Literal["asset", "unplaced", "folder-mark", "stranger"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part that an interrupted upload left behind."""

    key: str
    #: The object that it would have become a part of.
    object_key: str
    #: 16 hexadecimal digits, one number an upload.
    run: str
    number: int


@dataclass
class SnapshotObjects:
    """The objects of one snapshot. A prefix without any of them is none."""

    place: Place
    #: Is `manifest.json` there? It is written last: without it the upload did not end, or is B0's.
    has_manifest: bool = False
    #: Name of a file, as manifests write it, -> key of its object.
    files: dict[str, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    #: Keys in the snapshot's folder that are none of Substrate's.
    odd: list[str] = field(default_factory=list)

    @property
    def manifest_key(self) -> str:
        """Where its manifest is, or would be."""
        return f"{self.place.prefix}/{MANIFEST}"


@dataclass(frozen=True, slots=True)
class Other:
    """A key that belongs to no snapshot.

    `asset`: named like a runtime asset. `unplaced`: named like a snapshot's object, under a prefix
    of no known layout. `folder-mark`: ends in a slash. `stranger`: all else.
    """

    key: str
    kind: OtherKind


@dataclass
class Listing:
    """What keys of a bucket are; the same for the same keys in any order."""

    #: By prefix.
    snapshots: dict[str, SnapshotObjects] = field(default_factory=dict)
    others: list[Other] = field(default_factory=list)


def group(keys: Iterable[str]) -> Listing:
    """Group keys of a bucket. Raises nothing, whatever they are; a key twice counts once."""
    folders: dict[str, set[str]] = {}
    for key in keys:
        folder, _, name = key.rpartition("/")
        folders.setdefault(folder, set()).add(name if folder or "/" not in key else key)
    listing = Listing()
    for folder in sorted(folders):
        names = sorted(folders[folder])
        place, inner = _place_of(folder)
        if place is None or not any(_is_substrates(name) for name in names):
            listing.others += [_other(_join(folder, name)) for name in names]
            continue
        if place.prefix not in listing.snapshots:
            listing.snapshots[place.prefix] = SnapshotObjects(place)
        snapshot = listing.snapshots[place.prefix]
        for name in names:
            _add(snapshot, _join(folder, name), inner, name)
    _take_in_odd(listing)
    return listing


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _place_of(folder: str) -> tuple[Place | None, str]:
    """The place that objects of a folder belong to, and what stands before their file's name.

    `…/actors/U/snapshots/N/fs` could be read as B3 too (atespace N, name `fs`): a folder below a
    B4 snapshot, and `fs` below any, is the snapshot's; but for one that is named after a time, as
    snapshots up to B2 are and folders of a snapshot never.
    """
    # A prefix takes one slash at its end; the folder of a key has none to spare.
    own = None if folder.endswith("/") else parse_prefix(folder)
    if own is not None and own.layout in ("B0|B1", "B2"):
        return own, ""
    parent, _, last = folder.rpartition("/")
    if parent and last:
        outer = parse_prefix(parent)
        if outer is not None and (last == _INNER or outer.layout == "B4|B5"):
            return outer, f"{last}/"
    return own, ""


def _is_substrates(name: str) -> bool:
    return name == MANIFEST or name.endswith(SUFFIX) or bool(_PART.fullmatch(name))


def _add(snapshot: SnapshotObjects, key: str, inner: str, name: str) -> None:
    part = _PART.fullmatch(name)
    if name == MANIFEST and not inner:
        snapshot.has_manifest = True
    elif name.endswith(SUFFIX) and len(name) > len(SUFFIX):
        snapshot.files[inner + name.removesuffix(SUFFIX)] = key
    elif part is not None:
        object_key = key[: len(key) - len(name)] + part["object"]
        snapshot.parts.append(Part(key, object_key, part["run"], int(part["number"])))
    else:
        snapshot.odd.append(key)


def _other(key: str) -> Other:
    name = key.rpartition("/")[2]
    if not name:
        return Other(key, "folder-mark")
    if name == MANIFEST or name.endswith(SUFFIX) or _PART.fullmatch(name):
        return Other(key, "unplaced")
    return Other(key, "asset" if _ASSET.fullmatch(name) else "stranger")


def _take_in_odd(listing: Listing) -> None:
    """Hand what lies in the folder of a snapshot, or below it, to the snapshot."""
    kept = []
    for other in listing.others:
        folder = other.key.rpartition("/")[0]
        snapshot = listing.snapshots.get(folder)
        outer, _, inner = folder.rpartition("/")
        if snapshot is None and outer in listing.snapshots:
            snapshot = listing.snapshots[outer]
            name = other.key.rpartition("/")[2]
            if name.endswith(SUFFIX) and len(name) > len(SUFFIX):
                snapshot.files[f"{inner}/{name.removesuffix(SUFFIX)}"] = other.key
                continue
        if snapshot is None:
            kept.append(other)
        else:
            snapshot.odd.append(other.key)
    listing.others = sorted(kept, key=lambda other: other.key)
