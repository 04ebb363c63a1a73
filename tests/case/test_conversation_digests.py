"""One digest for all that a conversation says, as docs/canonical-json.md has it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import struct
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from axnb.ax.canonical import canonical_digest
from axnb.case import conversation_digests as module
from axnb.case.case import Case
from axnb.case.conversation_digests import ConversationDigest, conversation_digests
from axnb.testing.logs import LogBuilder, StoredRow
from tests import ax_logs

Load = Callable[[Path | str], str]
Found = dict[str | None, ConversationDigest]

PAGE = Path(__file__).parents[2] / "docs" / "canonical-json.md"


def by_the_page(rows: Iterable[tuple[int | None, int, bytes]]) -> bytes:
    """The digest of rows of a step, a mark and a digest."""
    records = [
        (step is None, step or 0, struct.pack(">qB32s", step or 0, mark, digest))
        for step, mark, digest in rows
    ]
    return hashlib.sha256(b"".join(record for _, _, record in sorted(records))).digest()


def text_digest(text: str) -> bytes:
    """Of a text as it is stored."""
    return hashlib.sha256(text.encode()).digest()


@pytest.fixture
def digest(case: Case, load: Load, tmp_path: Path) -> Callable[[Iterable[StoredRow]], Found]:
    """The digests of a log of these rows, which has neither key nor types."""
    numbers = iter(range(100))

    def digest_of(rows: Iterable[StoredRow]) -> Found:
        log = LogBuilder("G8")
        log.rows = [*rows]
        path = tmp_path / f"log-{next(numbers)}.sqlite"
        source = load(log.write_sqlite(path, keyed=False, typed=False))
        with case.reading() as session:
            return conversation_digests(session, source)

    return digest_of


Digest = Callable[[Iterable[StoredRow]], Found]


def row(step: Any, conversation: Any = "c", **members: object) -> StoredRow:
    """A row that AX decodes."""
    return StoredRow(conversation, step, json.dumps({"conversation_id": "c", "state": 3} | members))


def test_the_example_of_the_page_holds(digest: Digest) -> None:
    """Computed by another program."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## Digest of a conversation")[1].split("\n## ")[0]
    rows = re.findall(r"\| (\d+) \| `(.+)` \|", section)
    found = digest(StoredRow("c", int(step), payload) for step, payload in rows)
    assert len(rows) == 2
    assert found["c"].digest is not None
    assert f"`{found['c'].digest.hex()}`" in section


def test_rows_that_cannot_be_read_take_part(digest: Digest) -> None:
    """By their canonical form if they have one, else by their text; each mark is its own."""
    rows = [
        row(10, n=100),
        row(-2),
        StoredRow("c", 3, "no JSON"),
        StoredRow("c", 4, '{"steps" : 7}'),
        StoredRow("c", 5, '{"state":3,"a":1,"a":1}'),
        StoredRow("c", "one", "{}"),
        StoredRow(b"c", 6, "{}"),
    ]
    assert digest(rows)["c"] == ConversationDigest(
        rows=7,
        last_step=10,
        digest=by_the_page(
            [
                (10, 0, canonical_digest(rows[0].payload)),
                (-2, 0, canonical_digest(rows[1].payload)),
                (3, 1, text_digest("no JSON")),
                (4, 0, canonical_digest('{"steps":7}')),
                (5, 1, text_digest(rows[4].payload)),
                (None, 4, canonical_digest("{}")),
                (6, 2, canonical_digest("{}")),
            ]
        ),
        by_text=2,
    )


def test_a_text_that_could_not_be_read_makes_it_unknown(digest: Digest) -> None:
    """Of its conversation alone."""
    found = digest([row(1), StoredRow("c", 2, None), row(1, "d")])
    assert found["c"] == ConversationDigest(2, 2, None, 1)
    assert found["d"].digest is not None


def test_rows_without_an_id_are_not_left_out(digest: Digest) -> None:
    """They stand under None."""
    found = digest([row(1, None), row(2, None), row(1)])
    assert (found[None].rows, found[None].last_step) == (2, 2)
    assert found[None].digest != digest([row(1, None), row(1)])[None].digest


def test_the_order_of_the_table_does_not_matter(digest: Digest) -> None:
    """Nor does it among rows of one number, nor the spelling of a row."""
    rows = [row(step, n=n) for step in (1, 2, 2, 2, 3, 3, "x", "x") for n in range(2)]
    rows.append(StoredRow("c", 2, "no JSON"))
    shuffled = [
        StoredRow(each.conversation_id, each.step, each.payload.replace(": ", " :  "))
        for each in Random(1).sample(rows, len(rows))
    ]
    assert digest(rows) == digest(shuffled)


def test_what_differs_has_another_digest(digest: Digest) -> None:
    """One change at a time, each in a conversation of its own; the last one has none."""
    first, second, third = ((n, {"n": n}) for n in (1, 2, 3))
    variants: dict[str, list[tuple[Any, dict[str, Any]]]] = {
        "original": [first, second, third],
        "tail lost": [first, second],
        "another step": [first, second, (4, {"n": 3})],
        "no step": [first, second, ("three", {"n": 3})],
        "twice": [first, second, third, third],
        "other content": [first, second, (3, {"n": "3"})],
        "swapped": [(1, {"n": 2}), (2, {"n": 1}), third],
        "copy": [third, second, first],
    }
    rows = [row(step, name, **members) for name, each in variants.items() for step, members in each]
    rows += [row(1, "hidden", n=1), row(2, "hidden", n=2), row(3, b"hidden", n=3)]
    found = {name: one.digest for name, one in digest(rows).items()}
    assert found.pop("copy") == found["original"]
    assert None not in found.values()
    assert len(found) == len(variants)
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize(
    "name", ["g8-sqlite", pytest.param("g5-builtin-sqlite", marks=pytest.mark.slow)]
)
def test_a_real_log_and_its_respelled_copy(
    name: str, case: Case, load: Load, tmp_path: Path
) -> None:
    """Equal, conversation by conversation; one row less is seen in its own alone."""
    log, copy = ax_logs.ROOT / name / "log.sqlite", tmp_path / "copy.sqlite"
    copy.write_bytes(log.read_bytes())
    cut = tmp_path / "cut.sqlite"
    with closing(sqlite3.connect(copy)) as database:
        database.execute("update conversation_log set payload = replace(payload, '{', '{ ')")
        database.commit()
        cut.write_bytes(copy.read_bytes())
    with closing(sqlite3.connect(cut)) as database:
        ((shorter,),) = database.execute("select max(conversation_id) from conversation_log")
        database.execute(
            "delete from conversation_log where rowid = (select max(rowid) from conversation_log "
            "where conversation_id = ?)",
            [shorter],
        )
        database.commit()
    sources = [load(path) for path in (log, copy, cut)]
    with case.reading() as session:
        ours, theirs, less = (conversation_digests(session, source) for source in sources)
    assert ours == theirs
    assert len(ours) > 10
    assert {name for name in ours if ours[name] != less.get(name)} == {shorter}
    counted = case.rows(
        "select conversation_id, rows_read, last_step from conversations where source = ?",
        [sources[0]],
    )
    assert {name: (one.rows, one.last_step) for name, one in ours.items()} == {
        name: (rows, last) for name, rows, last in counted
    }


def test_conversations_that_are_looked_at_together(
    case: Case, load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, some, or each alone: the same."""
    log = LogBuilder("G8")
    for n in range(30):
        log.turn(f"c{n % 7}", f"hi {n}")
    source = load(log.write_sqlite(tmp_path / "log.sqlite"))
    with case.reading() as session:
        at_once = conversation_digests(session, source)
        for together in (1, 10):
            monkeypatch.setattr(module, "_TOGETHER", together)
            assert conversation_digests(session, source) == at_once


def test_a_source_without_rows(case: Case) -> None:
    """It has no conversations."""
    with case.reading() as session:
        assert conversation_digests(session, "no such source") == {}
