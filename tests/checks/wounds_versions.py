"""Wounds of upgrades: rows of several generations, content and owners that AX does not see."""

from __future__ import annotations

from collections.abc import Callable

from axnb.ax.rows import Part, Row
from axnb.testing.logs import LogBuilder, say
from tests.checks.pairs import Make, Pair, beside, changed, rewrite, talk


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


def _owned_by(*harnesses: str) -> Make:
    def make() -> LogBuilder:
        log = LogBuilder("G8")
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
    ],
}
