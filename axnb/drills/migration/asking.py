"""Requests to a server on a scratch copy, and what they did, in the words of `axnb.triage/1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.versions import Generation
from axnb.drills.migration.logs import LoggedRow, ScratchLog
from axnb.drills.resume.seen import told_error
from axnb.errors import AxnbError
from axnb.runtimes import Answer
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.rehearsing import World
from axnb.runtimes.served import Registered, ServedLog

#: What a client is told -> what the server did.
_ERRORS = (
    ("harness ID changed", "harness-changed"),
    ("failed to get harness", "harness-missing"),
    ("unmarshal event", "unreadable"),
    ("no such column", "wrong-column"),
    ("42703", "wrong-column"),
    ("no input messages queued", "blocked"),
    ("no messages in start", "blocked"),
    ("No messages found in start payload", "blocked"),
)

#: How often a server is started that does not come to answer.
_ATTEMPTS = 3

#: The input of the drill's own turn.
TEXT = "axnb asks whether this conversation goes on."


@dataclass(frozen=True)
class Reply:
    """One request, and what came of it."""

    #: A word of `axnb.ax.behaviour.DOES`; of what has no word there, what the client was told.
    does: str
    error: str | None
    #: Rows that the conversation has since.
    added: tuple[LoggedRow, ...] = ()
    #: Are the rows that were there what they were?
    is_untouched: bool = True

    @property
    def owner(self) -> str:
        """The owner under whom the turn was logged."""
        return next((row.owner for row in self.added if row.owner), "")


@dataclass(frozen=True)
class Replies:
    """What came of an empty request and of a new input after it."""

    empty: Reply
    input: Reply

    @property
    def does(self) -> tuple[str, str]:
        """The two words."""
        return self.empty.does, self.input.does

    @property
    def added(self) -> tuple[LoggedRow, ...]:
        """All rows that came."""
        return (*self.empty.added, *self.input.added)


@dataclass(frozen=True)
class Served:
    """A server that was asked about some conversations, from its start to its stop."""

    generation: Generation
    #: Why it did not start, or broke off; empty where it did not.
    error: str = ""
    replies: Mapping[str, Replies] = field(default_factory=dict)
    #: Conversations of which earlier rows are not what they were, or that are new.
    changed: tuple[str, ...] = ()
    #: Requests that reached the tool service.
    tool_requests: int = 0


@dataclass(frozen=True)
class Bench:
    """What all servers of a drill share."""

    world: World
    folder: Path
    #: The default first; all say whether they take an empty start.
    harnesses: tuple[Harness, ...]

    def serve(
        self,
        name: str,
        log: str,
        generation: Generation,
        ids: Sequence[str],
        binary: Binary | None = None,
    ) -> Served:
        """Serve a scratch copy and ask about conversations: an empty request, then an input.

        A server that does not start, or breaks off, is told and not raised.
        """
        digests, requests = ScratchLog(log).digests(), self._requests()
        replies: dict[str, Replies] = {}
        try:
            with self._serving(name, log, generation, binary) as server:
                reading = ScratchLog(log)
                for conversation_id in ids:
                    replies[conversation_id] = _ask(server, reading, conversation_id)
        except AxnbError as err:
            return Served(generation, _words(err, self.folder), replies)
        changed = _changed(digests, ScratchLog(log).digests(), replies)
        return Served(generation, "", replies, changed, self._requests() - requests)

    @contextmanager
    def _serving(
        self, name: str, log: str, generation: Generation, binary: Binary | None
    ) -> Iterator[ServedLog]:
        server = self._started(name, log, generation, binary)
        try:
            yield server
            server.stop()
        finally:
            server.close()

    def _started(
        self, name: str, log: str, generation: Generation, binary: Binary | None
    ) -> ServedLog:
        """A server that answers; on other ports if somebody was quicker to take those."""
        registered = [Registered(h.id, h.accepts is not True) for h in self.harnesses]
        attempt = 0
        while True:
            attempt += 1
            folder = self.folder / "servers" / f"{name}-{attempt}"
            server = ServedLog(self.world, folder, log, generation, registered, binary)
            try:
                server.start()
            except BaseException as err:
                server.close()
                if attempt < _ATTEMPTS and isinstance(err, AxnbError):
                    continue
                raise
            return server

    def _requests(self) -> int:
        return len(self.world.tools.ledger()["requests"])


def _changed(
    before: Mapping[str, str], after: Mapping[str, str], replies: Mapping[str, Replies]
) -> tuple[str, ...]:
    """Conversations that nobody asked about and that are not what they were; and asked ones of
    which a row that was there is another."""
    others = (before.keys() | after.keys()) - replies.keys()
    touched = [name for name in others if before.get(name) != after.get(name)]
    touched += [
        name
        for name, of in replies.items()
        if not (of.empty.is_untouched and of.input.is_untouched)
    ]
    return tuple(sorted(touched))


def _words(err: AxnbError, folder: Path) -> str:
    return str(err).replace(str(folder), "…")


def _ask(server: ServedLog, reading: ScratchLog, conversation_id: str) -> Replies:
    before = reading.rows(conversation_id)
    found = []
    for text in ("", TEXT):
        answer = server.ask(conversation_id, text)
        after = reading.rows(conversation_id)
        known = {row.step for row in before}
        added = [row for row in after if row.step not in known]
        kept = tuple(row for row in after if row.step in known)
        rows = tuple(row.decoded(reading.column) for row in added)
        does = _word(answer, rows)
        found.append(Reply(does, told_error(answer), rows, kept == before))
        before = after
    return Replies(*found)


def _word(answer: Answer, added: Sequence[LoggedRow]) -> str:
    """What a server did, by what the client was told and by the rows that came."""
    ends = sum(row.is_end for row in added)
    if answer.error is not None:
        if added:
            return "appends-then-fails"
        error = answer.error
        return next((word for text, word in _ERRORS if text in error), "other-error")
    if not answer.sent:
        return {(False, 0): "nothing", (True, 1): "resumes"}.get((bool(added), ends), "other")
    if ends == 2:
        return "resumes-then-new-turn"
    # Where numbers are no numbers, AX may fail to log what it sends.
    return "new-turn" if ends or answer.outputs else "other"


def foretold(empty: str, with_input: str) -> tuple[str, str]:
    """What an empty request and then an input do, from what each does by itself."""
    return empty, "new-turn" if empty == "resumes" else with_input


def told(reply: Reply) -> dict[str, Any]:
    """A reply as JSON."""
    return {"does": reply.does, "error": reply.error, "rows_added": len(reply.added)}
