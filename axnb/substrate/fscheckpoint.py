"""A checkpoint of file systems: where in its neighbours each one's parts begin and end.

`fscheckpoint.json`, or `fscheckpoint.pb` since a September gVisor, stands beside `multitar.img`,
`pages.img` and `pages_meta.img`. It is written at the end and holds offsets in the first and the
last of them; the largest end is the size of the file. Seen in all that runsc wrote, and said so in
gVisor's own words (pkg/sentry/fsutil: `TarEnd`, `PagesMetadataEnd`).

JSON   runsc_version, page_size, endian, memory_files: [{pages_metadata_end, …}],
       tmpfs: [{tar_end, …}]
pb     2 runsc_version, 3 page size, 4 endian, 5 memory files (3: end of metadata), 6 tmpfs (3: end
       of tar)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from axnb.substrate import strict_json
from axnb.substrate.errors import CheckpointError, RefusedError
from axnb.substrate.protobuf import BYTES, fields, varints

#: One entry a file system of memory; real ones are below 1 KiB.
MAX_SIZE = 4 << 20


@dataclass(frozen=True)
class FsCheckpoint:
    """What a checkpoint of file systems says."""

    #: None where it is absent: of builds before the format was settled.
    runsc_version: str | None
    #: Bytes of `multitar.img` and of `pages_meta.img`; None where it does not say.
    tar_size: int | None = None
    pages_meta_size: int | None = None
    #: Does it have a key or field that only such a checkpoint has?
    is_one: bool = False


def parse_json(data: bytes) -> FsCheckpoint:
    """Parse an `fscheckpoint.json`.

    Raises CheckpointError: `wrong-type`, or a reason of `strict_json.loads`.
    """
    try:
        tree = strict_json.loads(data, max_size=MAX_SIZE)
    except RefusedError as err:
        raise CheckpointError(err.reason, err.detail) from None
    if not isinstance(tree, dict):
        raise CheckpointError("wrong-type", "an object is expected")
    version = tree.get("runsc_version")
    if version is not None and not isinstance(version, str):
        raise CheckpointError("wrong-type", "a text is expected")
    return FsCheckpoint(
        runsc_version=version or None,
        tar_size=_largest(entry.get("tar_end") for entry in _entries(tree, "tmpfs")),
        pages_meta_size=_largest(
            entry.get("pages_metadata_end") for entry in _entries(tree, "memory_files")
        ),
        is_one=bool({"runsc_version", "memory_files", "tmpfs"} & tree.keys()),
    )


def _entries(tree: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = tree.get(key)
    entries = [] if value is None else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CheckpointError("wrong-type", "a list of objects is expected")
    return entries


def _largest(ends: Iterable[Any]) -> int | None:
    """The largest end; None where there is none, or one of them is no number."""
    found = list(ends)
    numbers = [int(end) for end in found if type(end) is int and end >= 0]
    return max(numbers) if numbers and len(numbers) == len(found) else None


def parse_pb(data: bytes) -> FsCheckpoint:
    """Parse an `fscheckpoint.pb`. Raises CheckpointError `bad-protobuf`."""
    version, tars, metas = None, [], []
    try:
        for number, kind, value in fields(data):
            if kind != BYTES or not isinstance(value, bytes):
                continue
            if number == 2:
                version = value.decode("utf-8", "replace")
            elif number == 5:
                metas.append(varints(value).get(3))
            elif number == 6:
                tars.append(varints(value).get(3))
    except RefusedError:
        raise CheckpointError("bad-protobuf") from None
    is_one = version is not None or bool(tars or metas)
    return FsCheckpoint(version, _largest(tars), _largest(metas), is_one)
