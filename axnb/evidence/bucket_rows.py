"""What a listing and its manifests say, as rows of the tables of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from axnb.evidence.buckets.objects import StoredObject, Upload
from axnb.substrate.generations import (
    Encodings,
    Files,
    Inferred,
    compare_files,
    conflicts,
    contradictions,
    infer,
)
from axnb.substrate.listing import Listing, SnapshotObjects, group
from axnb.substrate.manifest import Manifest

Row = dict[str, Any]


@dataclass
class Body:
    """What is known of an object's body; of one that nobody read, nothing."""

    state: str = "listed"
    reason: str | None = None
    sha256: str | None = None
    encoding: str | None = None
    frames: int | None = None
    restored_size: int | None = None
    restored_sha256: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass
class Seen:
    """A snapshot with all that was read of it."""

    objects: SnapshotObjects
    manifest: Manifest | None = None
    #: A short class, where it is there and cannot be read.
    manifest_reason: str | None = None
    encodings: Encodings | None = None
    #: Were all of its objects read to their end?
    verified: bool = False
    taken_at: datetime | None = None
    runsc_version: str | None = None
    #: (key of the object, short class, a name in it)
    remarks: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """Where it lies."""
        return self.objects.place.prefix

    @property
    def inferred(self) -> Inferred:
        """Who wrote it."""
        return infer(self.objects.place, self.manifest, self.encodings)

    @property
    def files(self) -> Files:
        """What it must have, and has."""
        return compare_files(self.inferred, self.manifest, self.objects.files)


def snapshot_row(source: str, seen: Seen, held: Mapping[str, StoredObject]) -> Row:
    """A snapshot's row; `held` are the current objects by key."""
    place, manifest, inferred = seen.objects.place, seen.manifest, seen.inferred
    files = seen.files
    stored = [held[key] for key in _keys(seen.objects) if key in held]
    is_read = manifest is not None
    return {
        "source": source,
        "snapshot": place.prefix,
        "layout": place.layout,
        "generation": inferred.generation,
        "generation_why": inferred.why,
        "doubts": inferred.doubts,
        "name": place.name,
        "location": place.location,
        "key_atespace": place.atespace,
        "key_actor": place.actor_id,
        "key_actor_uid": place.actor_uid,
        "key_tag_uid": place.tag_uid,
        "manifest": "read" if is_read else "unreadable" if seen.manifest_reason else "missing",
        "manifest_reason": seen.manifest_reason,
        **_manifest_columns(manifest),
        "is_golden": _is_golden(seen),
        "is_usual": place.is_usual,
        "expected": files.expected,
        "expected_from": files.source,
        "named_at": place.time,
        "newest": max((o.modified for o in stored if o.modified), default=None),
        "objects": len(stored),
        "bytes": sum(o.size for o in stored),
        "has_sparse": _has_sparse(seen.encodings),
        "verified": seen.verified,
        "taken_at": seen.taken_at,
        "runsc_version": seen.runsc_version,
    }


def _manifest_columns(manifest: Manifest | None) -> Row:
    if manifest is None:
        return {"content": "unknown"}
    space = manifest.template_atespace or manifest.template_namespace
    template = manifest.template_name
    return {
        "manifest_atespace": manifest.atespace,
        "manifest_actor": manifest.actor_name,
        "manifest_actor_uid": manifest.actor_uid,
        "manifest_template": f"{space or ''}/{template}" if template else None,
        "sandbox_class": manifest.sandbox_class,
        "content": manifest.content,
        "pause_image": manifest.pause_image,
        "files": manifest.files,
        "data_files": manifest.data_files,
    }


def _is_golden(seen: Seen) -> bool | None:
    told = seen.objects.place.is_golden
    return seen.manifest.is_golden if told is None and seen.manifest else told


def _has_sparse(encodings: Encodings | None) -> bool | None:
    if encodings is None or not (encodings.has_sparse or encodings.has_plain):
        return None
    return encodings.has_sparse


def _keys(objects: SnapshotObjects) -> list[str]:
    parts = [part.key for part in objects.parts]
    return [objects.manifest_key, *objects.files.values(), *parts, *objects.odd]


def asset_rows(source: str, seen: Seen) -> Iterator[Row]:
    """The runtime files that a manifest pins."""
    for asset in (seen.manifest.assets or {}).values() if seen.manifest else ():
        yield {
            "source": source,
            "snapshot": seen.prefix,
            "name": asset.name,
            "url": asset.masked_url,
            "sha256": asset.sha256 if asset.has_digest else None,
            "arch": asset.architecture,
        }


def remark_rows(source: str, seen: Seen) -> Iterator[Row]:
    """What is odd about a snapshot."""
    unlisted = [(seen.objects.files[name], "unlisted", name) for name in seen.files.unlisted]
    told = [*seen.remarks, *_manifest_remarks(seen), *unlisted]
    for key, kind, detail in sorted(set(told)):
        yield {
            "source": source,
            "snapshot": seen.prefix,
            "object": key,
            "kind": kind,
            "detail": detail[:300],
        }


def _manifest_remarks(seen: Seen) -> Iterator[tuple[str, str, str]]:
    manifest, key = seen.manifest, seen.objects.manifest_key
    if manifest is None:
        return
    for refused in manifest.refused_names:
        yield key, "refused-name", f"{refused.reason}: {refused.name[:200]}"
    for name in manifest.unknown or {}:
        yield key, "unknown-key", name
    for kind in manifest.remarks:
        if kind not in ("refused-name", "unknown-key"):
            yield key, kind, ""
    for kind in contradictions(seen.inferred, manifest):
        yield key, kind, ""
    for kind in conflicts(seen.objects.place, manifest):
        yield key, kind, ""


def object_rows(
    source: str,
    stored: Iterable[StoredObject],
    listing: Listing,
    uploads: Sequence[Upload],
    bodies: Mapping[str, Body],
) -> Iterator[Row]:
    """Rows of every object, version, delete marker and upload that was not ended."""
    current: list[StoredObject] = []
    past: list[StoredObject] = []
    for one in stored:
        (current if one.is_latest and not one.is_delete_marker else past).append(one)
    roles = _roles(listing)
    nothing = Body()
    for one in current:
        yield _object_row(source, one, roles, bodies.get(one.key, nothing))
    if past or uploads:
        # What is gone belongs where it belonged while all of it was there.
        keys = [*roles, *(o.key for o in past), *(u.key for u in uploads)]
        once = _roles(group(keys))
        for one in past:
            yield _object_row(source, one, once, nothing)
        for upload in uploads:
            yield _upload_row(source, upload, once)


_Role = tuple[str | None, str | None, str]


def _roles(listing: Listing) -> dict[str, _Role]:
    """By key: the snapshot that it belongs to, its file, its role."""
    roles: dict[str, _Role] = {}
    for prefix, snapshot in listing.snapshots.items():
        roles |= {key: (prefix, file, "file") for file, key in snapshot.files.items()}
        roles |= {part.key: (prefix, None, "part") for part in snapshot.parts}
        roles |= dict.fromkeys(snapshot.odd, (prefix, None, "odd"))
        if snapshot.has_manifest:
            roles[snapshot.manifest_key] = (prefix, None, "manifest")
    roles |= {other.key: (None, None, other.kind) for other in listing.others}
    return roles


def _object_row(source: str, one: StoredObject, roles: Mapping[str, _Role], body: Body) -> Row:
    snapshot, file, role = roles[one.key]
    return {
        "source": source,
        "key": one.key,
        "version_id": one.version_id,
        "snapshot": snapshot,
        "file": file,
        "role": role,
        "size": one.size,
        "etag": one.etag,
        "modified": one.modified,
        "is_latest": one.is_latest,
        "is_delete_marker": one.is_delete_marker,
        "storage_class": one.storage_class,
        "state": body.state,
        "reason": body.reason,
        "sha256": body.sha256,
        "encoding": body.encoding,
        "frames": body.frames,
        "restored_size": body.restored_size,
        "restored_sha256": body.restored_sha256,
        "remarks": body.remarks,
    }


def _upload_row(source: str, upload: Upload, roles: Mapping[str, _Role]) -> Row:
    snapshot, file, _ = roles[upload.key]
    return {
        "source": source,
        "key": upload.key,
        "snapshot": snapshot,
        "file": file,
        "role": "upload",
        "modified": upload.initiated,
        "is_latest": False,
        "is_delete_marker": False,
        "state": "listed",
        "remarks": (),
    }
