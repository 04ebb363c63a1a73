"""What every reader of an event log hands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from axnb.errors import SourceError
from axnb.evidence.layout import Layout

#: Larger rows are decoded one at a time: DuckDB takes up to sixteen times their size for them.
MAX_FAST_BYTES = 32 << 20

#: Larger rows are kept by reference: size and digest, but no content and no prediction.
MAX_ROW_BYTES = 64 << 20


@dataclass(frozen=True)
class OddRow:
    """A row as the store gives it, with the classes of its values."""

    row: int
    id_class: str
    conversation_id: bytes | None
    step_class: str
    step: str | None
    payload_class: str
    size: int
    #: None if the row is too large or cannot be read.
    payload: bytes | None
    #: Why the row cannot be read, if it cannot.
    problem: str | None = None
    #: sha256 of a payload that was too large to be handed on, if the store could tell.
    digest: bytes | None = None


@dataclass(frozen=True)
class ExecutionRow:
    """A row of an execution_log."""

    row: int
    exec_id: str
    payload: bytes
    recorded_at: str | None


class LogReader(Protocol):
    """A source that holds an event log. Opened by `with`; reads one consistent state."""

    kind: str
    #: What a message calls the source; never with a password.
    place: str
    #: What tells this source from every other, wherever it was named from.
    locator: str
    layout: Layout
    #: What a person must know, a sentence each.
    notes: list[str]
    #: Why the source may hold less than was there, a sentence each: the verdict cannot be ok.
    incomplete: list[str]

    def __enter__(self) -> LogReader: ...

    def __exit__(self, *error: object) -> None: ...

    def translated(self, error: Exception) -> SourceError:
        """An error of the store's driver in our words: no payload and no password in it."""

    def count(self) -> int:
        """Rows that the source claims to hold; known for sure once they were read."""

    def size(self) -> int:
        """About how many bytes the log takes up in its store."""

    def fast_batches(self, conversation: str | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of (row, conversation_id, step, payload), ids and payloads as text or bytes."""

    def odd_rows(
        self, conversation: str | None = None, rows: Sequence[int] = ()
    ) -> Iterator[OddRow]:
        """The rows that `fast_batches` leaves out, and those named by number."""

    def recovered_rows(self) -> Iterator[OddRow]:
        """Every row, one at a time, where the store is damaged."""

    def executions(self) -> Iterator[ExecutionRow]:
        """Rows of an execution_log in the order in which G3 reads them."""

    def finish(self) -> None:
        """No more rows will be asked for."""

    def custody(self) -> dict[str, Any]:
        """Prove what was read; call it last. Raises SourceChangedError if the source moved."""
