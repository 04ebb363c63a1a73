"""Wounds of single rows: undecodable ones, and odd ones that AX reads without a word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from axnb.ax.rows import Row
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.checks.pairs import Make, Pair, beside, changed, drop, put, rewrite, store, talk

_STATE = '"state":"STATE_PENDING"'


def _talk(*changes: Any, generation: str = "G8", typed: bool = True) -> Make:
    """Steps 1 to 5 of `c`, of which the third says `b`."""
    made = changed(lambda: talk(generation), *changes)
    return made if typed else beside(made, typed=False, keyed=False)


def _with(extra: str, step: int = 3) -> Any:
    """Another key in a row, of which AX knows nothing."""
    return rewrite(step, _STATE, f'"extra":{extra},{_STATE}')


def _twice(step: int) -> Any:
    """Another message or step of the same content in a row."""

    def change(log: LogBuilder) -> None:
        old = log.rows[step - 1].payload
        inner = old.split(":[", 1)[1]
        item = inner.rsplit("],", 1)[0]
        rewrite(step, f"[{item}]", f"[{item},{item}]")(log)

    return change


def _nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def _sized(size: int) -> Make:
    """A row of so many bytes."""

    def make() -> LogBuilder:
        log = talk()
        missing = size - len(log.rows[2].payload)
        rewrite(3, '"b"', '"' + "b" * (missing + 1) + '"')(log)
        return log

    return make


def _text(text: str) -> Make:
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"), say(text))
    return lambda: log


def _called(arguments: dict[str, Any], result: dict[str, Any], generation: str = "G8") -> Make:
    log = LogBuilder(generation)
    log.turn("c", "hi", call("charge", arguments), answer(result))
    return lambda: log


def _spaced(number: int) -> Make:
    """A call whose number stands after more space than AX puts there."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge", {"n": number}), answer({}))
    wide = [row.payload.replace(f":{number}", f":  {number}") for row in log.rows]
    log.rows = [replace(row, payload=text) for row, text in zip(log.rows, wide, strict=True)]
    return lambda: log


def _configured(config: str) -> Make:
    log = LogBuilder("G8")
    log.add(Row("c", 1, "antigravity", config=config))
    log.add(Row("c", 3))
    return lambda: log


def _bytes(*changes: Any, text: bytes = b"b") -> Make:
    """The third row as bytes, with something in the place of its text."""

    def store_bytes(log: LogBuilder) -> None:
        payload = log.rows[2].payload.encode().replace(b'"b"', b'"' + text + b'"')
        store(3, payload=payload)(log)

    return changed(talk, *changes, store_bytes)


_PAYLOAD = talk().rows[2].payload
_BASE64 = '"agent_id":"antigravity","agent_config":"e30="'
_OBJECT = '"agent_id":"antigravity","agent_config":{}'
_OWNER = '"agent_id":"antigravity"'

_CUT_IN_THE_MIDDLE = _talk(store(3, payload=_PAYLOAD[:-9]))
_CUT_AT_THE_END = _talk(drop(4, 5), store(3, payload=_PAYLOAD[:-9]))

PAIRS: dict[str, list[Pair]] = {
    "AX120": [
        Pair(_CUT_IN_THE_MIDDLE, [("c", 3, [3])], _CUT_AT_THE_END),
        Pair(
            _talk(rewrite(1, _OWNER, _BASE64)), [("c", 1, [1])], _talk(rewrite(1, _OWNER, _OBJECT))
        ),
        Pair(_talk(store(3, payload="")), [("c", 3, [3])], _talk(store(3, payload="{}"))),
        Pair(
            _talk(store(3, payload=None), typed=False), [("c", 3, [3])], _talk(drop(3), typed=False)
        ),
    ],
    "AX121": [
        Pair(_CUT_IN_THE_MIDDLE, [("c", 3, [3])], talk),
        Pair(_CUT_AT_THE_END, [("c", 3, [3])], _talk(drop(3, 4, 5))),
        Pair(
            _talk(rewrite(1, _OWNER, _BASE64)), [("c", 1, [1])], _talk(rewrite(1, _OWNER, _OBJECT))
        ),
        # An object is a configuration from G5 on, and base64 in G4.
        Pair(
            _talk(rewrite(1, _STATE, f'"harness_config":{{}},{_STATE}'), generation="G5"),
            [("c", 1, [1])],
            _talk(rewrite(1, _STATE, f'"harness_config":{{}},{_STATE}'), generation="G5"),
            "G4",
            "G5",
        ),
    ],
    "AX122": [
        Pair(_talk(_with(_nested(10_000))), [("c", 3, [3])], _talk(_with(_nested(498)))),
        Pair(_talk(_with(_nested(499))), [("c", 3, [3])], _talk(_with(_nested(498)))),
    ],
    "AX123": [
        Pair(_sized((4 << 20) + 1), [("c", 3, [3])], _sized(4 << 20)),
        Pair(_sized((64 << 20) + 1), [("c", 3, [3])], _sized(4 << 20)),
    ],
    "AX124": [Pair(_bytes(text=b"\xff"), [("c", 3, [3])], _bytes(text="é".encode()))],
    "AX125": [
        Pair(_text("a\0b"), [("c", 3, [3])], _text(r"a\u0000b")),
        Pair(_called({"a\0b": 1}, {}), [("c", 2, [2])], _called({"a": 1}, {})),
    ],
    "AX126": [
        Pair(
            _talk(rewrite(3, '"b"', r'"\ud83d"')),
            [("c", 3, [3])],
            _talk(rewrite(3, '"b"', r'"\ud83d\ude00"')),
        )
    ],
    "AX127": [
        Pair(
            _talk(rewrite(3, _STATE, f"{_STATE},{_STATE}")),
            [("c", 3, [3])],
            _talk(rewrite(3, _STATE, f'{_STATE},"State":1')),
        ),
        Pair(_talk(_with('{"a":1,"a":2}')), [("c", 3, [3])], _talk(_with('{"a":1,"b":2}'))),
    ],
    "AX128": [
        Pair(_called({"n": 2**53}, {}), [("c", 2, [2])], _called({"n": 2**53 - 1}, {})),
        Pair(_called({}, {"n": -(2**53)}), [("c", 3, [3])], _called({}, {"n": str(2**53)})),
        Pair(_spaced(2**53), [("c", 2, [2])], _spaced(2**53 - 1)),
        Pair(_called({}, {"n": 1e300}, "G6"), [("c", 3, [3])], _called({}, {"n": 1e-300}, "G6")),
        Pair(
            _configured('{"n":9007199254740992}'),
            [("c", 1, [1])],
            _configured('{"n":9007199254740991}'),
        ),
    ],
    "AX129": [
        Pair(_bytes(), [("c", 3, [3])], talk),
        Pair(
            _talk(store(5, step="5"), typed=False),
            [("c", 5, [5])],
            _talk(typed=False),
        ),
        Pair(_talk(store(3, step=3.0), typed=False), [("c", 3, [3])], _talk(store(3, step=3.0))),
        Pair(_talk(store(3, conversation_id=b"c"), typed=False), [("c", 3, [3])], _talk(drop(3))),
    ],
    "AX130": [
        Pair(
            _talk(rewrite(3, '"steps":[{', '"steps":[{"index":"99",')),
            [("c", 3, [3])],
            _talk(rewrite(3, '"steps":[{', '"steps":[{"index":"3",')),
        )
    ],
    "AX131": [
        Pair(_talk(rewrite(3, '"c"', '"d"')), [("c", 3, [3])], talk),
        Pair(_talk(rewrite(3, '"conversation_id":"c",', "")), [("c", 3, [3])], talk),
        Pair(_talk(rewrite(3, "conversation_id", "x")), [("c", 3, [3])], _talk(_with('{"x":"d"}'))),
    ],
    "AX132": [
        Pair(
            _talk(rewrite(3, '"step":3', '"step":4'), generation="G6"),
            [("c", 3, [3])],
            _talk(generation="G6"),
        ),
        Pair(
            _talk(rewrite(3, '"seq":3,', ""), generation="G5b"), [("c", 3, [3])], _talk(_with("3"))
        ),
    ],
    "AX133": [
        Pair(_CUT_AT_THE_END, [("c", 3, [3])], _CUT_IN_THE_MIDDLE),
        Pair(
            _talk(store(5, payload='{"conversation_id":"c"'), put(1, talk().rows[0].payload, "d")),
            [("c", 5, [5])],
            _talk(store(5, payload="no JSON")),
        ),
    ],
    "AX134": [
        Pair(
            _talk(store(3, step=None), typed=False),
            [("c", None, [None])],
            _talk(store(3, step="3"), typed=False),
        ),
        Pair(
            _talk(store(3, conversation_id=None), typed=False),
            [(None, 3, [3])],
            _talk(store(3, conversation_id=b"c"), typed=False),
        ),
        Pair(
            _talk(store(3, step="three"), typed=False),
            [("c", None, [None])],
            _talk(store(3, step=3.0), typed=False),
        ),
    ],
    "AX135": [
        Pair(
            _talk(rewrite(3, "STATE_PENDING", "STATE_PAUSED")),
            [("c", 3, [3])],
            _talk(rewrite(3, '"STATE_PENDING"', "1")),
        ),
        Pair(_talk(rewrite(3, f",{_STATE}", "")), [("c", 3, [3])], _talk(rewrite(3, ":", " : "))),
        Pair(
            _talk(rewrite(5, '"STATE_COMPLETED"', "9")),
            [("c", 5, [5])],
            _talk(rewrite(5, '"STATE_COMPLETED"', "3")),
        ),
    ],
    "AX136": [
        Pair(
            _talk(rewrite(3, '"text":{"text":"b"}', '"hologram":{"text":"b"}')),
            [("c", 3, [3])],
            _talk(rewrite(3, '"text":{"text":"b"}', '"text":{"text":"b"},"hologram":{}')),
        ),
        Pair(
            _talk(rewrite(3, '"text":{"text":"b"}', '"hologram":{}'), generation="G6"),
            [("c", 3, [3])],
            _talk(rewrite(3, '"text":{"text":"b"}', '"image":{}'), generation="G6"),
        ),
    ],
    "AX137": [
        Pair(_talk(_twice(3)), [("c", 3, [3])], _talk(_twice(1))),
        Pair(_talk(_twice(3), generation="G6"), [("c", 3, [3])], _talk(_twice(1), generation="G6")),
        # Before owners had names, the role tells an input.
        Pair(_talk(_twice(3), generation="G4"), [("c", 3, [3])], _talk(_twice(1), generation="G4")),
    ],
    "AX138": [
        Pair(
            _talk(rewrite(3, '"text":{"text":"b"}', "")),
            [("c", 3, [3])],
            _talk(rewrite(3, '{"text":"b"}', "{}")),
        ),
        Pair(
            _talk(rewrite(3, '[{"text":{"text":"b"}}]', "[]")),
            [("c", 3, [3])],
            _talk(rewrite(3, '"text":{"text":"b"}', '"image":{}')),
        ),
        Pair(
            _talk(rewrite(3, '"text":{"text":"b"}', ""), generation="G6"),
            [("c", 3, [3])],
            _talk(rewrite(3, '{"text":"b"}', "{}"), generation="G6"),
        ),
    ],
}
