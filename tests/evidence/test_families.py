"""Which family of content is tried first, and that no other is left out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from axnb.evidence.families import FAMILIES, passes

MESSAGES = '{"conversation_id":"c","step":1,"messages":[],"state":"STATE_PENDING"}'
G7 = '{"conversation_id":"c","harness_id":"h","steps":[],"state":"STATE_PENDING"}'
G8 = '{"conversation_id":"c","agent_id":"h","steps":[],"state":"STATE_PENDING"}'
END = '{"conversation_id":"c","state":"STATE_COMPLETED"}'


def _first(*payloads: str) -> pa.RecordBatch:
    numbers = list(range(len(payloads)))
    columns = [numbers, numbers, numbers, list(payloads)]
    return pa.RecordBatch.from_arrays([pa.array(c) for c in columns], names=list("abcd"))


@pytest.mark.parametrize(
    ("rows", "family"),
    [
        ((MESSAGES, MESSAGES, G8), "messages"),
        ((G7, END, MESSAGES), "G7"),
        ((G8, END, END), "G8"),
        ((END,), "G8"),
    ],
)
def test_what_most_rows_look_like_comes_first(rows: tuple[str, ...], family: str) -> None:
    found = passes("step", _first(*rows))
    assert found[0] == (family, False)
    assert {name for name, respell in found if respell} == set(FAMILIES)


def test_rows_with_spaces_are_spelled_anew_at_once() -> None:
    found = passes("step", _first(G7.replace(":", ": ")))
    assert found[0] == ("G7", True)
    assert len(found) == len(FAMILIES)


def test_a_log_that_counts_by_seq_holds_messages_only() -> None:
    assert passes("seq", _first(END)) == [("messages", False), ("messages", True)]
