"""Load a bucket of snapshots into a case: its listing, its manifests, on demand its bodies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import duckdb

from axnb.case.case import Case, define_links, run_sql
from axnb.case.sources import source_name
from axnb.errors import ObjectError
from axnb.evidence.bucket_rows import (
    Body,
    Seen,
    asset_rows,
    object_rows,
    remark_rows,
    snapshot_row,
)
from axnb.evidence.bucket_secrets import evidence_of, in_manifest, of_source, scanner_for
from axnb.evidence.buckets import Bucket, BucketLocator, open_bucket
from axnb.evidence.buckets.objects import THREADS, StoredObject
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.tables import as_text, insert_rows
from axnb.secrets.keeping import Secret, keep_secrets, secret_key
from axnb.secrets.scanner import Scanner
from axnb.substrate.encoding import SPARSE_MAGIC
from axnb.substrate.errors import ManifestError
from axnb.substrate.generations import MANIFESTS, Encodings
from axnb.substrate.layouts import MANIFEST
from axnb.substrate.listing import Listing, group
from axnb.substrate.manifest import MAX_SIZE, parse

Progress = Callable[[str], None]

_TABLES = (
    *("snapshots", "snapshot_assets", "snapshot_remarks", "snapshot_objects", "secrets"),
    *("bucket_scopes", "sources"),
)

#: About so many bytes are what the case holds of an object.
_ROW_BYTES = 256


def load_snapshots(
    case: Case, locator: BucketLocator, *, verify: bool = False, progress: Progress | None = None
) -> str:
    """Load a bucket and return the name of its source in the case.

    Lists and gets only. With `verify` every object of a snapshot is read to its end. A bucket that
    is loaded again replaces what was there. Raises SourceError if it cannot be listed, UsageError
    for settings that cannot be meant; then the case is as it was before.
    """
    with open_bucket(locator, case.settings.environment) as bucket:
        reading = Reading(bucket, progress or (lambda _: None))
        reading.list_objects()
        evidence = evidence_of(reading.stored)
        reading.scanner = scanner_for(case, evidence)
        reading.read_manifests()
        reading.look_for_missing()
        if verify:
            from axnb.evidence.verifying import verify_bodies

            verify_bodies(reading)
        else:
            reading.peek()
        custody = bucket.custody()
        case.make_room(len(reading.stored) * _ROW_BYTES, whole=False)
        with case.writing() as session:
            define_links(session)
            source = source_name(session, bucket.kind, as_text(bucket.locator), "snapshots")
            reading.note_changes(_earlier(session, source))
            _forget(session, source)
            _keep(session, source, reading, custody)
            if reading.secrets:
                secret_key(session, evidence)
                keep_secrets(session, of_source(reading.secrets, source))
            is_folder = locator.scheme == "file"
            scope = {
                "source": source,
                # A folder may hold what any bucket held, and its times are those of a copy.
                "bucket": None if is_folder else locator.bucket,
                "prefix": locator.prefix,
                "has_times": not is_folder,
            }
            insert_rows(session, "bucket_scopes", [scope])
    return source


class Reading:
    """A bucket that is being read."""

    def __init__(self, bucket: Bucket, progress: Progress) -> None:
        self.bucket = bucket
        self.progress = progress
        self.stored: list[StoredObject] = []
        #: Current objects by key.
        self.held: dict[str, StoredObject] = {}
        self.listing = Listing()
        self.seen: dict[str, Seen] = {}
        self.bodies: dict[str, Body] = {}
        #: Secrets, but for the name of their source.
        self.secrets: list[Secret] = []
        self.scanner: Scanner
        self.notes: list[str] = []
        self.incomplete: list[str] = []

    def list_objects(self) -> None:
        """List what is there, and group it."""
        for count, one in enumerate(self.bucket.objects(), 1):
            self.stored.append(one)
            if count % 10_000 == 0:
                self.progress(f"listed {count:,} objects")
        self.uploads = list(self.bucket.uploads())
        self._group()

    def _group(self) -> None:
        current = [o for o in self.stored if o.is_latest and not o.is_delete_marker]
        self.held = {one.key: one for one in current}
        self.listing = group(self.held)
        self.seen = {
            prefix: self.seen.get(prefix) or Seen(objects)
            for prefix, objects in self.listing.snapshots.items()
        }
        for prefix, objects in self.listing.snapshots.items():
            self.seen[prefix].objects = objects

    def read_manifests(self) -> None:
        """Read every manifest; one that cannot be read does not keep the others."""
        by_key = {
            seen.objects.manifest_key: seen
            for seen in self.seen.values()
            if seen.objects.has_manifest and seen.manifest is None
        }
        wanted = [self.held[key] for key in by_key]
        for count, found in enumerate(self.bucket.read_small(wanted, MAX_SIZE), 1):
            seen = by_key[found.key]
            if count % 1_000 == 0:
                self.progress(f"read {count:,} of {len(wanted):,} manifests")
            if found.data is None:
                self.unreadable(found.key, str(found.problem))
                seen.manifest_reason = "unreadable"
                continue
            try:
                seen.manifest = parse(found.data)
            except ManifestError as err:
                seen.manifest_reason = err.reason
            self.secrets += in_manifest(
                self.scanner, seen.prefix, found.key, found.data, seen.manifest
            )
            state = "sound" if seen.manifest else "damaged"
            self.bodies[found.key] = Body(state, seen.manifest_reason, found.sha256)

    def unreadable(self, key: str, sentence: str) -> None:
        """An object's bytes could not be had; why, in a sentence."""
        self.bodies[key] = Body("unreadable", "unreadable")
        self.incomplete.append(sentence)

    def look_for_missing(self) -> None:
        """Ask for each object that a snapshot needs and the listing lacks: it can be there."""
        asked: set[str] = set()
        found = self._look(asked)
        # A manifest that is there names files that may not have been listed either.
        while more := self._look(asked) if found else []:
            found += more
        if found:
            self.incomplete.append(
                f"unstable listing: {self.bucket.place} did not list {len(found):,} objects that "
                "are there; load it again, and do not trust what its listing lacks."
            )

    def _look(self, asked: set[str]) -> list[StoredObject]:
        """What is there of that which was not asked for yet."""
        keys = {key for seen in self.seen.values() for key in _missing(seen)} - asked
        asked |= keys
        found = [one for one in in_order(self._find, sorted(keys), THREADS) if one is not None]
        if found:
            self.stored += found
            self._group()
            self.read_manifests()
        return found

    def _find(self, key: str) -> StoredObject | None:
        try:
            return self.bucket.find(key)
        except ObjectError as err:
            self.incomplete.append(str(err))
            return None

    def peek(self) -> None:
        """Where neither keys nor manifest tell the generation, look how an object begins."""
        asked = [
            (seen, min(seen.objects.files.values()))
            for seen in self.seen.values()
            if seen.objects.place.layout == "B0|B1" and seen.objects.files and not _lists(seen)
        ]
        for seen, start in in_order(self._start, asked, THREADS):
            if start:
                is_sparse = start.startswith(SPARSE_MAGIC)
                seen.encodings = Encodings(has_sparse=is_sparse, has_plain=not is_sparse)

    def _start(self, asked: tuple[Seen, str]) -> tuple[Seen, bytes]:
        seen, key = asked
        try:
            with self.bucket.read(key) as stream:
                return seen, next(iter(stream), b"")[: len(SPARSE_MAGIC)]
        except ObjectError as err:
            self.incomplete.append(str(err))
            return seen, b""

    def note_changes(self, earlier: Mapping[str, str]) -> None:
        """A snapshot's object never changes: another digest than at an earlier load is damage."""
        for seen in self.seen.values():
            for key in (*seen.objects.files.values(), seen.objects.manifest_key):
                body, before = self.bodies.get(key), earlier.get(as_text(key))
                if body and before and body.sha256 and body.sha256 != before:
                    body.state, body.reason = "damaged", "changed"
                    seen.remarks.append((key, "changed-since", before[:12]))

    def sentences(self) -> tuple[list[str], list[str]]:
        """What a reader must know, and why there may be more than was read."""
        notes = [*self.bucket.notes, *self.notes]
        incomplete = [*self.bucket.incomplete, *self.incomplete]
        if not self.stored:
            incomplete.append(
                f"{self.bucket.place} holds no objects: that is no proof that there were none."
            )
        return notes, incomplete


def _lists(seen: Seen) -> bool:
    return seen.manifest is not None and seen.manifest.files is not None


def _missing(seen: Seen) -> Iterable[str]:
    """Keys of objects that a snapshot needs and that were not listed."""
    objects = seen.objects
    for file in seen.files.missing:
        yield f"{objects.place.prefix}/{file}.zstd"
    # Snapshots of B0 have no manifest: nobody asks for ten thousand of them.
    named = objects.place.time
    is_early = objects.place.layout == "B0|B1" and named is not None and named.date() < MANIFESTS
    if not objects.has_manifest and not is_early:
        yield f"{objects.place.prefix}/{MANIFEST}"


def _earlier(session: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    """Digests of current objects that an earlier load of the same source read."""
    found = session.execute(
        "select key, sha256 from snapshot_objects where source = ? and is_latest "
        "and sha256 is not null and reason is distinct from 'changed'",
        [source],
    ).fetchall()
    return dict(found)


def _forget(session: duckdb.DuckDBPyConnection, source: str) -> None:
    for table in _TABLES:
        session.execute(f"delete from {table} where source = ?", [source])


def _keep(
    session: duckdb.DuckDBPyConnection, source: str, reading: Reading, custody: Mapping[str, Any]
) -> None:
    seen: Sequence[Seen] = list(reading.seen.values())
    insert_rows(session, "snapshots", (snapshot_row(source, one, reading.held) for one in seen))
    insert_rows(session, "snapshot_assets", (r for one in seen for r in asset_rows(source, one)))
    insert_rows(session, "snapshot_remarks", (r for one in seen for r in remark_rows(source, one)))
    rows = object_rows(source, reading.stored, reading.listing, reading.uploads, reading.bodies)
    count = insert_rows(session, "snapshot_objects", rows)
    notes, incomplete = reading.sentences()
    unreadable = sum(body.state == "unreadable" for body in reading.bodies.values())
    values = {
        "source": source,
        "kind": reading.bucket.kind,
        "locator": as_text(reading.bucket.locator),
        "read": count,
        "parsed": count - unreadable,
        "rejected": unreadable,
        "custody": json.dumps(custody, sort_keys=True, default=str),
        "notes": [as_text(note) for note in notes],
        "incomplete": [as_text(sentence) for sentence in incomplete],
    }
    run_sql(session, "evidence", "landing/witness_source.sql", values)
