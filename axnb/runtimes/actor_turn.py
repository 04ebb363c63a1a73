"""One turn of the actor: what it says and does, by the text of the last input.

    Remember that …                   a text
    Reserve ITEM as OPERATION         a thought, a call, the tool, its result, a text
    Which reservation do I have?      a text, from the actor's own state
    anything else                     a text

An empty start is what AX sends to a custom harness for an unfinished turn: it is closed, and
nothing is done. A start that is another attempt says so in its configuration, as
`{"axnb": {"attempt": 2, "lookup": true}}`: with `lookup` the tool is asked what it knows of the
operation before a call is made again, and an unknown outcome of a `barrier` is a person's question.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from axnb.ax.rows import Part
from axnb.runtimes import content
from axnb.runtimes.actor_state import Memory, State
from axnb.runtimes.failpoints import reach
from axnb.runtimes.files import usable
from axnb.runtimes.tools import ToolClient

_REMEMBER = re.compile(r"Remember that (.+)", re.DOTALL)
_RESERVE = re.compile(r"Reserve (.+) as (\S+)", re.DOTALL)
_WHICH = "Which reservation do I have?"

_CALL_ID = "call_1"


@dataclass(frozen=True)
class Start:
    """How a turn is started."""

    #: The last input; None for an empty start.
    text: str | None
    attempt: int = 1
    #: Is the tool asked first what it knows of the operation?
    lookup: bool = False
    #: How the tool's operation may be repeated, as `axnb.runtimes.Retry`.
    retry: str = "write"

    @classmethod
    def of(cls, text: str | None, config: bytes) -> Start:
        """Read the configuration; what makes no sense is as if it were not there."""
        ours = _object(_object(_parsed(config)).get("axnb"))
        attempt = ours.get("attempt")
        return cls(
            text,
            attempt if isinstance(attempt, int) and attempt > 0 else 1,
            ours.get("lookup") is True,
            str(ours.get("retry", "write")),
        )


def _parsed(config: bytes) -> Any:
    try:
        return json.loads(config) if config else None
    except ValueError:
        return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class Journal:
    """Requests for an effect, on the disk before they are sent. It is in no snapshot."""

    def __init__(self, home: Path) -> None:
        self._path = home / "journal.jsonl"
        self._lock = threading.Lock()

    def note(self, request: Mapping[str, Any]) -> None:
        """Add a request. Raises AxnbError if it cannot be written: it must not be sent then."""
        with usable("the actor's journal"), self._lock, self._path.open("a+b") as file:
            line = json.dumps(request).encode() + b"\n"
            # A line that a crash has torn stays alone.
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            is_torn = file.read(1) not in (b"", b"\n")
            file.write(b"\n" + line if is_torn else line)
            file.flush()
            os.fsync(file.fileno())


@dataclass(frozen=True)
class Equipment:
    """What an actor works with."""

    memory: Memory
    journal: Journal
    tools: ToolClient


class Turn:
    """A turn, run to its end by `run`, whoever listens."""

    def __init__(
        self,
        equipment: Equipment,
        conversation_id: str,
        start: Start,
        emit: Callable[[Part], None],
    ) -> None:
        """`emit` sends an output; it returns once that was written, or nobody is there."""
        self._with = equipment
        self._conversation_id = conversation_id
        self._start = start
        self._emit = emit

    def run(self) -> None:
        """Say and do everything; the turn is over in the actor's state then. Raises AxnbError."""
        self._state = self._with.memory.read(self._conversation_id)
        reach("actor.started")
        text = self._start.text
        if text is not None:
            self._keep(self._state.begin(text, self._start.attempt))
            self._act(text)
        self._keep(self._state.end())

    def _act(self, text: str) -> None:
        if match := _REMEMBER.fullmatch(text):
            self._say(content.said(f"I will remember that {match[1]}"))
        elif match := _RESERVE.fullmatch(text):
            self._reserve(match[1], match[2])
        elif text == _WHICH:
            kept = self._state.reservation
            held = f"You have {kept['reservation']} for {kept['item']}." if kept else None
            self._say(content.said(held or "I have no reservation."))
        else:
            self._say(content.said(f"Understood: {text}"))

    def _reserve(self, item: str, operation_id: str) -> None:
        task = {"operation_id": operation_id, "item": item}
        self._say(content.thought("A reservation is needed."))
        reach("actor.before-call")
        self._keep(replace(self._state, pending=task))
        self._say(content.call(_CALL_ID, "reserve", json.dumps(task)))
        reach("actor.emitted")
        reservation = self._known(operation_id)
        if reservation is None and self._start.lookup and self._start.retry == "barrier":
            asked = f"Was {item} reserved as {operation_id}? The outcome is unknown."
            self._say(content.question("confirm_1", asked))
            return
        if reservation is None:
            reservation = self._request(item, operation_id)
        reach("actor.committed")
        self._keep(
            replace(self._state, pending=None, reservation={"reservation": reservation, **task})
        )
        # Whether it was done now or looked up cannot be seen: a redo has to send the same again.
        answer = {"reservation": reservation, "status": "reserved", "operation_id": operation_id}
        self._say(content.result(_CALL_ID, "reserve", json.dumps(answer)))
        self._say(content.said(f"Reserved {item}: {reservation}."))

    def _known(self, operation_id: str) -> str | None:
        """The reservation that the tool has for the operation, where it is to be asked first."""
        if not self._start.lookup:
            return None
        effects = self._with.tools.lookup(operation_id)["effects"]
        return str(effects[0]["reservation"]) if effects else None

    def _request(self, item: str, operation_id: str) -> str:
        conversation_id, attempt = self._conversation_id, self._start.attempt
        self._with.journal.note(
            {
                "operation_id": operation_id,
                "conversation_id": conversation_id,
                "tool": "reserve",
                "item": item,
                "attempt": attempt,
            }
        )
        entry = self._with.tools.reserve(operation_id, conversation_id, item, attempt=attempt)
        return str(entry["reservation"])

    def _say(self, part: Part) -> None:
        self._emit(part)
        self._keep(self._state.sent(part.kind, part.value or ""))

    def _keep(self, state: State) -> None:
        self._with.memory.write(state)
        self._state = state


def told(equipment: Equipment, conversation_id: str) -> dict[str, Any]:
    """What the actor says of a conversation."""
    return asdict(equipment.memory.read(conversation_id))
