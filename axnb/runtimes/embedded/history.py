"""What a server decodes from a conversation's rows before it does anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from axnb.ax import protojson, schemas, wire
from axnb.ax.versions import Generation
from axnb.runtimes.embedded.store import LogError

_PENDING = 1


@dataclass(frozen=True)
class LoggedRow:
    """A row that this generation decodes."""

    number: int
    payload: str
    #: The fields that are set, as `protojson.decode` has them.
    event: dict[str, Any]


@dataclass(frozen=True)
class History:
    """The rows of a conversation; their last state and first owner decide what happens next."""

    rows: tuple[LoggedRow, ...]
    generation: Generation

    @property
    def is_pending(self) -> bool:
        """Is the last state that a row names PENDING? Rows without a state count for nothing."""
        states = [row.event["state"] for row in self.rows if row.event.get("state")]
        return bool(states) and states[-1] == _PENDING

    @property
    def owner(self) -> str:
        """The first harness that a row names; empty if none."""
        key = self.generation.owner_key or ""
        return next((str(row.event[key]) for row in self.rows if row.event.get(key)), "")

    def pending_turn(self) -> tuple[LoggedRow, ...]:
        """The last input row of the unfinished turn, and the rows after it."""
        start = 0
        for place, row in enumerate(self.rows):
            if row.event.get("state", _PENDING) != _PENDING:
                start = place + 1
        turn = self.rows[start:]
        keys = {self.generation.owner_key, self.generation.config_key}
        # G5 stores a default harness as nothing: then the first row is the input.
        inputs = [place for place, row in enumerate(turn) if keys & row.event.keys()]
        return turn[inputs[-1] if inputs else 0 :]


def read(rows: Sequence[tuple[int, bytes]], generation: Generation) -> History:
    """Decode all rows. Raises LogError if one cannot be: then the conversation is unreadable."""
    event = schemas.event(generation)
    found = []
    for number, payload in rows:
        try:
            text = payload.decode()
            found.append(LoggedRow(number, text, protojson.decode(protojson.parse(text), event)))
        except UnicodeDecodeError:
            raise LogError("eventlog: unmarshal event: proto: invalid UTF-8") from None
        except protojson.PayloadError as err:
            raise LogError(f"eventlog: unmarshal event: proto: {err}") from None
    return History(tuple(found), generation)


def message(row: LoggedRow, generation: Generation) -> Any:
    """A row as its protobuf message."""
    from google.protobuf import json_format

    event: Message = wire.message(generation, generation.event)()
    # A whole number as a double, so that -0 stays what it is.
    told = json.loads(row.payload, parse_int=float)
    return json_format.ParseDict(told, event, ignore_unknown_fields=True)
