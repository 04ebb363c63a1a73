"""Snapshots of an actor: what is written, what is found, what is refused, what comes back."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.errors import SourceError, UsageError
from axnb.runtimes import Snapshot
from axnb.runtimes.actor_state import FILE, Memory, State
from axnb.runtimes.snapshots import newest, restore, take, target
from axnb.substrate.encoding import write_plain
from tests.s3_server import S3Server

CONVERSATION = "axnb-drill-1"


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path / "home")
    memory.write(State(CONVERSATION).begin("Remember", 1).sent("text", "yes").end())
    return memory


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    return tmp_path / "bucket"


def taken(home: Memory, bucket: Path, number: int = 1) -> list[Snapshot]:
    made = []
    for _ in range(number):
        made.append(take(bucket.as_uri(), CONVERSATION, home.folder(CONVERSATION)))
        home.write(home.read(CONVERSATION).begin("again", 1).end())
    return made


def test_a_snapshot_is_as_substrate_writes_it(home: Memory, bucket: Path) -> None:
    (snapshot,) = taken(home, bucket)
    folder = bucket / snapshot.key
    assert sorted(path.name for path in folder.iterdir()) == [
        "durable-dir.tar.zstd",
        "manifest.json",
    ]
    assert snapshot.key.startswith("snapshots/ax/")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert (manifest["scope"], manifest["snapshotFiles"]) == ("data", ["durable-dir.tar"])
    assert manifest["actorName"] == CONVERSATION
    assert (folder / "durable-dir.tar.zstd").read_bytes().startswith(b"ATESPRSE\x02\0\0\0")
    archive = (folder / "durable-dir.tar.zstd").read_bytes()
    assert snapshot.digest == hashlib.sha256(archive).hexdigest()
    assert (snapshot.state["turns"], snapshot.state["outputs"]) == (1, 1)
    assert len(snapshot.state["digest"]) == 64


def test_the_same_state_gives_the_same_bytes(home: Memory, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        snapshot = take(str(tmp_path / name), CONVERSATION, home.folder(CONVERSATION))
        files = sorted((tmp_path / name / snapshot.key).iterdir())
        texts.append([snapshot.key, *(path.read_bytes() for path in files)])
    assert texts[0] == texts[1]


def test_the_newest_is_found_and_none_is_changed(home: Memory, bucket: Path) -> None:
    assert newest(bucket.as_uri(), CONVERSATION) is None
    first, second, third = taken(home, bucket, 3)
    assert len({first.key, second.key, third.key}) == 3
    assert newest(bucket.as_uri(), CONVERSATION) == third
    assert newest(bucket.as_uri(), "another") is None
    assert [s.state["turns"] for s in (first, second, third)] == [1, 2, 3]
    assert restore(bucket.as_uri(), first.key, home.folder(CONVERSATION)) == first


def test_a_torn_one_is_passed_over_and_its_number_is_used_up(home: Memory, bucket: Path) -> None:
    first, second = taken(home, bucket, 2)
    (bucket / second.key / "manifest.json").unlink()
    assert newest(bucket.as_uri(), CONVERSATION) == first
    (third,) = taken(home, bucket)
    assert third.key != second.key
    assert newest(bucket.as_uri(), CONVERSATION) == third


def test_a_restore_takes_the_place_of_what_was_there(home: Memory, bucket: Path) -> None:
    (snapshot,) = taken(home, bucket)
    assert home.read(CONVERSATION).turns == 2
    folder = home.folder(CONVERSATION)
    (folder / "later.txt").write_text("gone")
    restore(bucket.as_uri(), snapshot.key, folder, conversation_id=CONVERSATION)
    assert sorted(path.name for path in folder.iterdir()) == [FILE]
    assert home.read(CONVERSATION).turns == 1
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _other_scope(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"data"', b'"full"'))


def _no_tar(path: Path) -> None:
    path.write_bytes(b"".join(write_plain([b"no tar" * 500])))


DAMAGES: list[tuple[str, Callable[[Path], None], str]] = [
    ("manifest.json", Path.unlink, "is torn: it has no manifest"),
    ("durable-dir.tar.zstd", Path.unlink, "is torn: the object of durable-dir.tar is missing"),
    ("manifest.json", _cut, r"has a manifest that cannot be read \(not-json\)"),
    ("durable-dir.tar.zstd", _cut, r"is damaged: durable-dir.tar cannot be read \(truncated\)"),
    ("durable-dir.tar.zstd", _flip, "is damaged: durable-dir.tar cannot be read"),
    ("durable-dir.tar.zstd", _no_tar, r"is damaged: durable-dir.tar cannot be read"),
    ("manifest.json", _other_scope, "is none of a data-only actor"),
]


@pytest.mark.parametrize(("name", "damage", "sentence"), DAMAGES)
def test_what_is_not_whole_is_refused(
    home: Memory, bucket: Path, name: str, damage: Callable[[Path], None], sentence: str
) -> None:
    (snapshot,) = taken(home, bucket)
    before = home.read(CONVERSATION)
    damage(bucket / snapshot.key / name)
    with pytest.raises(SourceError, match=sentence):
        restore(bucket.as_uri(), snapshot.key, home.folder(CONVERSATION))
    assert home.read(CONVERSATION) == before


def test_a_swapped_one_is_refused(home: Memory, bucket: Path) -> None:
    (snapshot,) = taken(home, bucket)
    home.write(State("other"))
    other = take(bucket.as_uri(), "other", home.folder("other"))
    with pytest.raises(SourceError, match="is that of another actor"):
        restore(bucket.as_uri(), other.key, home.folder(CONVERSATION), conversation_id=CONVERSATION)
    tar = "durable-dir.tar.zstd"
    shutil.copy(bucket / other.key / tar, bucket / snapshot.key / tar)
    with pytest.raises(SourceError, match="holds the state of another actor"):
        newest(bucket.as_uri(), CONVERSATION)


@pytest.mark.parametrize("key", ["", "../../etc/x", "snapshots/ax", "snapshots/../ax/x"])
def test_a_key_is_a_place(home: Memory, bucket: Path, key: str) -> None:
    taken(home, bucket)
    with pytest.raises(SourceError, match="is no place of a snapshot"):
        restore(bucket.as_uri(), key, home.folder(CONVERSATION))


def test_an_object_is_never_written_twice(bucket: Path) -> None:
    from axnb.runtimes.snapshot_stores import open_store

    store = open_store(str(bucket))
    store.put("a/b", b"1")
    with pytest.raises(SourceError, match="cannot be written: File exists"):
        store.put("a/b", b"2")
    assert store.get("a/b", 1) == b"1"
    assert store.names("a") == {"b"}
    with pytest.raises(SourceError, match="larger than any object"):
        store.get("a/b", 0)


def test_a_bucket_that_is_none_is_refused(home: Memory) -> None:
    with pytest.raises(UsageError):
        take("ftp://there", CONVERSATION, home.folder(CONVERSATION))


texts = st.text(max_size=30)
kept = st.none() | st.dictionaries(
    st.sampled_from(["reservation", "item", "operation_id"]), texts, max_size=3
)


@given(
    conversation_id=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
    sent=st.lists(st.tuples(texts, texts), max_size=4),
    pending=kept,
)
@settings(max_examples=10, deadline=None)
def test_a_state_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    conversation_id: str,
    sent: list[tuple[str, str]],
    pending: dict[str, str] | None,
) -> None:
    from dataclasses import replace

    folder = tmp_path_factory.mktemp("round")
    memory, other = Memory(folder / "one"), Memory(folder / "two")
    state = State(conversation_id).begin("x", 1)
    for kind, value in sent:
        state = state.sent(kind, value)
    memory.write(replace(state, pending=pending))
    snapshot = take(str(folder / "bucket"), conversation_id, memory.folder(conversation_id))
    into = other.folder(conversation_id)
    assert restore(str(folder / "bucket"), snapshot.key, into) == snapshot
    assert other.read(conversation_id) == memory.read(conversation_id)
    assert snapshot.state == memory.read(conversation_id).summary()


# --- as others see them --------------------------------------------------------------------------


def _mapped(axnb: Callable[..., Result], tmp_path: Path, bucket: str) -> dict[str, Any]:
    (tmp_path / "axnb.toml").write_text(target(), encoding="utf-8")
    ran = axnb("map", "--snapshots", bucket, "--verify", "--json")
    found = json.loads(ran.stdout)
    assert isinstance(found, dict)
    return found


def test_the_map_finds_no_fault(
    axnb: Callable[..., Result], home: Memory, bucket: Path, tmp_path: Path
) -> None:
    made = taken(home, bucket, 2)
    found = _mapped(axnb, tmp_path, bucket.as_uri())
    assert {snapshot["key"] for snapshot in found["snapshots"]} == {s.key for s in made}
    for snapshot in found["snapshots"]:
        assert snapshot["restorable"] == "data-only", snapshot
        assert snapshot["layout"] == "B3b"
        assert snapshot["conversation_id"] == CONVERSATION
        assert snapshot["complete"]
    assert [f for f in found["findings"] if f["severity"] == "error"] == []


@pytest.mark.slow
def test_a_bucket_of_s3(home: Memory, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment(s3.owner).items():
        monkeypatch.setenv(name, value)
    url = f"s3://{s3.new_bucket()}/drill ä/1"
    made = [take(url, CONVERSATION, home.folder(CONVERSATION)) for _ in range(2)]
    assert made[0].key.startswith("drill ä/1/snapshots/ax/")
    assert newest(url, CONVERSATION) == made[1]
    assert newest(url.replace("/1", "/2"), CONVERSATION) is None
    assert restore(url, made[0].key, home.folder("back")) == made[0]
    assert (home.folder("back") / FILE).read_bytes() == (
        home.folder(CONVERSATION) / FILE
    ).read_bytes()
    for name, value in s3.environment(s3.reader).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match="cannot be written: the keys do not allow it"):
        take(url, CONVERSATION, home.folder(CONVERSATION))
