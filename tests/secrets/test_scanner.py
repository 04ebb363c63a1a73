"""The same secrets by every engine, and however a file is cut into chunks."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.secrets import scanner as scanners
from axnb.secrets.engines import _Re2, candidate_rows, engine
from axnb.secrets.scanner import Hit, Stream
from tests.secrets.made import BESIDE, NONE, TOKENS, hits, scanner

pytest.importorskip("hyperscan")

_PIECES = [
    *(token.encode() for token in TOKENS.values()),
    *(text.encode() for text, _, _ in BESIDE),
    *(text.encode() for text in NONE),
    *(
        b"sk-AB****YZ",
        b"token",
        b"=",
        b'"',
        b"\\",
        b":",
        b"@",
        b"://",
        b"api_key",
        b"/",
        b"\0",
        b"\n",
    ),
    *(
        b" ",
        b"***",
        b"...",
        b"eyJ",
        b".eyJ",
        b"bearer ",
        b"sig=",
        b"value",
        b"-----BEGIN ",
        b"\xe2\x80",
    ),
]
_texts = st.lists(st.sampled_from(_PIECES) | st.binary(max_size=6), max_size=12).map(b"".join)


@given(_texts)
@settings(max_examples=200, deadline=None)
def test_both_engines_find_the_same(data: bytes) -> None:
    assert hits(data, "hyperscan") == hits(data, "re2")


@given(st.lists(_texts, max_size=6))
def test_both_engines_find_the_same_rows(texts: list[bytes]) -> None:
    array = pa.array([None, *texts, b""], pa.binary()).slice(1)
    found = [list(scanner(by).scan_rows(array)) for by in ("hyperscan", "re2")]
    alone = [(n, hit) for n, text in enumerate(texts) for hit in hits(text)]
    assert found == [alone, alone]
    assert set(candidate_rows(engine("re2"), array)) >= {n for n, _ in alone}


def _long(seed: int) -> bytes:
    """Pages of text, random bytes and zeros with secrets at any place."""
    numbers = random.Random(seed)
    parts = []
    for _ in range(60):
        kind = numbers.randrange(4)
        size = numbers.randrange(1, 3000)
        noise = (numbers.randbytes(size), bytes(size), b"plain text, " * (size // 12), b"")[kind]
        parts += [noise, b" ", numbers.choice(_PIECES), b"\n"]
    return b"".join(parts)


@pytest.mark.parametrize("by", ["hyperscan", "re2"])
@pytest.mark.parametrize("seed", range(8))
def test_chunks_make_no_difference(by: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _long(seed)
    whole = hits(data, by)
    assert whole
    looking = scanner(by)
    monkeypatch.setattr(looking, "window", 5_000)
    for size in (1_000, 4_096, 70_000):
        chunks = [data[n : n + size] for n in range(0, len(data), size)]
        assert list(looking.scan(chunks)) == whole


def test_edges_of_windows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 looks at windows: a secret over an edge is found, and once."""
    window = _Re2._WINDOW
    for token in (*TOKENS.values(), *(text for text, _, _ in BESIDE)):
        for before in (1, 5, 20, 40):
            data = b"x " * (window // 2 - before) + token.encode() + b" x" * window
            assert hits(data, "re2") == hits(data, "hyperscan") != []


def test_nothing_goes_over_a_hole() -> None:
    token = TOKENS["github-token"].encode()
    stream = Stream(scanner())
    found = stream.feed(0, b" " + token[:20])
    found += stream.feed(4096, token[20:])
    found += stream.feed(8192, b" " + token + b" ")
    found += stream.finish()
    assert [hit.offset for hit in found] == [8193]


def test_memory_is_bounded() -> None:
    stream = Stream(scanner("hyperscan"))
    for n in range(40):
        stream.feed(n << 20, b"A" * (1 << 20))
        assert stream._held < 4 << 20
    assert stream.finish() == []


def test_no_literal_hides_another() -> None:
    text = "xapp" + TOKENS["private-key"]
    for by in ("hyperscan", "re2"):
        assert [hit.kind for hit in hits(text, by)] == ["private-key"]


def test_hostile_bytes_take_no_square_of_time() -> None:
    """Beginnings without an end, a thousand times a page."""
    for piece in (
        b"-----BEGIN A PRIVATE KEY-----",
        b"a.eyJaaaaaa",
        b"://a:b@",
        b"token=\\",
        b"sk-A***",
    ):
        data = piece * (200_000 // len(piece))
        assert isinstance(hits(data), list)


def test_a_key_tells_digests_apart() -> None:
    text = b"API_KEY=not-a-real-key-0001"
    one = scanners.Scanner(bytes(32)).scan_bytes(text)
    other = scanners.Scanner(bytes(31) + b"1").scan_bytes(text)
    assert one[0].digest != other[0].digest
    assert isinstance(one[0], Hit)
