"""Snapshots of an actor in Agent Substrate's layout: written, found, and restored.

They are what a build of 2026-08-11 to 08-21 (B3b) leaves of a micro-VM actor whose template keeps
the durable directory only:

    <location>/snapshots/ax/<uuid>/durable-dir.tar.zstd     sparse form
    <location>/snapshots/ax/<uuid>/manifest.json            written last

A snapshot is never changed. The uuid follows from the conversation and the snapshot's number, so
that a run can be repeated; without records the newest is the one of the highest number.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import shutil
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from axnb.errors import DamagedError, SourceError, UnavailableError
from axnb.runtimes import Snapshot
from axnb.runtimes.actor_state import FILE, State
from axnb.runtimes.files import write_whole
from axnb.runtimes.snapshot_stores import RUN_FOLDER, Store, in_run_folder, open_store
from axnb.substrate import encoding, layouts, manifest, tars
from axnb.substrate.errors import ManifestError, ObjectError, TarError
from axnb.substrate.frames import Limits
from axnb.substrate.layouts import MANIFEST, SUFFIX

#: Where AX keeps its actors, and the template that these are of: names that a target has to know.
ATESPACE, TEMPLATE = "ax", "axnb-drill"

_TAR = "durable-dir.tar"
_VOLUME = "durable"
_NAMESPACE = uuid.UUID("6e0d4f1c-1f6b-5b7e-9a55-0c1de8a1f0aa")

#: An actor's state is a few KiB.
_MAX_SIZE = 64 << 20

#: Runtime files of a micro-VM. These stand for no real ones: nothing but a drill restores this.
_ASSETS = ("cloud-hypervisor", "kata-config", "kata-image", "kata-kernel", "virtiofsd")
PAUSE_IMAGE = f"registry.axnb.invalid/pause:1@sha256:{hashlib.sha256(b'pause').hexdigest()}"


def target() -> str:
    """A `[target]` of `axnb.toml` to which these snapshots can be restored."""
    assets = json.dumps([asset["sha256"] for asset in _assets().values()])
    return (
        '[target]\nlayout = "B3b"\nbuilt = 2026-08-21\nsandbox_classes = ["microvm"]\n'
        'architectures = ["amd64"]\ncpu_features = "same"\n'
        f"pause_image = {json.dumps(PAUSE_IMAGE)}\nassets = {assets}\n"
        f'templates = {{ "{ATESPACE}/{TEMPLATE}" = "axnb-drill" }}\n'
    )


def take(url: str, conversation_id: str, state_dir: Path) -> Snapshot:
    """Write a snapshot of what is in `state_dir`, under the next number.

    `url` is a folder, file://, s3:// or gs://, keys as `axnb map` takes them. Raises SourceError if
    it cannot be written; then there is none, or a torn one without a manifest.
    """
    files = _files(state_dir)
    archive = _archive(files)
    data = b"".join(encoding.write_sparse(len(archive), encoding.extents(archive)))
    text = json.dumps(_manifest(conversation_id), separators=(",", ":"), ensure_ascii=False)
    store = open_store(url)
    key = next(k for k, names in _numbered(store, conversation_id) if not names)
    store.put(f"{key}/{_TAR}{SUFFIX}", data)
    store.put(f"{key}/{MANIFEST}", text.encode())
    return Snapshot(key, _sha256(data), _summary(files))


def newest(url: str, conversation_id: str) -> Snapshot | None:
    """The newest snapshot that was written to its end; None if there is none.

    Raises SourceError if that one is damaged, or the store cannot be read.
    """
    store = open_store(url)
    found = None
    for key, names in _numbered(store, conversation_id):
        if not names:
            break
        found = key if MANIFEST in names else found
    return None if found is None else _verified(store, found, conversation_id)[0]


def look_into(url: str, key: str) -> Snapshot:
    """A snapshot, read to its end, with what the actor's state in it says.

    Raises SourceError if it is torn, damaged, or none of these.
    """
    return _verified(open_store(url), key, None)[0]


def restore(url: str, key: str, into: Path, *, conversation_id: str | None = None) -> Snapshot:
    """Verify a snapshot and unpack it in the place of the folder `into`.

    Raises SourceError, and leaves `into` as it is, if the snapshot is torn, damaged, not one of
    these, or that of another conversation than `conversation_id`.
    """
    snapshot, files = _verified(open_store(url), key, conversation_id)
    aside = into.with_name(f".{into.name}.{uuid.uuid4().hex}")
    aside.mkdir(parents=True)
    for name, data in files.items():
        write_whole(aside / name, data)
    shutil.rmtree(into, ignore_errors=True)
    aside.rename(into)
    return snapshot


def run_folder() -> str:
    """A new name of a folder for the snapshots of one run.

    Runs do not see each other's snapshots, not even those of one that was killed.
    """
    return f"{RUN_FOLDER}{secrets.token_hex(4)}"


def remove(url: str) -> None:
    """Delete all that lies under an URL, in the folder of a run: what no snapshot is, too.

    A folder goes itself. Raises SourceError, also for an URL that is in no folder of a run.
    """
    if not in_run_folder(url):
        raise SourceError("snapshots are deleted in the folder of a run only.")
    open_store(url).clear()


def _numbered(store: Store, conversation_id: str) -> Iterator[tuple[str, set[str]]]:
    """The keys of a conversation's snapshots, from the first, and the names of their objects."""
    number = 0
    while True:
        number += 1
        name = uuid.uuid5(_NAMESPACE, json.dumps([conversation_id, number]))
        key = "/".join(filter(None, (store.prefix, "snapshots", ATESPACE, str(name))))
        yield key, store.names(key)


# --- the manifest --------------------------------------------------------------------------------


def _manifest(conversation_id: str) -> dict[str, Any]:
    """The keys in the order of Substrate's own struct."""
    return {
        "sandboxClass": "microvm",
        "assets": _assets(),
        "pauseImage": PAUSE_IMAGE,
        "atespace": ATESPACE,
        "actorName": conversation_id,
        "actorUid": str(uuid.uuid5(_NAMESPACE, conversation_id)),
        "actorTemplateNamespace": ATESPACE,
        "actorTemplateName": TEMPLATE,
        "snapshotFiles": [_TAR],
        "scope": "data",
    }


def _assets() -> dict[str, dict[str, str]]:
    place = "https://assets.axnb.invalid/x86_64"
    return {
        name: {"url": f"{place}/{name}", "sha256": _sha256(f"axnb drill: {name}".encode())}
        for name in _ASSETS
    }


def _verified(
    store: Store, key: str, conversation_id: str | None
) -> tuple[Snapshot, dict[str, bytes]]:
    """A snapshot, read to its end, and its files."""
    place = layouts.parse_prefix(key)
    if place is None or ".." in key.split("/"):
        raise SourceError("the key is no place of a snapshot.")
    name = f"snapshot {place.name}"
    text = store.get(f"{key}/{MANIFEST}", manifest.MAX_SIZE)
    if text is None:
        raise DamagedError(f"{name} is torn: it has no manifest, which is written last.")
    try:
        told = manifest.parse(text)
    except ManifestError as err:
        raise DamagedError(f"{name} has a manifest that cannot be read ({err.reason}).") from err
    if told.files != (_TAR,) or told.content != "data" or told.refused_names:
        raise SourceError(f"{name} is none of a data-only actor.")
    if conversation_id is not None and told.actor_name != conversation_id:
        raise SourceError(f"{name} is that of another actor.")
    data = store.get(f"{key}/{_TAR}{SUFFIX}", _MAX_SIZE)
    if data is None:
        raise DamagedError(f"{name} is torn: the object of {_TAR} is missing.")
    files = _unpacked(data, name)
    state = _state(files)
    if state is not None and state.conversation_id != told.actor_name:
        raise DamagedError(f"{name} holds the state of another actor than its manifest names.")
    return Snapshot(key, _sha256(data), _summary(files)), files


def _unpacked(data: bytes, name: str) -> dict[str, bytes]:
    limits = Limits(max_size=_MAX_SIZE)
    try:
        pieces = list(encoding.ObjectReader(data, limits))
        members = list(tars.members(pieces))
    except (ObjectError, TarError) as err:
        raise DamagedError(f"{name} is damaged: {_TAR} cannot be read ({err.reason}).") from err
    if any(member.risks or member.kind not in ("file", "directory") for member in members):
        raise DamagedError(f"{name} holds what no actor of a drill writes.")
    whole = b"".join(encoding.restored(pieces))
    try:
        return dict(_members(whole))
    except (tarfile.TarError, ValueError) as err:
        raise DamagedError(f"{name} is damaged: {_TAR} cannot be unpacked.") from err


# --- the archive ---------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, bytes]:
    """Whole files of a folder by their names in it; what is written aside is left out."""
    try:
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }
    except OSError as err:
        raise UnavailableError(f"the actor's state cannot be read: {err.strerror}.") from err


def _archive(files: Mapping[str, bytes]) -> bytes:
    """A tar of the volume; the same files give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        top = tarfile.TarInfo(_VOLUME)
        top.type, top.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(top)
        for name, data in files.items():
            about = tarfile.TarInfo(f"{_VOLUME}/{name}")
            about.size, about.mode = len(data), 0o644
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for member in opened:
            volume, _, name = member.name.partition("/")
            if volume != _VOLUME:
                raise ValueError("another volume")
            body = opened.extractfile(member) if member.isfile() else None
            if body is not None and name:
                yield name, body.read()


def _state(files: Mapping[str, bytes]) -> State | None:
    try:
        return State.parse(files[FILE])
    except (KeyError, ValueError):
        return None


def _summary(files: Mapping[str, bytes]) -> dict[str, Any]:
    state = _state(files)
    return {} if state is None else state.summary()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
