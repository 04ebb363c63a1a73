"""How an unfinished turn is restarted.

    ax                  with an empty start and the new request's configuration, as AX does
    requeue             with the messages of its last input row and their configuration
    read-before-retry   the same, and the actor is told to look up what it did

Under the last two the harness is told of its attempt in the configuration, as
`{"axnb": {"attempt": 2, "lookup": false}}`. What it sends is compared with what the turn has
logged: the same is sent to the client under its logged number and not logged again; anything else
ends the request, and nothing is appended. (So does ktock's checkpointd.)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from axnb.ax.json_text import dump
from axnb.ax.versions import Generation
from axnb.runtimes import Policy
from axnb.runtimes.embedded import history, payload
from axnb.runtimes.embedded.errors import RequestError

#: A log does not say how often a turn was restarted before.
_ATTEMPT = 2


class Redo:
    """What a turn has logged, against what its restart sends."""

    def __init__(self, logged: Sequence[tuple[int, Message]], cursor: int = 0) -> None:
        """`cursor` is the last step that the client says it has."""
        self._logged = list(reversed(logged))
        self._cursor = cursor

    def is_owed(self, number: int) -> bool:
        """Is an output still to be sent to the client? What could not be logged always is."""
        return number == 0 or number > self._cursor

    def number(self, item: Message) -> int | None:
        """The number under which `item` is logged; None once all that is logged was sent again.

        Raises RequestError if something else is logged in its place.
        """
        if not self._logged:
            return None
        number, logged = self._logged.pop()
        if logged != item:
            raise _differs(number)
        return number

    def finish(self) -> None:
        """Raises RequestError if something is logged that was not sent again."""
        if self._logged:
            raise _differs(self._logged[-1][0])


def _differs(number: int) -> RequestError:
    text = f"redo differs from what is logged at step {number}"
    return RequestError(text, "FAILED_PRECONDITION")


@dataclass(frozen=True)
class Restart:
    """What a harness is started with, and what it may send again."""

    items: Sequence[Message]
    config: bytes
    redo: Redo


def restart(policy: Policy, logged: history.History, config: bytes, cursor: int) -> Restart:
    """How the unfinished turn of `logged` is restarted; `config` and `cursor` (the last step that
    the client has, 0 without one) are the new request's.

    AX accepts a cursor and ignores it; the other policies send what followed it, and nothing else.
    Raises RequestError if the turn's input cannot be read from the log, or its end lies before the
    cursor.
    """
    if policy == "ax":
        return Restart((), config, Redo(()))
    generation = logged.generation
    first, *rest = logged.pending_turn()
    if cursor > (last := logged.rows[-1].number):
        text = f"the client's last step {cursor} is beyond the log's, which is {last}"
        raise RequestError(text, "OUT_OF_RANGE")
    started = history.message(first, generation)
    items = getattr(started, generation.content_key)
    if not items:
        raise RequestError(
            f"the unfinished turn cannot be restarted: its input at step {first.number}"
            f" has no content that {generation.name} reads",
            "FAILED_PRECONDITION",
        )
    outputs = [
        (row.number, item)
        for row in rest
        for item in getattr(history.message(row, generation), generation.content_key)
    ]
    told = _config(started, generation, lookup=policy == "read-before-retry")
    return Restart(items, told, Redo(outputs, cursor))


def _config(started: Message, generation: Generation, *, lookup: bool) -> bytes:
    key = generation.config_key or ""
    kept: dict[str, Any] = {}
    if started.HasField(key):
        kept = json.loads(dump(payload.tree(getattr(started, key))))
    ours = kept.get("axnb")
    attempt = {"attempt": _ATTEMPT, "lookup": lookup}
    kept["axnb"] = {**(ours if isinstance(ours, dict) else {}), **attempt}
    return json.dumps(kept, ensure_ascii=False).encode()
