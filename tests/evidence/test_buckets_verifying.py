"""Many objects, read to their ends, a few at a time; from a folder and from a server."""

from __future__ import annotations

import hashlib
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from axnb.errors import ObjectError, UnavailableError
from axnb.evidence.buckets import Bucket, BucketLocator, open_bucket
from axnb.evidence.buckets.objects import StoredObject
from axnb.evidence.buckets.streams import ObjectStream
from axnb.evidence.buckets.verifying import Verified, Wanted, verify
from axnb.substrate.bodies import Body
from axnb.substrate.errors import RefusedError
from axnb.substrate.frames import Limits
from axnb.testing.buckets import WOUNDS, BucketBuilder
from tests.s3_server import S3Server


def made() -> BucketBuilder:
    """Two sound snapshots and one of which an object is cut."""
    bucket = BucketBuilder("")
    bucket.snapshot("B3b")
    bucket.snapshot("B3b", sandbox_class="microvm")
    WOUNDS["object-truncated"](bucket, bucket.snapshot("B3b", scope="data"))
    return bucket


def opened(folder: Path) -> Bucket:
    return open_bucket(BucketLocator.parse(str(folder), {}), {})


def wanted(bucket: Bucket) -> list[Wanted]:
    return [
        Wanted(found.key.rpartition("/")[2].removesuffix(".zstd"), found)
        for found in bucket.objects()
        if found.key.endswith(".zstd")
    ]


def check(asked: list[Wanted], told: list[Verified], objects: dict[str, bytes]) -> None:
    """Each is told of, in order, and is what was written; one is cut."""
    assert [one.wanted for one in told] == asked
    cut = [one for one in told if one.body is None]
    for one in told:
        data = objects[one.wanted.stored.key]
        if one.body:
            assert one.problem is None
            assert one.body.file == one.wanted.file
            assert one.body.encoded_sha256 == hashlib.sha256(data).hexdigest()
            assert one.body.encoded_size == len(data)
    (problem,) = (one.problem for one in cut)
    assert isinstance(problem, RefusedError)
    assert problem.reason == "truncated"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_folder(tmp_path: Path, threads: int) -> None:
    builder = made()
    builder.write(tmp_path)
    with opened(tmp_path) as bucket:
        asked = wanted(bucket)
        check(asked, list(verify(bucket, asked, threads=threads)), builder.objects)


def test_a_server(s3: S3Server) -> None:
    name = s3.new_bucket()
    builder = made()
    for key, data in builder.objects.items():
        s3.client().put_object(Bucket=name, Key=key, Body=data)
    environment = s3.environment()
    with open_bucket(BucketLocator.parse(f"s3://{name}", environment), environment) as bucket:
        asked = wanted(bucket)
        check(asked, list(verify(bucket, asked)), builder.objects)


def test_progress_comes_to_the_end_whatever_was_wrong(tmp_path: Path) -> None:
    builder = made()
    builder.write(tmp_path)
    seen: list[tuple[int, int]] = []
    with opened(tmp_path) as bucket:
        asked = wanted(bucket)
        next(tmp_path.rglob("base-id.zstd")).unlink()
        told = list(verify(bucket, asked, progress=lambda done, total: seen.append((done, total))))
    total = sum(one.stored.size for one in asked)
    assert {part for _, part in seen} == {total}
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (total, total)
    (gone,) = (one for one in told if one.wanted.file == "base-id")
    assert isinstance(gone.problem, ObjectError)


def test_an_object_that_changed_since_it_was_listed(tmp_path: Path) -> None:
    made().write(tmp_path)
    with opened(tmp_path) as bucket:
        asked = [one for one in wanted(bucket) if one.file == "base-id"]
        path = tmp_path / asked[0].stored.key
        path.write_bytes(path.read_bytes() + b"x")
        (told,) = verify(bucket, asked)
    assert told.body is None
    assert isinstance(told.problem, ObjectError)
    assert "changed since" in str(told.problem)


def test_a_watcher_for_each_object(tmp_path: Path) -> None:
    builder = made()
    builder.write(tmp_path)
    got: dict[str, list[bytes]] = {}
    with opened(tmp_path) as bucket:
        asked = [one for one in wanted(bucket) if one.file in ("base-id", "state.json")]
        told = list(
            verify(
                bucket,
                asked,
                watch=lambda one: (
                    None
                    if one.file == "state.json"
                    else lambda _, data: got.setdefault(one.file, []).append(data)
                ),
            )
        )
    assert len(told) == 2
    assert b"".join(got.pop("base-id")) == b"3a5b4e86-1a77-4da7-84c4-c0993d9c83ec"
    assert got == {}


def test_limits_hold(tmp_path: Path) -> None:
    made().write(tmp_path)
    with opened(tmp_path) as bucket:
        asked = [one for one in wanted(bucket) if one.file == "pages.img"]
        told = list(verify(bucket, asked, limits=Limits(max_size=10)))
    reasons = [one.problem.reason for one in told if isinstance(one.problem, RefusedError)]
    assert set(reasons) == {"too-large"}


class Endless:
    """A bucket of objects without an end, which tells how many are read at a time."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.at_once = self.most = 0
        self.closed = 0
        self._lock = threading.Lock()

    def read(self, key: str, version_id: str | None = None) -> ObjectStream:
        if self.fails and key == "down":
            raise UnavailableError("the store is down.")
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        return ObjectStream(key, self._pieces(key), self._close, size=1 << 60)

    def _close(self) -> None:
        with self._lock:
            self.at_once -= 1
            self.closed += 1

    def _pieces(self, key: str) -> Iterator[bytes]:
        if key == "first":
            yield b"no object"
        numbers = struct.pack("<qqq", 1 << 35, 0, 1 << 35)
        yield b"ATESPRSE\2\0\0\0" + b"\x28\xb5\x2f\xfd\x00\x58" + _block(numbers)
        while True:
            time.sleep(0.01)
            yield _block(b"x")


def _block(data: bytes) -> bytes:
    """A raw block of a zstd frame that is not the last one."""
    return struct.pack("<I", len(data) << 3)[:3] + data


def endless(*names: str) -> list[Wanted]:
    return [Wanted("pages.img", StoredObject(name, 1 << 60, None, None)) for name in names]


def test_whoever_stops_early_does_not_wait_for_the_rest() -> None:
    bucket = Endless()
    begun = time.monotonic()
    told = verify(bucket, endless("first", "second", "third", "fourth"))  # type: ignore[arg-type]
    first = next(told)
    assert isinstance(first.problem, RefusedError)
    told.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 20
    assert bucket.at_once == 0
    assert bucket.most <= 2


def test_a_store_that_fails_is_an_error() -> None:
    with pytest.raises(UnavailableError):
        list(verify(Endless(fails=True), endless("a", "down", "c")))  # type: ignore[arg-type]


def test_what_a_watcher_raises_ends_all() -> None:
    def refuse(one: Wanted) -> None:
        raise KeyError(one.stored.key)

    with pytest.raises(KeyError):
        list(verify(Endless(), endless("a", "b", "c"), watch=refuse))  # type: ignore[arg-type]


def test_nothing_is_wanted(tmp_path: Path) -> None:
    with opened(tmp_path) as bucket:
        assert list(verify(bucket, [])) == []


def test_a_body_of_a_folder_is_a_body(tmp_path: Path) -> None:
    made().write(tmp_path)
    with opened(tmp_path) as bucket:
        told = [one.body for one in verify(bucket, wanted(bucket)) if one.body]
    assert all(isinstance(body, Body) for body in told)
    assert {body.content for body in told} == {"as-named", "unknown"}
