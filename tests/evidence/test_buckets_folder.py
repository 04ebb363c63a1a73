"""A folder as a bucket: odd names, links, and nothing that moves."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.errors import ObjectError, UnavailableError
from axnb.evidence.buckets import BucketLocator, open_bucket
from axnb.evidence.buckets.folder import FileBucket
from axnb.evidence.buckets.objects import StoredObject
from axnb.text import safe


def _bucket(folder: Path, prefix: str = "") -> FileBucket:
    return FileBucket(BucketLocator("file", str(folder), prefix))


def _state(folder: Path) -> list[tuple[object, ...]]:
    """All that can move in a folder when it is read."""
    found: list[tuple[object, ...]] = []
    for path in [folder, *sorted(folder.rglob("*"))]:
        info = os.lstat(path)
        is_file = path.is_file() and not path.is_symlink()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
        found.append((str(path), info.st_mode, info.st_size, info.st_mtime_ns, digest))
    return found


def _read(bucket: FileBucket) -> dict[str, bytes | None]:
    return {small.key: small.data for small in bucket.read_small(bucket.objects(), 1 << 20)}


_NAMES = st.binary(min_size=1, max_size=40).filter(
    lambda name: name not in (b".", b"..") and not set(name) & {0, ord("/")}
)


@given(st.lists(st.lists(_NAMES, min_size=1, max_size=3), max_size=12), st.data())
@settings(max_examples=40, deadline=None)
def test_odd_names_survive(paths: list[list[bytes]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as top:
        expected = {}
        for steps in paths:
            path = os.path.join(os.fsencode(top), *steps)
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "xb") as file:
                    content = data.draw(st.binary(max_size=20))
                    file.write(content)
            except OSError:
                continue  # the path is taken
            expected[os.fsdecode(b"/".join(steps))] = content
        with _bucket(Path(top)) as bucket:
            assert _read(bucket) == expected
            for key, content in expected.items():
                found = bucket.find(key)
                assert found is not None
                assert found.size == len(content)
                assert safe(bucket.name(key)) == bucket.name(key)
            custody = bucket.custody()
        assert (custody["objects"], custody["stable"]) == (len(expected), True)
        assert custody["bytes"] == sum(map(len, expected.values()))
        assert bucket.incomplete == []


def test_nothing_is_touched(tmp_path: Path) -> None:
    for name in ("a/manifest.json", "a/pages.img.zstd", "b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.urandom(5000))
    before = _state(tmp_path)
    paths = [tmp_path, *tmp_path.rglob("*")]
    for path in paths:
        os.utime(path, ns=(1, os.lstat(path).st_mtime_ns))
    with _bucket(tmp_path) as bucket:
        _read(bucket)
        list(bucket.uploads())
        assert bucket.custody()["stable"]
    if hasattr(os, "O_NOATIME"):
        assert {os.lstat(path).st_atime_ns for path in paths} == {1}
    assert _state(tmp_path) == before


def test_links_and_special_files_are_remarks(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "a").mkdir(parents=True)
    (inside / "a" / "file").write_text("x")
    (inside / "link").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    (inside / "circle").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    with _bucket(inside) as bucket:
        assert [found.key for found in bucket.objects()] == ["a/file"]
        text = " ".join(bucket.incomplete)
        assert "3 links" in text
        assert "inside/folder" in text
        assert "1 pipes, sockets or devices" in text
        outward = (
            "link",
            "folder/secret",
            "pipe",
            "../outside/secret",
            "/etc/passwd",
            "a/../a/file",
        )
        for key in outward:
            with pytest.raises(ObjectError):
                bucket.read(key)
        (small,) = bucket.read_small(["folder/secret"], 100)
        assert (small.data, type(small.problem)) == (None, ObjectError)
        assert bucket.find("folder/secret") is None
        assert bucket.find("a") is None
        assert bucket.find("a/file/x") is None
        assert bucket.find("none") is None
        with pytest.raises(ObjectError):
            bucket.find("link")


def test_the_folder_may_itself_be_reached_by_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "x").write_text("x")
    (tmp_path / "link").symlink_to(real)
    with _bucket(tmp_path / "link") as bucket:
        assert _read(bucket) == {"x": b"x"}
    assert bucket.locator == f"file://{real.resolve()}"


def test_a_prefix_is_whole(tmp_path: Path) -> None:
    for name in ("actor-1/x", "actor-10/x", "other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with _bucket(tmp_path, "actor-1") as bucket:
        assert [found.key for found in bucket.objects()] == ["actor-1/x"]


def test_a_large_file_comes_in_pieces(tmp_path: Path) -> None:
    content = os.urandom((3 << 20) + 7)
    (tmp_path / "large").write_bytes(content)
    with _bucket(tmp_path) as bucket, bucket.read("large") as stream:
        pieces = list(stream)
    assert max(map(len, pieces)) <= 1 << 20
    assert b"".join(pieces) == content
    assert stream.sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    for name in ("grows", "goes", "same", "shrinks"):
        (tmp_path / name).write_bytes(b"12345")
    with _bucket(tmp_path) as bucket:
        listed = list(bucket.objects())
        (tmp_path / "grows").write_bytes(b"1234567")
        (tmp_path / "goes").unlink()
        (tmp_path / "comes").touch()
        with bucket.read("shrinks") as stream:
            os.truncate(tmp_path / "shrinks", 2)
            with pytest.raises(ObjectError, match="ended after 2 of 5 bytes"):
                list(stream)
        read = {small.key: small for small in bucket.read_small(listed, 100)}
        assert "has changed" in str(read["grows"].problem)
        assert "No such file" in str(read["goes"].problem)
        assert read["same"].data == b"12345"
        custody = bucket.custody()
    assert not custody["stable"]
    assert custody["changes"]["came"]["keys"] == ["comes"]
    assert custody["changes"]["went"]["keys"] == ["goes"]
    assert custody["changes"]["changed"]["keys"] == ["grows", "shrinks"]
    (sentence,) = bucket.incomplete
    assert sentence.startswith("unstable listing: ")


def test_large_ones_are_not_read_as_small(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 101)
    with _bucket(tmp_path) as bucket:
        for wanted in ("large", StoredObject("large", 101, None, None)):
            (small,) = bucket.read_small([wanted], 100)
            assert small.data is None
            assert "101 bytes, more than the 100" in str(small.problem)


def test_a_listing_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_bytes(b"12")
    (tmp_path / "a").write_bytes(b"1")
    with _bucket(tmp_path) as bucket:
        custody = bucket.custody()
    lines = [b"1\0\0\x001\x000\0a", b"2\0\0\x001\x000\0b/x"]
    expected = hashlib.sha256(b"".join(hashlib.sha256(line).digest() for line in lines))
    assert custody["listing_sha256"] == expected.hexdigest()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    bucket = open_bucket(BucketLocator.parse(str(tmp_path / "x"), {}), {})
    (tmp_path / "x").rmdir()
    with pytest.raises(UnavailableError, match="No such file"), bucket:
        pass


def test_there_are_no_versions_and_no_uploads(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with _bucket(tmp_path) as bucket:
        assert list(bucket.uploads()) == []
        assert list(bucket.uploads()) == []
        assert len(bucket.notes) == 1
        assert bucket.versions == "none"
        assert bucket.find("x", "v1") is None
        with pytest.raises(ObjectError):
            bucket.read("x", "v1")
