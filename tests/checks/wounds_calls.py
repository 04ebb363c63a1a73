"""Wounds of tool calls: without a result, without a call, asked for twice, without an own id."""

from __future__ import annotations

from axnb.ax.rows import Part
from axnb.settings import Tool
from axnb.testing.logs import LogBuilder, answer, ask, call, decide, say
from tests.checks.pairs import Make, Pair, beside, healthy

_OK = {"ok": True}
_RULE = Tool("charge", "$.key")


def _turn(*parts: Part) -> Make:
    """A turn of `c` after a whole one of another conversation, so that the harness logs results."""
    return _turns(parts)


def _turns(*turns: tuple[Part, ...]) -> Make:
    def make() -> LogBuilder:
        log = healthy()
        for parts in turns:
            log.turn("c", "hi", *parts)
        return log

    return make


def _charge(call_id: str, **arguments: object) -> Part:
    return call("charge", arguments, call_id)


def _answer(call_id: str, tool: str = "charge") -> Part:
    return answer(_OK, tool, call_id)


def _timed_out(call_id: str = "call_1") -> Part:
    return answer({"error": "deadline exceeded"}, "charge", call_id, is_error=True)


def _alone(*turns: tuple[Part, ...], conversation_id: str = "c", generation: str = "G8") -> Make:
    """The only conversation of its log."""

    def make() -> LogBuilder:
        log = LogBuilder(generation)
        for parts in turns:
            log.turn(conversation_id, "hi", *parts)
        return log

    return make


def _ruled(*turns: tuple[Part, ...], path: str = "$.key", consequential: bool = True) -> Make:
    """With a rule for `charge` in axnb.toml."""
    return beside(_alone(*turns), tools=(Tool("charge", path, consequential),))


_whole = _turn(_charge("a"), _answer("a"))
_unanswered = _turn(_charge("a"))
_asked = (ask("Run?", "q"), decide("approved", "q"))

PAIRS: dict[str, list[Pair]] = {
    "AX201": [
        Pair(_turn(_answer("a")), [("c", 2, [2])], _whole),
        # As many results as calls.
        Pair(_turn(_charge("a"), _answer("b")), [("c", 3, [3])], _unanswered),
        Pair(_turn(_charge(""), _answer(""), _answer("")), [("c", 4, [4])], _turn(_charge(""))),
        Pair(_turn(_charge("a"), _answer("a", "http_get")), [("c", 3, [3])], _whole),
    ],
    "AX202": [
        Pair(
            _turn(_charge("a"), _charge("b"), _answer("a")),
            [("c", 3, [3])],
            _turn(_charge("a"), _charge("b"), _answer("b"), _answer("a")),
        ),
        Pair(
            _turn(_charge("", n=1), _charge("", n=2), _answer("")),
            [("c", 3, [3])],
            beside(
                _turn(_charge("", n=1), _charge("", n=2), _answer("")),
                tools=(Tool("charge", None, consequential=False),),
            ),
        ),
        Pair(
            _turn(*(_charge(name, n=name) for name in "abcd"), _answer("c")),
            [("c", 2, [2, 3, 5])],
            _turn(
                _charge("a"), ask("Run?", "a"), decide("declined", "a"), _charge("b"), _answer("b")
            ),
        ),
    ],
    "AX203": [
        Pair(_unanswered, [("c", 2, [2])], _whole),
        Pair(_turn(_charge("a"), _timed_out("a")), [("c", 2, [2])], _alone((_charge("a"),))),
        Pair(
            _turn(_charge("a"), answer({"error": "interrupted"}, call_id="a", is_error=True)),
            [("c", 2, [2])],
            _turn(_charge("a"), answer({"error": "no such card"}, call_id="a", is_error=True)),
        ),
        Pair(
            _turn(_charge("a"), answer({"status": "running"}, call_id="a")),
            [("c", 2, [2])],
            beside(_unanswered, tools=(Tool("charge", None, consequential=False),)),
        ),
        Pair(
            _turn(_charge("a"), ask("Run?", "a"), decide("approved", "a")),
            [("c", 2, [2])],
            _turn(_charge("a"), ask("Run?", "a"), decide("declined", "a")),
        ),
    ],
    "AX204": [
        Pair(_alone((_charge("a"),), (_charge("b"),)), [(None, None, [])], _unanswered),
        Pair(
            _alone((_charge("a"),)),
            [(None, None, [])],
            _alone((_charge("a"), ask("Run?", "a"), decide("declined", "a"))),
        ),
    ],
    "AX205": [
        Pair(
            _turns((_charge("a"), _answer("a")), (_charge("a"), _answer("a"))),
            [("c", 6, [2, 6])],
            _turns((_charge("a"), _answer("a")), (_charge("b"), _answer("b"))),
        ),
        Pair(
            _turns((_charge("a", n=1), _charge("a", n=2)), (_charge("b"),), (_charge("a", n=3),)),
            [("c", 9, [2, 9])],
            _turn(_charge("a", n=1), _charge("a", n=2), _charge("b"), _charge("a", n=3)),
        ),
    ],
    "AX206": [
        Pair(
            _turn(_charge("a", n=1), _charge("a", n=2)),
            [("c", 3, [2, 3])],
            _turn(_charge("a", n=1), _charge("a", n=1)),
        ),
        Pair(
            _turn(_charge("a", n=1), _charge("a", n=1), call("refund", {"n": 1}, "a")),
            [("c", 4, [2, 4])],
            _turns((_charge("a", n=1),), (_charge("a", n=2),)),
        ),
        # Results are none.
        Pair(
            _turn(_charge("a", n=1), _charge("a"), _answer("a"), _timed_out("a")),
            [("c", 3, [2, 3])],
            _turn(_charge("a", n=1), _answer("a"), _timed_out("a")),
        ),
    ],
    "AX207": [
        Pair(
            _ruled((_charge("a", key="k"), _answer("a"), _charge("b", key="k"), _answer("b"))),
            [("c", 4, [4])],
            _ruled((_charge("a", key="k"), _answer("a"), _charge("b", key="l"), _answer("b"))),
        ),
        Pair(
            _ruled(*[(_charge("a", key="k"), _answer("a"))] * 3),
            [("c", 6, [6]), ("c", 10, [10])],
            # One call that was logged twice.
            _ruled((_charge("a", key="k"), _charge("a", key="k"), _answer("a"))),
        ),
    ],
    "AX208": [
        Pair(
            _alone((_charge("a", key="k"), _answer("a"))),
            [(None, None, [])],
            _ruled((_charge("a", key="k"), _answer("a"))),
        ),
        Pair(
            _alone((_charge("", key="k"), _answer(""))),
            [(None, None, [])],
            _ruled((_charge("", key="k"), _answer("")), consequential=False),
        ),
    ],
    "AX209": [
        Pair(
            _ruled((_charge("a", kay="k"), _answer("a"))),
            [("c", 2, [2])],
            _ruled((_charge("a", key="k"), _answer("a"))),
        ),
        Pair(
            _ruled((_charge("a", key=""), _answer("a"))),
            [("c", 2, [2])],
            _alone((_charge("a", kay="k"), _answer("a"))),
        ),
        Pair(
            _ruled((_charge("a", key=None), _answer("a"))),
            [("c", 2, [2])],
            _ruled((_charge("a", kay="k"), _answer("a")), consequential=False),
        ),
    ],
    "AX210": [
        Pair(
            _alone((say("a"),), conversation_id=name),
            [(name, None, [])],
            _alone((say("a"),), conversation_id=other),
        )
        for name, other in (("Not_A_DNS.Name", "a-dns-name"), ("a-", "a-0"), ("a" * 64, "a" * 63))
    ],
    "AX211": [
        Pair(
            _turn(_charge("a", n=1), _timed_out("a"), _charge("b", n=1), _answer("b")),
            [("c", 4, [2, 4])],
            _turn(_charge("a", n=1), _timed_out("a"), _charge("b", n=2), _answer("b")),
        ),
        Pair(
            _turns((_charge("a", n=1.5),), (_charge("b", n=1.5), _answer("b"))),
            [("c", 5, [2, 5])],
            _turns((_charge("a", n=1.5), _answer("a")), (_charge("b", n=1.5), _answer("b"))),
        ),
        Pair(
            _turn(_charge("a", n=1), _timed_out("a"), _charge("b", n=1), _answer("b")),
            [("c", 4, [2, 4])],
            # One call that was logged twice.
            _turn(_charge("a", n=1), _charge("a", n=1), _timed_out("a")),
        ),
        Pair(
            _turn(_charge("a", n=1), _timed_out("a"), _charge("b", n=1), _answer("b")),
            [("c", 4, [2, 4])],
            beside(
                _turn(_charge("a", n=1), _timed_out("a"), _charge("b", n=1), _answer("b")),
                tools=(Tool("charge", None, consequential=False),),
            ),
        ),
    ],
    "AX212": [
        # A call of the same id in an earlier turn is another one.
        Pair(
            _turns((_charge("q"), _answer("q")), _asked),
            [("c", 7, [7])],
            _turns((_charge("q"), _answer("q")), (_charge("q"), *_asked)),
        ),
        Pair(_turn(*_asked), [("c", 3, [3])], _turn(*_asked, _charge("a"), _answer("a"))),
        Pair(
            _turn(_charge("a"), _answer("a"), *_asked),
            [("c", 5, [5])],
            _turn(_charge("q"), *_asked, _answer("q")),
        ),
        # The id of the question was used in an earlier turn, in which a call followed.
        Pair(
            _turns((*_asked, _charge("a"), _answer("a")), _asked),
            [("c", 9, [9])],
            _turns(
                (*_asked, _charge("a"), _answer("a")), (ask("Run?", "q"), decide("declined", "q"))
            ),
        ),
        Pair(
            _turns(_asked, (_charge("a"),)), [("c", 3, [3])], _turns(*[(*_asked, _charge("a"))] * 2)
        ),
    ],
    "AX213": [
        Pair(
            _ruled((_charge("a", key=2**53), _answer("a"))),
            [("c", 2, [2])],
            _ruled((_charge("a", key=2**53 - 1), _answer("a"))),
        ),
        Pair(
            _ruled((call("charge", {"o-id": [2**53]}, "a"), _answer("a")), path="$.o-id[0]"),
            [("c", 2, [2])],
            _ruled((_charge("a", key="k", n=2**53), _answer("a"))),
        ),
    ],
    "AX214": [
        Pair(_turn(_answer("a"), _charge("a")), [("c", 2, [2, 3])], _whole),
        Pair(
            _turn(say("wait"), _answer("a"), say("so"), _charge("a")),
            [("c", 3, [3, 5])],
            _turns((_answer("a"),), (_charge("a"),)),
        ),
    ],
    "AX215": [
        Pair(_turn(call("", {}, "a"), _answer("a", "")), [("c", 2, [2])], _whole),
        Pair(
            _turn(call("", {}, ""), answer(_OK, call_id="")),
            [("c", 2, [2])],
            _turn(_charge(""), answer(_OK, "", "")),
        ),
    ],
    "AX216": [
        Pair(_turn(decide("approved", "q")), [("c", 2, [2])], _turn(*_asked)),
        Pair(
            _turn(ask("Run?", "p"), decide("declined", "q")),
            [("c", 3, [3])],
            _turn(ask("Run?", "q"), decide("declined", "q")),
        ),
        Pair(
            _turn(*_asked, decide("approved", "q")),
            [("c", 4, [4])],
            _turn(*_asked, *_asked),
        ),
        # The answer comes with the next request, as it does since G4.
        Pair(
            _turns((decide("approved", "q"),), (ask("Run?", "q"),)),
            [("c", 2, [2])],
            _turns((ask("Run?", "q"),), (decide("approved", "q"),)),
        ),
    ],
    "AX217": [
        Pair(
            _turn(_charge("q"), ask("Run?", "q"), decide("declined", "q"), _answer("q")),
            [("c", 5, [2, 5])],
            # It says that the call was refused.
            _turn(
                _charge("q"),
                ask("Run?", "q"),
                decide("declined", "q"),
                answer({"error": "refused"}, "charge", "q", is_error=True),
            ),
        ),
        Pair(
            _turn(_charge("q"), ask("Run?", "q"), _answer("q"), decide("approved", "q")),
            [("c", 4, [2, 4])],
            _turn(_charge("q"), ask("Run?", "q"), decide("approved", "q"), _answer("q")),
        ),
        Pair(
            _turn(_charge("q"), ask("Run?", "q"), _answer("q")),
            [("c", 4, [2, 4])],
            _turn(_charge("a"), ask("Run?", "q"), _answer("a")),
        ),
    ],
    "AX218": [
        Pair(_turns((_charge("a"),), (_answer("a"),)), [("c", 5, [2, 5])], _whole),
        Pair(
            _turns((_charge("a"),), (_charge("b"), _answer("b"), _answer("a"))),
            [("c", 7, [2, 7])],
            _turns((_charge("a"), _answer("a")), (_charge("a"), _answer("a"))),
        ),
    ],
}
