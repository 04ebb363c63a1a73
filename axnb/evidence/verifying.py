"""Read the bodies of a bucket's snapshots: is each object what it should be?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from axnb.evidence.bucket_rows import Body as Known
from axnb.evidence.bucket_rows import Seen
from axnb.evidence.bucket_secrets import BodySecrets
from axnb.evidence.buckets.verifying import Verified, Wanted, verify
from axnb.substrate.bodies import Body, Watch
from axnb.substrate.checkpoint import OnEnv
from axnb.substrate.cross import contradictions
from axnb.substrate.errors import RefusedError
from axnb.substrate.generations import Encodings

if TYPE_CHECKING:
    from axnb.evidence.snapshots import Reading

#: What contradictions prove: that an object is not the one that was written.
_PROOFS = {
    "other-content": "other-content",
    "other-size": "size-differs",
    "same-as-another": "duplicate",
}

_MIB = 1 << 20


def verify_bodies(reading: Reading) -> None:
    """Read every file of every snapshot to its end."""
    wanted = [
        Wanted(file, reading.held[key])
        for seen in reading.seen.values()
        for file, key in sorted(seen.objects.files.items())
    ]
    bodies: dict[str, Body] = {}
    scans = _Scans(reading)
    for found in verify(
        reading.bucket,
        wanted,
        watch=scans.watch,
        on_env=scans.on_env,
        progress=_progress(reading),
    ):
        _note(reading, found, bodies)
        scans.finish(found)
    for seen in reading.seen.values():
        _judge(reading, seen, bodies)


class _Scans:
    """The search for secrets in the objects that are being read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._snapshots = {
            key: prefix
            for prefix, seen in reading.seen.items()
            for key in seen.objects.files.values()
        }
        self._open: dict[str, BodySecrets] = {}

    def watch(self, wanted: Wanted) -> Watch:
        key = wanted.stored.key
        scan = BodySecrets(self._reading.scanner, self._snapshots[key], wanted)
        self._open[key] = scan
        return scan.feed

    def on_env(self, wanted: Wanted) -> OnEnv:
        return self._open[wanted.stored.key].on_env

    def finish(self, found: Verified) -> None:
        """Keep what was found in an object; of a damaged one, too: it was in what could be read."""
        scan = self._open.pop(found.wanted.stored.key, None)
        if scan is None:
            return
        head = found.body.checkpoint if found.body else None
        secrets, left_off = scan.finish(self._reading.bucket, head.size if head else 0)
        self._reading.secrets += secrets
        if left_off:
            self._reading.notes.append(
                f"{found.wanted.file} of a snapshot holds {left_off:,} more places of secrets "
                "than are told."
            )


def _progress(reading: Reading) -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        reading.progress(f"verified {done // _MIB:,} of {total // _MIB:,} MiB")

    return show


def _note(reading: Reading, found: Verified, bodies: dict[str, Body]) -> None:
    key, body = found.wanted.stored.key, found.body
    if body is not None:
        bodies[key] = body
        reading.bodies[key] = Known(
            state="sound",
            sha256=body.encoded_sha256,
            encoding=body.encoding,
            frames=body.frames,
            restored_size=body.size,
            restored_sha256=body.sha256,
            remarks=body.remarks,
        )
    elif isinstance(found.problem, RefusedError):
        reading.bodies[key] = Known("damaged", found.problem.reason)
    else:
        reading.unreadable(key, str(found.problem))


def _judge(reading: Reading, seen: Seen, bodies: Mapping[str, Body]) -> None:
    """What a snapshot's objects say together."""
    files = {file: bodies[key] for file, key in seen.objects.files.items() if key in bodies}
    for found in contradictions(files):
        if (reason := _PROOFS.get(found.name)) is not None:
            known = reading.bodies[seen.objects.files[found.file]]
            known.state, known.reason = "damaged", reason
    seen.verified = all(
        reading.bodies[key].state != "unreadable" for key in seen.objects.files.values()
    )
    seen.encodings = _encodings(files)
    for file, body in files.items():
        key = seen.objects.files[file]
        if body.checkpoint is not None:
            seen.taken_at = body.checkpoint.timestamp
            seen.runsc_version = body.checkpoint.runsc_version
        seen.remarks += [(key, kind, name) for kind, name in _risks(body)]


def _encodings(files: Mapping[str, Body]) -> Encodings:
    return Encodings(
        has_sparse=any(body.encoding == "sparse" for body in files.values()),
        has_plain=any(body.encoding == "plain" for body in files.values()),
        has_several_frames=any(body.frames > 1 for body in files.values()),
    )


def _risks(body: Body) -> Iterator[tuple[str, str]]:
    """What of a file's members should not be restored blindly."""
    if body.members is None:
        return
    for member in body.members.risky:
        for risk in member.risks:
            yield risk, member.name
