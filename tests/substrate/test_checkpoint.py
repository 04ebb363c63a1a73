"""Heads of gVisor's checkpoints: what they say, and that no more is decoded."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.checkpoint import MAX_FS_CHECKPOINT, Container, Head, read_fs_version, read_head
from axnb.substrate.encoding import ObjectReader, Piece, write_plain
from axnb.substrate.errors import CheckpointError, ObjectError
from axnb.testing import buckets
from tests.substrate import objects


def pieces(data: bytes, step: int = 1000) -> Iterator[Piece]:
    for start in range(0, len(data), step):
        part = data[start : start + step]
        yield Piece(start, len(part), part)


def head_of(entries: Any, **specs: Any) -> bytes:
    if specs:
        entries = {**entries, "container_specs": json.dumps(specs)}
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return b"gVisorSF" + struct.pack(">Q", len(text)) + text


def refusal(data: bytes) -> str:
    with pytest.raises(CheckpointError) as refused:
        read_head(pieces(data))
    return refused.value.reason


CHECKPOINTS = [
    case
    for case in objects.good_cases()
    if any(key.endswith("/checkpoint.img.zstd") for key in case.objects)
]


@pytest.mark.parametrize("case", CHECKPOINTS, ids=lambda case: case.name)
def test_heads_of_real_checkpoints(case: objects.Case) -> None:
    head = read_head(ObjectReader(case.encoded("checkpoint.img")))
    assert head.runsc_version is not None
    # Substrate's builds of B2 and later were run with a newer gVisor.
    version = objects.truth()["gvisor"]["B2, B3" if case.name[:2] in ("b2", "b3") else "B0, B1"]
    assert head.runsc_version == version.split(" ")[-1]
    if "small" in case.name or "checkpoint-img-only" in case.name or "torn" in case.name:
        return
    assert head.timestamp is not None
    assert head.timestamp.date() == datetime(2026, 11, 29, tzinfo=UTC).date()
    containers = {container.name: container for container in head.containers}
    assert set(containers) == {"app", "pause"}
    assert containers["app"].args == ("/app",)
    assert set(containers["app"].env_names) >= {"PATH", "DEMO_API_KEY", "GREETING"}
    assert {mount.destination for mount in containers["app"].mounts} >= {"/proc", "/dev"}
    assert containers["app"].annotations["io.kubernetes.cri.container-name"] == "app"
    assert "not-a-real-key" not in repr(head)


def test_the_head_that_the_builder_writes() -> None:
    image = buckets.checkpoint(env=["A=1", "B", "C=x=y"], runsc_version="release-20260803.0")
    head = read_head(pieces(image, 7))
    assert head.runsc_version == "release-20260803.0"
    assert head.timestamp == datetime(2026, 8, 10, 9, 0, 0, 123456, tzinfo=UTC)
    assert [container.name for container in head.containers] == ["app", "pause"]
    assert head.containers[0].env_names == ("A", "B", "C")
    assert image[head.size :].startswith(b"state")
    assert "container_specs" not in head.entries


def test_no_more_than_the_head_is_decoded() -> None:
    image = buckets.checkpoint(state=bytes(range(256)) * 4096 * 4)
    encoded = b"".join(write_plain([image[:200_000], image[200_000:]], frame_size=1 << 18))
    reader = ObjectReader(encoded)
    read_head(reader)
    assert reader.encoded_size < len(encoded) // 2
    # Damage behind the head is not this reader's matter.
    assert read_head(ObjectReader(encoded[:-4])).runsc_version
    with pytest.raises(ObjectError):
        read_head(ObjectReader(encoded[:20]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"gVisor", "truncated"),
        (b"gVisorSF\0\0", "truncated"),
        (b"gVisorXX" + bytes(99), "not-a-checkpoint"),
        (head_of({})[:-1], "truncated"),
        (b"gVisorSF" + struct.pack(">Q", (16 << 20) + 1) + bytes(99), "head-too-long"),
        (b"gVisorSF" + b"\xff" * 99, "head-too-long"),
        (b"gVisorSF" + struct.pack("<Q", 2) + b"{}", "head-too-long"),
        (head_of(b"{"), "not-json"),
        (head_of(b""), "not-json"),
        (head_of(b"[1]"), "wrong-type"),
        (head_of({"runsc_version": 1}), "wrong-type"),
        (head_of({"runsc_version": None}), "wrong-type"),
        (head_of(b'{"a":"1","a":"2"}'), "duplicate-key"),
        (head_of(b'{"a":' + b"[" * 9999 + b"]" * 9999 + b"}"), "too-deep"),
        (head_of(b'{"a":"\xff"}'), "not-utf8"),
        (head_of({"container_specs": "{"}), "not-json"),
        (head_of({"container_specs": "[]"}), "wrong-type"),
        (head_of({"container_specs": '{"a":' + "[" * 99_999}), "too-deep"),
        (head_of({"container_specs": '{"a":[' + "0," * 200_000 + "0]}"}), "too-many-values"),
        (head_of({}, app=[]), "wrong-type"),
        (head_of({}, app={"process": []}), "wrong-type"),
        (head_of({}, app={"process": {"args": "x"}}), "wrong-type"),
        (head_of({}, app={"process": {"env": [1]}}), "wrong-type"),
        (head_of({}, app={"mounts": {}}), "wrong-type"),
        (head_of({}, app={"mounts": [1]}), "wrong-type"),
        (head_of({}, app={"mounts": {"a": 1}}), "wrong-type"),
        (head_of({}, app={"annotations": {"a": 1}}), "wrong-type"),
    ],
)
def test_hostile_heads_are_refused(data: bytes, reason: str) -> None:
    assert refusal(data) == reason


def test_what_is_absent_is_empty() -> None:
    head = read_head(pieces(head_of({}, app=None)))
    empty = Container("app", (), "", (), (), {})
    assert head == Head(None, None, (empty,), {}, head.size)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-11-29 20:04:41.564801434 +0000 UTC", 564801),
        ("2026-11-29 20:04:41.5 +0000 UTC m=+1.87", 500000),
        ("2026-11-29T20:04:41Z", 0),
        ("2026-11-29 22:04:41 +0200 CEST", 0),
        ("2026-13-29 22:04:41 +0200 CEST", None),
        ("2026-11-29", None),
        ("", None),
    ],
)
def test_times(text: str, micros: int | None) -> None:
    expected = None if micros is None else datetime(2026, 11, 29, 20, 4, 41, micros, tzinfo=UTC)
    assert read_head(pieces(head_of({"_timestamp": text}))).timestamp == expected


@given(st.binary(max_size=200), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_head_or_refused(data: bytes, is_started: bool) -> None:
    try:
        read_head(pieces(head_of(data) if is_started else data))
    except CheckpointError:
        return


# --- checkpoints of file systems -----------------------------------------------------------------


def test_runtimes_of_real_data_checkpoints() -> None:
    told = {
        case.name.split("-")[0]: read_fs_version(ObjectReader(case.encoded(file)))
        for case in objects.good_cases()
        for file in ("fscheckpoint.json", "fscheckpoint.pb")
        if any(key.endswith(f"/{file}.zstd") for key in case.objects)
    }
    old, new = (objects.truth()["gvisor"][name].split(" ")[-1] for name in ("B0, B1", "B2, B3"))
    assert told == {"b1b": old, "b2": new, "b3b": new}


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b"{}", None),
        (b'{"runsc_version":"v1"}', "v1"),
        (b"", None),
        (b"\x08\x01", None),
        (b"\x08\x01\x12\x02v1\x25abcd\x29abcdefgh\x1a\x01x", "v1"),
        (b"\x12\x01\xff", "\ufffd"),
    ],
)
def test_versions_of_data_checkpoints(data: bytes, version: str | None) -> None:
    assert read_fs_version(pieces(data)) == version


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not-json"),
        (b'{"runsc_version":1}', "wrong-type"),
        (b"\x12\x05v1", "bad-protobuf"),
        (b"\x13", "bad-protobuf"),
        (b"\x08", "bad-protobuf"),
        (b"\xff" * 20, "bad-protobuf"),
        (b"\x25abc", "bad-protobuf"),
        (bytes(MAX_FS_CHECKPOINT + 1), "too-large"),
    ],
)
def test_hostile_data_checkpoints_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CheckpointError) as refused:
        read_fs_version(pieces(data, 1 << 16))
    assert refused.value.reason == reason


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_have_a_version_or_are_refused(data: bytes) -> None:
    try:
        read_fs_version(pieces(data))
    except CheckpointError:
        return
