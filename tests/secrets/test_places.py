"""Where secrets are looked for, and that no value gets anywhere."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from axnb.case.case import Case
from axnb.cli import main
from axnb.errors import UsageError
from axnb.loading import load
from axnb.secrets import payloads
from axnb.secrets.keeping import Where, keep_secrets, secret_key
from axnb.secrets.places import (
    MAX_PLACES,
    ObjectScan,
    in_members,
    place_of,
    scan_environment,
    scan_pieces,
    scan_text,
    scan_url,
    tee,
)
from axnb.settings import Secrets, Settings
from axnb.substrate.checkpoint import MAGIC, read_head
from axnb.substrate.encoding import ObjectReader, Piece, extents, write_sparse
from axnb.substrate.tars import Member
from axnb.testing.logs import LogBuilder, say
from axnb.triaging import triage
from tests.secrets.made import TOKENS, hits, scanner

_VALUE = "not-a-real-key-0001"
_WHERE = Where("bucket", "memory", "s", "s/pages.img.zstd", "pages.img")


def _pieces(data: bytes) -> Iterator[Piece]:
    return iter(ObjectReader(b"".join(write_sparse(len(data), extents(data)))))


# --- a bucket ------------------------------------------------------------------------------------


def test_pages_of_memory() -> None:
    data = bytearray(300 << 10)
    data[200_000:200_040] = b"\0GEMINI_API_KEY=not-a-real-key-0001\0\0\0\0\0"
    (found,) = scan_pieces(scanner(), _pieces(bytes(data)), _WHERE)
    assert (found.hit.offset, found.hit.name) == (200_016, "GEMINI_API_KEY")
    scan = ObjectScan(scanner(), _WHERE)
    assert b"".join(p.data or bytes(p.length) for p in tee(_pieces(bytes(data)), scan)) == data
    assert scan.finish() == [found]


def test_an_environment_has_the_digest_of_memory() -> None:
    env = ["PATH=/bin", f"GEMINI_API_KEY={_VALUE}", f"URL=https://u:{_VALUE}@h/"]
    specs = json.dumps({"main": {"process": {"env": env}}, "pause": {}})
    head = json.dumps({"container_specs": specs}).encode()
    data = (
        MAGIC + struct.pack(">Q", len(head)) + head + b"\0" * 100 + f"\0K_TOKEN={_VALUE}\0".encode()
    )
    seen: list[tuple[str, tuple[str, ...]]] = []
    read = read_head(_pieces(data), on_env=lambda name, entries: seen.append((name, entries)))
    assert seen == [("main", tuple(env)), ("pause", ())]
    assert _VALUE not in repr(read.containers)
    found = scan_environment(scanner(), _WHERE, "main", seen[0][1])
    assert [(s.where.place, s.where.member, s.hit.name) for s in found] == [
        ("oci-env", "main", "GEMINI_API_KEY"),
        ("oci-env", "main", "URL"),
    ]
    scan = ObjectScan(scanner(), _WHERE)
    scan.feed(0, data)
    digests = {secret.hit.digest for secret in found}
    (rest,) = scan.finish(known=digests, head_size=read.size)
    assert {rest.hit.digest} == digests
    assert rest.hit.name == "K_TOKEN"


def test_members_of_a_tar() -> None:
    members = [Member(name, "file", 9, 0, 0, 0, "", at) for name, at in (("a", 512), ("b", 2048))]
    data = b"\0" * 600 + b"API_KEY=abc-123 " + b"\0" * 2000 + b"API_KEY=abc-124 "
    found = in_members(scan_pieces(scanner(), [Piece(0, len(data), data)], _WHERE), members)
    assert [(s.where.place, s.where.member) for s in found] == [
        ("tar-member", "a"),
        ("tar-member", "b"),
    ]
    (early,) = in_members(scan_text(scanner(), _WHERE, "API_KEY=abc-123"), members)
    assert early.where.member is None


def test_addresses_and_manifests() -> None:
    (found,) = scan_url(scanner(), _WHERE, f"https://b/runsc?X-Amz-Signature={'ab' * 32}")
    assert (found.where.place, found.hit.name) == ("asset-url", "X-Amz-Signature")
    (found,) = scan_text(scanner(), _WHERE, b'{"env":{"api_key":"abc-123-def"}}')
    assert found.hit.kind == "named-secret"


def test_copies_without_end_are_counted() -> None:
    scan = ObjectScan(scanner(), _WHERE)
    scan.feed(0, b"API_KEY=abc-123\0" * 1000)
    assert len(scan.finish()) == MAX_PLACES
    assert scan.left_off == 1000 - MAX_PLACES


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("pages.img", "memory"),
        ("checkpoint.img.zstd", "memory"),
        ("memory-ranges", "memory"),
        ("durable-dir.tar", "tar-member"),
        ("x/multitar.img.zstd", "tar-member"),
        ("pages_meta.img", "file"),
    ],
)
def test_what_a_file_is(file: str, place: str) -> None:
    assert place_of(file) == place


# --- a log ---------------------------------------------------------------------------------------


def _log(text: str, folder: Path, name: str = "log", more: int = 0) -> str:
    log = LogBuilder("G8")
    log.turn("c", "hi", say(text), *(say(f"{n} " + "word " * 100) for n in range(more)))
    return str(log.write_sqlite(folder / f"{name}.sqlite"))


def _rows(case: Case) -> list[tuple[object, ...]]:
    return case.rows(
        'select kind, step, "row", at_offset, length, digest from secrets order by all'
    )


@pytest.mark.parametrize("size", [10, 5_000, 70_000])
def test_a_log_of_any_size(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs, long texts and large logs go different ways."""
    path = _log(f"{'a ' * size}DEMO_API_KEY={_VALUE}", tmp_path, more=20)
    found = []
    for small in (1 << 30, 0):
        monkeypatch.setattr(payloads, "_SMALL", small)
        with Case(settings=Settings()) as case:
            load(case, [path])
            found.append(_rows(case))
            (payload,) = case.rows("select payload from event_rows where step = 2")[0]
    assert found[0] == found[1]
    ((kind, step, _, offset, length, _),) = found[0]
    assert (kind, step) == ("named-secret", 2)
    assert payload.encode()[offset : offset + length] == _VALUE.encode()


def test_a_log_is_looked_into_anew_when_it_is_loaded_anew(tmp_path: Path) -> None:
    path = _log(f"API_KEY={_VALUE}", tmp_path)
    other = _log(f"TOKEN={_VALUE}", tmp_path, "other")
    with Case(settings=Settings()) as case:
        load(case, [path, other])
        first = _rows(case)
        assert len(first) == 2
        assert len({digest for *_, digest in first}) == 1
        load(case, [path])
        assert _rows(case) == first
    with Case(settings=Settings()) as case:
        load(case, [path, other])
        assert _rows(case) == first


def test_a_configuration_is_told_once(tmp_path: Path) -> None:
    for generation, config in (("G8", "agent_config"), ("G6", "harness_config")):
        log = LogBuilder(generation)
        log.turn("c", "hi", say("b"))
        row, owner = log.rows[0], config.replace("config", "id") + '":"antigravity"'
        text = row.payload.replace(owner, f'{owner},"{config}":{{"api_key":"{_VALUE}"}}')
        assert text != row.payload
        log.rows[0] = type(row)(row.conversation_id, row.step, text)
        with Case(settings=Settings()) as case:
            load(case, [str(log.write_sqlite(tmp_path / f"{generation}.sqlite"))])
            assert case.rows("select place, name from secrets") == [("harness-config", "api_key")]


def test_settings_reach_the_look(tmp_path: Path) -> None:
    path = _log(f"mytok_0123abcd {TOKENS['github-token']}", tmp_path)
    own = Settings(secrets=Secrets({"house-token": "mytok_[0-9a-f]{8}"}))
    with Case(settings=own) as case:
        load(case, [path])
        assert [row[0] for row in _rows(case)] == ["github-token", "house-token"]


def test_no_value_gets_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CX-01. The case holds payloads, so what is not one is looked at."""
    values = [_VALUE, TOKENS["github-token"], "sk-AB***********YZ"]
    path = _log(f"API_KEY={values[0]} {values[1]} {values[2]}", tmp_path)
    with Case(settings=Settings()) as case:
        load(case, [path])
        told = [
            *case.rows("select * from secrets"),
            *case.rows("select * from findings"),
            *case.rows("select * from meta"),
            *triage(case).findings,
        ]
        assert len(case.rows("select * from secrets")) == 3
    result = CliRunner().invoke(main, ["triage", path, "--json"])
    shown = repr(told) + result.output + "".join(capsys.readouterr())
    for value in (*values, *(value[:12] for value in values)):
        assert value not in shown


def test_a_case_of_a_bucket_holds_no_value(tmp_path: Path) -> None:
    file = tmp_path / "case.duckdb"
    with Case(file, settings=Settings()) as case, case.writing() as session:
        looking = scanner()
        keep_secrets(session, scan_environment(looking, _WHERE, "m\udcff", [f"API_KEY={_VALUE}"]))
        assert secret_key(session, "a") == secret_key(session, "b")
    assert b"named-secret" in file.read_bytes()
    assert _VALUE.encode() not in file.read_bytes()


# --- settings and the verb -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[secrets]\nx = 1", "takes patterns and include_excluded"),
        ("[secrets]\ninclude_excluded = 1", "neither true nor false"),
        ("[secrets]\npatterns = 1", "is not a table"),
        ("[secrets.patterns]\na = 1", "is not a text"),
        ("[secrets.patterns]\na = '(s3cr3t'", "is no regular expression"),
        ("[secrets.patterns]\na = 's3cr3t|'", "also matches where nothing is"),
        ("[secrets.patterns]\nA_b = 'x'", "small letters"),
        ("secrets = 1", "takes patterns and include_excluded"),
    ],
)
def test_settings_that_cannot_be_used(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "axnb.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=told) as caught:
        Settings.read(file)
    assert "s3cr3t" not in str(caught.value)


def test_the_verb_lists_what_is_covered(tmp_path: Path) -> None:
    """CX-03."""
    file = tmp_path / "axnb.toml"
    file.write_text(
        "[secrets]\ninclude_excluded = true\n[secrets.patterns]\nmy-token = 'mytok_.+'\n"
    )
    told = json.loads(
        CliRunner().invoke(main, ["secrets", "--settings", str(file), "--json"]).output
    )
    assert told["schema"] == "axnb.secrets/1"
    assert told["engine"] in ("hyperscan", "re2")
    assert {"my-token", "google-api-key", "named-secret"} <= {k["name"] for k in told["kinds"]}
    assert {"signature", "digest", "inline-data"} <= {one["name"] for one in told["excluded"]}
    page = CliRunner().invoke(main, ["secrets", "--settings", str(file)]).output
    assert "my-token" in page
    assert "include_excluded" in page


def test_hits_are_where_they_are() -> None:
    text = "ä API_KEY=abc-123-def"
    (hit,) = hits(text)
    assert text.encode()[hit.offset :][: hit.length] == b"abc-123-def"
