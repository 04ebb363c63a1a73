"""Two logs row by row: what is the same, what differs, and what is unknown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from axnb.case.case import Case
from axnb.case.differing import ConversationDifference, differing
from axnb.errors import UsageError
from axnb.testing.logs import LogBuilder, StoredRow
from tests import ax_logs

Load = Callable[[Path | str], str]


def payload(n: object, *, indent: int | None = None) -> str:
    """A row that AX decodes."""
    return json.dumps({"conversation_id": "c", "state": 3, "n": n}, indent=indent)


def write(path: Path, rows: Iterable[StoredRow]) -> Path:
    """A log without a key and types, which takes any row."""
    log = LogBuilder("G8")
    log.rows = [*rows]
    return log.write_sqlite(path, keyed=False, typed=False)


@pytest.fixture
def compare(case: Case, load: Load, tmp_path: Path) -> Callable[..., list[ConversationDifference]]:
    """The differences of two logs of these rows."""
    numbers = count()

    def compare_two(
        left: Iterable[StoredRow], right: Iterable[StoredRow], most_steps: int = 20
    ) -> list[ConversationDifference]:
        sources = [
            load(write(tmp_path / f"log-{next(numbers)}.sqlite", rows)) for rows in (left, right)
        ]
        with case.reading() as session:
            return [*differing(session, *sources, most_steps=most_steps)]

    return compare_two


Compare = Callable[..., list[ConversationDifference]]


def told(found: ConversationDifference) -> tuple[int, ...]:
    """The counts of a conversation, in the order of their fields."""
    return (
        found.same_text,
        found.respelled,
        found.different,
        found.unknown,
        found.only_left,
        found.only_right,
    )


def test_every_kind_of_difference(compare: Compare) -> None:
    """One row of each, in two conversations; a third one is the same."""
    one = [StoredRow("c", n, payload(n)) for n in range(1, 6)]
    other = [
        StoredRow("c", 1, payload(1)),
        StoredRow("c", 2, payload(2, indent=1)),
        StoredRow("c", 3, payload(-3)),
        StoredRow("c", 4, '{"conversation_id":"c","x":1,"x":2,"state":3}'),
        StoredRow("c", 6, payload(5)),
    ]
    same = StoredRow("d", 1, payload("d"))
    first, second = compare([*one, same], [same, *other])
    assert first.conversation_id == "c"
    assert told(first) == (1, 1, 1, 1, 1, 1)
    assert (first.different_steps, first.unknown_steps) == ((3,), (4,))
    assert (first.only_left_steps, first.only_right_steps) == ((5,), (6,))
    assert not first.is_same
    assert (second.conversation_id, told(second), second.is_same) == ("d", (1, 0, 0, 0, 0, 0), True)


def test_rows_that_axnb_cannot_read_take_part(compare: Compare) -> None:
    """The same text is the same; another one is unknown, and a missing one is missing."""
    here = [StoredRow("c", n, f"no JSON {n}") for n in (1, 2, 3)]
    there = [StoredRow("c", 1, "no JSON 1"), StoredRow("c", 2, "no JSON 22")]
    (found,) = compare(here, there)
    assert told(found) == (1, 0, 0, 1, 1, 0)
    assert found.only_left_steps == (3,)


def test_a_text_that_axnb_does_not_hold_is_the_same_as_none(compare: Compare) -> None:
    """Both payloads are NULL: what stood there is not known."""
    rows = [StoredRow("c", 1, None), StoredRow("c", 2, payload(2))]  # type: ignore[arg-type]
    (found,) = compare(rows, rows)
    assert told(found) == (1, 0, 0, 1, 0, 0)
    assert not found.is_same


def test_rows_of_one_number_are_compared_in_any_order(compare: Compare) -> None:
    """A log without a key: of three and two rows one says something else and one is missing."""
    here = [StoredRow("c", 1, payload(n)) for n in (1, 2, 3)]
    there = [StoredRow("c", 1, payload(2, indent=2)), StoredRow("c", 1, payload(4))]
    (found,) = compare(here, there)
    assert told(found) == (0, 1, 1, 0, 1, 0)


def test_a_row_that_ax_does_not_find_is_another_one(compare: Compare) -> None:
    """An id that became a BLOB reads alike for a person, and AX's query does not find it."""
    (found,) = compare([StoredRow("c", 1, payload(1))], [StoredRow(b"c", 1, payload(1))])
    assert told(found) == (0, 0, 0, 0, 1, 1)


def test_few_steps_are_named_and_all_are_counted(compare: Compare) -> None:
    """The first ones."""
    rows = [StoredRow("c", n, payload(n)) for n in range(1, 31)]
    (found,) = compare(rows, [], most_steps=3)
    assert (found.only_left, found.only_left_steps) == (30, (1, 2, 3))


def test_a_conversation_without_an_id_that_can_be_read(compare: Compare) -> None:
    """Its rows belong to no conversation, and are not left out."""
    rows = [StoredRow(None, 1, payload(1))]  # type: ignore[arg-type]
    (found,) = compare(rows, rows)
    assert (found.conversation_id, told(found)) == (None, (1, 0, 0, 0, 0, 0))
    (_, found) = compare(rows, [StoredRow("c", 1, payload(1))])
    assert (found.conversation_id, found.only_left, found.only_left_steps) == (None, 1, (1,))


def test_the_restored_log_goes_another_way(case: Case, load: Load, tmp_path: Path) -> None:
    """What real servers did: respelled all over, the copy still says the same; cut, it does not."""
    log = ax_logs.ROOT / "g8-sqlite" / "log.sqlite"
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(log.read_bytes())
    with closing(sqlite3.connect(copy)) as database:
        database.execute("update conversation_log set payload = replace(payload, '{', ' {')")
        ((cut, last),) = database.execute(
            "select conversation_id, max(step) from conversation_log limit 1"
        )
        database.execute(
            "delete from conversation_log where conversation_id = ? and step = ?", [cut, last]
        )
        database.commit()
    left, right = load(log), load(copy)
    with case.reading() as session:
        found = differing(session, left, right)
        again = differing(session, right, left)
    ((rows,),) = case.rows("select count(*) from log_rows where source = ?", [left])
    (missing,) = [each for each in found if not each.is_same]
    assert (missing.conversation_id, missing.only_left_steps) == (cut, (last,))
    assert sum(each.respelled for each in found) == rows - 1
    assert [each.only_right_steps for each in again if not each.is_same] == [(last,)]


def test_a_source_is_not_compared_with_itself(case: Case) -> None:
    """Whoever asks for that has mistaken a name."""
    with case.reading() as session, pytest.raises(UsageError, match="itself"):
        differing(session, "log", "log")
