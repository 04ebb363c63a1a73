"""Look for secrets in a bucket, on the way: in manifests, and in what is read to be verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from axnb.case.case import Case, ask
from axnb.errors import CaseError, ObjectError
from axnb.evidence.buckets.objects import Bucket, StoredObject
from axnb.evidence.buckets.verifying import Wanted
from axnb.secrets.keeping import KEY_NAME, Secret, Where, key_of
from axnb.secrets.places import (
    ObjectScan,
    in_members,
    place_of,
    scan_environment,
    scan_text,
    scan_url,
)
from axnb.secrets.scanner import Scanner
from axnb.substrate.contents import kind_of
from axnb.substrate.encoding import ObjectReader
from axnb.substrate.errors import RefusedError
from axnb.substrate.manifest import Manifest
from axnb.substrate.tars import members


def evidence_of(stored: Iterable[StoredObject]) -> str:
    """What the key of a case's digests follows from, where its first source is this bucket."""
    lines = sorted(f"{one.key} {one.size} {one.etag or ''}" for one in stored)
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def scanner_for(case: Case, evidence: str) -> Scanner:
    """A scanner with the case's key; one that the case has not yet follows from the evidence."""
    return Scanner(key_of(_kept(case), evidence), case.settings.secrets)


def _kept(case: Case) -> str | None:
    # There may be no case file yet.
    with suppress(CaseError), case.reading() as session:
        return next((row["value"] for row in ask(session, "meta", {"name": KEY_NAME})), None)
    return None


def in_manifest(
    scanner: Scanner, snapshot: str, key: str, data: bytes, manifest: Manifest | None
) -> list[Secret]:
    """The secrets of a manifest: in the addresses of its assets, and in all else of it."""
    where = Where("", "manifest", snapshot, key)
    assets = (manifest.assets or {}).values() if manifest else ()
    found = [secret for asset in assets for secret in scan_url(scanner, where, asset.url)]
    told = {secret.hit.digest for secret in found}
    return found + [s for s in scan_text(scanner, where, data) if s.hit.digest not in told]


class BodySecrets:
    """The secrets of one object that is being read."""

    def __init__(self, scanner: Scanner, snapshot: str, wanted: Wanted) -> None:
        self._scanner = scanner
        self._wanted = wanted
        file = wanted.file
        self._where = Where("", place_of(file), snapshot, wanted.stored.key, file)
        self._scan = ObjectScan(scanner, self._where)
        self._environment: list[Secret] = []

    @property
    def feed(self) -> Callable[[int, bytes], None]:
        """Takes decoded data, with its offset."""
        return self._scan.feed

    def on_env(self, container: str, entries: tuple[str, ...]) -> None:
        """Take a container's environment."""
        self._environment += scan_environment(self._scanner, self._where, container, entries)

    def finish(self, bucket: Bucket, head_size: int) -> tuple[list[Secret], int]:
        """What was found, and how many places are not told; the object has ended.

        `head_size`: bytes of `checkpoint.img` that hold the environments.
        """
        known = {secret.hit.digest for secret in self._environment}
        found = self._scan.finish(known=known, head_size=head_size)
        if (
            self._where.place == "tar-member"
            and found
            and kind_of(self._wanted.file) != "multitar.img"
        ):
            found = self._in_members(bucket, found)
        return self._environment + found, self._scan.left_off

    def _in_members(self, bucket: Bucket, found: list[Secret]) -> list[Secret]:
        """With the names of the members, for which the object is read once more."""
        stored = self._wanted.stored
        try:
            with bucket.read(stored.key, stored.version_id) as stream:
                return in_members(found, members(ObjectReader(stream)))
        except (RefusedError, ObjectError):
            return found


def of_source(found: Iterable[Secret], source: str) -> list[Secret]:
    """Secrets with the name that their source has in the case."""
    return [replace(secret, where=replace(secret.where, source=source)) for secret in found]
