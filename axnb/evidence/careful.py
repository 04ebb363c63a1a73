"""The careful path: rows that the fast path did not accept, decoded one by one as AX does.

A row that AX of its own generation decodes becomes an event; every other becomes a reject with a
reason. Either way it is on record what servers of *every* generation make of it, since one row
can hide a whole conversation from one generation and not from the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import protojson, rows
from axnb.ax.versions import GENERATIONS
from axnb.case.case import run_sql
from axnb.evidence.batches import ConversationNumbers
from axnb.evidence.oddities import keep_oddities, oddity_rows
from axnb.evidence.placing import CarefulRow
from axnb.evidence.reader import MAX_ROW_BYTES

_CHUNK = 2000
_CHUNK_BYTES = 16 << 20
_PART = pa.struct(
    [
        ("kind", pa.string()),
        ("role", pa.string()),
        ("call_id", pa.string()),
        ("tool", pa.string()),
        ("is_error", pa.bool_()),
        ("decision", pa.string()),
        ("value", pa.string()),
        ("size", pa.int64()),
    ]
)
_EVENTS = pa.schema(
    [
        ("row", pa.int64()),
        ("conversation", pa.int32()),
        ("conversation_id", pa.string()),
        ("step", pa.int64()),
        ("position", pa.int64()),
        ("visible", pa.bool_()),
        ("state", pa.int32()),
        ("harness_id", pa.string()),
        ("config", pa.string()),
        ("exec_id", pa.string()),
        ("shape", pa.string()),
        ("content_count", pa.int32()),
        ("contents", pa.list_(_PART)),
        ("payload", pa.string()),
        ("digest", pa.binary()),
    ]
)
_REJECTS = pa.schema(
    [
        ("row", pa.int64()),
        ("conversation_id", pa.string()),
        ("step", pa.int64()),
        ("key_text", pa.string()),
        ("position", pa.int64()),
        ("visible", pa.bool_()),
        ("shape", pa.string()),
        ("reason", pa.string()),
        ("decodes", pa.bool_()),
        ("state", pa.int32()),
        ("detail", pa.string()),
        ("size", pa.int64()),
        ("digest", pa.binary()),
        ("raw", pa.binary()),
    ]
)
_READINGS = pa.schema(
    [
        ("row", pa.int64()),
        ("generation", pa.string()),
        ("readable", pa.bool_()),
        ("state", pa.int32()),
        ("owner", pa.string()),
        ("exec_id", pa.string()),
        ("content_count", pa.int32()),
    ]
)

#: Raw bytes of larger rejects are not kept: the digest and the source identify them.
_MAX_RAW_BYTES = 1 << 20


class CarefulPath:
    """Decode careful rows of one source and write them into the case."""

    def __init__(
        self,
        session: duckdb.DuckDBPyConnection,
        source: str,
        column: str,
        numbers: ConversationNumbers,
    ) -> None:
        self._session = session
        self._source = source
        self._column = column
        self._numbers = numbers

    def take(self, careful: Iterable[CarefulRow]) -> None:
        """Decode and write rows, in chunks that fit the memory."""
        chunk: list[CarefulRow] = []
        size = 0
        for row in careful:
            chunk.append(row)
            size += row.size if row.payload is not None else 0
            if len(chunk) >= _CHUNK or size >= _CHUNK_BYTES:
                self._write(chunk)
                chunk, size = [], 0
        if chunk:
            self._write(chunk)

    def take_refused(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Decode the rows that the fast path has set aside, as the screen handed them on."""
        ids = self._numbers.ids
        self.take(
            _refused({**row, "conversation_id": ids[row["conversation"]]})
            for batch in batches
            for row in batch.to_pylist()
        )

    def _write(self, chunk: list[CarefulRow]) -> None:
        decoded = [_decode(careful, self._column) for careful in chunk]
        # A rejected row has a conversation as well, unless its key is lost.
        numbers = [
            None if row.conversation_id is None else self._numbers.number(row.conversation_id)
            for row in chunk
        ]
        events = [
            {**found.event, "conversation": number}
            for found, number in zip(decoded, numbers, strict=True)
            if found.event is not None
        ]
        for name, schema, found_rows in (
            ("careful_events", _EVENTS, events),
            ("careful_rejects", _REJECTS, [d.reject for d in decoded if d.reject is not None]),
            ("careful_readings", _READINGS, [row for d in decoded for row in d.readings]),
        ):
            if found_rows:
                self._session.register(name, pa.Table.from_pylist(found_rows, schema=schema))
                values = {"source": self._source}
                run_sql(self._session, "evidence", f"landing/{name}.sql", values)
                self._session.unregister(name)
        keep_oddities(self._session, self._source, [row for d in decoded for row in d.oddities])


def _refused(row: dict[str, Any]) -> CarefulRow:
    payload = row["payload"].encode()
    return CarefulRow(
        row=row["row"],
        conversation_id=row["conversation_id"],
        step=row["step"],
        key_text="text,integer,text",
        position=row["step"],
        visible=True,
        payload=payload,
        size=len(payload),
    )


@dataclass(frozen=True)
class _Decoded:
    """A row as an event or a reject, what each generation reads of it, and what is odd about it."""

    event: dict[str, Any] | None = None
    reject: dict[str, Any] | None = None
    readings: list[dict[str, Any]] = field(default_factory=list)
    oddities: list[dict[str, Any]] = field(default_factory=list)


def _decode(careful: CarefulRow, column: str) -> _Decoded:
    if careful.payload is None:
        reject = _reject(careful, "", *_unread(careful))
        return _Decoded(reject=reject, readings=_blind_readings(careful))
    try:
        text = careful.payload.decode()
        tree = protojson.parse(text)
    except UnicodeDecodeError as err:
        reject = _reject(careful, "", "invalid UTF-8", f"at byte {err.start}", decodes=False)
        return _Decoded(reject=reject, readings=_no_readings(careful))
    except protojson.PayloadError as err:
        reason, _, detail = str(err).partition(": ")
        reject = _reject(careful, "", reason, detail, decodes=False)
        return _Decoded(reject=reject, readings=_no_readings(careful))
    shape = rows.shape(tree, column)
    read = {name: rows.reading(tree, GENERATIONS[name]) for name in rows.SCHEMA_READERS}
    readings = [_reading(careful.row, reading) for reading in read.values()]
    own = read[rows.READS_SHAPE[shape]]
    if not own.readable:
        reason, _, detail = own.reason.partition(": ")
        reject = _reject(careful, shape, reason, detail, decodes=False)
        return _Decoded(reject=reject, readings=readings)
    if careful.problem is not None:
        reject = _reject(careful, shape, *careful.problem, decodes=True, state=own.state)
        return _Decoded(reject=reject, readings=readings)
    try:
        row = rows.from_event(own.event, GENERATIONS[own.generation])
    except RecursionError:
        problem = ("nested too deep", "deeper than axnb takes content apart")
        reject = _reject(careful, shape, *problem, decodes=True, state=own.state)
        return _Decoded(reject=reject, readings=readings)
    event = _event(careful, shape, own.state, row, text)
    return _Decoded(event, None, readings, oddity_rows(careful, tree, own, event["digest"]))


def _unread(careful: CarefulRow) -> tuple[str, str]:
    if careful.problem is not None:
        return careful.problem
    if careful.size > MAX_ROW_BYTES:
        return "too large", f"{careful.size:,} bytes, and axnb reads {MAX_ROW_BYTES:,} at most"
    return "no payload", "the payload is NULL"


def _event(careful: CarefulRow, shape: str, state: int, row: rows.Row, text: str) -> dict[str, Any]:
    return {
        "row": careful.row,
        "conversation_id": careful.conversation_id,
        "step": careful.step,
        "position": careful.position,
        "visible": careful.visible,
        "state": state,
        "harness_id": row.owner or None,
        "config": row.config,
        "exec_id": row.exec_id or None,
        "shape": shape,
        "content_count": row.content_count,
        "contents": [
            {
                "kind": part.kind,
                "role": part.role,
                "call_id": part.call_id,
                "tool": part.tool,
                "is_error": part.is_error,
                "decision": part.decision,
                "value": part.value,
                "size": part.size,
            }
            for part in row.parts
        ],
        "payload": text,
        "digest": hashlib.sha256(careful.payload or b"").digest(),
    }


def _reject(
    careful: CarefulRow,
    shape: str,
    reason: str,
    detail: str,
    *,
    decodes: bool | None = None,
    state: int | None = None,
) -> dict[str, Any]:
    raw = careful.payload
    digest = careful.digest if raw is None else hashlib.sha256(raw).digest()
    return {
        "row": careful.row,
        "conversation_id": careful.conversation_id,
        "step": careful.step,
        "key_text": careful.key_text,
        "position": careful.position,
        "visible": careful.visible,
        "shape": shape,
        "reason": reason,
        "decodes": decodes,
        "state": state,
        "detail": detail,
        "size": careful.size,
        "digest": digest,
        "raw": raw if raw is not None and len(raw) <= _MAX_RAW_BYTES else None,
    }


def _reading(row: int, reading: rows.Reading) -> dict[str, Any]:
    return {
        "row": row,
        "generation": reading.generation,
        "readable": reading.readable,
        "state": reading.state,
        "owner": reading.owner,
        "exec_id": reading.exec_id,
        "content_count": reading.content_count,
    }


def _no_readings(careful: CarefulRow) -> list[dict[str, Any]]:
    """No generation decodes it."""
    return [_reading(careful.row, rows.Reading(name, False)) for name in rows.SCHEMA_READERS]


def _blind_readings(careful: CarefulRow) -> list[dict[str, Any]]:
    """Nobody looked: a NULL payload stops every generation, a large or lost one may not."""
    readable = None if careful.problem is not None or careful.size > MAX_ROW_BYTES else False
    return [
        {**_reading(careful.row, rows.Reading(name, False)), "readable": readable}
        for name in rows.SCHEMA_READERS
    ]
