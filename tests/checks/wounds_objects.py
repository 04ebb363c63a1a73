"""Wounds of a snapshot's objects: what is missing, empty, damaged, torn or another's."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from typing import Any

from axnb.settings_target import TargetSettings
from axnb.substrate.encoding import write_sparse
from axnb.substrate.layouts import MANIFEST
from axnb.testing.buckets import WOUNDS, BucketBuilder, Built, encode, tar
from axnb.testing.state import StateBuilder
from tests.checks.states import Found, Make, State, StatePair, alone, last, state_of

#: The snapshot of `conv-0001` that `alone` writes after the golden one.
LAST = last("august")
_B1A, _B5 = last("june", "B1a"), last("october")

Change = Callable[[BucketBuilder, Built], Any]


def wounded(
    wound: str | Change,
    shape: str = "august",
    generation: str = "",
    sandbox_class: str = "gvisor",
    **options: Any,
) -> Make:
    """`alone`, with the last snapshot wounded."""

    def make() -> State:
        built = alone(shape, generation, sandbox_class)
        change = WOUNDS[wound] if isinstance(wound, str) else wound
        change(built.bucket, built.built[-1])
        return state_of(built, **options)

    return make


def healthy(
    shape: str = "august", generation: str = "", sandbox_class: str = "gvisor", **options: Any
) -> Make:
    """`alone`, as it is."""
    return lambda: state_of(alone(shape, generation, sandbox_class), **options)


AUGUST, VERIFIED = healthy(), healthy(verify=True)
LATE_JULY, SEPTEMBER = healthy("late-july"), healthy("september")
JUNE, EARLY_JUNE = healthy("june", "B1a"), healthy("june", "B0")


def _found(file: str, prefix: str = LAST) -> list[Found]:
    return [(None, f"{prefix}/{file}")]


def _manifest(**changes: Any) -> Change:
    """Change keys of the manifest; None removes one."""

    def change(bucket: BucketBuilder, built: Built) -> None:
        assert built.manifest is not None
        built.manifest = {k: v for k, v in (built.manifest | changes).items() if v is not None}
        bucket.put_manifest(built)

    return change


def _text(text: bytes) -> Change:
    def change(bucket: BucketBuilder, built: Built) -> None:
        bucket.objects[f"{built.prefix}/{MANIFEST}"] = text

    return change


def _object(file: str, data: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of a file's object."""

    def change(bucket: BucketBuilder, built: Built) -> None:
        bucket.objects[built.key(file)] = data(bucket.objects[built.key(file)])

    return change


def _notes(bucket: BucketBuilder, built: Built) -> None:
    bucket.objects[f"{built.prefix}/notes"] = b"x"


def _drop(file: str) -> Change:
    return lambda bucket, built: bucket.objects.pop(built.key(file))


def _replaced(file: str, by: str) -> Change:
    """Another file's object in a file's place."""

    def change(bucket: BucketBuilder, built: Built) -> None:
        bucket.objects[built.key(file)] = encode(built.generation, built.files[by])

    return change


def _flip(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def _grown(data: bytes) -> bytes:
    return b"".join(write_sparse(9000, [(0, b"map" * 30)]))


def _with_a_hole(_: bytes) -> bytes:
    return b"".join(write_sparse(16384, [(0, b"page" * 2048)]))


def _members(*names: str, mode: int = 0o644) -> Change:
    def change(bucket: BucketBuilder, built: Built) -> None:
        members = [tarfile.TarInfo(one) for one in names]
        for member in members:
            member.mode = mode
        built.files["durable-dir.tar"] = tar(*((member, b"x") for member in members))
        bucket.put(built, "durable-dir.tar")

    return change


def _late_b0(**options: Any) -> Make:
    """A build of before 2026-06-17 that ran on: no manifests, named later."""

    def make() -> State:
        built = StateBuilder("june", "B0")
        built.now = built.now.replace(day=20)
        built.template()
        built.actor()
        return state_of(built, **options)

    return make


_GONE = "ax-agent/snapshots/ax/00000000-0000-4000-8000-000000000009"

#: An earlier version, and a delete marker over it.
_DELETED = """
    insert into snapshot_objects by name
    select source, key, version_id, snapshot, file, role, size, modified, is_latest,
        is_delete_marker, state, remarks
    from (
        select source, '{key}' as key, 'v1' as version_id, '{prefix}' as snapshot, {file} as file,
            '{role}' as role, 10 as size, timestamp '2026-08-19 09:00:00' as modified,
            false as is_latest, false as is_delete_marker, 'listed' as state, [] as remarks
        from bucket_scopes
        union all
        select source, '{key}', 'v2', '{prefix}', {file}, '{role}', 0,
            timestamp '2026-08-20 09:00:00', true, true, 'listed', [] from bucket_scopes
    )
"""


def deleted(file: str, prefix: str = f"ax-agent/{LAST}") -> str:
    """Put a deleted object into a case, as a store with versions tells of it."""
    if file == MANIFEST:
        values = {"key": f"{prefix}/{file}", "file": "null", "role": "manifest"}
    else:
        values = {"key": f"{prefix}/{file}.zstd", "file": f"'{file}'", "role": "file"}
    return _DELETED.format(prefix=prefix, **values)


_UPLOAD = """
    insert into snapshot_objects by name
    select source, 'ax-agent/{0}/pages.img.zstd' as key, 'ax-agent/{0}' as snapshot,
        'pages.img' as file, 'upload' as role, false as is_latest, false as is_delete_marker,
        'listed' as state, [] as remarks
    from bucket_scopes
"""


def _suspending(*after: str) -> Make:
    def make() -> State:
        built = StateBuilder("august")
        built.template()
        built.actor("conv-0001", 0, state="SUSPENDING", turns=False)
        return state_of(built, after=after)

    return make


_STRANGE = {"ax-agent/readme.txt": b"x", "lost/pages.img.zstd": b"x"}


def _strangers(bucket: BucketBuilder, _: Built) -> None:
    bucket.objects |= _STRANGE


_UNSTABLE = (
    "update sources set incomplete = ['unstable listing: it differs.'] where kind = 'bucket'"
)

PAIRS: dict[str, list[StatePair]] = {
    "AX301": [
        StatePair(wounded("manifest-missing"), _found(MANIFEST), AUGUST),
        # Named since there are manifests; `layout` says that these builds wrote none.
        StatePair(
            _late_b0(),
            sorted(
                (None, f"{one.prefix.removeprefix('ax-agent/')}/{MANIFEST}")
                for one in _late_b0()().built.built
            ),
            _late_b0(target=TargetSettings(layout="B0")),
        ),
        StatePair(wounded("manifest-missing", "june", "B1a"), _found(MANIFEST, _B1A), EARLY_JUNE),
    ],
    "AX303": [
        StatePair(wounded("object-missing"), _found("checkpoint.img.zstd"), AUGUST),
        StatePair(
            wounded(_drop("pages_meta.img"), "june", "B1a"),
            _found("pages_meta.img.zstd", _B1A),
            JUNE,
        ),
    ],
    "AX304": [
        StatePair(
            wounded(_drop("pages.img"), after=(deleted("pages.img"),)),
            _found("pages.img.zstd"),
            # It is there again; another snapshot, which nothing needs, was deleted whole.
            healthy(after=(deleted("pages.img"), deleted("pages.img", _GONE))),
        ),
        StatePair(
            wounded("manifest-missing", after=(deleted(MANIFEST),)), _found(MANIFEST), AUGUST
        ),
    ],
    "AX305": [StatePair(wounded("object-empty"), _found("checkpoint.img.zstd"), AUGUST)],
    "AX306": [
        StatePair(wounded("extra-object"), _found("leftover.img.zstd"), AUGUST),
        StatePair(
            wounded(_notes),
            _found("notes"),
            wounded("part-left"),
        ),
    ],
    "AX307": [
        StatePair(
            wounded("object-truncated", verify=True), _found("checkpoint.img.zstd"), VERIFIED
        ),
        StatePair(
            wounded(_object("pages.img", _flip), verify=True), _found("pages.img.zstd"), VERIFIED
        ),
        StatePair(
            wounded(_object("pages.img", lambda data: data + b"x"), verify=True),
            _found("pages.img.zstd"),
            VERIFIED,
        ),
    ],
    "AX308": [
        StatePair(wounded("version-3", verify=True), _found("checkpoint.img.zstd"), VERIFIED)
    ],
    "AX309": [
        StatePair(wounded("manifest-torn"), _found(MANIFEST), AUGUST),
        StatePair(wounded(_text(b'{"scope":"full","scope":"data"}')), _found(MANIFEST), AUGUST),
    ],
    "AX310": [
        StatePair(
            wounded(_manifest(snapshotFiles=["../../outside.txt", "a/../../b", "ok.img"])),
            _found(MANIFEST),
            AUGUST,
        ),
        StatePair(wounded(_manifest(snapshotFiles=["pages.img", "\0"])), _found(MANIFEST), AUGUST),
    ],
    "AX332": [StatePair(healthy(after=(_UNSTABLE,)), [(None, None)], AUGUST)],
    "AX333": [
        StatePair(
            wounded("part-left"), _found("checkpoint.img.zstd.part-0123456789abcdef-0000"), AUGUST
        ),
        # What an actor is just writing is no leftover.
        StatePair(
            healthy(after=(_UPLOAD.format(LAST),)),
            _found("pages.img.zstd"),
            _suspending(_UPLOAD.format(LAST)),
        ),
    ],
    "AX334": [
        StatePair(
            wounded(_replaced("checkpoint.img", "pages_meta.img"), verify=True),
            # Which of the two equal ones is in the other's place, they do not tell.
            [*_found("checkpoint.img.zstd"), *_found("pages_meta.img.zstd")],
            VERIFIED,
        ),
    ],
    "AX335": [
        StatePair(
            wounded(_object("pages_meta.img", _grown), verify=True),
            _found("pages_meta.img.zstd"),
            # The memory of a guest may end in a hole.
            healthy("august", "B3b", "microvm", verify=True),
        ),
    ],
    "AX344": [
        StatePair(
            wounded(_object("pages.img", _with_a_hole), verify=True),
            _found("pages.img.zstd"),
            healthy("august", "B3b", "microvm", verify=True),
        ),
    ],
    "AX336": [
        StatePair(
            wounded(_members("../../etc/passwd"), "october", verify=True),
            [(None, f"{_B5}/durable-dir.tar.zstd")],
            healthy("october", verify=True),
        ),
        StatePair(
            wounded(_members("bin/su", mode=0o4755), "october", verify=True),
            [(None, f"{_B5}/durable-dir.tar.zstd")],
            wounded(_members("bin/su", mode=0o755), "october", verify=True),
        ),
    ],
    "AX337": [
        StatePair(wounded("scope-data-with-memory"), _found(MANIFEST), AUGUST),
        StatePair(wounded("no-pause-image"), _found(MANIFEST), healthy("august", "B3a")),
        StatePair(
            wounded("no-rootfs", "august", "B3b", "microvm"),
            _found(MANIFEST),
            wounded("no-rootfs", "august", "B3a", "microvm"),
        ),
        StatePair(wounded(_manifest(sandboxClass="other")), _found(MANIFEST), AUGUST),
        StatePair(wounded(_manifest(fidelity="memory")), _found(MANIFEST), AUGUST),
    ],
    "AX340": [
        StatePair(
            wounded(_strangers),
            [(None, "lost/pages.img.zstd"), (None, "readme.txt")],
            AUGUST,
        )
    ],
    "AX341": [StatePair(wounded(_manifest(layers=[1])), _found(MANIFEST), AUGUST)],
    "AX342": [
        StatePair(wounded("file-list-absent"), _found(MANIFEST), JUNE),
    ],
}
