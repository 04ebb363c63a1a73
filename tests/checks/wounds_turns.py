"""Wounds of the turns: without an end, without an input, one in another; and G3's executions."""

from __future__ import annotations

from axnb.ax.rows import Part, Row
from axnb.settings import Tool
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say
from tests.checks.pairs import Make, Pair, beside, changed, healthy, rewrite, store, talk


def interrupted() -> LogBuilder:
    """Steps 1 and 2 of `c` are a turn, 3 and 4 one without an end."""
    log = healthy()
    log.turn("c", "hi")
    log.interrupted("c", "again", say("on it"))
    return log


def _resumed() -> LogBuilder:
    log = interrupted()
    log.add(Row("c", 3))
    return log


def _overlapping(generation: str) -> Make:
    log = LogBuilder(generation)
    log.interrupted("c", "hi", say("on it"))
    log.turn("c", "again", say("done"))
    return lambda: log


def _one_after_the_other(generation: str) -> Make:
    log = LogBuilder(generation)
    log.turn("c", "hi", say("on it"))
    log.turn("c", "again", say("done"))
    return lambda: log


def _three_inputs() -> LogBuilder:
    log = LogBuilder("G8")
    for text in ("hi", "again", "and again"):
        log.interrupted("c", text)
    return log


def _asked(generation: str) -> Make:
    """A person's answer is an input row as well, and begins nothing."""
    log = LogBuilder(generation)
    log.turn("c", "hi", ask("Run?"), decide("approved"), call("run"), answer({"ok": True}))
    return lambda: log


def _empty_input(generation: str, *first: Part) -> Make:
    """A pending row without content, as the row at the last number but one."""
    log = LogBuilder(generation)
    log.turn("c", "hi", *first)
    end = log.rows.pop()
    log.add(Row("c", 1, exec_id="e"))
    log.rows.append(StoredRow("c", end.step + 1, end.payload))
    return lambda: log


def _empty_text() -> LogBuilder:
    log = LogBuilder("G4")
    log.turn("c", "hi")
    log.turn("c", "")
    return log


def _unanswered(*, ends: bool) -> Make:
    """The harness logs results: in the turn before."""
    log = healthy()
    (log.turn if ends else log.interrupted)("c", "hi", say("wait"), call("charge", {"n": 2}))
    return lambda: log


def _two_unanswered() -> LogBuilder:
    log = healthy()
    log.turn("c", "hi", say("wait"), call("charge", {"n": 2}, "a"), call("charge", {"n": 3}, "b"))
    return log


def _silent() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("c", "hi", say("wait"), call("charge", {"n": 2}))
    return log


def _only_interrupted() -> LogBuilder:
    log = LogBuilder("G8")
    log.interrupted("c", "hi", say("wait"))
    return log


def _ended(state: int) -> Make:
    def make() -> LogBuilder:
        log = LogBuilder("G8")
        log.interrupted("c", "hi", say("wait"))
        log.add(Row("c", state))
        return log

    return make


def _without_input(log: LogBuilder) -> None:
    """The rows after the lost one took its number and the next ones."""
    _, *rest = log.rows
    log.rows = [StoredRow(row.conversation_id, row.step - 1, row.payload) for row in rest]


def _second_writer() -> LogBuilder:
    """Another writer's end stands within the turn: what comes after has no input."""
    log = LogBuilder("G8")
    log.interrupted("c", "hi", say("a"))
    log.add(Row("c", 3))
    log.output("c", say("b"))
    log.add(Row("c", 3))
    return log


# --- G3 ------------------------------------------------------------------------------------------


def _executing() -> LogBuilder:
    log = LogBuilder("G3")
    log.interrupted("c", "hi", say("a"))
    return log


def _lose_the_execution(log: LogBuilder) -> None:
    log.executions = [("another", log.executions[0][1], log.executions[0][2])]


def _close_the_execution(log: LogBuilder) -> None:
    exec_id, payload, time = log.executions[0]
    log.executions.append((exec_id, payload.replace("PENDING", "COMPLETED"), time))


def _talk_in(generation: str) -> Make:
    return lambda: talk(generation)


def _configured(step: int) -> Make:
    """A row that holds the configuration of its turn."""
    state = '"state":"STATE_PENDING"'
    return changed(talk, rewrite(step, state, f'"agent_config":{{}},{state}'))


PAIRS: dict[str, list[Pair]] = {
    "AX110": [
        Pair(interrupted, [("c", 4, [4])], _resumed),
        Pair(_only_interrupted, [("c", 2, [2])], _ended(3)),
        Pair(_only_interrupted, [("c", 2, [2])], _ended(2)),
    ],
    "AX111": [
        Pair(_overlapping("G8"), [("c", 3, [3])], _one_after_the_other("G8")),
        Pair(_overlapping("G4"), [("c", 3, [3])], _one_after_the_other("G4")),
        Pair(_overlapping("G3"), [("c", 3, [3])], _asked("G3")),
        Pair(_three_inputs, [("c", 2, [2])], _asked("G4")),
        # Only an input has a configuration.
        Pair(_configured(3), [("c", 3, [3])], _configured(1)),
    ],
    "AX112": [
        Pair(_empty_input("G4", say("a")), [("c", 3, [3])], _empty_text),
        Pair(_empty_input("G3", say("a")), [("c", 3, [3])], _empty_input("G3", ask("Run?"))),
        Pair(_empty_input("G8", ask("Run?")), [("c", 3, [3])], _asked("G8")),
    ],
    "AX113": [
        Pair(_unanswered(ends=True), [("c", 3, [3])], _unanswered(ends=False)),
        Pair(_two_unanswered, [("c", 3, [3, 4])], _silent),
        Pair(
            _two_unanswered,
            [("c", 3, [3, 4])],
            beside(_two_unanswered, tools=(Tool("charge", consequential=False),)),
        ),
    ],
    "AX114": [Pair(healthy, [(None, None, [])], _only_interrupted)],
    "AX116": [
        Pair(_ended(2), [("c", 3, [3])], _ended(3)),
        Pair(_ended(4), [("c", 3, [3])], _ended(0)),
    ],
    "AX117": [
        Pair(changed(talk, _without_input), [("c", 1, [1])], talk),
        Pair(_second_writer, [("c", 4, [4])], changed(talk, store(1, payload="{"))),
    ],
    "AX148": [
        Pair(changed(_executing, _lose_the_execution), [("c", None, [])], _executing, "G3", "G3"),
        Pair(changed(_executing, _close_the_execution), [("c", None, [])], _executing, "G3", "G3"),
    ],
    "AX149": [
        Pair(_talk_in("G3"), [("c", None, [])], _talk_in("G3"), "G3", "G5"),
        Pair(_talk_in("G4"), [("c", None, [])], _talk_in("G4"), "G4", "G5"),
        Pair(_executing, [("c", None, [])], changed(_executing, _lose_the_execution), "G3", "G3"),
    ],
}
