"""Build buckets as Substrate's builds of each generation leave them, healthy or wounded.

bucket = BucketBuilder("ax-agent")
snapshot = bucket.snapshot("B3b", actor_name="conv-0001")
WOUNDS["object-missing"](bucket, snapshot)
bucket.write(folder)
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axnb.substrate.checkpoint import MAGIC as CHECKPOINT_MAGIC
from axnb.substrate.encoding import extents, write_plain, write_sparse
from axnb.substrate.layouts import GOLDEN_ATESPACE, MANIFEST, SUFFIX

#: `fscheckpoint.pb` since a September gVisor.
GVISOR_DATA = ("fscheckpoint.json", "multitar.img", "pages.img", "pages_meta.img")

_DIGEST = "f18a948bf9c8bbb54eb998549a3a8d719a1c7de2efbe8fdd2ff0ee5fecd06f19"
_PAUSE = f"registry.example.test/pause:3.10.2@sha256:{_DIGEST}"
_MICROVM_ASSETS = ("cloud-hypervisor", "kata-config", "kata-image", "kata-kernel", "virtiofsd")
_SPARSE = ("B1b", "B2", "B3a", "B3b", "B3c", "B4", "B5")

#: A moment at which builds of a generation wrote.
TIMES = {
    "B0": "2026-06-10T10:00:00+02:00",
    "B1a": "2026-06-20T10:00:00+02:00",
    "B1b": "2026-07-02T10:00:00+02:00",
    "B2": "2026-08-02T10:00:00+02:00",
    "B3a": "2026-08-09T10:00:00+02:00",
    "B3b": "2026-08-19T10:00:00+02:00",
    "B3c": "2026-08-25T10:00:00+02:00",
    "B4": "2026-09-15T10:00:00+02:00",
    "B5": "2026-10-15T10:00:00+02:00",
}


@dataclass
class Built:
    """A snapshot in a bucket."""

    generation: str
    prefix: str
    #: None where the generation writes none. A change of it is not yet in the bucket.
    manifest: dict[str, Any] | None
    #: Name of a file -> its bytes as restored.
    files: dict[str, bytes]

    def key(self, file: str) -> str:
        """The key of a file's object."""
        return f"{self.prefix}/{file}{SUFFIX}"


@dataclass
class BucketBuilder:
    """A bucket: key -> bytes."""

    location: str = "ax-agent"
    objects: dict[str, bytes] = field(default_factory=dict)
    _count: int = 0

    def snapshot(
        self,
        generation: str = "B3b",
        *,
        actor_name: str = "conv-0001",
        actor_uid: str | None = None,
        atespace: str = "ax",
        sandbox_class: str = "gvisor",
        scope: str = "full",
        files: Mapping[str, bytes] | None = None,
        tag_uid: str | None = None,
        time: str | None = None,
        name: str | None = None,
        env: Iterable[str] = (),
        template: str = "ax/agent",
    ) -> Built:
        """Write a snapshot as a build of `generation` does; B4 and B5 of a tag with `tag_uid`.

        `time` is RFC 3339, by default one of TIMES: up to B2 it is in the keys, and in the head of
        `checkpoint.img`. Names that are not given differ from snapshot to snapshot and not from run
        to run.
        """
        time = time or TIMES[generation]
        self._count += 1
        actor_uid = actor_uid or str(uuid.uuid5(uuid.NAMESPACE_OID, f"{atespace}/{actor_name}"))
        made = files
        if made is None:
            made = _files(generation, sandbox_class, scope, env, time)
        prefix = self._prefix(
            generation,
            actor_name,
            actor_uid,
            atespace,
            tag_uid,
            name or self._name(generation, time),
        )
        manifest = None
        if generation != "B0":
            owner = (atespace, actor_name, actor_uid, *template.split("/"))
            manifest = _manifest(generation, sandbox_class, scope, tuple(made), owner)
        built = Built(generation, prefix, manifest, dict(made))
        for file in made:
            self.put(built, file)
        self.put_manifest(built)
        return built

    def golden(self, generation: str = "B3b", **options: Any) -> Built:
        """Write the golden snapshot of a template; of B4 and B5 a tag holds it."""
        if generation in ("B4", "B5"):
            options.setdefault("tag_uid", str(uuid.uuid5(uuid.NAMESPACE_OID, "golden")))
        return self.snapshot(generation, atespace=GOLDEN_ATESPACE, **options)

    def put(self, built: Built, file: str) -> None:
        """Write a file's object from `built.files`, encoded as the generation does."""
        self.objects[built.key(file)] = encode(built.generation, built.files[file])

    def put_manifest(self, built: Built) -> None:
        """Write the manifest from `built.manifest`, as Go does: on one line."""
        if built.manifest is not None:
            text = json.dumps(built.manifest, separators=(",", ":"), ensure_ascii=False)
            self.objects[f"{built.prefix}/{MANIFEST}"] = text.encode()

    def write(self, folder: Path) -> None:
        """Write every object below a folder, its key as its path."""
        for key, data in self.objects.items():
            if key.startswith("/") or ".." in key.split("/"):
                raise ValueError("a key that leaves the folder")
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def _name(self, generation: str, time: str) -> str:
        if generation in ("B0", "B1a", "B1b", "B2"):
            alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
            digits = [alphabet[self._count >> 5 * n & 31] for n in range(26)]
            return f"{time}-{''.join(reversed(digits))}"
        return str(uuid.UUID(int=0xF47AC10B58CC4372A5670E02 << 32 | self._count))

    def _prefix(
        self, generation: str, actor: str, uid: str, atespace: str, tag: str | None, name: str
    ) -> str:
        if generation in ("B0", "B1a", "B1b"):
            tail = f"{actor}/{name}"
        elif generation == "B2":
            tail = f"snapshots/{name}"
        elif generation in ("B3a", "B3b", "B3c"):
            tail = f"snapshots/{atespace}/{name}"
        elif tag is not None:
            tail = f"atespaces/{atespace}/tags/{tag}"
        else:
            tail = f"atespaces/{atespace}/actors/{uid}/snapshots/{name}"
        return f"{self.location}/{tail}" if self.location else tail


def encode(generation: str, data: bytes) -> bytes:
    """A file's object as builds of a generation write it."""
    if generation not in _SPARSE:
        return b"".join(write_plain([data]))
    frame_size = 8 << 20 if generation == "B3c" else None
    return b"".join(write_sparse(len(data), extents(data), frame_size=frame_size))


# --- files ---------------------------------------------------------------------------------------


def checkpoint(
    env: Iterable[str] = ("PATH=/",),
    runsc_version: str = "release-20260803.0",
    state: bytes = b"state" * 400,
    time: str = "2026-08-10T09:00:00Z",
) -> bytes:
    """A `checkpoint.img`: gVisor's head with the specifications of two containers, then a state."""
    taken = datetime.fromisoformat(time).astimezone(UTC)
    specs = {
        name: {
            "process": {"args": [f"/{name}"], "env": list(env), "cwd": "/"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "annotations": {"io.kubernetes.cri.container-name": name},
        }
        for name in ("app", "pause")
    }
    head = json.dumps(
        {
            "_timestamp": f"{taken:%Y-%m-%d %H:%M:%S}.123456789 +0000 UTC",
            "compression": "none",
            "container_count": "2",
            "container_specs": json.dumps(specs),
            "runsc_version": runsc_version,
        }
    ).encode()
    return CHECKPOINT_MAGIC + struct.pack(">Q", len(head)) + head + state


def tar(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    """A tar of these members; a text is the name of a file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, data in members:
            about = tarfile.TarInfo(member) if isinstance(member, str) else member
            if about.isreg():
                about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


def _files(
    generation: str, sandbox_class: str, scope: str, env: Iterable[str], time: str
) -> dict[str, bytes]:
    durable = tar(("data/state.txt", b"axnb durable counter=7\n"))
    has_tar = generation in ("B4", "B5") or sandbox_class == "microvm"
    if scope == "data":
        return {"durable-dir.tar": durable} if has_tar else _fs_checkpoint()
    if sandbox_class == "microvm":
        files = {
            "base-id": b"3a5b4e86-1a77-4da7-84c4-c0993d9c83ec",
            "config.json": b"{}",
            "memory-ranges": bytes(8192) + (b"ram" * 500).ljust(12288, b"\0"),
            "state.json": b"{}",
        }
        if generation.startswith(("B3", "B4", "B5")):
            upper = tar(("app/fs/tmp/scratch.txt", b"scratch\n"))
            files |= {"durable-dir.tar": durable, "rootfs-upper.tar": upper}
        return dict(sorted(files.items()))
    image = checkpoint(tuple(env), time=time) if env else checkpoint(time=time)
    memory = {"checkpoint.img": image, "pages.img": b"page" * 2048, "pages_meta.img": b"map" * 30}
    return {**memory, "durable-dir.tar": durable} if generation == "B5" else memory


def _fs_checkpoint() -> dict[str, bytes]:
    text = b"27 bytes of a durable file."
    stub = struct.pack("<QQQQ", len(text), 4096, 0, 0)
    about = {"runsc_version": "release-20260803.0", "page_size": 4096, "endian": "little"}
    contents = (json.dumps(about).encode(), tar(("./state.txt", stub)), text.ljust(4096, b"\0"))
    return dict(zip(GVISOR_DATA, (*contents, b"map" * 30), strict=True))


def _manifest(
    generation: str,
    sandbox_class: str,
    scope: str,
    files: tuple[str, ...],
    owner: Sequence[str],
) -> dict[str, Any]:
    """The keys of a generation, in the order of Substrate's struct.

    `owner`: atespace, name and uid of the actor, space and name of its template.
    """
    atespace, actor_name, actor_uid, template_space, template = owner
    is_october = generation == "B5"
    gvisor = "runsc" if generation.startswith("B1") else "gvisor"
    names = (gvisor,) if sandbox_class == "gvisor" else _MICROVM_ASSETS
    assets = {
        name: {"url": f"gs://assets.example.test/x86_64/{name}", "sha256": _DIGEST}
        for name in names
    }
    made: dict[str, Any] = {"sandboxClass": sandbox_class, "assets": assets}
    if generation in ("B3b", "B3c", "B4", "B5"):
        made["pauseImage"] = _PAUSE
    if generation not in ("B1a", "B1b"):
        space = "actorTemplateAtespace" if generation in ("B4", "B5") else "actorTemplateNamespace"
        made |= {"atespace": atespace, "actorName": actor_name, "actorUid": actor_uid}
        made |= {space: template_space, "actorTemplateName": template}
    if files and generation != "B1a":
        made["snapshotFiles"] = list(files)
    if is_october:
        made["dataSnapshotFiles"] = [name for name in files if name == "durable-dir.tar"]
        made["fidelity"] = {"full": "memory", "data": "volumes"}.get(scope, scope)
    elif generation.startswith(("B3", "B4")):
        made["scope"] = scope
    return made


# --- wounds --------------------------------------------------------------------------------------


def _first(built: Built) -> str:
    return next(iter(built.files))


def _manifest_missing(bucket: BucketBuilder, built: Built) -> None:
    del bucket.objects[f"{built.prefix}/{MANIFEST}"]


def _object_missing(bucket: BucketBuilder, built: Built) -> None:
    del bucket.objects[built.key(_first(built))]


def _object_truncated(bucket: BucketBuilder, built: Built) -> None:
    key = built.key(_first(built))
    bucket.objects[key] = bucket.objects[key][: len(bucket.objects[key]) // 2]


def _object_empty(bucket: BucketBuilder, built: Built) -> None:
    bucket.objects[built.key(_first(built))] = b""


def _version_3(bucket: BucketBuilder, built: Built) -> None:
    key = built.key(_first(built))
    bucket.objects[key] = b"".join(write_sparse(0, (), version=3))


def _extra_object(bucket: BucketBuilder, built: Built) -> None:
    bucket.objects[built.key("leftover.img")] = encode(built.generation, b"left over")


def _part_left(bucket: BucketBuilder, built: Built) -> None:
    key = f"{built.key(_first(built))}.part-0123456789abcdef-0000"
    bucket.objects[key] = b"part"


def _asset_unknown(bucket: BucketBuilder, built: Built) -> None:
    assert built.manifest is not None
    for asset in built.manifest["assets"].values():
        asset["sha256"] = "0" * 63 + "1"
    bucket.put_manifest(built)


def _change(**changes: Any) -> Wound:
    """Change keys of the manifest; None removes one."""

    def wound(bucket: BucketBuilder, built: Built) -> None:
        assert built.manifest is not None
        built.manifest = {k: v for k, v in (built.manifest | changes).items() if v is not None}
        bucket.put_manifest(built)

    return wound


def _without_rootfs(bucket: BucketBuilder, built: Built) -> None:
    assert built.manifest is not None
    built.files.pop("rootfs-upper.tar")
    bucket.objects.pop(built.key("rootfs-upper.tar"))
    built.manifest["snapshotFiles"].remove("rootfs-upper.tar")
    bucket.put_manifest(built)


def _manifest_torn(bucket: BucketBuilder, built: Built) -> None:
    key = f"{built.prefix}/{MANIFEST}"
    bucket.objects[key] = bucket.objects[key][: len(bucket.objects[key]) // 2]


def _secret_in_tar(bucket: BucketBuilder, built: Built) -> None:
    built.files["durable-dir.tar"] = tar(("data/.env", b"API_KEY=not-a-real-key-0001\n"))
    bucket.put(built, "durable-dir.tar")


Wound = Callable[[BucketBuilder, Built], None]

#: What can be done to a snapshot. Those of records (a tag or an actor that is gone) need none
#: here: a snapshot of which the records say nothing is one.
WOUNDS: dict[str, Wound] = {
    "manifest-missing": _manifest_missing,
    "manifest-torn": _manifest_torn,
    "object-missing": _object_missing,
    "object-truncated": _object_truncated,
    "object-empty": _object_empty,
    "version-3": _version_3,
    "extra-object": _extra_object,
    "part-left": _part_left,
    "asset-unknown": _asset_unknown,
    "other-actor": _change(actorUid="00000000-0000-4000-8000-000000000000"),
    "no-pause-image": _change(pauseImage=None),
    "scope-data-with-memory": _change(scope="data"),
    "file-list-absent": _change(snapshotFiles=None),
    "file-leaves-folder": _change(snapshotFiles=["../../outside.txt", "/etc/x", "ok.img"]),
    "no-rootfs": _without_rootfs,
    "secret-in-tar": _secret_in_tar,
}
