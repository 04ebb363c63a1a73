"""The fast path takes a row only if the careful path says the same of it.

What the fast path takes has no `readings`: what each generation makes of it is derived from its
shape. So a row that one generation refuses and the fast path takes is a conversation that axnb
calls readable and AX does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from axnb.ax import rows
from axnb.ax.versions import GENERATIONS

from .both_paths import Loaded, load, write_log
from .odd_rows import Cast, Column, Stored, Written, plain_rows, row, spaced

#: Rows in one log of the fuzz test: a load costs as much as some hundred rows.
_ROWS = 300
_END = '{"conversation_id":"c","step":1,"state":"STATE_COMPLETED"}'


def load_rows(folder: Path, column: Column, written: Sequence[Written]) -> Loaded:
    """Write a log, load it, and count."""
    path = folder / "log.sqlite"
    path.unlink(missing_ok=True)
    write_log(path, column, written)
    loaded = load(path, column)
    assert loaded.read == len(written)
    assert loaded.read == loaded.parsed + loaded.rejected
    return loaded


def load_payloads(folder: Path, column: Column, payloads: Sequence[str]) -> Loaded:
    """Load a log with one conversation a payload."""
    return load_rows(folder, column, [Written(f"c{n}", 1, p) for n, p in enumerate(payloads)])


def said(loaded: Loaded) -> str:
    """The differences, the shortest rows first."""
    found = sorted(loaded.differences, key=lambda difference: len(difference.payload))
    return "\n".join(map(str, found[:10]))


# --- what AX writes ----------------------------------------------------------------------------


@pytest.mark.parametrize("spaces", [False, True], ids=["tight", "spaced"])
@pytest.mark.parametrize("name", GENERATIONS)
def test_rows_that_ax_writes_take_the_fast_path(tmp_path: Path, name: str, spaces: bool) -> None:
    """All of them, also where the build put a space after each comma; and both paths agree."""
    generation = GENERATIONS[name]
    written = [rows.write(r, generation, 1) for r in plain_rows(generation)]
    loaded = load_payloads(
        tmp_path, generation.step_column, [spaced(p) for p in written] if spaces else written
    )
    assert not loaded.differences, said(loaded)
    assert loaded.fast == len(written)


@pytest.mark.parametrize("column", ["seq", "step"])
def test_rows_of_every_generation_in_one_table(tmp_path: Path, column: Column) -> None:
    """A renamed column, or a file that was served by one AX after the other."""
    written = [rows.write(r, g, 1) for g in GENERATIONS.values() for r in plain_rows(g)]
    loaded = load_payloads(tmp_path, column, written)
    assert not loaded.differences, said(loaded)
    assert loaded.rejected == 0


# --- rows that were found to be hard -----------------------------------------------------------

_CALL = (
    '{"conversation_id":"c","steps":[{"tool_call":{"id":"a","function_call":{"name":"f",'
    '"arguments":%s}}}],"state":"STATE_PENDING"}'
)
_BARE_CALL = (
    '{"conversation_id":"c","steps":[{"tool_call":{"function_call":'
    '{"name":"f","arguments":%s}%s}}],"state":"STATE_PENDING"}'
)
_STEP = '{"conversation_id": "c","steps": [%s],"state": "STATE_PENDING"}'
_MESSAGE = '{"conversation_id": "c","step": 1,"messages": [{"content": %s}]}'

HARD = {
    # A count of characters does not see that something else stands there.
    "a number for a text": _MESSAGE % '{"text": 11}',
    "a number for a thought": _MESSAGE % '{"thought": 11}',
    "a number for a call": _MESSAGE % '{"tool_call": 11}',
    "a number for a function": _MESSAGE % '{"tool_call": {"function_call": 11}}',
    "a number for a result": _STEP % '{"tool_result": {"function_result": 11}}',
    "a number for a value": _STEP % '{"tool_result": {"function_result": {"result": 11}}}',
    "a number for content": _STEP % '{"content": {"role": "user","content": [12345678901]}}',
    "a number for a summary": _STEP % '{"thought": {"summary": [12345678901]}}',
    "an unknown kind of content": _STEP % '{"content": {"content": [{"abcd": {}}]}}',
    "an unknown key in place of a part": _STEP % '{"content": {"content": [],"abcde": 12}}',
    "another spelling in place of a part": (
        '{"conversation_id": "c","agent_id": "a","agentId": "12",'
        '"steps": [{"content": {"content": [{"text":{"text":"abcdefg"}}]}}]}'
    ),
    "an empty list for a text": '{"step":1,"messages":[{"content":{"text":[]}}]}',
    "an empty text for a text": '{"step":1,"messages":[{"content":{"text":""}}]}',
    "a digit and a space for a text": '{"step":1,"messages":[{"content":{"text": 1}}]}',
    "a digit and a comma for a text": '{"step":1,"messages":[{"content":{"text":1,}}]}',
    "a digit for content": '{"steps":[{"content":{"role":"u","content":[1],"abcd":12}}]}',
    # Content that is not there.
    "a content step without content": '{"steps":[{"content":{"role":"user"}}]}',
    "a content step with an empty list": '{"steps":[{"content":{"content":[]}}]}',
    "an empty text": '{"steps":[{"content":{"role":"user","content":[{"text":{}}]}}]}',
    "an empty thought": '{"steps":[{"thought":{}}]}',
    "an empty message": '{"seq":1,"step":1,"messages":[{}]}',
    "a message without a role": '{"step":1,"messages":[{"content":{"text":{"text":"a"}}}]}',
    "no steps": '{"steps":[],"state":"STATE_PENDING"}',
    # Owners and configurations.
    "both owners": '{"harness_id":"a","agent_id":"b","state":"STATE_PENDING"}',
    "an owner and no content": '{"conversation_id":"c","harness_id":"a","state":"STATE_PENDING"}',
    "a configuration without an owner": '{"agent_config":{"a":1},"state":"STATE_PENDING"}',
    "an old configuration without an owner": '{"harness_config":{"a":1},"steps":[{}]}',
    "the other generation's configuration": '{"agent_id":"a","harness_config":{"a":1}}',
    "both configurations": '{"agent_id":"a","harness_config":{},"agent_config":{}}',
    "a configuration as base64": '{"step":1,"exec_id":"e","harness_config":"e30="}',
    "an old configuration as an object": '{"step":1,"exec_id":"e","harness_config":{}}',
    "an empty owner": '{"step":1,"harness_id":"","state":"STATE_PENDING"}',
    "an empty execution": '{"step":1,"exec_id":"","state":"STATE_PENDING"}',
    # Free objects.
    "NaN in arguments": _CALL % '{"a":NaN}',
    "a number beyond a double": _CALL % '{"a":[1e400]}',
    "a very long number": _CALL % f'{{"a":{"9" * 400}}}',
    "a key twice in arguments": _CALL % '{"a":{"b":1,"b":1}}',
    "a key twice by an escape": _CALL % '{"a":1,"\\u0061":2}',
    "a trailing comma in arguments": _CALL % '{"a":1,}',
    "arguments in arguments": _CALL % '{"arguments":{"a":1,"a":2},"x_config":{"a":NaN}}',
    "a lone surrogate in arguments": _CALL % '{"a":"\\ud800"}',
    # A key that is spelled so that no search finds it, and another one in its place.
    "hidden by an escape": _CALL.replace("arg", "\\u0061rg") % '{"arguments":{},"a":NaN}',
    "hidden by a space": _CALL.replace('arguments":', 'arguments" :') % '{"arguments":{},"a":NaN}',
    "hidden by a line end": _CALL.replace('arguments":', 'arguments"\n:')
    % '{"arguments":{},"a":1e999}',
    "a key twice, hidden by a space": (
        _CALL.replace('arguments":', 'arguments" :') % '{"arguments":{},"a":1,"a":2}'
    ),
    "a hidden configuration": (
        '{"conversation_id":"c","agent_id":"a","agent_config" :{"x_config":{},"a":NaN}}'
    ),
    "a hidden result": (
        '{"conversation_id":"c","steps":[{"tool_result":{"function_result":{"result":'
        '{"struct_value" :{"response":{},"a":[NaN]}}}}}]}'
    ),
    "a list as arguments": _CALL % "[1]",
    # DuckDB spells these numbers longer; a stranger of just that length must not hide behind it.
    "a stranger behind a long number": _BARE_CALL % ('{"a":1e16}', ',"x":"12345678"'),
    "a stranger behind a short number": _BARE_CALL % ('{"a":1e2,"b":1e-5}', ',"x":1'),
    "a configuration that vouches for arguments": (
        '{"conversation_id":"c","agent_id":"a","agent_config":'
        '{"arguments":{"a":10000000000000000.0}},"steps":[{"tool_call":{"function_call":'
        '{"name":"f","arguments":{"a":1e16}},"x":"12345678"}}]}'
    ),
    "arguments beside a result": (
        '{"steps":[{"tool_call":{"function_call":{"name":"f","arguments":{"a":1}}},'
        '"tool_result":{"function_result":{"name":"f","result":{"struct_value":{"a":1}}}}}]}'
    ),
    "a minus zero": _CALL % '{"a":-0}',
    "a hidden key": (_CALL % '{"a":NaN}').replace("arguments", "\\u0061rguments"),
    "a space before a colon": (_CALL % '{"a":NaN}').replace('"arguments":', '"arguments" :'),
    # Texts that look like something else.
    "a text that ends a row": '{"step":1,"exec_id":"\\",\\"state\\":\\"STATE_COMPLETED"}',
    "a text with arguments": '{"step":1,"exec_id":"\\"arguments\\":{"}',
    "a text with a colon and a space": '{"step":1,"exec_id":"\\": {\\"a\\": 1"}',
    "a comma and two spaces": '{"step":1, "exec_id":"a,  b, c"}',
    "a nul in a text": '{"step":1,"exec_id":"a\\u0000b"}',
    "a nul in what a person says": _MESSAGE % '{"text": {"text": "a\\u0000b"}}',
    "a break in an id": _STEP % '{"tool_call": {"id": "a\\nb","function_call": {"name": "f"}}}',
    "six characters that mean no nul": '{"step":1,"exec_id":"a\\\\u0000b"}',
    "an escaped pair": '{"conversation_id": "c","step": 1,"exec_id": "\\ud83d\\ude00"}',
    "an escaped slash": '{"conversation_id": "c","step": 1,"exec_id": "a\\/b"}',
    "a control character": '{"step":1,"exec_id":"\\u001b[0m"}',
    # States and numbers.
    "a state as a number": '{"step":1,"state":3}',
    "an unknown state": '{"step":1,"state":"STATE_NEW"}',
    "a state with a nul": '{"step":1,"state":"STATE_PENDING\\u0000"}',
    "a number of another spelling": '{"step":1.0,"state":"STATE_PENDING"}',
    "a number as a text": '{"step":"1","state":"STATE_PENDING"}',
    "a number beyond 32 bits": '{"step":2147483648,"state":"STATE_PENDING"}',
    "both numbers": '{"seq":1,"step":2,"state":"STATE_PENDING"}',
    # Bytes.
    "bytes of the other alphabet": '{"steps":[{"thought":{"signature":"AQL_"}}]}',
    "bytes without padding": '{"steps":[{"thought":{"signature":"AQ"}}]}',
    "bytes of both alphabets": '{"steps":[{"thought":{"signature":"-_+/"}}]}',
    "bytes with too much padding": '{"steps":[{"thought":{"signature":"A==="}}]}',
    "bytes with a line end": '{"steps":[{"thought":{"signature":"AQL/\\n\\n\\n\\n"}}]}',
    # The frame.
    "nothing": "",
    "two characters": '{"',
    "an empty object": "{}",
    "a state alone": '{"conversation_id":"c","state":"STATE_COMPLETED"}',
    "a byte order mark": "\ufeff{}",
    "text after the end": _END + " x",
    "a nul after the end": _END + "\x00",
    "a line end after the end": _END + "\n",
    "cut off": _END[:-1],
    "a key twice": '{"step":1,"state":"STATE_PENDING","state":"STATE_PENDING"}',
    "a key in both spellings": '{"step":1,"exec_id":"a","execId":"a"}',
    "another order": '{"state":"STATE_PENDING","step":1,"conversation_id":"c"}',
    "another order with spaces": '{"state": "STATE_PENDING","step": 1,"conversation_id": "c"}',
    "a null": '{"conversation_id": null,"step": 1}',
}


@pytest.fixture(scope="module", params=["seq", "step"])
def hard_rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """All of them in one log, a conversation each."""
    return load_payloads(tmp_path_factory.mktemp("hard"), request.param, list(HARD.values()))


@pytest.mark.parametrize("payload", HARD.values(), ids=HARD)
def test_rows_that_were_found_to_be_hard(hard_rows: Loaded, payload: str) -> None:
    """Whichever path takes such a row, both say the same of it."""
    found = [difference for difference in hard_rows.differences if difference.payload == payload]
    assert not found, "\n".join(map(str, found))


def test_some_hard_rows_are_fast(hard_rows: Loaded) -> None:
    """Else the test before this one has compared nothing."""
    assert hard_rows.fast > 5


LONE_SURROGATES = {
    "in a text": '{"step":1,"exec_id":"\\ud800"}',
    "in a name": '{"step":1,"\\udfff":1}',
    "in a row with spaces": '{"conversation_id": "\\ud800","step": 1}',
    "in arguments": (_CALL % '{"a": "\\udc00"}').replace('":"', '": "'),
}


@pytest.mark.parametrize("payload", LONE_SURROGATES.values(), ids=LONE_SURROGATES)
def test_a_lone_surrogate_does_not_stop_a_load(tmp_path: Path, payload: str) -> None:
    """Python's reader takes one, DuckDB's and AX's do not."""
    loaded = load_payloads(tmp_path, "step", [payload, _END])
    assert (loaded.parsed, loaded.rejected) == (1, 1)


def failing(folder: Path, column: Column, written: Sequence[Written]) -> Sequence[Written]:
    """The row that stops a load, out of many."""
    while len(written) > 1:
        half = written[: len(written) // 2]
        try:
            load_rows(folder, column, half)
            written = written[len(written) // 2 :]
        except Exception:
            written = half
    return written


def load_any(folder: Path, column: Column, written: Sequence[Written]) -> Loaded:
    """Load a log; if that fails, say which of its rows was to blame."""
    try:
        return load_rows(folder, column, written)
    except Exception as err:
        pytest.fail(f"{err!r}\n{failing(folder, column, written)}")


ODD_STEPS: list[Stored] = [
    2.5, 2.0**62, 1e300, -1e300, float("inf"), float("-inf"), 2**63 - 1, -(2**63),
    "one", "", "1_0", b"\xff", None,
]  # fmt: skip
ODD_IDS: list[Stored] = [None, "", "a\x00b", b"x", b"\xff", 7, 1.5]
ODD_PAYLOADS: list[Stored] = [
    None, "", b"", 7, 1.5, "\x00", _END.encode(), b"\xff", Cast(b"\xff"),
    Cast(_END.encode() + b"\xff"), Cast(b'{"state":"\xed\xa0\x80"}'), " " * 2_000_000 + _END,
]  # fmt: skip


@pytest.mark.parametrize("steps", [ODD_STEPS[:2], ODD_STEPS[2:6], ODD_STEPS[6:]])
def test_no_step_stops_a_load(tmp_path: Path, steps: list[Stored]) -> None:
    """A column of integers holds whatever somebody put there."""
    written = [Written(f"c{n}", step, _END) for n, step in enumerate([*steps, 1])]
    load_any(tmp_path, "step", written)


def test_no_id_stops_a_load(tmp_path: Path) -> None:
    """Nor does a payload that is fine under an id that is not."""
    load_any(tmp_path, "step", [Written(odd, 1, _END) for odd in [*ODD_IDS, "d"]])


def test_a_message_that_is_no_text_does_not_stop_a_load(tmp_path: Path) -> None:
    """DuckDB quotes the row up to a byte in the middle of a character."""
    payload = (
        '{"conversation_id":"c","seq"\u2028:1\ufeff,"state"\t:\u2028"STATE_CANCELED","exec_id":"e"}'
    )
    loaded = load_payloads(tmp_path, "step", [payload])
    assert (loaded.read, loaded.rejected) == (1, 1)


def test_no_payload_stops_a_load(tmp_path: Path) -> None:
    """What is neither text nor JSON is counted and kept apart."""
    written = [Written(f"c{n}", 1, odd) for n, odd in enumerate([*ODD_PAYLOADS, _END])]
    load_any(tmp_path, "step", written)


def test_deep_rows_do_not_stop_a_load(tmp_path: Path) -> None:
    """Arguments deeper than Python's reader goes, and documents that are nothing but brackets."""
    deep = ["[" * n + "1" + "]" * n for n in (500, 990, 1_000, 3_000, 100_000)]
    payloads = [_CALL % f'{{"error":{text}}}' for text in deep]
    payloads += [_CALL.replace("arguments", "x") % f'{{"error":{text}}}' for text in deep]
    payloads += ["[" * 100_000, '{"a":' * 100_000, f'{{"x":{deep[-1]}}}']
    loaded = load_payloads(tmp_path, "step", [*payloads, _END])
    assert not loaded.differences
    assert loaded.parsed == 9


# --- rows that nobody thought of ---------------------------------------------------------------


@pytest.mark.slow
@given(start=st.integers(0, 2**40), column=st.sampled_from(["seq", "step"]))
@settings(
    max_examples=8,
    deadline=None,
    # A number stands for hundreds of rows; a smaller number is no smaller row.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_both_paths_say_the_same(tmp_path: Path, start: int, column: Column) -> None:
    """Rows as AX writes them, after some accidents; the shortest row that differs is shown."""
    written = [row(start * _ROWS + n, f"c{n}") for n in range(_ROWS)]
    loaded = load_any(tmp_path, column, written)
    assert not loaded.differences, said(loaded)
    assert loaded.fast > _ROWS // 20
