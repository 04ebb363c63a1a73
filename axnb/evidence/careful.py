"""The careful path: rows that the fast path did not accept, decoded one by one as AX does.

A row that AX of its own generation decodes becomes an event; every other becomes a reject with a
reason. Either way it is on record what servers of *every* generation make of it, since one row
can hide a whole conversation from one generation and not from the next.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import protojson, rows
from axnb.ax.versions import GENERATIONS
from axnb.case.case import run_sql
from axnb.evidence.batches import ConversationNumbers
from axnb.evidence.reader import MAX_ROW_BYTES, OddRow

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


@dataclass(frozen=True)
class CarefulRow:
    """A row with its key as far as it could be read."""

    row: int
    conversation_id: str | None
    step: int | None
    key_text: str
    position: int
    #: Does the query of an AX server find the row?
    visible: bool
    payload: bytes | None
    size: int
    #: What is wrong with the key, or why the row cannot be read at all.
    problem: tuple[str, str] | None = None
    digest: bytes | None = None


def place_odd_rows(found: Iterable[OddRow]) -> Iterator[CarefulRow]:
    """Read the keys of odd rows, and put them where AX's `ORDER BY` puts them.

    SQLite sorts NULL before numbers, numbers before text, text before blobs; AX reads the rows in
    that order whatever their number means to a person.
    """
    for odd in found:
        step, problem = _read_step(odd)
        conversation_id, id_problem = _read_id(odd)
        if odd.problem is not None:
            problem = ("damaged", odd.problem)
        yield CarefulRow(
            row=odd.row,
            conversation_id=conversation_id,
            step=step,
            key_text=f"{odd.id_class},{odd.step_class},{odd.payload_class}",
            position=_position(odd, step),
            visible=odd.id_class == "text",
            payload=odd.payload,
            size=odd.size,
            problem=problem or id_problem,
            digest=odd.digest,
        )


def _read_id(odd: OddRow) -> tuple[str | None, tuple[str, str] | None]:
    if odd.conversation_id is None:
        return None, ("unreadable key", "conversation_id is NULL")
    try:
        return odd.conversation_id.decode(), None
    except UnicodeDecodeError as err:
        return (
            odd.conversation_id.decode(errors="backslashreplace"),
            ("unreadable key", f"conversation_id is not UTF-8 at byte {err.start}"),
        )


_DIGITS = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def _read_step(odd: OddRow) -> tuple[int | None, tuple[str, str] | None]:
    """The number that a step means: 5.0 and '4' are numbers; '', 'one' and NULL are not."""
    number = _whole_number(odd)
    if number is not None and -(2**63) <= number < 2**63:
        return number, None
    return None, ("unreadable step", f"the step is {odd.step_class}, and no whole number")


def _whole_number(odd: OddRow) -> int | None:
    text = odd.step or ""
    if odd.step_class == "real":
        number = Decimal(text)
        return int(number) if number.is_finite() and number == number.to_integral_value() else None
    return int(text) if _DIGITS.fullmatch(text) else None


def _position(odd: OddRow, step: int | None) -> int:
    if odd.step_class == "null":
        return -(2**62)
    if odd.step_class not in ("integer", "real"):
        # Text and blobs come after all numbers, in the order of their bytes: the first seven tell.
        head = (odd.step or "").encode()[:7].ljust(7, b"\0")
        return 2**62 + (2**60 if odd.step_class == "blob" else 0) + int.from_bytes(head, "big")
    if step is not None:
        return max(-(2**62) + 1, min(2**62 - 1, step))
    number = float(odd.step or "0")
    if math.isnan(number):
        # PostgreSQL sorts what is no number after all numbers.
        return 2**62 - 1
    return int(number) if abs(number) < 2**62 else int(math.copysign(2**62 - 1, number))


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
        events: list[dict[str, Any]] = []
        rejects: list[dict[str, Any]] = []
        readings: list[dict[str, Any]] = []
        for careful in chunk:
            event, reject, found = _decode(careful, self._column)
            readings += found
            # A rejected row has a conversation as well, unless its key is lost.
            conversation_id = careful.conversation_id
            number = None if conversation_id is None else self._numbers.number(conversation_id)
            if event is not None:
                events.append({**event, "conversation": number})
            if reject is not None:
                rejects.append(reject)
        for name, schema, found_rows in (
            ("careful_events", _EVENTS, events),
            ("careful_rejects", _REJECTS, rejects),
            ("careful_readings", _READINGS, readings),
        ):
            if found_rows:
                self._session.register(name, pa.Table.from_pylist(found_rows, schema=schema))
                values = {"source": self._source}
                run_sql(self._session, "evidence", f"landing/{name}.sql", values)
                self._session.unregister(name)


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


def _decode(
    careful: CarefulRow, column: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, list[dict[str, Any]]]:
    """An event or a reject, and what each generation reads."""
    if careful.payload is None:
        return None, _reject(careful, "", *_unread(careful)), _blind_readings(careful)
    try:
        text = careful.payload.decode()
        tree = protojson.parse(text)
    except UnicodeDecodeError as err:
        problem = ("invalid UTF-8", f"at byte {err.start}")
        return None, _reject(careful, "", *problem, decodes=False), _no_readings(careful)
    except protojson.PayloadError as err:
        reason, _, detail = str(err).partition(": ")
        return None, _reject(careful, "", reason, detail, decodes=False), _no_readings(careful)
    shape = rows.shape(tree, column)
    read = {name: rows.reading(tree, GENERATIONS[name]) for name in rows.SCHEMA_READERS}
    readings = [_reading(careful.row, reading) for reading in read.values()]
    own = read[rows.READS_SHAPE[shape]]
    if not own.readable:
        reason, _, detail = own.reason.partition(": ")
        return None, _reject(careful, shape, reason, detail, decodes=False), readings
    if careful.problem is not None:
        return (
            None,
            _reject(careful, shape, *careful.problem, decodes=True, state=own.state),
            readings,
        )
    try:
        row = rows.from_event(own.event, GENERATIONS[own.generation])
    except RecursionError:
        problem = ("nested too deep", "deeper than axnb takes content apart")
        return None, _reject(careful, shape, *problem, decodes=True, state=own.state), readings
    return _event(careful, shape, own.state, row, text), None, readings


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
