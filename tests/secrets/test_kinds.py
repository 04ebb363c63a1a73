"""What is a secret, what is none, and that both engines say the same."""

from __future__ import annotations

import json

import pytest

from axnb.errors import UsageError
from axnb.secrets.engines import engine
from axnb.secrets.listing import covered
from axnb.secrets.patterns import TOKENS as KINDS
from axnb.settings import Secrets
from tests.secrets import made
from tests.secrets.made import BESIDE, ENGINES, NONE, TOKENS, hits, letters, value

pytestmark = pytest.mark.parametrize("by", ENGINES)


@pytest.fixture(autouse=True)
def _is_here(by: str) -> None:
    try:
        engine(by)
    except UsageError:
        pytest.skip("hyperscan is not installed")


def test_every_kind_has_an_example(by: str) -> None:
    assert {kind.name for kind in KINDS} | {"json-web-token"} == set(TOKENS)
    told = {kind["name"] for kind in covered(Secrets())["kinds"]}
    assert told == set(TOKENS) | {kind for _, kind, _ in BESIDE}


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_found_wherever_it_stands(by: str, kind: str) -> None:
    token = TOKENS[kind]
    in_json = json.dumps({"a": f"x\n{token} y"})
    texts = [
        f"see {token}.",
        f"\0\0{token}\0",
        in_json,
        json.dumps({"text": in_json}),
        f"SOME_NAME={token}",
        f"SOME_API_KEY={token}",
    ]
    digests = set()
    for text in texts:
        (hit,) = hits(text, by)
        assert (hit.kind, hit.is_partial) == (kind, False)
        digests.add(hit.digest)
    assert len(digests) == 1


@pytest.mark.parametrize(("text", "kind", "secret"), BESIDE, ids=lambda text: text[:24])
def test_a_secret_is_known_by_what_stands_beside_it(
    by: str, text: str, kind: str, secret: str
) -> None:
    (hit,) = hits(text, by)
    assert (hit.kind, value(text, hit), hit.is_partial) == (kind, secret, False)


@pytest.mark.parametrize("text", NONE, ids=lambda text: text[:24])
def test_what_is_no_secret(by: str, text: str) -> None:
    assert hits(text, by) == []


def test_what_is_excluded_can_be_had(by: str) -> None:
    """CX-04: visibly excluded, and found again where somebody wants it."""
    for text in NONE[-5:]:
        assert len(hits(text, by, include_excluded=True)) == 1


def test_one_key_among_signatures_and_digests(by: str) -> None:
    """CX-04."""
    import base64
    import hashlib
    import random
    import uuid

    numbers = random.Random(5)
    noise = [
        *(
            {"thought": {"signature": base64.b64encode(numbers.randbytes(400)).decode()}}
            for _ in range(200)
        ),
        *({"sha256": hashlib.sha256(bytes([n])).hexdigest()} for n in range(50)),
        *({"id": str(uuid.UUID(bytes=numbers.randbytes(16)))} for _ in range(50)),
        {"image": {"data": base64.b64encode(numbers.randbytes(300_000)).decode()}},
    ]
    text = "\n".join(map(json.dumps, noise))
    assert hits(text, by) == []
    (hit,) = hits(text + TOKENS["anthropic-key"], by)
    assert hit.kind == "anthropic-key"


@pytest.mark.parametrize(
    "masked", ["sk-AB***********YZ", "sk-proj-ab12•••••wxyz", "AIzaSyAb…wXyZ1234", "ghp_ab12****"]
)
def test_a_token_that_is_masked_in_the_middle(by: str, masked: str) -> None:
    """CX-01."""
    text = json.dumps({"text": f"Incorrect API key provided: {masked}."})
    (hit,) = hits(text, by)
    assert hit.is_partial
    (raw,) = hits(f"provided: {masked}.", by)
    assert raw.digest == hit.digest


def test_a_named_value_that_is_masked_in_the_middle(by: str) -> None:
    assert [hit.is_partial for hit in hits('{"api_key":"abcd******wxyz"}', by)] == [True]
    assert hits('{"api_key":"a*********z"}', by) == []


@pytest.mark.parametrize(
    "secret",
    [
        letters(24),
        "ab+cd/ef0123456789ghijk=",
        "ab-cd_ef0123456789ghijkl",
        "ab%2Bcd%2Fef0123456789%3D",
        "ab/cd/ef/0123456789/ghij",
    ],
)
def test_all_of_the_alphabet(by: str, secret: str) -> None:
    """CX-03: the same secret in every form has one digest."""
    once = json.dumps({"password": secret}).replace("/", r"\/")
    texts = [
        f"APP_PASSWORD={secret}",
        f"A=1\0APP_PASSWORD={secret}\0B=2",
        f'{{"password":"{secret}"}}',
        once,
        json.dumps({"text": once}),
        json.dumps({"text": f"APP_PASSWORD={secret}\nNEXT=1"}),
    ]
    found = [hits(text, by) for text in texts]
    assert [[hit.kind for hit in one] for one in found] == [["named-secret"]] * len(texts)
    assert len({one[0].digest for one in found}) == 1


def test_patterns_of_an_operator(by: str) -> None:
    """CX-03: one's own kind of token; it goes before what axnb would call it."""
    own = {"house-token": "mytok_[0-9a-f]{8}"}
    (hit,) = hits("TOKEN=mytok_0123abcd", by, patterns=own)
    assert (hit.kind, hit.name) == ("house-token", "TOKEN")
    assert [hit.offset for hit in hits("a mytok_0123abcd mytok_0123abcd", by, patterns=own)] == [
        2,
        17,
    ]


def test_addresses(by: str) -> None:
    """CX-06."""
    text = "postgres://u:p%40ss@h/db?sslpassword=x&options=y"
    assert [(hit.kind, value(text, hit)) for hit in hits(text, by)] == [
        ("url-password", "p%40ss"),
        ("url-secret", "x"),
    ]
    text = f"git clone https://x-access-token:{TOKENS['github-token']}@github.com/a/b"
    assert [hit.kind for hit in hits(text, by)] == ["github-token"]
    escaped, plain = hits("postgres://u:p%40ss@h", by), hits("APP_PASSWORD=p@ss-1", by)
    assert escaped[0].digest != plain[0].digest
    assert hits("postgres://u:p%40ss-1@h", by)[0].digest == plain[0].digest


def test_a_hit_holds_no_value(by: str) -> None:
    for token in TOKENS.values():
        (hit,) = hits(f"API_KEY={token}", by)
        assert token not in repr(hit)
        assert made.KEY.hex() not in repr(hit)
