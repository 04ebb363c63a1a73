"""Batches on their way into the case: numbers for ids, long rows together, an INSERT each."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from axnb.evidence.batches import (
    LONG_TEXT,
    ConversationNumbers,
    long_rows_together,
    one_insert_each,
    small_ones_together,
)

_SIZES = st.lists(
    st.lists(st.sampled_from([1, 600, LONG_TEXT, LONG_TEXT + 1, 70_000]), min_size=1, max_size=8),
    max_size=8,
)


def _batches(sizes: Iterable[list[int]]) -> list[pa.RecordBatch]:
    batches, row = [], 0
    for of_batch in sizes:
        rows = range(row, row + len(of_batch))
        row += len(of_batch)
        columns = {
            "row": pa.array(rows, pa.int64()),
            "conversation": pa.array([0] * len(of_batch), pa.int32()),
            "step": pa.array(rows, pa.int64()),
            "payload": pa.array([b"x" * size for size in of_batch], pa.binary()),
        }
        batches.append(pa.record_batch(columns))
    return batches


def _rows(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, int]]:
    return sorted(
        (row, len(payload))
        for batch in batches
        for row, payload in zip(
            batch.column(0).to_pylist(), batch.column(3).to_pylist(), strict=True
        )
    )


@given(_SIZES)
def test_long_rows_travel_alone_and_none_is_lost(sizes: list[list[int]]) -> None:
    given_batches = _batches(sizes)
    found = list(long_rows_together(given_batches))
    assert _rows(found) == _rows(given_batches)
    for batch in found:
        assert len({len(p) > LONG_TEXT for p in batch.column(3).to_pylist()}) == 1


@given(_SIZES)
def test_small_batches_are_put_together_and_no_row_is_lost(sizes: list[list[int]]) -> None:
    given_batches = _batches(sizes)
    found = list(small_ones_together(given_batches))
    assert [row for batch in found for row in batch.column(0).to_pylist()] == [
        row for batch in given_batches for row in batch.column(0).to_pylist()
    ]
    assert all(batch.nbytes >= 4 << 20 for batch in found[:-1])


@given(_SIZES)
def test_every_row_is_in_one_insert(sizes: list[list[int]]) -> None:
    given_batches = _batches(sizes)
    groups = [list(group) for group in one_insert_each(given_batches)]
    assert [batch for group in groups for batch in group] == given_batches


def test_usual_rows_are_one_insert_and_large_ones_a_few_at_a_time() -> None:
    usual, large = _batches([[600] * 100] * 50), _batches([[9 << 20]] * 3)
    groups = [len(list(group)) for group in one_insert_each([*usual, *large])]
    assert groups == [50, 1, 1, 1]


def test_a_conversation_keeps_its_number() -> None:
    numbers = ConversationNumbers()
    batch = pa.record_batch(
        {
            "row": [1, 2, 3, 4],
            "conversation_id": pa.array([b"a", b"b", b"\xff", b"a"], pa.binary()),
            "step": [1, 1, 1, 2],
            "payload": pa.array([b"{}"] * 4, pa.binary()),
        }
    )
    not_text: list[int] = []
    (found,) = numbers.numbered([batch], not_text)
    assert found.column(1).to_pylist() == [0, 1, 0]
    assert not_text == [3]
    assert numbers.ids == ["a", "b"]
    assert numbers.number("b") == 1
    assert numbers.number("c") == 2
