"""One row in the words of another generation: what is kept, what is lost, what is left alone."""

# Rows as AX writes them are long.
# ruff: noqa: E501

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.ax import protojson, rows, schemas
from axnb.ax.canonical import canonical
from axnb.ax.conversion import Conversion, Naming, Way, convert, convert_carefully
from axnb.ax.json_text import parse
from axnb.ax.rows import READS_SHAPE, STATES
from axnb.ax.versions import GENERATIONS
from axnb.errors import UsageError
from axnb.text import is_text
from tests.evidence.odd_rows import payload

G5B, G6, G7, G8 = (GENERATIONS[name] for name in ("G5b", "G6", "G7", "G8"))
#: Values that a JSON library would spell anew.
ODD = r'{"z":-0,"a":1.0,"n":9007199254740993,"e":1e3,"t":"\u00e9\/\ud83d\ude00","d":[{}, [ ]]}'


def said(text: str, column: str) -> rows.Row:
    """What a row says to a server of its own generation."""
    shape = rows.shape(parse(text), column)
    return rows.read(text, GENERATIONS[READS_SHAPE[shape]])


def message(content: str, role: str = "user", more: str = "") -> str:
    """A row of G6."""
    held = f'{{"role":"{role}","content":{content}{more}}}'
    return f'{{"conversation_id":"c","step":3,"messages":[{held}],"state":"STATE_PENDING"}}'


def step(content: str) -> str:
    """A row of G8."""
    return f'{{"conversation_id":"c","steps":[{content}],"state":"STATE_PENDING"}}'


# --- one and the same content in both forms ------------------------------------------------------

PAIRS = [
    (message('{"text":{"text":"hi"}}'), step('{"content":{"role":"user","content":[{"text":{"text":"hi"}}]}}')),
    (message('{"text":{}}'), step('{"content":{"role":"user","content":[{"text":{}}]}}')),
    (message('{"image":{"uri":"u","mime_type":"TYPE_PNG"}}'), step('{"content":{"role":"user","content":[{"image":{"uri":"u","mime_type":"TYPE_PNG"}}]}}')),
    (message('{"confirmation":{"id":"q","decline":{"declined":true}}}'), step('{"content":{"role":"user","content":[{"confirmation":{"id":"q","decline":{"declined":true}}}]}}')),
    (message('{"thought":{"signature":"AQL/","summary":[{"text":{"text":"a"}},{"text":{}}]}}', "model"), step('{"thought":{"signature":"AQL/","summary":[{"text":{"text":"a"}},{"text":{}}]}}')),
    (message('{"tool_call":{"id":"1","signature":"AQ==","function_call":{"name":"t","arguments":' + ODD + "}}}", "model"), step('{"tool_call":{"id":"1","signature":"AQ==","function_call":{"name":"t","arguments":' + ODD + "}}}")),
    (message('{"tool_result":{"call_id":"1","function_result":{"name":"t","response":' + ODD + "}}}"), step('{"tool_result":{"call_id":"1","function_result":{"name":"t","result":{"struct_value":' + ODD + "}}}}")),
    (message('{"tool_result":{"call_id":"1","function_result":{"name":"t"}}}'), step('{"tool_result":{"call_id":"1","function_result":{"name":"t"}}}')),
    (message('{"hologram":{"a":1}}'), step('{"content":{"role":"user","content":[{"hologram":{"a":1}}]}}')),
    (message('{"text":{"text":"x"}}', more=',"new_flag":true'), step('{"content":{"role":"user","content":[{"text":{"text":"x"}}]},"new_flag":true}')),
    ('{"conversation_id":"c","step":3,"state":"STATE_COMPLETED"}', '{"conversation_id":"c","state":"STATE_COMPLETED"}'),
    ('{"conversation_id":"c","step":3,"exec_id":"e","harness_id":"h","harness_config":' + ODD + ',"new":[1, 2],"state":"STATE_PENDING"}', '{"conversation_id":"c","interaction_id":"e","agent_id":"h","agent_config":' + ODD + ',"new":[1, 2],"state":"STATE_PENDING"}'),
]  # fmt: skip


@pytest.mark.parametrize(("as_message", "as_step"), PAIRS)
def test_messages_and_steps_say_the_same(as_message: str, as_step: str) -> None:
    there, back = convert(as_message, "step", 3, G8), convert(as_step, "step", 3, G6)
    told = {"shape": "", "state": 0, "owns": False}
    assert there._replace(**told) == Conversion(as_step)
    assert back._replace(**told) == Conversion(as_message)
    assert there.owns == back.owns == ("harness_id" in as_message)


def test_a_row_of_the_target_keeps_its_bytes() -> None:
    for text in (PAIRS[0][0].replace(",", ", "), PAIRS[5][0]):
        assert convert(text, "step", 3, G6).text == text
    assert convert(PAIRS[5][1], "step", 3, G8).text == PAIRS[5][1]


@pytest.mark.parametrize(("as_message", "_"), PAIRS)
def test_the_number_of_a_row_has_another_name(as_message: str, _: str) -> None:
    earlier = as_message.replace('"step"', '"seq"')
    if "exec_id" in as_message:
        assert rows.shape(parse(earlier), "seq") == "G5"
    assert convert(earlier, "seq", 3, G6).text == as_message
    assert convert(as_message, "step", 3, G5B).text == earlier


def test_the_number_of_the_key_wins() -> None:
    found = convert('{"conversation_id":"c","seq":"7","state":"STATE_PENDING"}', "seq", 3, G6)
    assert found.text == '{"conversation_id":"c","step":3,"state":"STATE_PENDING"}'
    assert found.renumbered
    found = convert('{"conversation_id":"c","messages":[],"state":3}', "seq", 2, G5B)
    assert found.text == '{"conversation_id":"c","seq":2,"messages":[],"state":3}'
    assert found.renumbered
    assert not convert('{"conversation_id":"c","state":3}', "step", 2, G6).renumbered


def test_camel_case_is_understood() -> None:
    text = (
        '{"conversationId":"c","seq":3,"harnessId":"h","harnessConfig":{"a":1.0},"messages":[{"role"'
        ':"user","content":{"toolResult":{"callId":"x","functionResult":{"name":"t","response":{}}}}}]}'
    )
    found = convert(text, "seq", 3, G8)
    assert found.losses == ()
    assert found.text == (
        '{"conversation_id":"c","agent_id":"h","agent_config":{"a":1.0},"steps":[{"tool_result":'
        '{"call_id":"x","function_result":{"name":"t","result":{"struct_value":{}}}}}]}'
    )


# --- losses --------------------------------------------------------------------------------------

_RESULT = '{"tool_result":{"call_id":"1","function_result":{"name":"t",%s}}}'
_LOST_RESULT = "steps[].tool_result.function_result"

LOSSES = [
    (G6, step('{"content":{}}'), ["steps[].content"], "[{}]"),
    (G6, step('{"description":"d","content":{"role":"user","content":[]}}'), ["steps[].content.content", "steps[].description"], '[{"role":"user"}]'),
    (G6, step('{"index":"7","content":{"role":"a","content":[{"text":{}},{"image":{}}]}}'), ["steps[].content.content", "steps[].index"], '[{"role":"a","content":{"text":{}}},{"role":"a","content":{"image":{}}}]'),
    (G6, step(_RESULT % '"is_error":true,"result":{"struct_value":{"a":1}}'), [f"{_LOST_RESULT}.is_error"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t","response":{"a":1}}}}}]'),
    (G6, step(_RESULT % '"result":{"string_value":"\\u00e9"}'), [f"{_LOST_RESULT}.result.string_value"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t","response":{"result":"\\u00e9"}}}}}]'),
    (G6, step(_RESULT % '"result":{"number_value":"-0.0"}'), [f"{_LOST_RESULT}.result.number_value"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t","response":{"result":-0.0}}}}}]'),
    (G6, step(_RESULT % '"result":{"null_value":null}'), [f"{_LOST_RESULT}.result.null_value"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t","response":{"result":null}}}}}]'),
    (G6, step(_RESULT % '"result":{"list_value":{"values":[{"struct_value":{"x":1.0}},{"bool_value":true},{}]}}'), [f"{_LOST_RESULT}.result.list_value"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t","response":{"result":[{"x":1.0},true,null]}}}}}]'),
    (G6, step(_RESULT % '"result":{}'), [f"{_LOST_RESULT}.result"], '[{"role":"user","content":{"tool_result":{"call_id":"1","function_result":{"name":"t"}}}}]'),
    (G6, step('{"thought":{"summary":[{"image":{"uri":"u"}},{"text":{"text":"t"}}]}}'), ["steps[].thought.summary[].image"], '[{"role":"model","content":{"thought":{"summary":[{},{"text":{"text":"t"}}]}}}]'),
    (G6, step('{"content":{"role":"u","content":[{"text":{},"thought":{}}],"odd":1}}'), ["steps[].content.content[].thought", "steps[].content.odd"], '[{"role":"u","content":{"text":{}}}]'),
    (G6, step('{"role":"u","thought":{}}'), ["steps[].role"], '[{"role":"model","content":{"thought":{}}}]'),
    (G8, message('{"thought":{"summary":[]}}', "assistant"), ["messages[].role"], '[{"thought":{"summary":[]}}]'),
    (G8, message('{"tool_call":{"id":"1"},"odd":1}', "model"), ["messages[].content.odd"], '[{"tool_call":{"id":"1"}}]'),
    (G8, message('{"tool_result":{"function_result":{"name":"t","is_error":true}}}'), ["messages[].content.tool_result.function_result.is_error"], '[{"tool_result":{"function_result":{"name":"t"}}}]'),
    (G8, message('{"text":{}}', more=',"description":"d"'), ["messages[].description"], '[{"content":{"role":"user","content":[{"text":{}}]}}]'),
    (G8, message('{"thought":{"summary":[{"image":{}}]}}', "model"), ["messages[].content.thought.summary[].image"], '[{"thought":{"summary":[{}]}}]'),
]  # fmt: skip


@pytest.mark.parametrize(("target", "text", "losses", "content"), LOSSES)
def test_what_has_no_place_is_named(
    target: Any, text: str, losses: list[str], content: str
) -> None:
    found = convert(text, "step", 3, target)
    assert sorted(found.losses) == losses
    assert f'"{target.content_key}":{content},' in found.text


def test_what_the_target_would_begin_to_read_is_dropped_and_named() -> None:
    """A row that names both families is what its own keys say; AX discards the rest."""
    text = '{"conversation_id":"c","agent_id":"a","messages":[{}],"exec_id":"e","keep":1,"state":1}'
    found = convert(text, "step", 4, G6)
    assert sorted(found.losses) == ["exec_id", "messages"]
    assert found.text == '{"conversation_id":"c","step":4,"harness_id":"a","keep":1,"state":1}'
    assert convert(text, "step", 4, G8).text == text


def test_internal_only_of_g3_has_no_place_later() -> None:
    text = (
        '{"conversation_id":"c","seq":1,"exec_id":"e","messages":[{"role":"user","content":{"text":{}}'
        ',"internal_only":true}],"state":"STATE_PENDING"}'
    )
    for target in (G5B, G6, G8):
        found = convert(text, "seq", 1, target)
        assert found.losses == ("messages[].internal_only",)
        assert "internal" not in found.text


@pytest.mark.parametrize(
    ("config", "inner"),
    [
        ("eyJhIjogMS4wfQ==", '{"a": 1.0}'),
        ("aGk=", None),
        ("W10=", None),
        ("eyJhIjoxLCJhIjoyfQ", None),
    ],
)
def test_a_configuration_in_base64_becomes_the_object_in_it(config: str, inner: str | None) -> None:
    text = (
        f'{{"conversation_id":"c","seq":1,"exec_id":"e","harness_id":"h","harness_config":"{config}",'
        '"state":"STATE_PENDING"}'
    )
    found = convert(text, "seq", 1, G8)
    assert found.losses == (() if inner else ("harness_config",))
    assert rows.read(found.text, G8).config == (inner and inner.replace(" ", ""))
    assert inner is None or inner in found.text


# --- owners --------------------------------------------------------------------------------------


def _g5(content: str, owner: str = "", state: str = "STATE_PENDING") -> str:
    named = f',"harness_id":"{owner}"' if owner else ""
    return f'{{"conversation_id":"c","seq":1{named}{content},"state":"{state}"}}'


_HI = ',"messages":[{"role":"user","content":{"text":{"text":"hi"}}}]'
_RESULT_ROW = ',"messages":[{"role":"user","content":{"tool_result":{"call_id":"x"}}}]'
_SAID = ',"messages":[{"role":"assistant","content":{"text":{"text":"hi"}}}]'


@pytest.mark.parametrize("target", [G5B, G6, G8], ids=lambda g: g.name)
@pytest.mark.parametrize(
    ("text", "always", "owner"),
    [
        (_g5(_HI), False, "h"),
        (_g5(_HI, "drill"), True, "drill"),
        (_g5(_RESULT_ROW), False, ""),
        (_g5(_SAID), False, ""),
        (_g5(_SAID), True, "h"),
        (_g5(""), False, "h"),
        (_g5("", state="STATE_COMPLETED"), False, ""),
        (_g5(_HI).replace('"state"', '"harness_id":"","state"'), False, "h"),
    ],
)
def test_an_input_row_names_the_owner(text: str, always: bool, owner: str, target: Any) -> None:
    for way in (convert, convert_carefully):
        found = way(text, "seq", 1, target, Naming("h", always))
        assert rows.read(found.text, target).owner == owner
        assert found.named == (owner == "h")


def test_servers_that_name_their_default_are_believed() -> None:
    text = message('{"text":{}}')
    assert convert(text, "step", 3, G8, Naming("h", True)).text == convert(text, "step", 3, G8).text


# --- rows that stay as they are ------------------------------------------------------------------

HOSTILE = [
    message('{"text":{"text":"a"},"text":{"text":"b"}}'),
    message('{"text":{"text":"a"},"thought":{}}'),
    message('{"text":{"text":"\\ud800"}}'),
    message('{"tool_call":{"function_call":{"name":"t","arguments":{"a":1,"a":2}}}}', "model"),
    message('{"tool_call":{"function_call":{"name":"t","arguments":{"a":1e999}}}}', "model"),
    message('{"thought":{"signature":"%%%"}}', "model"),
    message('{"text":{}}').replace('"step":3', '"step":3,"step":3'),
    message('{"text":{}}').replace("[", "{").replace("]", "}"),
    message('{"text":{}}') + "x",
    message('{"text":{}}')[:-1],
    "",
    "[]",
    '"text"',
    "null",
]


@pytest.mark.parametrize("target", [G5B, G6, G7, G8], ids=lambda g: g.name)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_its_own_server_cannot_read_is_left_alone(text: str, target: Any) -> None:
    found = convert(text, "step", 3, target)
    assert found.reason
    assert found.text == text


def test_a_row_that_would_only_look_readable_is_named_as_lost() -> None:
    """G8 does not look into messages: it would read the row as one without content."""
    assert convert(HOSTILE[0], "step", 3, G8).losses == ("messages",)
    assert convert(HOSTILE[0], "step", 3, G5B).losses == ()


def test_a_row_that_the_target_cannot_number_is_left_alone() -> None:
    found = convert('{"conversation_id":"c","state":1}', "step", 2**31, G6)
    assert found.reason == "not as G6: number out of range"


@pytest.mark.parametrize("depth", [400, 5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_depth_is_no_crash(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    call = f'{{"tool_call":{{"function_call":{{"name":"t","arguments":{{"a":{nested}}}}}}}}}'
    found = convert(message(call, "model"), "step", 3, G8)
    assert bool(found.reason) == (depth > 10_000)
    assert nested in found.text
    value = '{"list_value":{"values":[' * depth + "]}}" * depth
    deep = convert(step(_RESULT % f'"result":{value}'), "step", 3, G6)
    assert bool(deep.reason) == (depth > 400)


def test_no_log_goes_back_to_servers_without_names() -> None:
    with pytest.raises(UsageError, match=r"takes no log to G5; use one of G5b, G6, G7, G8"):
        convert("{}", "step", 1, GENERATIONS["G5"])


# --- generated rows ------------------------------------------------------------------------------

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_OBJECTS = st.dictionaries(_TEXTS, _JSON, max_size=3)
_SIGNED = st.fixed_dictionaries({}, optional={"signature": st.sampled_from(["", "AQL/", "AQ=="])})


def _body(id_: str, function: str, free: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    called = st.fixed_dictionaries({"name": _TEXTS}, optional={"free": free})
    return st.tuples(st.none() | _TEXTS, _SIGNED, called).map(
        lambda t: ({} if t[0] is None else {id_: t[0]}) | t[1] | {function: t[2]}
    )


def _renamed(value: dict[str, Any], function: str, free: str) -> dict[str, Any]:
    """The free object of a call under its own name."""
    inner = {free if key == "free" else key: v for key, v in value[function].items()}
    return value | {function: inner}


_TEXT_BODY = st.just({}) | _TEXTS.map(lambda text: {"text": text})
_THOUGHT = st.tuples(_SIGNED, st.lists(_TEXT_BODY.map(lambda b: {"text": b}), max_size=3)).map(
    lambda t: t[0] | {"summary": t[1]}
)
_CALL = _body("id", "function_call", _OBJECTS).map(
    lambda v: _renamed(v, "function_call", "arguments")
)
_RESPONSE = _body("call_id", "function_result", _OBJECTS)
_OLD = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant"]), _TEXT_BODY.map(lambda b: {"text": b})),
    st.tuples(st.sampled_from(["model", "assistant"]), _THOUGHT.map(lambda b: {"thought": b})),
    st.tuples(st.just("model"), _CALL.map(lambda b: {"tool_call": b})),
    st.tuples(
        st.just("user"),
        _RESPONSE.map(lambda b: {"tool_result": _renamed(b, "function_result", "response")}),
    ),
    st.tuples(st.just("user"), st.just({"document": {"uri": "u"}}) | st.just({})),
).map(lambda t: {"role": t[0], "content": t[1]})
_NEW = st.one_of(
    st.tuples(_TEXTS, st.lists(_TEXT_BODY.map(lambda b: {"text": b}), max_size=2)).map(
        lambda t: {"content": {"role": t[0], "content": t[1]}}
    ),
    _THOUGHT.map(lambda b: {"thought": b}),
    _CALL.map(lambda b: {"tool_call": b}),
    _body("call_id", "function_result", _OBJECTS.map(lambda o: {"struct_value": o})).map(
        lambda b: {"tool_result": _renamed(b, "function_result", "result")}
    ),
    st.just(
        {"tool_result": {"function_result": {"is_error": True, "result": {"bool_value": True}}}}
    ),
)
_STATE = st.sampled_from(["STATE_PENDING", "STATE_COMPLETED", "STATE_9", 3])
_SEPARATORS = st.sampled_from([(",", ":"), (", ", ":"), (" , ", ": ")])


def _written(event: dict[str, Any], how: tuple[tuple[str, str], bool]) -> str:
    return json.dumps(event, separators=how[0], ensure_ascii=how[1])


def _event(names: tuple[str, str, str], items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    turn, owner, key = names
    listed = st.lists(items, min_size=1, max_size=2) | items.map(lambda item: [item])
    optional = {turn: _TEXTS, f"{owner}_id": _TEXTS, f"{owner}_config": _OBJECTS, key: listed}
    return st.fixed_dictionaries({}, optional=optional | {"state": _STATE, "new": _JSON})


_OLD_EVENTS = st.tuples(
    st.sampled_from(["seq", "step"]), _event(("exec_id", "harness", "messages"), _OLD)
).map(lambda t: {"conversation_id": "c", t[0]: 3} | t[1])
_NEW_EVENTS = st.sampled_from(["harness", "agent"]).flatmap(
    lambda word: _event(("interaction_id", word, "steps"), _NEW).map(
        lambda event: {"conversation_id": "c"} | event
    )
)
ROWS = st.builds(_written, _OLD_EVENTS | _NEW_EVENTS, st.tuples(_SEPARATORS, st.booleans()))
TARGETS = st.sampled_from([G5B, G6, G7, G8])
NAMINGS = st.sampled_from([None, Naming("h", True), Naming("h", False)])


def test_the_fast_way_knows_every_state() -> None:
    for state in STATES:
        text = f'{{"conversation_id":"c","step":1,"state":"{state}"}}'
        found = Way("step", G8).convert(text.encode(), 1, None)
        assert found is not None
        assert found.state == STATES.index(state)
    text = '{"conversation_id":"c","step":1,"state":"STATE_LOST"}'
    assert Way("step", G8).convert(text.encode(), 1, None) is None


@settings(max_examples=150)
@given(ROWS, st.sampled_from(["seq", "step"]), st.sampled_from([3, 4]), TARGETS, NAMINGS)
def test_both_ways_give_the_same(
    text: str, column: str, number: int, target: Any, naming: Naming | None
) -> None:
    slow = convert_carefully(text, column, number, target, naming)
    fast = Way(column, target).convert(text.encode(), number, naming)
    if fast is None:
        return
    assert (slow.losses, slow.reason) == ((), "")
    assert fast[1:] == (slow.shape, *slow[4:])
    assert parse(fast.raw.decode()) == parse(slow.text)
    if ", " not in text:
        assert fast.raw.decode() == slow.text


@settings(max_examples=70)
@given(ROWS, TARGETS)
def test_a_row_says_the_same_but_for_its_losses(text: str, target: Any) -> None:
    column = "seq" if '"seq"' in text else "step"
    found = convert(text, column, 3, target)
    if found.reason:
        assert found.text == text
        return
    event = protojson.decode(parse(found.text), schemas.event(target))
    now, then = rows.from_event(event, target), said(text, column)
    if not found.losses:
        assert _alike(now) == _alike(then)
    assert (now.conversation_id, now.state, now.owner) == ("c", then.state, then.owner)


def _alike(row: rows.Row) -> Any:
    """What both forms of content can say."""
    roles = {"thought": "model", "tool_call": "model", "tool_result": "user"}
    parts = [
        (
            p.kind,
            roles.get(p.kind, p.role or ""),
            p.call_id,
            p.tool,
            p.value,
            p.is_error,
            p.decision,
        )
        for p in row.parts
    ]
    return parts, row.exec_id, row.config


@settings(max_examples=70)
@given(ROWS)
def test_the_way_there_and_back(text: str) -> None:
    old = rows.shape(parse(text), "step") in ("exec", "G5", "G6")
    there, back = (G8, G6) if old else (G6, G8)
    start = convert(text, "step", 3, back)
    if start.reason or start.losses:
        return
    away = convert(start.text, "step", 3, there)
    if away.reason or away.losses:
        return
    home = convert(away.text, "step", 3, back)
    assert (home.reason, home.losses) == ("", ())
    assert canonical(home.text) == canonical(start.text)


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_damaged_rows_go_both_ways_alike(count: int) -> None:
    """Rows of real servers, damaged at random: what cannot be read stays, and nothing else does."""
    random = Random(count)
    for _ in range(count):
        text = payload(random)
        if not is_text(text):
            continue
        column, target = random.choice(["seq", "step"]), random.choice([G5B, G6, G7, G8])
        naming = random.choice([None, Naming("h", True), Naming("h", False)])
        slow = convert_carefully(text, column, 2, target, naming)
        fast = Way(column, target).convert(text.encode(), 2, naming)
        if fast is not None:
            assert (slow.losses, slow.reason) == ((), ""), text
            assert fast[1:] == (slow.shape, *slow[4:]), text
            assert parse(fast.raw.decode()) == parse(slow.text), text
        if slow.reason:
            assert slow.text == text
        else:
            event = protojson.decode(parse(slow.text), schemas.event(target))
            assert event.get("state", 0) == said(text, column).state
