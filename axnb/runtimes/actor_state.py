"""What an actor knows of a conversation, on its disk after every step.

It lies in `durable/NAME/state.json`, the only folder that a snapshot holds. AX never replays a
history, so this is all an actor has, and nothing keeps it and AX's log in step.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError
from axnb.runtimes.files import write_whole

FILE = "state.json"

#: A name that a folder may have; of another id the digest is taken.
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class State:
    """The state of one conversation."""

    conversation_id: str
    #: Turns that are over.
    turns: int = 0
    #: The number of the turn that was begun last, and the digest of its input.
    turn: int = 0
    input: str = ""
    #: Outputs that were sent, and their hash chain.
    outputs: int = 0
    chain: str = ""
    #: The same when that turn was begun: another attempt at it goes on from here.
    outputs_before: int = 0
    chain_before: str = ""
    #: A call that was sent and has no result yet: `{"operation_id", "item"}`.
    pending: Mapping[str, str] | None = None
    #: What the tool gave last: `{"reservation", "item", "operation_id"}`.
    reservation: Mapping[str, str] | None = None

    def begin(self, text: str, attempt: int) -> State:
        """A turn begins. A later attempt at the last input is the same turn, and sends the same."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        if attempt > 1 and self.turn and self.input == digest:
            return replace(self, outputs=self.outputs_before, chain=self.chain_before)
        return replace(
            self,
            turn=self.turns + 1,
            input=digest,
            outputs_before=self.outputs,
            chain_before=self.chain,
        )

    def sent(self, kind: str, value: str) -> State:
        """An output was sent."""
        link = json.dumps([self.chain, kind, value]).encode()
        return replace(self, outputs=self.outputs + 1, chain=hashlib.sha256(link).hexdigest())

    def end(self) -> State:
        """The turn is over."""
        return replace(self, turns=max(self.turns, self.turn))

    def summary(self) -> dict[str, Any]:
        """What a snapshot's version is told by: turns, outputs, and a digest of the whole."""
        digest = hashlib.sha256(self.text().encode()).hexdigest()
        return {"turns": self.turns, "outputs": self.outputs, "digest": digest}

    def text(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def parse(cls, text: str | bytes) -> State:
        """Read a file's text. Raises ValueError if it is no state."""
        tree = json.loads(text)
        if not isinstance(tree, dict) or tree.keys() != {field.name for field in fields(cls)}:
            raise ValueError("no state of an actor")
        return cls(**tree)


def folder_name(conversation_id: str) -> str:
    """The name of a conversation's folder: its id where a folder may have such a name."""
    if _LABEL.fullmatch(conversation_id):
        return conversation_id
    return hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()


class Memory:
    """The states of an actor's conversations. Threads may use it."""

    def __init__(self, home: Path) -> None:
        self._durable = home / "durable"
        self._lock = threading.Lock()

    def folder(self, conversation_id: str) -> Path:
        """What a snapshot of the conversation holds."""
        return self._durable / folder_name(conversation_id)

    def read(self, conversation_id: str) -> State:
        """The state on the disk, or a new one. Raises AxnbError if it cannot be read."""
        try:
            state = State.parse((self.folder(conversation_id) / FILE).read_bytes())
        except FileNotFoundError:
            return State(conversation_id)
        except (OSError, ValueError):
            raise AxnbError("the actor's state of the conversation cannot be read.") from None
        if state.conversation_id != conversation_id:
            raise AxnbError("the actor's state is that of another conversation.")
        return state

    def write(self, state: State) -> None:
        """Keep a state: aside, to the disk, renamed. Raises AxnbError if it cannot be written."""
        path = self.folder(state.conversation_id) / FILE
        try:
            with self._lock:
                write_whole(path, state.text().encode())
        except OSError:
            raise AxnbError("the actor's state of the conversation cannot be written.") from None

    @contextmanager
    def still(self, conversation_id: str) -> Iterator[Path]:
        """The conversation's folder, in which nothing changes meanwhile."""
        if not (self.folder(conversation_id) / FILE).exists():
            self.write(State(conversation_id))
        with self._lock:
            yield self.folder(conversation_id)
