"""Wounds of the numbers: gaps, missing heads, numbers used twice, too many, too high."""

from __future__ import annotations

from collections.abc import Callable

from axnb.ax.rows import Row
from axnb.testing.logs import LogBuilder, StoredRow, answer, call
from tests.checks.pairs import Make, Pair, beside, changed, drop, put, rewrite, store, talk

_LIMIT = 2**31 - 1


def _twice(*payloads: str | None) -> Make:
    """Rows at step 3 beside the one that is there, in a table without a key."""
    return beside(changed(talk, *(put(3, p) for p in payloads)), keyed=False, typed=False)


_SAME = talk().rows[2].payload
_RESPELLED = _SAME.replace(",", ", ")
_DIFFERENT = _SAME.replace('"b"', '"x"')


def _calls(*ids: str) -> Callable[[], LogBuilder]:
    def make() -> LogBuilder:
        log = LogBuilder("G8")
        parts = [call("charge", {"n": 1}, name) for name in ids]
        log.turn("c", "hi", *parts, *(answer({"ok": True}, call_id=name) for name in {*ids}))
        return log

    return make


def _beside(step: int, value: str) -> Callable[[LogBuilder], None]:
    """A key that AX has no field for."""
    return rewrite(step, '"state":', f'"extra":{value},"state":')


def _results(generation: str, *results: dict[str, int]) -> Make:
    """Up to G6 equal rows have unequal texts: the number stands in the payload."""
    log = LogBuilder(generation)
    log.turn("c", "hi", call("charge"), *(answer(result) for result in results))
    return lambda: log


def _in_two_turns() -> LogBuilder:
    log = LogBuilder("G8")
    for text in ("hi", "again"):
        log.turn("c", text, call("charge", {"n": 1}), answer({"ok": True}))
    return log


def _last_at(step: int) -> Make:
    return changed(talk, lambda log: log.add(Row("c", 3), step=step))


def _rows(count: int) -> Make:
    """The end comes last; all rows before it are alike."""

    def make() -> LogBuilder:
        log = talk()
        text, end = log.rows[1].payload, log.rows[-1].payload
        log.rows[1:] = [StoredRow("c", n, text) for n in range(2, count)]
        log.rows.append(StoredRow("c", count, end))
        return log

    return make


def _bytes(count: int) -> Make:
    """Five rows with so many bytes in all."""

    def make() -> LogBuilder:
        log = talk()
        missing = count - sum(len(row.payload) for row in log.rows)
        for n, size in ((1, missing // 2), (2, missing - missing // 2)):
            rewrite(n + 1, '"text":"', '"text":"' + "x" * size)(log)
        return log

    return make


PAIRS: dict[str, list[Pair]] = {
    "AX101": [
        Pair(changed(talk, drop(3)), [("c", 3, [2, 4])], talk),
        Pair(
            changed(talk, drop(2, 4)),
            [("c", 2, [1, 3]), ("c", 4, [3, 5])],
            changed(talk, store(2, payload="{"), store(4, payload="{")),
        ),
        Pair(_last_at(2**62), [("c", 6, [5, 2**62])], changed(talk, drop(1))),
    ],
    "AX102": [
        Pair(changed(talk, drop(1)), [("c", 2, [2])], changed(talk, drop(2))),
        Pair(
            changed(talk, drop(1, 2), put(0, talk().rows[0].payload)),
            [("c", 3, [3])],
            changed(talk, put(0, talk().rows[0].payload)),
        ),
    ],
    "AX104": [
        Pair(_twice(_DIFFERENT), [("c", 3, [3, 3])], _twice(_RESPELLED)),
        Pair(_twice(_SAME, _DIFFERENT), [("c", 3, [3, 3])], _twice(_SAME, _SAME)),
        # What is not there cannot be compared.
        Pair(_twice(None), [("c", 3, [3, 3])], _twice()),
        Pair(
            beside(changed(talk, store(3, payload=None), put(3, None)), keyed=False, typed=False),
            [("c", 3, [3, 3])],
            beside(changed(talk, store(3, payload=None)), keyed=False, typed=False),
        ),
    ],
    "AX105": [
        Pair(_twice(_RESPELLED), [("c", 3, [3, 3])], _twice(_DIFFERENT)),
        Pair(_twice(_SAME, _SAME), [("c", 3, [3, 3])], _twice(_SAME, _DIFFERENT)),
    ],
    "AX106": [
        Pair(_calls("a", "a"), [("c", 2, [2, 3])], _calls("a", "b")),
        Pair(_calls("a", "a", "a"), [("c", 2, [2, 3])], _calls("", "", "")),
        # A row without a canonical form is like no other.
        Pair(
            changed(_calls("a", "a"), _beside(2, '{"x":1}'), _beside(3, '{"x":1}')),
            [("c", 2, [2, 3])],
            changed(_calls("a", "a"), _beside(2, '{"x":1,"x":2}'), _beside(3, '{"x":3,"x":4}')),
        ),
        Pair(
            _results("G6", {"n": 1}, {"n": 1}),
            [("c", 3, [3, 4])],
            _results("G6", {"n": 1}, {"n": 2}),
        ),
        Pair(_results("G8", {"n": 1}, {"n": 1}), [("c", 3, [3, 4])], _in_two_turns),
    ],
    "AX108": [
        Pair(
            _last_at(_LIMIT - 999), [("c", _LIMIT - 999, [_LIMIT - 999])], _last_at(_LIMIT - 1000)
        ),
        Pair(_last_at(_LIMIT), [("c", _LIMIT, [_LIMIT])], talk),
        Pair(_last_at(2**62), [("c", 2**62, [2**62])], talk),
    ],
    "AX109": [
        Pair(_rows(10_000), [("c", 10_000, [10_000])], _rows(9_999)),
        Pair(_bytes(16 << 20), [("c", 5, [5])], _bytes((16 << 20) - 1)),
    ],
    "AX115": [
        Pair(changed(talk, put(0, _SAME)), [("c", 0, [0])], changed(talk, put(6, _SAME))),
        Pair(
            changed(talk, put(0, _SAME), put(-7, _SAME)),
            [("c", -7, [-7]), ("c", 0, [0])],
            changed(talk, drop(1)),
        ),
    ],
}
