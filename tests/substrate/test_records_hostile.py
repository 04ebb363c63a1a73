"""One bad record is a reject with its place; nothing in an export raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from axnb.substrate.records import ActorRecord, Limits, Place, read_export
from axnb.testing.records import export
from tests.substrate import fleets

GOOD = '{"metadata":{"atespace":"ax","name":"%s"},"status":{"state":"ACTOR_STATE_SUSPENDED"}}'


def among(bad: bytes) -> bytes:
    """A list of three actors, the second of which is `bad`."""
    first, last = (GOOD % name for name in ("first", "last"))
    return b'{"actors":[' + first.encode() + b"," + bad + b"," + last.encode() + b"]}"


def named(name: str) -> bytes:
    return (GOOD % name).encode()


BAD = [
    (b'{"metadata":{"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "too-deep", "$"),
    (b'{"metadata":' + b'{"a":' * 80 + b"1" + b"}" * 80 + b"}", "too-deep", None),
    (b'{"metadata":{"name":"c","version":NaN}}', "not-a-number", "$.metadata.version"),
    (b'{"metadata":{"name":"c","x":-Infinity}}', "not-a-number", "$.metadata.x"),
    (b'{"metadata":{"name":"c","name":"d"}}', "duplicate-key", "$.metadata"),
    (b'{"actorId":"c","actor_id":"c"}', "duplicate-key", "$.actor_id"),
    (b'{"metadata":{"name":"\\ud83d"}}', "not-text", "$.metadata.name"),
    (b'{"metadata":{"name":"\xff\xfe"}}', "not-text", "$.metadata.name"),
    (b'{"metadata":{"name":"c","\\udc00":1}}', "not-text", "$.metadata"),
    (named("n" * 1_000_000), "too-long", "$.metadata.name"),
    (named("c")[:-1] + b',"x":"' + b"y" * 9_000_000 + b'"}', "too-large", "$"),
    (named("c")[:-1] + b',"x":[' + b"1," * 200_000 + b"1]}", "too-large", "$"),
    (b'{"metadata":{"name":"c",}}', "not-json", "$"),
    (b"{'metadata':{}}", "not-json", "$"),
    (b"Infinity", "not-a-number", "$"),
    (b"nul", "not-json", "$"),
    (b"7", "wrong-type", "$"),
    (b'{"metadata":{"name":7}}', "wrong-type", "$.metadata.name"),
    (b'{"metadata":[]}', "wrong-type", "$.metadata"),
    (b'{"metadata":{"name":"c","version":"1e3"}}', "bad-number", "$.metadata.version"),
    (b'{"metadata":{"name":"c","version":1.5}}', "bad-number", "$.metadata.version"),
    (b'{"metadata":{"name":"c","version":true}}', "bad-number", "$.metadata.version"),
    (b'{"metadata":{"name":"c","version":"9223372036854775808"}}', "bad-number", None),
    (b'{"metadata":{"name":"c","version":' + b"9" * 5000 + b"}}", "bad-number", None),
    (b'{"metadata":{"name":"c","createTime":"today"}}', "bad-time", "$.metadata.createTime"),
    (b'{"metadata":{"name":"c","createTime":7}}', "bad-time", "$.metadata.createTime"),
    (b'{"metadata":{"name":"c"},"status":{"state":"A B"}}', "bad-enum", "$.status.state"),
    (b'{"metadata":{"name":"c"},"status":{"state":[]}}', "bad-enum", "$.status.state"),
    (b'{"metadata":{"atespace":"ax"}}', "no-name", "$"),
    (b"{}", "no-name", "$"),
    (b'{"metadata":{"name":"w"},"workerPod":"p"}', "other-kind", "$"),
    (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}', "other-kind", "$.kind"),
    (b'{"name":"c","atespace":"ax","version":1,"proto":"\\\\x0a03"}', "not-decoded", "$.proto"),
]


@pytest.mark.parametrize(("bad", "reason", "path"), BAD, ids=lambda v: str(v)[:40])
def test_one_bad_record_costs_itself_only(bad: bytes, reason: str, path: str | None) -> None:
    found = read_export(among(bad))
    assert [r.name for r in found.of(ActorRecord)] == ["first", "last"]
    (reject,) = found.rejects
    assert (reject.kind, reject.reason, reject.place) == ("actor", reason, Place(0, 1))
    assert path is None or reject.path == path
    assert len(reject.path) <= 200
    assert not found.documents[0].cut
    assert not found.complete


@pytest.mark.parametrize("keep", [0, 1, 9, 11, 40, 90, 180])
def test_a_torn_export_says_so(keep: int) -> None:
    whole = among(named("second"))
    found = read_export(whole[:keep])
    assert not found.complete
    assert [r.name for r in found.records] == ["first", "second", "last"][: len(found.records)]
    if keep:
        assert found.documents[0].cut
        assert [r.reason for r in found.rejects] == ["ends-too-early"]


def test_every_beginning_of_an_export_is_incomplete() -> None:
    whole = export(fleets.healthy(), "actors", "october").rstrip().encode()
    names = [r.name for r in read_export(whole).records]
    for keep in range(len(whole)):
        found = read_export(whole[:keep])
        assert not found.complete
        assert [r.name for r in found.records] == names[: len(found.records)]


def test_a_torn_line_costs_itself_only() -> None:
    rows = [named(name).decode() for name in ("a", "b", "c", "d")]
    rows[1], rows[2] = rows[1][:30], rows[2][:-5]
    found = read_export("\n".join(rows).encode())
    assert [r.name for r in found.records] == ["a", "d"]
    assert [r.reason for r in found.rejects] == ["ends-too-early"] * 2


@pytest.mark.parametrize(
    "text",
    ["NAME   STATE\nconv-1 RUNNING\n", "actors:\n- metadata:\n    name: c\n", "\0\1\2", "'", "nul"],
)
def test_what_is_no_json_is_one_reject(text: str) -> None:
    found = read_export(text.encode())
    assert [r.reason for r in found.rejects] == ["not-json"]
    assert found.records == ()


def test_a_warning_before_the_export_is_a_reject() -> None:
    found = read_export(b"I0703 deprecated flag\n" + among(named("second")))
    assert len(found.records) == 3
    assert [r.reason for r in found.rejects] == ["not-json"]


def test_nothing_is_not_an_export() -> None:
    found = read_export(b" \n")
    assert found.documents == ()
    assert not found.complete
    assert not read_export(b"", asked="actor").covers("actor")


def test_an_export_that_is_too_large_is_not_read() -> None:
    found = read_export(among(named("c")), limits=Limits(size=20))
    assert [r.reason for r in found.rejects] == ["too-large"]
    assert not found.complete


def test_too_many_records() -> None:
    found = read_export(among(named("c")), limits=Limits(records=2))
    assert [r.reason for r in found.rejects] == ["too-many"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"actors":[' + b"7," * 10_000 + b"7]}",
        b'{"a":\n' * 10_000,
        b"{\n" * 10_000,
        b"[1,\n" * 10_000,
    ],
)
def test_an_export_of_rejects_is_left(data: bytes) -> None:
    found = read_export(data)
    assert found.rejects[-1].reason == "too-many-rejects" or len(found.rejects) == 1
    assert len(found.rejects) <= 2001
    assert not found.complete


def test_a_reject_costs_the_whole_of_its_own_kind_only() -> None:
    workers = b'{"workers":[{"workerPod":7}]}'
    found = read_export(among(named("second")) + workers)
    assert [r.kind for r in found.rejects] == ["worker"]
    assert found.covers("actor")
    assert not found.covers("worker")
    assert not read_export(among(b"7")).covers("actor")
    torn = read_export(among(named("second")) + b"\n" + workers[:-3])
    assert torn.covers("actor")
    assert not torn.covers("worker")


def test_names_of_unknown_fields_are_shown_safely() -> None:
    members = {f"a\u202e\x1b{n}" + "x" * 500: "hunter2" for n in range(2000)}
    record = json.loads(GOOD % "c") | members
    found = read_export(json.dumps({"actors": [record]}).encode())
    assert len(found.unknown) == 1000
    assert len(found.records[0].unknown) == 50
    assert all(path.isprintable() and len(path) < 300 for path in found.unknown)
    assert "hunter2" not in repr(found)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3)
            | st.sampled_from(
                [
                    *("metadata", "status", "spec", "name", "actors", "items", "snapshots", "kind"),
                    *("apiVersion", "env", "containers", "assets", "state", "actorId", "workerPod"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(_JSON)
@example({"actors": {"metadata": 1}})
@example({"items": [{"apiVersion": "ate.dev/v1alpha1", "kind": "ActorTemplate"}]})
def test_any_json_is_read(value: Any) -> None:
    read_export(json.dumps(value).encode())


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n1na', max_size=40).map(str.encode))
def test_any_bytes_are_read(data: bytes) -> None:
    read_export(data)


@settings(deadline=None)
@given(st.data())
def test_a_damaged_export_is_read(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["actors", "templates", "workers", "tags"]))
    whole = bytearray(export(fleets.healthy(), kind, "october").encode())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    read_export(bytes(whole))
