"""The canonical form: the same for all spellings of a document, and another one for any other.

Two naive oracles stand here, written without the code under test: whether two trees are the same,
and the canonical form as `docs/canonical-json.md` has it. A digest that two different rows share is
the worst: a comparison then calls them equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from axnb.ax.canonical import canonical, canonical_digest
from axnb.ax.json_text import PayloadError

PAGE = Path(__file__).parents[2] / "docs" / "canonical-json.md"


# --- the page ------------------------------------------------------------------------------------


def rows_of(column: str) -> list[tuple[str, str]]:
    """The rows of the table on the page whose second column has this heading."""
    _, table = PAGE.read_text(encoding="utf-8").split(f"| document | {column} |\n|---|---|\n")
    lines = table.split("\n\n")[0].splitlines()
    found = [re.fullmatch(r"\| `(.+)` \| (.+) \|", line) for line in lines]
    assert found
    assert None not in found
    return [(row[1], row[2].strip("`")) for row in found if row]


@pytest.mark.parametrize(("document", "form"), rows_of("canonical form"))
def test_the_examples_of_the_page_hold(document: str, form: str) -> None:
    """The canonical form, which is its own canonical form."""
    assert canonical(document) == form
    assert canonical(form) == form


@pytest.mark.parametrize(("document", "octets"), rows_of("canonical form, bytes"))
def test_the_texts_of_the_page_hold(document: str, octets: str) -> None:
    """As a value and as a key."""
    written = bytes.fromhex(octets)
    assert canonical(document).encode() == written
    assert canonical(f"{{{document}:0}}").encode() == b"{" + written + b":0}"


@pytest.mark.parametrize("document", [document for document, _ in rows_of("because")])
@pytest.mark.parametrize("function", [canonical, canonical_digest])
def test_what_the_page_refuses_is_refused(function: Callable[[str], Any], document: str) -> None:
    """Alone and inside of another document."""
    for payload in (document, f'{{"x":[1,{document}]}}'):
        with pytest.raises(PayloadError):
            function(payload)


@pytest.mark.parametrize(("document", "digest"), rows_of("SHA-256 of the canonical form"))
def test_the_digests_of_the_page_hold(document: str, digest: str) -> None:
    """Computed by another program."""
    assert canonical_digest(document).hex() == digest


def test_the_page_shows_two_spellings_of_one_document() -> None:
    """Else it would not show what a digest is for."""
    digests = [digest for _, digest in rows_of("SHA-256 of the canonical form")]
    assert len(set(digests)) < len(digests)


# --- trees, and two oracles ----------------------------------------------------------------------


def same(one: Any, other: Any) -> bool:
    """Do two trees say the same? Numbers are Decimals, of equal value and equal sign."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one == other and one.is_signed() == other.is_signed()
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other


def by_the_page(tree: Any) -> str:
    """The canonical form of a tree, rule by rule."""
    if isinstance(tree, dict):
        names = sorted(tree, key=str.encode)
        return "{" + ",".join(f"{by_the_page(n)}:{by_the_page(tree[n])}" for n in names) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(by_the_page, tree)) + "]"
    if isinstance(tree, str):
        return '"' + "".join(map(escaped, tree)) + '"'
    if isinstance(tree, Decimal):
        sign, digits, power = tree.as_tuple()
        assert isinstance(power, int)
        coefficient = int("".join(map(str, digits)))
        while coefficient and coefficient % 10 == 0:
            coefficient, power = coefficient // 10, power + 1
        exponent = f"e{power}" if coefficient and power else ""
        return f"{'-' if sign else ''}{coefficient}{exponent}"
    return {None: "null", True: "true", False: "false"}[tree]


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def escaped(character: str) -> str:
    """A character as it stands in a canonical text."""
    plain = character if ord(character) > 0x1F else f"\\u00{ord(character):02x}"
    return SHORT.get(character, plain)


# Few different characters, so that keys begin each other and meet in other escapes.
CHARACTERS = st.one_of(
    st.sampled_from('ab/"\\\0\b\t\n\f\r\x1f\x7fé\u0301\u2028\ufeff\uff21\uffff😀\U0010ffff'),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.text(CHARACTERS, max_size=6)
DECIMALS = st.builds(
    lambda sign, digits, power: Decimal((sign, tuple(map(int, str(digits))), power)),
    st.integers(0, 1),
    st.one_of(st.sampled_from([0, 1, 10, 100, 2**53, 2**53 + 1]), st.integers(0, 10**40)),
    st.one_of(st.integers(-5, 5), st.integers(-(10**15), 10**15)),
)
SCALARS = st.one_of(st.none(), st.booleans(), DECIMALS, TEXTS)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
RANDOMS = st.randoms(use_true_random=False)


# --- spellings -----------------------------------------------------------------------------------


def spell(tree: Any, random: Random) -> str:
    """Write a tree in one of its many spellings."""
    if isinstance(tree, dict):
        members = list(tree.items())
        random.shuffle(members)
        text = ",".join(f"{spell(name, random)}:{spell(value, random)}" for name, value in members)
        text = f"{{{text}{space(random)}}}"
    elif isinstance(tree, list):
        text = f"[{','.join(spell(value, random) for value in tree)}{space(random)}]"
    elif isinstance(tree, str):
        text = '"' + "".join(spell_character(character, random) for character in tree) + '"'
    elif isinstance(tree, Decimal):
        text = spell_number(tree, random)
    else:
        text = json.dumps(tree)
    return f"{space(random)}{text}{space(random)}"


def space(random: Random) -> str:
    """JSON's white space, mostly none."""
    return "".join(random.choices(" \t\n\r", k=random.choice([0, 0, 1, 2])))


def spell_character(character: str, random: Random) -> str:
    """A character as it is where it may be, as a short escape, or as one or two \\u escapes."""
    units = character.encode("utf-16-be").hex()
    codes = [units[n : n + 4] for n in range(0, len(units), 4)]
    ways = ["".join(f"\\u{random.choice([code, code.upper()])}" for code in codes)]
    ways += [SHORT[character]] if character in SHORT else []
    ways += ["\\/"] if character == "/" else []
    ways += [character] if character not in '"\\' and character > "\x1f" else []
    return random.choice(ways)


def spell_number(number: Decimal, random: Random) -> str:
    """The digits with more zeros, the point anywhere among them, and an exponent that makes up."""
    sign, digits, power = number.as_tuple()
    assert isinstance(power, int)
    if not any(digits):
        # Any exponent will do.
        power = random.randint(-(10**25), 10**25)
    zeros = random.randrange(4)
    text = "".join(map(str, digits)) + "0" * zeros
    power -= zeros
    shift = random.randrange(len(text) + 3)
    text = text.zfill(shift + 1)
    power += shift
    whole, fraction = text[: len(text) - shift].lstrip("0") or "0", text[len(text) - shift :]
    exponent = "" if power == 0 and random.random() < 0.5 else spell_exponent(power, random)
    return f"{'-' if sign else ''}{whole}{'.' if fraction else ''}{fraction}{exponent}"


def spell_exponent(power: int, random: Random) -> str:
    """An exponent: upper or lower case, with a plus or none, with leading zeros."""
    sign = "-" if power < 0 else random.choice(["", "+"])
    if power == 0:
        sign = random.choice(["", "+", "-"])
    return f"{random.choice('eE')}{sign}{'0' * random.randrange(3)}{abs(power)}"


@settings(deadline=None, max_examples=150)
@given(TREES, RANDOMS)
@example(Decimal("-0"), Random(0))
@example(Decimal("1E+400"), Random(0))
@example({"😀": None, "\uff21": None}, Random(0))
def test_all_spellings_have_the_form_of_the_page(tree: Any, random: Random) -> None:
    """Other spaces, escapes, orders of members and spellings of numbers change nothing."""
    form = by_the_page(tree)
    for document in (spell(tree, random), spell(tree, random), form):
        assert canonical(document) == form
        assert canonical_digest(document) == hashlib.sha256(form.encode()).digest()


def test_the_spellings_differ() -> None:
    """Else the test above tests nothing."""
    random = Random(1)
    tree = {"a/b": [Decimal(100), Decimal("-0"), "é😀\n"], "c": None}
    documents = {spell(tree, random) for _ in range(50)}
    assert len(documents) == 50
    for sign in (" ", "\t", "\n", "\r", "\\/", "\\ud83d", "\\uD83D", "E", "e", "e+", ".", "é"):
        assert any(sign in document for document in documents), sign
    as_json = [json.loads(document) for document in documents]
    assert all(found == {"a/b": [100, 0, "é😀\n"], "c": None} for found in as_json)


# --- what differs --------------------------------------------------------------------------------


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all nodes of a tree."""
    yield path
    inner: Any = ()
    if isinstance(tree, dict):
        inner = tree.items()
    elif isinstance(tree, list):
        inner = enumerate(tree)
    for step, value in inner:
        yield from places(value, (*path, step))


def replaced(tree: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy of a tree in which the node at a path is changed."""
    if not path:
        return change(tree)
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], change)
    return copy


@st.composite
def near_misses(draw: st.DrawFn) -> tuple[Any, Any]:
    """A tree and one that differs from it in one place."""
    tree = draw(TREES)
    path = draw(st.sampled_from(list(places(tree))))
    other = draw(SCALARS)
    name = draw(TEXTS)

    def change(node: Any) -> Any:
        power: Any
        ways: list[Callable[[], Any]] = [lambda: other]
        if isinstance(node, Decimal):
            sign, digits, power = node.as_tuple()
            ways += [
                lambda: Decimal((1 - sign, digits, power)),
                lambda: Decimal((sign, digits, power + 1)),
                lambda: Decimal((sign, (*digits, 1), power - 1)),
                lambda: str(node),
            ]
        elif isinstance(node, str):
            ways += [lambda: node + "\0", lambda: node + name, lambda: node[1:], lambda: [node]]
        elif isinstance(node, list) and node:
            ways += [lambda: node[1:], lambda: node[::-1], lambda: [*node, None]]
        elif isinstance(node, dict) and node:
            first, *rest = node
            left = {key: node[key] for key in rest}
            ways += [
                lambda: left,
                lambda: {**left, name: node[first]},
                lambda: {**node, name: None},
            ]
        return draw(st.sampled_from(ways))()

    return tree, replaced(tree, path, change)


@settings(deadline=None, max_examples=150)
@given(near_misses(), RANDOMS)
@example(([Decimal(0)], [Decimal("-0")]), Random(0))
@example(([Decimal(1)], [Decimal(-1)]), Random(0))
@example(([Decimal(2**53)], [Decimal(2**53 + 1)]), Random(0))
@example(([Decimal("1e400")], [Decimal("1e401")]), Random(0))
@example(([Decimal("1e-400")], [Decimal(0)]), Random(0))
@example(([Decimal(1)], ["1"]), Random(0))
@example(([Decimal(1)], [True]), Random(0))
@example(([None], ["null"]), Random(0))
@example(([None], []), Random(0))
@example(({"a": None}, {}), Random(0))
@example((["é"], ["e\u0301"]), Random(0))
@example((["a", "b"], ["b", "a"]), Random(0))
@example((["a", "b"], ["a,b"]), Random(0))
@example(([[], []], [[[]]]), Random(0))
def test_one_change_makes_another_digest(pair: tuple[Any, Any], random: Random) -> None:
    """A value, a key, the order of a list, a member less, a sign of zero."""
    one, other = pair
    assume(not same(one, other))
    assert canonical_digest(spell(one, random)) != canonical_digest(spell(other, random))


#: So few that equal trees are met as well.
SMALL_TREES = st.recursive(
    st.one_of(
        st.sampled_from([None, True, False, "", "0", *map(Decimal, ("0", "-0", "0e5", "1", "10"))]),
        st.sampled_from([*map(Decimal, ("1.0", "1e1", "-1", "1e-1", "0.10"))]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["", "a"]), inner, max_size=2)
    ),
    max_leaves=3,
)


@settings(deadline=None, max_examples=150)
@given(SMALL_TREES, SMALL_TREES, RANDOMS)
def test_digests_are_equal_exactly_where_trees_are(one: Any, other: Any, random: Random) -> None:
    """Agreement with a comparison that knows nothing of canonical forms."""
    digests = canonical_digest(spell(one, random)), canonical_digest(spell(other, random))
    assert (digests[0] == digests[1]) == same(one, other)


@settings(deadline=None, max_examples=150)
@given(st.text(st.sampled_from('{}[]:,"\\u0ad8e+-. \n\ud800\udc00😀tn'), max_size=20))
@example("\ud83d\ude00")
@example('"\ud83d\ude00"')
@example('"\ud83d\\ude00"')
@example('{"\udfff":1}')
def test_any_text_has_a_form_or_is_refused(text: str) -> None:
    """In one class of error, also where the text is none: a lone surrogate has no UTF-8."""
    try:
        form = canonical(text)
    except PayloadError:
        with pytest.raises(PayloadError):
            canonical_digest(text)
    else:
        assert canonical(form) == form
        assert canonical_digest(text) == hashlib.sha256(form.encode()).digest()


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ('{"sekret":1,"sekret":2}', "duplicate key"),
        ('{"sekret":1,"sekre\\u0074":1}', "duplicate key"),
        ('[{"a":[{"sekret":null,"b":{},"sekret":null}]}]', "duplicate key"),
        ('{"sekret":1e}', "not JSON"),
        ('{"sekret":1e+ }', "not JSON"),
        ('{"sekret":tru}', "not JSON"),
        ('{"sekret":"\\udead"}', "lone surrogate"),
        ('{"sekret":"\udead"}', "lone surrogate"),
        ('{"sekret":1}sekret', "text after the end"),
        ('{"sekret":"sek', "ends too early"),
        ("", "empty payload"),
    ],
)
def test_a_refusal_names_its_class_and_no_piece_of_the_payload(payload: str, reason: str) -> None:
    """The payload may be a secret."""
    with pytest.raises(PayloadError) as refused:
        canonical(payload)
    assert refused.value.reason == reason
    assert "sek" not in str(refused.value)


def test_equal_keys_in_different_objects_are_no_duplicates() -> None:
    """Side by side, and one in the other."""
    document = '[{"a":{"a":1}},{"a":1}]'
    assert canonical(document) == document


# --- size and depth ------------------------------------------------------------------------------


def test_depth_is_no_limit() -> None:
    """Far below where Python or C would run out of stack."""
    depth = 100_000
    lists = "[" * depth + "]" * depth
    assert canonical(f" {lists}") == lists
    objects = '{"a":' * depth + "[1e0,2]" + "}" * depth
    assert canonical(objects) == objects.replace("1e0", "1")
    with pytest.raises(PayloadError, match="duplicate key"):
        canonical("[" * depth + '{"a":1,"a":1}' + "]" * depth)


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("number", "form"),
    [
        ("1e999999999", "1e999999999"),
        ("1e-999999999", "1e-999999999"),
        ("10e" + "9" * MILLION, "1e1" + "0" * MILLION),
        ("0.1e-1" + "0" * MILLION, "1e-1" + "0" * (MILLION - 1) + "1"),
        ("0e" + "9" * MILLION, "0"),
        ("1e" + "0" * MILLION + "2", "1e2"),
        ("9" * MILLION, "9" * MILLION),
        ("1" + "0" * MILLION, f"1e{MILLION}"),
        ("1." + "0" * MILLION, "1"),
        ("0." + "0" * MILLION + "1", f"1e-{MILLION + 1}"),
        ("-0." + "0" * MILLION, "-0"),
    ],
    ids=lambda text: f"{text[:12]} {len(text)}",
)
def test_long_numbers_cost_no_more_than_their_text(number: str, form: str) -> None:
    """A power is never written out, and no step takes longer than in proportion."""
    started = time.process_time()
    assert canonical(f"[{number}]") == f"[{form}]"
    assert time.process_time() - started < 2


@pytest.mark.slow
def test_many_small_payloads_take_seconds() -> None:
    """100,000 rows of 600 bytes; about 2 seconds of processor time on a small machine."""
    arguments = {"order": "order-7", "amount": 9.5, "items": [1, 20, None, True], "note": "é" * 350}
    call = {"id": "call_1", "function_call": {"name": "charge_card", "arguments": arguments}}
    row = {"state": "STATE_PENDING", "conversation_id": "c1", "steps": [{"tool_call": call}]}
    payload = json.dumps(row, ensure_ascii=False)
    assert len(payload) > 550
    started = time.process_time()
    for _ in range(100_000):
        canonical_digest(payload)
    assert time.process_time() - started < 20
