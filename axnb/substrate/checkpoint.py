"""What gVisor's images say of themselves: which runtime wrote them, when, for which containers.

`checkpoint.img` begins with `gVisorSF`, a u64 big-endian length (16 MiB at most) and JSON of texts;
the state behind it is not read. `container_specs` is JSON in JSON: a name -> an OCI specification,
with the values of the environment in clear. Only their names are kept here; `on_env` sees each
entry once. `fscheckpoint.json` or,
since a September gVisor, `fscheckpoint.pb` describes a data checkpoint. Sources: google/gvisor,
pkg/state/statefile; images that runsc wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from axnb.substrate import fscheckpoint, strict_json
from axnb.substrate.encoding import Piece, restored
from axnb.substrate.errors import CheckpointError, RefusedError
from axnb.substrate.fscheckpoint import parse_json, parse_pb

MAGIC = b"gVisorSF"

#: gVisor's own bound on the head.
MAX_HEAD = 16 << 20

MAX_FS_CHECKPOINT = fscheckpoint.MAX_SIZE

#: The container that holds the sandbox.
ROOT_CONTAINER = "pause"


@dataclass(frozen=True)
class Mount:
    """A mount of a container. `source` is a path of the node that wrote it."""

    destination: str
    kind: str
    source: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Container:
    """A container as it was started. All texts are strangers'; arguments may hold secrets."""

    name: str
    args: tuple[str, ...]
    cwd: str
    #: Names only. An entry without `=` is a name.
    env_names: tuple[str, ...]
    mounts: tuple[Mount, ...]
    annotations: Mapping[str, str]


#: Gets a container's name and the entries `NAME=value` of its environment.
OnEnv = Callable[[str, tuple[str, ...]], None]


@dataclass(frozen=True)
class Head:
    """What the head of a checkpoint says."""

    runsc_version: str | None
    #: UTC, microseconds; None where it is absent or no time.
    timestamp: datetime | None
    containers: tuple[Container, ...]
    #: Every entry but `container_specs`, as written.
    entries: Mapping[str, str]
    #: Bytes before the state.
    size: int


def read_head(
    pieces: Iterable[Piece],
    max_head: int = MAX_HEAD,
    on_env: OnEnv | None = None,
) -> Head:
    """Read the head from the first pieces of a restored `checkpoint.img`; no more is decoded.

    `on_env` is called with the name of each container and the entries `NAME=value` of its
    environment, which are kept nowhere else.
    Raises CheckpointError: `not-a-checkpoint`, `truncated`, `head-too-long`, `wrong-type`, or a
    reason of `strict_json.loads`. An ObjectError of the pieces passes through.
    """
    data = _Start(restored(pieces))
    if data.take(len(MAGIC)) != MAGIC:
        raise CheckpointError("not-a-checkpoint")
    length = int.from_bytes(data.take(8), "big")
    if length > max_head:
        raise CheckpointError("head-too-long", f"at most {max_head} bytes")
    entries = _json(data.take(length))
    if not all(isinstance(value, str) for value in entries.values()):
        raise CheckpointError("wrong-type", "an entry that is no text")
    specs = _json(entries.pop("container_specs", "{}"))
    if on_env is not None:
        for name, spec in sorted(specs.items()):
            on_env(name, _environment(spec))
    return Head(
        runsc_version=entries.get("runsc_version"),
        timestamp=_time(entries.get("_timestamp", "")),
        containers=tuple(_container(name, spec) for name, spec in sorted(specs.items())),
        entries=entries,
        size=len(MAGIC) + 8 + length,
    )


def read_fs_version(pieces: Iterable[Piece]) -> str | None:
    """The `runsc_version` of a restored `fscheckpoint.json` or `fscheckpoint.pb`.

    None where it is absent: of builds before its format was settled, another runsc may not restore
    such a checkpoint. Raises CheckpointError: `too-large`, `bad-protobuf`, `wrong-type`, or a
    reason of `strict_json.loads`.
    """
    parts, size = [], 0
    for chunk in restored(pieces):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_FS_CHECKPOINT:
            raise CheckpointError("too-large", f"at most {MAX_FS_CHECKPOINT} bytes")
    data = b"".join(parts)
    found = parse_json(data) if data.startswith(b"{") else parse_pb(data)
    return found.runsc_version


class _Start:
    """The first bytes of a file, as many as are asked for."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""

    def take(self, length: int) -> bytes:
        """Exactly `length` bytes, or CheckpointError `truncated`."""
        parts, held = [self._held], len(self._held)
        while held < length:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise CheckpointError("truncated")
            parts.append(chunk)
            held += len(chunk)
        joined = b"".join(parts)
        self._held = joined[length:]
        return joined[:length]


def _json(data: bytes | str) -> dict[str, Any]:
    try:
        tree = strict_json.loads(data, max_size=MAX_HEAD)
    except RefusedError as err:
        raise CheckpointError(err.reason, err.detail) from None
    return _object(tree)


def _object(value: Any) -> dict[str, Any]:
    """A JSON object; null is an empty one, as in Go."""
    if value is not None and not isinstance(value, dict):
        raise CheckpointError("wrong-type", "an object is expected")
    return value or {}


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CheckpointError("wrong-type", "a list of texts is expected")
    return tuple(value)


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise CheckpointError("wrong-type", "a text is expected")
    return value or ""


def _container(name: str, spec: Any) -> Container:
    about = _object(spec)
    process = _object(about.get("process"))
    mounts = about.get("mounts")
    if mounts is not None and not isinstance(mounts, list):
        raise CheckpointError("wrong-type", "a list of mounts is expected")
    annotations = _object(about.get("annotations"))
    return Container(
        name=name,
        args=_texts(process.get("args")),
        cwd=_text(process.get("cwd")),
        env_names=tuple(entry.partition("=")[0] for entry in _environment(spec)),
        mounts=tuple(_mount(_object(mount)) for mount in mounts or ()),
        annotations={key: _text(value) for key, value in annotations.items()},
    )


def _environment(spec: Any) -> tuple[str, ...]:
    return _texts(_object(_object(spec).get("process")).get("env"))


def _mount(about: Mapping[str, Any]) -> Mount:
    return Mount(
        destination=_text(about.get("destination")),
        kind=_text(about.get("type")),
        source=_text(about.get("source")),
        options=_texts(about.get("options")),
    )


# Go's own text of a time: `2026-11-29 20:04:41.564801434 +0000 UTC`.
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})(?: .*)?",
    re.DOTALL,
)


def _time(text: str) -> datetime | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        micros = (fraction or "").ljust(6, "0")[:6]
        return datetime.fromisoformat(f"{day}T{clock}.{micros}{zone}")
    except ValueError:
        return None
