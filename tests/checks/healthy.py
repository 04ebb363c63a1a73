"""Healthy logs of every generation, with all that an ordinary history holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from axnb.ax.rows import Part, Row, read, write
from axnb.testing.logs import LogBuilder, StoredRow, answer, ask, call, decide, say, think

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
tools = st.sampled_from(["charge", "http_get", "отправить", 'a"b'])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**52), 2**52) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ids, inner, max_size=2),
    max_leaves=3,
)
arguments = st.dictionaries(ids, _values, max_size=2)
#: Names that tell nothing: `error`, `status` and their like say that something went wrong.
results = st.dictionaries(st.sampled_from(["ok", "amount", "note", "rows"]), _values, max_size=2)


Objects = st.SearchStrategy[dict[str, Any]]


@st.composite
def answered_calls(draw: st.DrawFn, arguments: Objects, results: Objects, most: int) -> list[Part]:
    """Calls that are open together, each answered once, in any order where they have ids."""
    used = draw(st.lists(tools, min_size=1, max_size=most))
    named = draw(st.booleans())
    pairs = [(f"call_{n}" if named else "", tool) for n, tool in enumerate(used)]
    calls = [call(tool, draw(arguments), call_id) for call_id, tool in pairs]
    order = draw(st.permutations(pairs)) if named else pairs
    return [*calls, *(answer(draw(results), tool, call_id) for call_id, tool in order)]


@st.composite
def asked_calls(
    draw: st.DrawFn, texts: st.SearchStrategy[str], arguments: Objects, results: Objects
) -> list[Part]:
    """A call that waits for a person: approved and answered, or declined and never run."""
    tool = draw(tools)
    asked = [call(tool, draw(arguments), "asked"), ask(draw(texts), "asked")]
    if draw(st.booleans()):
        return [*asked, decide("approved", "asked"), answer(draw(results), tool, "asked")]
    return [*asked, decide("declined", "asked")]


_outputs = st.one_of(
    texts.map(lambda text: [say(text)]),
    texts.map(lambda text: [think(text)]),
    answered_calls(arguments, results, most=2),
    asked_calls(texts, arguments, results),
)
_decisions = st.sampled_from(["approved", "declined"])


@st.composite
def healthy_logs(draw: st.DrawFn, generation: str) -> LogBuilder:
    """A log of several conversations whose turns come in any order, all of them whole."""
    log = LogBuilder(generation)
    names = draw(st.lists(ids, min_size=2, max_size=3, unique=True))
    owners = {name: draw(st.sampled_from(_owners(log))) for name in names}
    waiting: dict[str, list[str]] = {}
    for name in draw(st.lists(st.sampled_from(names), min_size=2, max_size=5)):
        log.harness = owners[name]
        _add_turn(draw, log, name, waiting.setdefault(name, []))
    for name, asked in waiting.items():
        log.harness = owners[name]
        while asked:
            _add_turn(draw, log, name, asked, asks=False)
    return log


def _owners(log: LogBuilder) -> Sequence[str]:
    if log.generation.name == "G3":
        # Its rows name none, its executions do.
        return ["drill"]
    return ["antigravity", "drill", *["antigravity-interactions"] * log.generation.names_default]


def _add_turn(
    draw: st.DrawFn, log: LogBuilder, name: str, waiting: list[str], *, asks: bool = True
) -> None:
    """A turn; its input answers the questions that the turn before may have ended with."""
    contents = draw(st.lists(_outputs, max_size=2))
    # An id is used once a turn, and again in the next, as by a harness that counts.
    parts = [
        replace(part, call_id=part.call_id and f"{number}-{part.call_id}")
        for number, content in enumerate(contents)
        for part in content
    ]
    question = f"q{len(log.rows)}"
    answers = [decide(draw(_decisions), asked) for asked in waiting]
    waiting.clear()
    if asks and draw(st.booleans()):
        parts.append(ask(draw(texts), question))
        waiting.append(question)
    place = len(log.rows)
    log.turn(name, draw(texts), *parts)
    inputs = tuple(answers or [say(draw(texts), "user") for _ in range(draw(st.integers(1, 2)))])
    change_row(log, place, parts=inputs, config=draw(_configs(log)))


def _configs(log: LogBuilder) -> st.SearchStrategy[str | None]:
    if log.generation.config_key is None:
        return st.none()
    if log.generation.name == "G4":
        return st.none() | st.just("eyJtb2RlbCI6Im0ifQ==")
    return st.none() | st.sampled_from(["{}", '{"model":"m","temperature":0.5}'])


def change_row(log: LogBuilder, place: int, **changes: Any) -> None:
    """Write one row of a log anew with other contents."""
    old = log.rows[place]
    row: Row = replace(read(old.payload, log.generation), **changes)
    log.rows[place] = StoredRow(old.conversation_id, old.step, write(row, log.generation, old.step))
