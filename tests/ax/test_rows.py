"""Each generation's codec: what it writes, it reads again, and AX's own rows are written alike."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.ax import rows
from axnb.ax.protojson import PayloadError
from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS, Generation
from tests import ax_logs

_ALL = list(GENERATIONS.values())
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_OBJECT = st.sampled_from(["{}", '{"a":1}', '{"a":[1,{"b":null}],"z":"ü \\" \\\\"}', '{"n":1.5}'])
_NAME = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)


def _parts(generation: Generation) -> st.SearchStrategy[Part]:
    roles = st.sampled_from(["user", "assistant"])
    # A step has no place for the role of a thought or a tool call.
    model = "model" if generation.content_key == "messages" else None
    return st.one_of(
        st.builds(Part, st.just("text"), roles, value=_TEXT),
        st.builds(Part, st.just("thought"), st.just(model), value=_TEXT),
        st.builds(
            Part, st.just("tool_call"), st.just(model), call_id=_TEXT, tool=_NAME, value=_OBJECT
        ),
        st.builds(
            Part,
            st.just("tool_result"),
            st.just(model),
            call_id=_TEXT,
            tool=_NAME,
            value=_OBJECT,
            is_error=st.booleans() if model is None else st.just(False),
        ),
    )


@pytest.mark.parametrize("generation", _ALL, ids=lambda g: g.name)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read(generation: Generation, data: st.DataObject) -> None:
    parts = data.draw(st.lists(_parts(generation), max_size=3))
    owner = data.draw(_NAME) if generation.owner_key else ""
    row = Row(
        conversation_id=data.draw(_TEXT),
        state=data.draw(st.integers(0, 4)),
        owner=owner,
        exec_id="e-1" if generation.name in ("G3", "G4") else "",
        parts=tuple(parts),
        content_count=len(parts),
    )
    assert rows.read(rows.write(row, generation, 7), generation) == row


def test_rows_of_real_servers_are_written_alike() -> None:
    """Where a row holds nothing but text, calls, results and states, the bytes are the same."""
    compared = 0
    for log in ax_logs.sqlite_logs():
        generation = GENERATIONS.get(log.truth.get("written_by", {}).get("generation", ""))
        if generation is None:
            continue
        with closing(sqlite3.connect(f"{log.sqlite.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            found = db.execute(
                f"select {generation.step_column}, payload from conversation_log"
            ).fetchall()
        for step, payload in found:
            row = rows.read(payload, generation)
            kinds = {part.kind for part in row.parts}
            usual = kinds <= {"text", "tool_call"} and len(row.parts) == row.content_count <= 1
            plain = not any(
                text in payload for text in ("\\u", "signature", "index", "description")
            )
            if usual and plain:
                written = rows.write(row, generation, step)
                assert written.replace(", ", ",") == payload.replace(", ", ",")
                compared += 1
    assert compared > 1000


@pytest.mark.parametrize("generation", _ALL, ids=lambda g: g.name)
def test_a_row_that_its_server_refuses(generation: Generation) -> None:
    with pytest.raises(PayloadError):
        rows.read('{"conversation_id":"c","conversation_id":"c"}', generation)


@pytest.mark.parametrize(
    ("payload", "column", "shape"),
    [
        ('{"seq":1,"exec_id":"e","messages":[]}', "seq", "exec"),
        ('{"seq":1,"messages":[]}', "seq", "G5"),
        ('{"step":1,"messages":[]}', "step", "G6"),
        ('{"steps":[],"harness_id":"a"}', "step", "G7"),
        ('{"steps":[],"agentId":"a"}', "step", "G8"),
        ('{"steps":[]}', "step", "steps"),
        ('{"state":3}', "step", "state"),
        ('{"state":3}', "seq", "G5"),
        ('{"messages":[]}', "step", "G6"),
    ],
)
def test_shapes(payload: str, column: str, shape: str) -> None:
    from axnb.ax.protojson import parse

    assert rows.shape(parse(payload), column) == shape
