"""Read snapshots' objects to their ends, a few at a time, and say of each what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from axnb.errors import ObjectError
from axnb.evidence.buckets.objects import Bucket, StoredObject
from axnb.evidence.buckets.parallel import in_order
from axnb.evidence.buckets.small import refuse_other
from axnb.evidence.buckets.streams import ObjectStream
from axnb.substrate.bodies import Body, Watch, read_body
from axnb.substrate.checkpoint import OnEnv
from axnb.substrate.errors import RefusedError
from axnb.substrate.frames import DEFAULT_LIMITS, Limits

#: Objects at a time. Each takes a core, and below 64 MiB.
THREADS = 2


@dataclass(frozen=True)
class Wanted:
    """An object that shall be read, and the name of its file in the snapshot (without `.zstd`)."""

    file: str
    stored: StoredObject


@dataclass(frozen=True)
class Verified:
    """An object that was read: what it holds, or why that is not known.

    `problem` is a RefusedError of `axnb.substrate.errors` where the object itself is damaged, and
    an ObjectError of `axnb.errors` where its bytes could not be had: it is gone, it has changed
    since it was listed, or what came is not what the store announced.
    """

    wanted: Wanted
    body: Body | None
    problem: RefusedError | ObjectError | None = None


#: Encoded bytes that were read so far, and of all that is wanted. Called by any thread, one at a
#: time; a problem counts as all of its object's bytes.
Progress = Callable[[int, int], None]


def verify(
    bucket: Bucket,
    wanted: Sequence[Wanted],
    *,
    threads: int = THREADS,
    limits: Limits = DEFAULT_LIMITS,
    watch: Callable[[Wanted], Watch | None] | None = None,
    on_env: Callable[[Wanted], OnEnv | None] | None = None,
    progress: Progress | None = None,
) -> Iterator[Verified]:
    """Read each object once, and yield them in the order in which they are wanted.

    `watch` gives for an object what shall look on at its decoded data, or None, and `on_env` what
    shall get the environments of a checkpoint; both are called in the thread that reads the object.
    Whoever stops early waits for no more than the pieces at hand.
    Raises UnavailableError where the store as a whole fails, and what `watch` or `progress` raise.
    """
    meter = _Meter(sum(max(one.stored.size, 0) for one in wanted), progress)

    def one(found: Wanted) -> Verified:
        try:
            own = _Watchers(watch(found) if watch else None, on_env(found) if on_env else None)
            return _verified(bucket, found, limits, own, meter)
        except BaseException as err:
            raise meter.failed(err) from None

    return in_order(one, wanted, threads, meter.stop)


@dataclass(frozen=True)
class _Watchers:
    """What looks on at one object."""

    data: Watch | None
    environment: OnEnv | None


def _verified(
    bucket: Bucket, wanted: Wanted, limits: Limits, watchers: _Watchers, meter: _Meter
) -> Verified:
    stored = wanted.stored
    counted = _Counted(meter, max(stored.size, 0))
    try:
        with bucket.read(stored.key, stored.version_id) as stream:
            refuse_other(stored.key, stored, stream)
            body = read_body(
                wanted.file,
                counted.pieces(stream),
                limits,
                watchers.data,
                digest=lambda: stream.sha256,
                on_env=watchers.environment,
            )
    except (RefusedError, ObjectError) as problem:
        return Verified(wanted, None, problem)
    finally:
        counted.end()
    return Verified(wanted, body)


class _StoppedError(Exception):
    """Nobody waits for the rest."""


class _Meter:
    """Bytes of all objects, and whether to go on."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._done = 0
        self._lock = threading.Lock()
        self._is_stopped = False
        self._cause: BaseException | None = None

    def add(self, size: int) -> None:
        """Count bytes; raises _StoppedError once nobody waits."""
        if self._is_stopped:
            raise _StoppedError
        if self._progress and size:
            with self._lock:
                self._done += size
                self._progress(self._done, self._total)

    def stop(self) -> None:
        """Let threads end at their next piece."""
        self._is_stopped = True

    def failed(self, cause: BaseException) -> BaseException:
        """Stop; returns the first cause that there was, which is what all threads end with."""
        with self._lock:
            self._cause = self._cause or cause
        self.stop()
        return self._cause


class _Counted:
    """The bytes of one object on their way."""

    def __init__(self, meter: _Meter, size: int) -> None:
        self._meter = meter
        self._left = size

    def pieces(self, stream: ObjectStream) -> Iterator[bytes]:
        for piece in stream:
            size = min(len(piece), self._left)
            self._left -= size
            self._meter.add(size)
            yield piece

    def end(self) -> None:
        """Count what was not read: there is no more to wait for."""
        left, self._left = self._left, 0
        self._meter.add(left)
