"""The quick way to the canonical form gives what the slow one gives, refusals included."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from axnb.ax import canonical_quick
from axnb.ax.canonical import canonical
from axnb.ax.canonical_quick import quick_digest, quick_form
from axnb.ax.json_text import PayloadError
from axnb.testing.hostile import hostile_log, hostile_texts
from axnb.testing.logs import LogBuilder, answer, call, think
from tests import ax_logs
from tests.ax.test_canonical import RANDOMS, TEXTS, TREES, rows_of, spell


def slow(payload: bytes) -> bytes | str:
    """The form by the slow way, or the class of the refusal."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return "invalid UTF-8"
    try:
        return canonical(text).encode()
    except PayloadError as refused:
        return refused.reason


def quick(payload: bytes) -> bytes | str:
    """The same by the quick one."""
    try:
        form = quick_form(payload)
    except PayloadError as refused:
        with pytest.raises(PayloadError):
            quick_digest(payload)
        return refused.reason
    assert quick_digest(payload) == hashlib.sha256(form).digest()
    return form


def inside(payload: bytes) -> Iterator[bytes]:
    """A document alone, and where the quick way looks closest: as a member, and in a list."""
    yield payload
    yield b'{"conversation_id":"c","x":' + payload + b"}"
    yield b'{"steps":[{"a":1,"\xc3\xa9":[' + payload + b',0]}],"state":"STATE_PENDING"}'
    yield b'{"conversation_id":"c", "steps":[' + payload + b', {"a":", "}], "state":3}'
    yield b'{"conversation_id":"c", "x":{"a":' + payload + b', "b":0}, "state":30}'


# --- documents on the page, and documents that are made up ---------------------------------------

PAGE = [
    document
    for column in ("canonical form", "canonical form, bytes", "because")
    for document, _ in rows_of(column)
]


@pytest.mark.parametrize("document", PAGE)
def test_the_page(document: str) -> None:
    """Every document on it, refused ones included."""
    for payload in inside(document.encode()):
        assert quick(payload) == slow(payload)


@settings(deadline=None, max_examples=75)
@given(TREES, RANDOMS)
def test_any_spelling(tree: Any, random: Random) -> None:
    """Spaces, escapes, orders and digits as nobody writes them."""
    for payload in inside(spell(tree, random).encode()):
        assert quick(payload) == slow(payload)


NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 10**6).map(lambda n: n * 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 0.1, 1e16, 1e22, 1e-7, 5e-324, 2**63, 2**64, -(2**63), 1.5]),
)
#: What most programs write: compact, in the order that it came, numbers as their language has them.
PLAIN_TREES = st.dictionaries(
    TEXTS,
    st.recursive(
        st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


@settings(deadline=None, max_examples=75)
@given(PLAIN_TREES, st.sampled_from([(",", ":"), (", ", ": "), (", ", ":")]), st.booleans())
@example({"a": [0, 10, -10, 100, 0.5, 1e22, -0.0]}, (",", ":"), False)
def test_what_programs_write(tree: Any, separators: tuple[str, str], in_ascii: bool) -> None:
    """The documents that take the quickest way."""
    payload = json.dumps(tree, separators=separators, ensure_ascii=in_ascii).encode()
    assert quick(payload) == slow(payload)


PIECES = ['{"a":', '"a":', "{", "}", "[", "]", ",", ":", '"', '"b"', "\\", "\\u0061", "\\ud83d"]
PIECES += ["1", "0", "-0", "-", "1.0", "10", "1e", "1e5", "E+1", "9" * 20, "true", "null", "NaN"]
PIECES += [" ", "\n", "\0", "é", "\ufeff", "\\ude00", "Infinity", "-Infinity", "\xa0", "\x0c"]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
@example('{"a":1,"a":1}')
@example('{"a":-0,"b":[-0,10]}')
@example('{"a":"\\u0061", "b":-0,"c":12345678901234567890123}')
@example('{"a":"b", "a":"b"}')
@example('{"a":", ","b":1e5, "b":", "}')
@example('{"a":1e5,"b":1,"b":1000000000000}')
@example('{"a":"\\ud83d\\ude00"}')
@example('{"a":"\\ud83d"}')
@example('\ufeff{"a":1}')
def test_anything(text: str) -> None:
    """Mostly no JSON."""
    for payload in inside(text.encode()):
        assert quick(payload) == slow(payload)


@given(st.binary(max_size=12))
@example(b"\xff")
@example(b"\xed\xa0\x80")
@example(b"\xc0\x80")
def test_bytes_that_are_no_text(some: bytes) -> None:
    """In a text, and alone."""
    for payload in (some, b'{"a":"' + some + b'"}', b'{"a":"", "b":"' + some + b'"}'):
        assert quick(payload) == slow(payload)


def test_every_character() -> None:
    """As itself and as an escape, in a text and in a key; the two ways agree on each."""
    for start in range(0, 0x11000, 0x400):
        codes = [n for n in range(start, start + 0x400) if not 0xD800 <= n < 0xE000]
        for in_ascii in (True, False):
            for document in ({chr(n): chr(n) for n in codes}, {"all": "".join(map(chr, codes))}):
                text = json.dumps(document, ensure_ascii=in_ascii, separators=(",", ":"))
                assert quick(text.encode()) == slow(text.encode())


def test_numbers_that_a_computer_rounds() -> None:
    """Each alone between others that it does not."""
    digits = ["0.1000000000000000055511151231257827", "1e400", "-1e-400", "18446744073709551616"]
    digits += ["-9223372036854775809", "9" * 30, "1" + "0" * 30, "1E5", "1.50", "-0", "-0.0", "0e9"]
    digits += ["10e" + "9" * 5000, "1" * 5000, "0." + "0" * 5000 + "1", "123456789012345678901"]
    for number in digits:
        payload = f'{{"a":[10,{number},0.25],"b":{number}}}'.encode()
        assert quick(payload) == slow(payload)
        assert isinstance(quick(payload), bytes)


@pytest.mark.parametrize("depth", [100, 253, 254, 255, 256, 900, 1023, 1024, 1025, 3000])
def test_depth_is_no_limit(depth: int) -> None:
    """On both sides of where each library stops."""
    for left, right in (("[", "]"), ('{"a":', "}")):
        for inner in ("10", '{"a":1,"a":1}', "1e", '"\\ud800"'):
            payload = f'{{"x":{left * depth}{inner}{right * depth}}}'.encode()
            assert quick(payload) == slow(payload)


# --- rows that servers wrote, and rows to do harm ------------------------------------------------


def payloads(log: Path) -> set[bytes]:
    """The payloads of a SQLite log, as bytes."""
    with closing(sqlite3.connect(log)) as database:
        found = database.execute("select cast(payload as blob) from conversation_log").fetchall()
    return {payload for (payload,) in found if payload is not None}


LOGS = sorted([*ax_logs.ROOT.glob("*/log.sqlite"), *ax_logs.ROOT.glob("*/dump.sql")])


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name)
def test_rows_of_real_servers(log: Path, tmp_path: Path) -> None:
    """Each different one of them; of a dump every text in it."""
    if log.suffix == ".sql":
        dump = log.read_text(encoding="utf-8")
        texts = re.findall(r"'((?:[^']|'')*)'", dump)
        found = {text.replace("''", "'").encode() for text in texts}
    else:
        for part in log.parent.glob("log.sqlite*"):
            shutil.copyfile(part, tmp_path / part.name)
        found = payloads(tmp_path / "log.sqlite")
    assert found
    for payload in found:
        assert quick(payload) == slow(payload)


def test_rows_to_do_harm(tmp_path: Path) -> None:
    """Hostile texts in every place, and rows that are no JSON."""
    log = hostile_log(hostile_texts(), "G8")
    found = payloads(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))
    assert len(found) > 500
    for payload in found:
        assert quick(payload) == slow(payload)


@pytest.mark.parametrize("generation", ["G5", "G6", "G8"])
def test_usual_rows_need_no_slow_way(generation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would not be quick; and compact ones need not even the second one."""
    log = LogBuilder(generation)
    result = answer({"ok": True, "share": 0.25, "items": [10, 200, None]})
    log.turn("c", "hi é\n", think("why"), call("charge", {"amount": 1200}), result)
    expected = {row.payload: canonical(row.payload).encode() for row in log.rows}
    spaced = {text.replace(',"', ', "'): form for text, form in expected.items()}

    def refuse(_: Any) -> bytes:
        raise AssertionError("a usual row takes the slow way")

    monkeypatch.setattr(canonical_quick, "canonical", refuse)
    for payload, form in spaced.items():
        assert quick_form(payload.encode()) == form
    monkeypatch.setattr(canonical_quick, "_exact", refuse)
    for payload, form in expected.items():
        assert quick_form(payload.encode()) == form
