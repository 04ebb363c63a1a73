"""One digest for all that a conversation says, as `docs/canonical-json.md` has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa

from axnb.case.canonical import all_canonical_digests
from axnb.case.case import ask

#: Rows whose digests are in memory together, at 100 bytes each, unless one conversation has more.
_TOGETHER = 400_000

#: What stands in the byte before a row's digest.
_BY_TEXT, _HIDDEN, _NO_STEP = 1, 2, 4


@dataclass(frozen=True)
class ConversationDigest:
    """What a conversation says, in one digest."""

    #: All rows, rejected ones included.
    rows: int
    #: The highest step; None if no row has one that can be read.
    last_step: int | None
    #: sha256, 32 bytes; None is unknown, and equals nothing: a row's text could not be read.
    digest: bytes | None
    #: Rows that take part by their text, since they have no canonical form.
    by_text: int


def conversation_digests(
    session: duckdb.DuckDBPyConnection, source: str
) -> dict[str | None, ConversationDigest]:
    """The digest of every conversation of a source, by id; None: rows whose id cannot be read.

    Equal digests mean that the same steps say the same. Raises AxnbError if a process that helps
    ends before its time.
    """
    conversations = ask(session, "rows_of_conversations", {"source": source})
    names = {found["conversation"]: found["conversation_id"] for found in conversations}
    return {
        names[number]: digest
        for numbers in _ranges(conversations)
        for number, digest in _of_some(all_canonical_digests(session, source, numbers))
    }


def _ranges(conversations: Iterable[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """The first and the last number of conversations that are looked at together."""
    first = last = None
    rows = 0
    for found in conversations:
        if first is not None and last is not None and rows + found["rows"] > _TOGETHER:
            yield first, last
            first, rows = None, 0
        last = found["conversation"]
        first = last if first is None else first
        rows += found["rows"]
    if first is not None and last is not None:
        yield first, last


def _of_some(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, ConversationDigest]]:
    """(number, digest) of each conversation; all rows of one are here."""
    import numpy as np

    parts = [_records(batch) for batch in batches]
    conversation, is_unread = (np.concatenate(some) for some in list(zip(*parts, strict=True))[:2])
    # Else numpy takes the order of bytes that this machine has.
    records = np.concatenate([part[2] for part in parts], dtype=parts[0][2].dtype)
    order = np.lexsort((records["step"], records["mark"] & _NO_STEP, conversation))
    conversation, is_unread, records = conversation[order], is_unread[order], records[order]
    _sort_ties(conversation, records)
    starts = np.flatnonzero(np.diff(conversation, prepend=conversation[0] - 1))
    has_step = records["mark"] & _NO_STEP == 0
    by_text = np.add.reduceat(records["mark"] & _BY_TEXT, starts, dtype=np.int64)
    steps = np.maximum.reduceat(np.where(has_step, records["step"], np.iinfo(np.int64).min), starts)
    numbered = np.add.reduceat(has_step, starts, dtype=np.int64)
    unread = np.logical_or.reduceat(is_unread, starts)
    edges = [*starts.tolist(), len(records)]
    size, hashed = records.itemsize, memoryview(records.tobytes())
    for n, (start, end) in enumerate(pairwise(edges)):
        yield (
            int(conversation[start]),
            ConversationDigest(
                rows=end - start,
                last_step=int(steps[n]) if numbered[n] else None,
                digest=None if unread[n] else sha256(hashed[start * size : end * size]).digest(),
                by_text=int(by_text[n]),
            ),
        )


def _records(batch: pa.RecordBatch) -> tuple[Any, Any, Any]:
    """Of each row the conversation, whether its text could not be read, and what is hashed."""
    import numpy as np

    kind = np.dtype([("step", ">i8"), ("mark", "u1"), ("digest", "V32")])
    records = np.zeros(batch.num_rows, kind)
    step, digest = batch.column("step"), batch.column("digest")
    by_text = _flags(digest.is_null())
    records["step"] = step.fill_null(0).to_numpy()
    records["mark"] = (
        by_text * _BY_TEXT
        + ~_flags(batch.column("visible")) * _HIDDEN
        + _flags(step.is_null()) * _NO_STEP
    )
    records["digest"] = np.frombuffer(digest.buffers()[1], "V32", batch.num_rows)
    texts = batch.column("text_digest")
    for n in np.flatnonzero(by_text):
        records["digest"][n] = np.void(texts[int(n)].as_py() or bytes(32))
    is_unread = by_text & _flags(texts.is_null())
    return batch.column("conversation").to_numpy(), is_unread, records


def _flags(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _sort_ties(conversation: Any, records: Any) -> None:
    """Rows of one step stand in the order of their bytes, whatever their order in the store."""
    import numpy as np

    is_next_tied = (
        (conversation[1:] == conversation[:-1])
        & (records["step"][1:] == records["step"][:-1])
        & (records["mark"][1:] & _NO_STEP == records["mark"][:-1] & _NO_STEP)
    )
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_next_tied, [0]))))
    for start, end in zip(edges[::2], edges[1::2] + 1, strict=True):
        tied = sorted(record.tobytes() for record in records[start:end])
        records[start:end] = np.frombuffer(b"".join(tied), records.dtype)
