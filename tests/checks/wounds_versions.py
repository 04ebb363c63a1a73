"""Wounds of upgrades: rows of several generations, content and owners that AX does not see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from axnb.ax.rows import Part, Row
from axnb.testing.logs import LogBuilder, ask, decide, say
from tests.checks.pairs import Make, Pair, beside, changed, drop, rewrite, talk

Change = Callable[[LogBuilder], Any]


def _in(generation: str, harness: str = "antigravity") -> Callable[[], LogBuilder]:
    def make() -> LogBuilder:
        log = LogBuilder(generation, harness)
        log.turn("c", "hi", say("done"))
        return log

    return make


def _joined(*generations: str, conversations: tuple[str, str] = ("c", "d")) -> Make:
    """A turn of each generation in turn, as after upgrades without a migration."""

    def make() -> LogBuilder:
        log = LogBuilder(generations[0])
        for generation, conversation_id in zip(generations, conversations, strict=True):
            part = LogBuilder(generation)
            part.rows = log.rows
            part.turn(conversation_id, "hi", say("done"))
        return log

    return make


def _owned_by(*harnesses: str, generation: str = "G8") -> Make:
    def make() -> LogBuilder:
        log = LogBuilder(generation)
        for log.harness in harnesses:
            log.turn("c", "hi")
        return log

    return make


def _configured() -> LogBuilder:
    """G4 takes base64 for a configuration, and later generations an object."""
    log = LogBuilder("G4")
    question = Part("text", "user", value="hi")
    log.add(Row("c", 1, config="e30=", exec_id="e", parts=(question,)))
    log.add(Row("c", 3, exec_id="e"))
    return log


# --- executions ----------------------------------------------------------------------------------


def _turns_in_g3() -> LogBuilder:
    """Two conversations of three rows, each with an execution that begins and ends."""
    log = LogBuilder("G3", "drill")
    for conversation_id in ("c", "d"):
        log.turn(conversation_id, "hi", say("done"))
    return log


def _interrupted_in_g3() -> LogBuilder:
    log = LogBuilder("G3", "drill")
    log.interrupted("c", "hi", say("wait"))
    return log


def _interrupted_in_g4() -> LogBuilder:
    log = LogBuilder("G4")
    log.interrupted("c", "hi", say("wait"))
    log.turn("c", "again", say("done"))
    return log


def _answered_in_g4() -> LogBuilder:
    log = LogBuilder("G4")
    log.turn("c", "hi", ask("Run?"), decide("approved"), say("done"))
    return log


def _of_execution(step: int, exec_id: str) -> Change:
    """Let a row of `c` name another execution; none, if it is empty."""

    def change(log: LogBuilder) -> None:
        row = log.rows[step - 1]
        old = f'"exec_id":"{json.loads(row.payload)["exec_id"]}",'
        new = f'"exec_id":"{exec_id}",' if exec_id else ""
        log.rows[step - 1] = replace(row, payload=row.payload.replace(old, new))

    return change


def _without_execution(place: int) -> Change:
    return lambda log: log.executions.pop(place)


def _again(place: int) -> Change:
    """A row of the execution of `c` stands after its end once more."""
    return lambda log: log.executions.append(log.executions[place])


def _began_twice() -> LogBuilder:
    """An interrupted turn that was run again."""
    log = _turns_in_g3()
    log.executions.insert(0, log.executions[0])
    return log


def _told(key: str) -> Change:
    """A message that an agent marked as internal, among its outputs or its inputs."""
    return _in_execution(0, '"state"', f'"{key}":[{{"internal_only":true}}],"state"')


def _in_execution(place: int, old: str, new: str) -> Change:
    def change(log: LogBuilder) -> None:
        exec_id, payload, time = log.executions[place]
        assert old in payload
        log.executions[place] = (exec_id, payload.replace(old, new), time)

    return change


def _delete(conversation_id: str) -> Change:
    """Take a conversation out, and leave its executions, as later generations do."""

    def change(log: LogBuilder) -> None:
        log.rows = [row for row in log.rows if row.conversation_id != conversation_id]

    return change


def _called(exec_id: str = "") -> Change:
    """An agent that the one of `c` called: its execution has the caller's id and one of its own."""

    def change(log: LogBuilder) -> None:
        parent, payload, time = log.executions[1]
        child = exec_id or f"{parent}-child"
        log.executions.append((child, payload.replace(parent, child), time))

    return change


_KNOWN_KEY = '"state":"STATE_PENDING"'
_UNKNOWN_KEY = '"session_id":"s",' + _KNOWN_KEY
_older = _in("G6")
_SAME = ("c", "c")

PAIRS: dict[str, list[Pair]] = {
    "AX140": [
        Pair(_joined("G6", "G8"), [(None, None, [])], _joined("G8", "G8")),
        Pair(
            _joined("G6", "G8", conversations=_SAME),
            [(None, None, []), ("c", 4, [4])],
            _joined("G6", "G6", conversations=_SAME),
        ),
        Pair(
            _joined("G5b", "G4", conversations=_SAME),
            [(None, None, []), ("c", 4, [4])],
            _joined("G5b", "G5b", conversations=_SAME),
        ),
        # Another generation's row inside a turn.
        Pair(
            changed(_in("G6"), rewrite(3, '"step":3,', "")),
            [("c", 3, [3])],
            changed(_in("G6"), rewrite(3, '"step":3,', '"step": 3,')),
        ),
        Pair(
            changed(_in("G5b"), rewrite(2, "{", '{"exec_id":"e",')),
            [("c", 2, [2])],
            _in("G5b"),
        ),
    ],
    "AX141": [
        Pair(_older, [("c", None, [])], _older, "G8", "G6"),
        Pair(
            _joined("G6", "G8", conversations=_SAME),
            [("c", None, [])],
            _joined("G8", "G8", conversations=_SAME),
            "G8",
            "G8",
        ),
    ],
    "AX142": [
        Pair(_older, [(None, None, [])], _older, "G5", "G6"),
        Pair(_in("G5b"), [(None, None, [])], _in("G5b"), "G8", "G5b"),
    ],
    "AX143": [
        # The owner and the content, each under a key that the newer server has no field for.
        Pair(_older, [("c", 1, [1]), ("c", 1, [1])], _older, "G8", "G6"),
        Pair(
            _joined("G6", "G6"),
            [(None, None, [1]), (None, None, [1])],
            _joined("G6", "G6"),
            "G8",
            "G6",
        ),
        Pair(changed(talk, rewrite(3, _KNOWN_KEY, _UNKNOWN_KEY)), [("c", 3, [3])], talk),
        Pair(_configured, [("c", 1, [1])], _configured, "G3", "G4"),
    ],
    "AX144": [
        Pair(
            _owned_by("antigravity", "drill", "drill"),
            [("c", 3, [1, 3])],
            _owned_by("antigravity", "antigravity", "antigravity"),
        ),
        Pair(
            _owned_by("antigravity", "drill", "antigravity"),
            [("c", 3, [1, 3])],
            _owned_by("", "drill", "drill"),
        ),
    ],
    "AX145": [
        Pair(_older, [("c", None, [])], _older, "G8", "G7"),
        # G3 has no owners.
        Pair(_older, [("c", None, [])], _in("G4", "drill"), "G8", "G3"),
    ],
    "AX146": [
        Pair(
            beside(_in("G8", "drill"), harnesses=("antigravity",)),
            [("c", None, [])],
            beside(_in("G8", "drill"), harnesses=("antigravity", "drill=accepts")),
        ),
        Pair(_in("G5b"), [("c", None, [])], _in("G5b"), "G5", "G5b"),
    ],
    "AX147": [
        Pair(
            beside(_in("G6", "drill"), harnesses=("antigravity", "drill=accepts")),
            [("c", None, [])],
            beside(_in("G6", "drill"), harnesses=("drill=accepts", "antigravity")),
            "G8",
            "G8",
        ),
        Pair(
            beside(_in("G6", "drill"), harnesses=("antigravity",)),
            [("c", None, [])],
            beside(_in("G6", "drill"), harnesses=("antigravity", "drill=accepts")),
            "G8",
            "G6",
        ),
    ],
    "AX150": [
        Pair(_owned_by("antigravity", ""), [("c", 3, [3])], _owned_by("antigravity", "drill")),
        Pair(_in("G6", ""), [("c", 1, [1])], _in("G6")),
        Pair(_in("G8", ""), [("c", 1, [1])], _in("G5")),
        # Before that, on all inputs of a conversation or on none.
        Pair(
            _owned_by("drill", "", generation="G5"),
            [("c", 3, [3])],
            _owned_by("", "", generation="G5"),
        ),
        Pair(
            _owned_by("", "drill", generation="G4"),
            [("c", 1, [1])],
            _owned_by("drill", "drill", generation="G4"),
        ),
    ],
    "AX151": [
        Pair(changed(_turns_in_g3, _of_execution(2, "x")), [("c", 2, [2])], _turns_in_g3),
        Pair(changed(_turns_in_g3, _of_execution(1, "x")), [("c", 2, [2])], _turns_in_g3),
        Pair(
            changed(_in("G4"), _of_execution(3, "x")),
            [("c", 3, [3])],
            _joined("G4", "G4", conversations=_SAME),
        ),
        # A question was answered: the turn goes on, under the same execution.
        Pair(
            changed(_answered_in_g4, _of_execution(3, "x")),
            [("c", 3, [3])],
            _answered_in_g4,
        ),
        # A server of G4 puts a new turn after an interrupted one: that is AX111.
        Pair(
            changed(_in("G4"), _of_execution(3, "")),
            [("c", 3, [3])],
            _interrupted_in_g4,
        ),
    ],
    "AX152": [
        Pair(changed(_turns_in_g3, _without_execution(1)), [("c", 3, [3])], _turns_in_g3),
        Pair(changed(_turns_in_g3, _without_execution(0)), [("c", 3, [3])], _turns_in_g3),
        Pair(changed(_turns_in_g3, drop(3)), [("c", 2, [2]), ("d", 2, [2])], _interrupted_in_g3),
        Pair(changed(_turns_in_g3, _again(1)), [("c", 3, [3])], _turns_in_g3),
        Pair(changed(_turns_in_g3, _again(0)), [("c", 3, [3])], _began_twice),
        Pair(
            changed(_turns_in_g3, _in_execution(0, '"drill"', '""')), [("c", 3, [3])], _turns_in_g3
        ),
        Pair(
            changed(_began_twice, _in_execution(0, '"drill"', '"other"')),
            [("c", 3, [3])],
            _began_twice,
        ),
        Pair(
            changed(_turns_in_g3, _in_execution(1, '"exec_id":"', '"exec_id":"x')),
            [("c", 3, [3])],
            changed(_turns_in_g3, _in_execution(1, '"exec_id":"', '"exec_id": "')),
        ),
    ],
    "AX153": [
        Pair(changed(_turns_in_g3, _delete("d")), [(None, None, [])], _turns_in_g3),
        Pair(
            changed(_turns_in_g3, _called("another-child")),
            [(None, None, [])],
            changed(_turns_in_g3, _called()),
        ),
    ],
    "AX154": [
        Pair(
            changed(_turns_in_g3, _told("outputs")),
            [("c", None, [])],
            # An input is what the agent got.
            changed(_turns_in_g3, _told("inputs")),
        ),
    ],
}
