"""Client transcripts: every line is either a row or named; nothing a line holds can hurt."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axnb.case.case import Case
from axnb.errors import SourceError, UnavailableError
from axnb.evidence import lines
from axnb.evidence.lines import LineError
from axnb.evidence.transcript import read_output
from axnb.evidence.witnesses import CLIENT, SERVER_LOG, load_witness

GOOD = b'{"conversation": "c", "number": 2, "kind": "text", "digest": null}'


def _load(case: Case, path: Path, content: bytes) -> dict[str, Any]:
    path.write_bytes(content)
    source = load_witness(case, path, CLIENT)
    record: dict[str, Any] = case.frame("select * from sources where source = ?", [source]).iloc[0]
    assert record["read"] == record["parsed"] + record["rejected"]
    return record


def _outputs(case: Case) -> list[Any]:
    return case.rows("select line, conversation_id, number, kind, digest from client_outputs")


def test_a_line_is_an_output(case: Case, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"hi").hexdigest()
    told = [
        {"conversation": "c", "number": 2, "kind": "text", "digest": digest.upper()},
        {"conversation_id": "d", "number": 0, "kind": "tool_call", "text": "kept out"},
        {"conversation": "e", "number": 3},
    ]
    content = "\n".join(map(json.dumps, told)).encode()
    record = _load(case, tmp_path / "client.jsonl", content)
    assert _outputs(case) == [
        (1, "c", 2, "text", digest),
        (2, "d", 0, "tool_call", None),
        (3, "e", 3, "unknown", None),
    ]
    assert (record["source"], record["kind"], record["read"]) == ("client", "client", 3)
    assert record["locator"] == str(tmp_path.resolve() / "client.jsonl")
    whole = hashlib.sha256(content).hexdigest()
    files = {"client.jsonl": {"size": len(content), "sha256": whole}}
    custody = {"sha256": whole, "bytes": len(content), "files": files}
    assert json.loads(record["custody"]) == custody
    assert (list(record["notes"]), list(record["incomplete"])) == ([], [])


BROKEN = {
    "not JSON": [b"{", b"[1,", b"nothing", b'{"conversation": "\xff", "number": 1}', GOOD[:20]],
    "deep": [b'{"conversation": "c", "number": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"],
    "huge number": [b'{"conversation": "c", "number": 1' + b"0" * 5000 + b"}"],
    "lone surrogate": [rb'{"conversation": "\ud800", "number": 1}'],
    "not an object": [b"[]", b"null", b"7", b'"c"'],
    "no conversation id": [
        b"{}",
        b'{"conversation": "", "number": 1}',
        b'{"conversation": 7, "number": 1}',
        b'{"conversation": "c", "conversation_id": "d", "number": 1}',
    ],
    "no number of a step": [
        b'{"conversation": "c"}',
        b'{"conversation": "c", "number": -1}',
        b'{"conversation": "c", "number": true}',
        b'{"conversation": "c", "number": "1"}',
        b'{"conversation": "c", "number": 1.0}',
        b'{"conversation": "c", "number": 9223372036854775808}',
    ],
    "kind is not a word": [
        b'{"conversation": "c", "number": 1, "kind": "text:the text itself"}',
        b'{"conversation": "c", "number": 1, "kind": ["text"]}',
    ],
    "digest is not a sha256": [
        b'{"conversation": "c", "number": 1, "digest": "abc"}',
        b'{"conversation": "c", "number": 1, "digest": 7}',
    ],
}


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_line_is_named_and_stops_no_other(reason: str, case: Case, tmp_path: Path) -> None:
    for broken in BROKEN[reason]:
        record = _load(case, tmp_path / "client.jsonl", b"\n".join([GOOD, broken, GOOD]))
        assert [line for line, *_ in _outputs(case)] == [1, 3]
        assert (record["read"], record["parsed"], record["rejected"]) == (3, 2, 1)
        (sentence,) = record["incomplete"]
        told = "not JSON" if reason in ("deep", "huge number", "lone surrogate") else reason
        assert sentence == f"1 line of client is not used ({told}): 2."


def test_marks_line_ends_and_blank_lines_are_survived(case: Case, tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n  \n\n" + GOOD + b"\n\xef\xbb\xbf" + GOOD
    record = _load(case, tmp_path / "client.jsonl", content)
    assert [line for line, *_ in _outputs(case)] == [1, 5, 6]
    assert (record["read"], list(record["incomplete"])) == (3, [])


def test_a_long_line_is_read_and_a_longer_one_is_counted(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 20)
    long = b'{"conversation": "c", "number": 4, "text": "%s"}'
    content = b"\n".join([GOOD, long % (b"x" * (1 << 19)), long % (b"x" * (5 << 20)), GOOD])
    record = _load(case, tmp_path / "client.jsonl", content)
    assert [line for line, *_ in _outputs(case)] == [1, 2, 4]
    assert list(record["incomplete"]) == ["1 line of client is not used (too long): 3."]
    assert json.loads(record["custody"])["bytes"] == len(content)


def test_many_broken_lines_make_one_sentence(case: Case, tmp_path: Path) -> None:
    record = _load(case, tmp_path / "client.jsonl", GOOD + b"\n{" * 2000)
    told = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 1,990 more"
    assert list(record["incomplete"]) == [f"2,000 lines of client are not used (not JSON): {told}."]


def test_more_lines_than_one_batch(case: Case, tmp_path: Path) -> None:
    record = _load(case, tmp_path / "client.jsonl", (GOOD + b"\n") * 45_000)
    assert record["parsed"] == 45_000
    assert case.rows("select count(distinct line), max(line) from client_outputs") == [
        (45_000, 45_000)
    ]


def test_loading_twice_gives_the_same_tables(case: Case, tmp_path: Path) -> None:
    tables = []
    for _ in range(2):
        _load(case, tmp_path / "client.jsonl", GOOD + b"\n{\n")
        tables.append((_outputs(case), case.rows("select * from sources")))
    assert tables[0] == tables[1]


def test_files_keep_their_names(case: Case, tmp_path: Path) -> None:
    for name in ("b", "a", "b"):
        _load(case, tmp_path / name, GOOD)
    found = case.rows("select source, locator from sources order by source")
    assert found == [
        ("client", str(tmp_path.resolve() / "b")),
        ("client-2", str(tmp_path.resolve() / "a")),
    ]
    (tmp_path / "b").write_bytes(b'{"msg": "Starting AX server"}')
    assert load_witness(case, tmp_path / "b", SERVER_LOG) == "server-log"
    assert case.rows("select count(*) from sources") == [(3,)]


def _missing(path: Path) -> None:
    pass


def _folder(path: Path) -> None:
    path.mkdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf\r\n\n")


def _noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 50)


@pytest.mark.parametrize("make", [_missing, _folder, _empty, _noise])
def test_a_broken_file_is_one_sentence(make: Any, case: Case, tmp_path: Path) -> None:
    path = tmp_path / "client.jsonl"
    _load(case, path, GOOD)
    path.unlink()
    make(path)
    kept = case.rows("select * from sources"), _outputs(case)
    with pytest.raises(SourceError) as raised:
        load_witness(case, path, CLIENT)
    assert str(raised.value).count(".") == str(path).count(".") + 1
    assert str(path) in str(raised.value)
    assert raised.value.exit_code == 3
    assert (case.rows("select * from sources"), _outputs(case)) == kept


def test_links_in_a_circle_and_odd_names(case: Case, tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for path in (circle, Path("a\0b")):
        with pytest.raises(UnavailableError):
            load_witness(case, path, CLIENT)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    assert _load(case, odd, GOOD)["locator"].endswith("\\xff.jsonl")


def test_a_pipe_is_read_once(case: Case, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(GOOD,))
    writer.start()
    assert load_witness(case, pipe, CLIENT) == "client"
    writer.join()
    assert len(_outputs(case)) == 1


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_any_bytes_are_a_row_or_a_reason(line: bytes) -> None:
    found = None
    with suppress(LineError):
        found = read_output(line)
    assert found is None or (found["conversation_id"] and found["number"] >= 0)
