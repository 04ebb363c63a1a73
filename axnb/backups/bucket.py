"""Copy a bucket into a folder: every object, and every version that the store lists.

    FOLDER/bucket/objects/KEY        the current objects, as a folder that every verb reads
    FOLDER/bucket/others/SHA256      noncurrent versions, and keys that name no file
    FOLDER/bucket/index.jsonl        one line an entry of the listing, delete markers among them

The folder appears whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axnb.backups.flaws import FEW
from axnb.backups.model import Flaw, timed
from axnb.errors import ObjectError, SourceError
from axnb.evidence.buckets import BucketLocator, open_bucket
from axnb.evidence.buckets.objects import THREADS, Bucket, StoredObject
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.buckets.small import refuse_other
from axnb.text import count, cut_middle, is_path, safe

INDEX = "index.jsonl"
_MAX_NAME = 255


@dataclass(frozen=True)
class BucketBackup:
    """A copy of a bucket."""

    #: `bucket` in the folder that was given.
    path: Path
    #: What the source is called, and its custody.
    place: str
    custody: Mapping[str, Any] = field(repr=False)
    objects: int = 0
    #: Noncurrent versions that were copied.
    versions: int = 0
    size: int = 0
    flaws: tuple[Flaw, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def locator(self) -> str:
        """The folder of the current objects, as `axnb map` takes it."""
        return str(self.path / "objects")


@dataclass(frozen=True)
class Entry:
    """A line of the index."""

    key: str
    size: int
    etag: str | None = None
    modified: str | None = None
    version_id: str | None = None
    is_latest: bool = True
    is_delete_marker: bool = False
    #: Of the bytes that came; None where none were copied.
    sha256: str | None = None
    #: Where they lie, from the folder of the backup.
    path: str | None = None
    #: Why they could not be copied.
    problem: str | None = None


def copy_bucket(
    source: str,
    folder: Path,
    environment: Mapping[str, str],
    progress: Callable[[int], None] | None = None,
) -> BucketBackup:
    """Copy what `source` names into `folder`, which must exist and be private.

    An object that cannot be read does not keep the others: it is a flaw of the copy.
    `progress` gets the number of entries that were copied.
    Raises UnavailableError where the store as a whole fails; then nothing is left.
    """
    locator = BucketLocator.parse(source, environment)
    target, aside = folder / "bucket", folder / "bucket.part"
    if target.exists():
        raise SourceError(f"{target} exists already: name a folder without a copy.")
    phases: dict[str, float] = {}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, aside, ignore_errors=True)
        for name in ("", "objects", "others"):
            (aside / name).mkdir(mode=0o700)
        with timed(phases, "take"), open_bucket(locator, environment) as bucket:
            entries = list(_copied(bucket, aside, progress))
            custody = bucket.custody()
            flaws = list(_flaws(bucket, entries))
        os.rename(aside, target)
    current = [entry for entry in entries if entry.is_latest and not entry.is_delete_marker]
    return BucketBackup(
        target,
        str(locator),
        custody,
        objects=sum(entry.sha256 is not None for entry in current),
        versions=sum(entry.sha256 is not None and not entry.is_latest for entry in entries),
        size=sum(entry.size for entry in entries if entry.sha256),
        flaws=tuple(flaws),
        phases=phases,
    )


def _copied(
    bucket: Bucket, folder: Path, progress: Callable[[int], None] | None
) -> Iterator[Entry]:
    """Copy every entry, several at a time, and write the index."""
    entries = in_order(lambda one: _copy(bucket, folder, one), bucket.objects(), THREADS)
    # Closed here, so that no thread writes when the folder is removed.
    with closing(entries), open(_created(folder / INDEX), "w", encoding="ascii") as index:  # type: ignore[type-var]
        for done, entry in enumerate(entries, 1):
            # ASCII: half of a surrogate pair, which stands for a byte, survives as an escape.
            index.write(json.dumps(entry.__dict__) + "\n")
            if progress is not None:
                progress(done)
            yield entry
        index.flush()
        os.fsync(index.fileno())


def _copy(bucket: Bucket, folder: Path, stored: StoredObject) -> Entry:
    entry = Entry(
        stored.key,
        stored.size,
        stored.etag,
        stored.modified.isoformat() if stored.modified else None,
        stored.version_id,
        stored.is_latest,
        stored.is_delete_marker,
    )
    if stored.is_delete_marker:
        return entry
    name = f"{stored.key}\0{stored.version_id or ''}".encode(errors="surrogateescape")
    other = f"others/{hashlib.sha256(name).hexdigest()}"
    path = f"objects/{stored.key}" if stored.is_latest and _is_file(stored.key) else other
    version = None if stored.is_latest else stored.version_id
    try:
        with bucket.read(stored.key, version) as stream:
            refuse_other(stored.key, stored, stream)
            try:
                file = _created(folder / path)
            except OSError as err:
                if path == other or err.errno not in _NO_PLACE:
                    raise
                path = other
                file = _created(folder / path)
            with open(file, "wb") as out:
                size = sum(map(out.write, stream))
            return replace(entry, size=size, sha256=stream.sha256, path=path)
    except ObjectError as err:
        (folder / path).unlink(missing_ok=True)
        return replace(entry, problem=str(err))
    except OSError as err:
        raise SourceError(f"the bucket cannot be copied: {err.strerror}.") from err


#: A key that is the folder of another key, or too long for this system.
_NO_PLACE = (errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG)


def _is_file(key: str) -> bool:
    """Does a key name a file below a folder, and no other place?"""
    return is_path(key) and all(
        step not in ("", ".", "..") and len(os.fsencode(step)) <= _MAX_NAME
        for step in key.split("/")
    )


def _created(path: Path) -> int:
    _make(path.parent)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def _make(folder: Path) -> None:
    """Make a folder; `mkdir` with `parents` would give its mode to the last one only."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _flaws(bucket: Bucket, entries: list[Entry]) -> Iterator[Flaw]:
    for sentence in bucket.incomplete:
        yield Flaw("unstable-listing", "doubt", sentence)
    if bucket.versions == "unknown":
        yield Flaw(
            "versions-unknown",
            "doubt",
            f"noncurrent versions of {bucket.place} are not known, and were not copied.",
        )
    if failed := [entry for entry in entries if entry.problem]:
        yield Flaw(
            "object-missing",
            "error",
            f"{count(len(failed), 'object')} of {bucket.place} could not be copied.",
            shown_keys([entry.key for entry in failed]),
        )
    if apart := [e for e in entries if e.is_latest and e.path and e.path.startswith("others/")]:
        yield Flaw(
            "key-no-file",
            "doubt",
            f"{count(len(apart), 'key')} of {bucket.place} can name no file of a folder: the "
            "objects lie beside, and are not seen in it.",
            shown_keys([entry.key for entry in apart]),
        )
    if not any(entry.sha256 for entry in entries):
        yield Flaw("empty", "doubt", f"{bucket.place} holds no object: a backup of nothing.")


def shown_keys(keys: list[str]) -> tuple[str, ...]:
    """The first of some keys, to be shown."""
    return tuple(
        cut_middle(safe(os.fsencode(key).decode(errors="backslashreplace")), 200)
        for key in keys[:FEW]
    )


def read_index(path: Path) -> list[Entry]:
    """The index of a copy of ours. Raises SourceError for what is none."""
    try:
        lines = (path / INDEX).read_text(encoding="ascii").splitlines()
        return [Entry(**json.loads(line)) for line in lines]
    except (ValueError, TypeError, OSError) as err:
        raise SourceError(f"{path / INDEX} is no index of a copy of a bucket.") from err
