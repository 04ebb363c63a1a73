"""Is a copy of a bucket whole? Compared with its source, with its index, or only with itself.

Kinds of flaws: empty, object-missing, object-short, object-changed, object-damaged, newer-objects,
manifest-missing, manifest-unreadable, versions-missing, versions-unknown, unstable-listing,
key-no-file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from axnb.backups.bucket import INDEX, Entry, read_index, shown_keys
from axnb.backups.model import Flaw
from axnb.errors import ObjectError
from axnb.evidence.buckets import Bucket, BucketLocator, open_bucket
from axnb.evidence.buckets.objects import THREADS, StoredObject
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.buckets.verifying import Wanted, verify
from axnb.substrate.errors import ManifestError
from axnb.substrate.layouts import SUFFIX
from axnb.substrate.listing import SnapshotObjects, group
from axnb.substrate.manifest import MAX_SIZE, parse
from axnb.text import count


@dataclass(frozen=True)
class _Listed:
    """A bucket's objects by key, and how many of its entries are noncurrent versions."""

    place: str
    current: Mapping[str, StoredObject]
    noncurrent: int
    versions: str


def compare_bucket(
    backup: str,
    environment: Mapping[str, str],
    source: str | None = None,
    *,
    taken: datetime | None = None,
) -> tuple[Flaw, ...]:
    """What is missing from a copy of a bucket; `backup` is a URL or a folder.

    A copy of ours is compared with its index. With a `source`, each of the source's objects must be
    in the copy, with the same bytes, wounds and all; what was written after `taken` is told apart.
    Without one, each snapshot must be whole: its manifest, its files, each readable to its end.
    Raises UnavailableError where a store as a whole fails.
    """
    folder = Path(backup)
    if folder.name == "objects":
        folder = folder.parent
    is_ours = (folder / INDEX).is_file() and (folder / "objects").is_dir()
    index = read_index(folder) if is_ours else None
    inner = str(folder / "objects") if index is not None else backup
    with open_bucket(BucketLocator.parse(inner, environment), environment) as bucket:
        own = _listed(bucket)
        flaws = [Flaw("unstable-listing", "doubt", told) for told in bucket.incomplete]
        if index is not None:
            flaws += _against_index(bucket, own, folder, index)
        if not own.current:
            flaws.append(
                Flaw("empty", "doubt", f"{own.place} holds no object: a backup of nothing.")
            )
        if source is None:
            flaws += _against_itself(bucket, own)
        else:
            with open_bucket(BucketLocator.parse(source, environment), environment) as other:
                flaws += _against_source(bucket, own, other, index, taken)
    return tuple(flaws)


def _listed(bucket: Bucket) -> _Listed:
    current, noncurrent = {}, 0
    for entry in bucket.objects():
        if entry.is_latest and not entry.is_delete_marker:
            current[entry.key] = entry
        else:
            noncurrent += not entry.is_delete_marker
    return _Listed(bucket.place, current, noncurrent, bucket.versions)


# --- with its index ------------------------------------------------------------------------------


def _against_index(
    bucket: Bucket, own: _Listed, folder: Path, index: Sequence[Entry]
) -> Iterator[Flaw]:
    there: dict[str, int] = {f"objects/{key}": one.size for key, one in own.current.items()}
    others = folder / "others"
    there |= {f"others/{path.name}": path.stat().st_size for path in others.iterdir()}
    copied = [entry for entry in index if entry.path is not None]
    yield from _of_keys(
        own.place,
        missing=[entry.key for entry in copied if str(entry.path) not in there],
        short=[e.key for e in copied if there.get(str(e.path), e.size) < e.size],
        changed=[
            entry.key
            for entry in copied
            if (size := there.get(str(entry.path), 0)) > entry.size
            or (size == entry.size and _sha256(folder / str(entry.path)) != entry.sha256)
        ],
        of="its index",
    )
    if failed := [entry.key for entry in index if entry.problem]:
        yield Flaw(
            "object-missing",
            "error",
            f"{count(len(failed), 'object')} could not be copied to {own.place}.",
            shown_keys(failed),
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_keys(
    place: str, *, missing: list[str], short: list[str], changed: list[str], of: str
) -> Iterator[Flaw]:
    for kind, keys, words in (
        ("object-missing", missing, "are missing from"),
        ("object-short", short, "are cut short in"),
        ("object-changed", changed, "are not the same in"),
    ):
        if keys:
            yield Flaw(
                kind,
                "error",
                f"{count(len(keys), 'object')} of {of} {words} {place}.",
                shown_keys(sorted(keys)),
            )


# --- with itself ---------------------------------------------------------------------------------


def _against_itself(bucket: Bucket, own: _Listed) -> Iterator[Flaw]:
    """Every snapshot has its manifest, every manifest its files, every file all its bytes."""
    snapshots = list(group(own.current).snapshots.values())
    with_manifest = [one for one in snapshots if one.has_manifest]
    # B0 wrote no manifests; of all others it is the last object of an upload.
    if torn := [one.place.prefix for one in snapshots if not one.has_manifest]:
        yield Flaw(
            "manifest-missing",
            "doubt",
            f"{count(len(torn), 'snapshot')} in {own.place} came without a manifest: the copy was "
            "cut short, or the upload never ended.",
            shown_keys(torn),
        )
    yield from _of_manifests(bucket, own, with_manifest)
    yield from _of_bodies(bucket, own, snapshots)


def _of_manifests(
    bucket: Bucket, own: _Listed, snapshots: Sequence[SnapshotObjects]
) -> Iterator[Flaw]:
    lacking: list[str] = []
    unreadable: list[str] = []
    wanted = [own.current[one.manifest_key] for one in snapshots]
    for snapshot, found in zip(snapshots, bucket.read_small(wanted, MAX_SIZE), strict=True):
        try:
            manifest = parse(found.data or b"")
        except ManifestError:
            unreadable.append(snapshot.place.prefix)
            continue
        named = dict.fromkeys([*(manifest.files or ()), *(manifest.data_files or ())])
        lacking += [
            f"{snapshot.place.prefix}/{name}"
            for name in named
            if name not in snapshot.files
            and _is_gone(bucket, f"{snapshot.place.prefix}/{name}{SUFFIX}")
        ]
    if lacking:
        yield Flaw(
            "object-missing",
            "error",
            f"{count(len(lacking), 'file')} that manifests in {own.place} list are not there.",
            shown_keys(lacking),
        )
    if unreadable:
        yield Flaw(
            "manifest-unreadable",
            "error",
            f"{count(len(unreadable), 'manifest')} in {own.place} cannot be read.",
            shown_keys(unreadable),
        )


def _is_gone(bucket: Bucket, key: str) -> bool:
    """Ask for an object by its key: a listing can lack what is there."""
    try:
        return bucket.find(key) is None
    except ObjectError:
        return False


def _of_bodies(
    bucket: Bucket, own: _Listed, snapshots: Sequence[SnapshotObjects]
) -> Iterator[Flaw]:
    wanted = [
        Wanted(name, own.current[key])
        for snapshot in snapshots
        for name, key in snapshot.files.items()
    ]
    damaged = [
        found.wanted.stored.key for found in verify(bucket, wanted) if found.problem is not None
    ]
    if damaged:
        yield Flaw(
            "object-damaged",
            "error",
            f"{count(len(damaged), 'object')} in {own.place} cannot be read to their end.",
            shown_keys(damaged),
        )


# --- with its source -----------------------------------------------------------------------------


def _against_source(
    bucket: Bucket,
    own: _Listed,
    source: Bucket,
    index: Sequence[Entry] | None,
    taken: datetime | None,
) -> Iterator[Flaw]:
    theirs = _listed(source)
    yield from (Flaw("unstable-listing", "doubt", told) for told in source.incomplete)
    # Objects that lie beside, since their keys name no file: their index was compared with them.
    apart = {
        entry.key: entry
        for entry in index or ()
        if entry.is_latest and entry.path is not None and entry.path.startswith("others/")
    }
    later = {
        key
        for key, one in theirs.current.items()
        if taken is not None and one.modified is not None and one.modified > taken
    }
    if later:
        yield Flaw(
            "newer-objects",
            "doubt",
            f"{count(len(later), 'object')} of {theirs.place} were written after the copy.",
            shown_keys(sorted(later)),
        )
    mine = {key: one.size for key, one in own.current.items()}
    mine |= {key: entry.size for key, entry in apart.items()}
    asked = [key for key in theirs.current if key not in later]
    sizes = {key: (mine[key], theirs.current[key].size) for key in asked if key in mine}

    def is_same(key: str) -> bool:
        ours = apart[key].sha256 if key in apart else _sha256_of(bucket, key)
        return ours is not None and ours == _sha256_of(source, key)

    alike = [key for key, (size, other) in sizes.items() if size == other]
    same = dict(zip(alike, in_order(is_same, alike, THREADS), strict=True))
    yield from _of_keys(
        own.place,
        missing=[key for key in asked if key not in mine and _is_gone(bucket, key)],
        short=[key for key, (size, other) in sizes.items() if size < other],
        changed=[key for key, (size, other) in sizes.items() if size > other]
        + [key for key in alike if not same[key]],
        of=theirs.place,
    )
    yield from _of_versions(own, theirs, index)


def _sha256_of(bucket: Bucket, key: str) -> str | None:
    """The digest of an object; None of one that cannot be read."""
    try:
        with bucket.read(key) as stream:
            for _ in stream:
                continue
            return stream.sha256
    except ObjectError:
        return None


def _of_versions(own: _Listed, theirs: _Listed, index: Sequence[Entry] | None) -> Iterator[Flaw]:
    if theirs.versions == "unknown":
        yield Flaw(
            "versions-unknown", "doubt", f"noncurrent versions of {theirs.place} are not known."
        )
    kept = sum(not e.is_latest and e.sha256 is not None for e in index or ()) or own.noncurrent
    if theirs.noncurrent > kept:
        yield Flaw(
            "versions-missing",
            "doubt",
            f"{theirs.place} keeps {count(theirs.noncurrent, 'noncurrent version')}, and "
            f"{own.place} {kept:,}.",
        )
