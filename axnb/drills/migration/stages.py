"""Conversations on their way to another version and back: what each stage left of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axnb.ax import json_text
from axnb.ax.behaviour import Harness, History, Target, predict
from axnb.ax.canonical import canonical
from axnb.ax.versions import Generation
from axnb.drills.migration.asking import Replies, foretold
from axnb.drills.migration.logs import LoggedRow, ScratchLog
from axnb.runtimes.embedded import history
from axnb.runtimes.embedded.store import LogError


@dataclass(frozen=True)
class Stage:
    """A conversation as it lies in a log at one moment, and what is foretold of it."""

    rows: tuple[LoggedRow, ...]
    #: What an empty request and then an input do under the server that comes next.
    foretold: tuple[str, str] = ("", "")

    @property
    def steps(self) -> list[int]:
        """Its numbers, in order."""
        return [row.step for row in self.rows]

    @property
    def owner(self) -> str:
        """The first owner that a row names."""
        return next((row.owner for row in self.rows if row.owner), "")

    @property
    def is_open(self) -> bool:
        """Is its last turn interrupted?"""
        states = [row.state for row in self.rows if row.state]
        return bool(states) and states[-1] == 1

    def calls(self, *, results: bool = True) -> Counter[tuple[str, ...]]:
        """Its calls with their arguments, and its results, with what they say if that is asked."""
        return Counter(
            (
                p.kind,
                p.call_id or "",
                p.tool or "",
                _canonical(p.value) if results or p.kind == "tool_call" else "",
            )
            for row in self.rows
            for p in row.parts
            if p.kind in ("tool_call", "tool_result")
        )


@dataclass(frozen=True)
class Journey:
    """One interrupted conversation there and back."""

    conversation_id: str
    #: In the log; in the migrated copy; after the new version; taken back; after the old version.
    stages: Mapping[str, Stage]
    #: What the new and the old version did.
    replies: Mapping[str, Replies]
    is_specimen: bool = False
    #: Was nothing lost on the way that a version cannot hold?
    is_exact: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The journey as JSON."""
        return {
            "conversation_id": self.conversation_id,
            "specimen": self.is_specimen,
            "stages": [
                {
                    "stage": name,
                    "rows": len(stage.rows),
                    "last_step": max(stage.steps, default=None),
                    "owner": stage.owner,
                    "state": "interrupted" if stage.is_open else "finished",
                }
                for name, stage in self.stages.items()
            ],
            "asked": [
                {"server": name, "empty": of.empty.does, "input": of.input.does}
                for name, of in self.replies.items()
            ],
        }


@dataclass
class Journeys:
    """All of them, as they are travelled."""

    harnesses: tuple[Harness, ...]
    ids: Sequence[str]
    stages: dict[str, dict[str, Stage]] = field(default_factory=dict)
    replies: dict[str, dict[str, Replies]] = field(default_factory=dict)

    def look(self, name: str, log: str, generation: Generation) -> None:
        """Look at a stage; `generation` serves it next."""
        reading = ScratchLog(log)
        for conversation_id in self.ids:
            stored = reading.rows(conversation_id)
            rows = tuple(row.decoded(reading.column) for row in stored)
            seen = _seen(reading.column, [(r.step, r.payload) for r in stored], generation)
            answer = predict(Target(generation, self.harnesses, declared=True), seen)
            stage = Stage(rows, foretold(answer.empty, answer.input))
            self.stages.setdefault(conversation_id, {})[name] = stage

    def tell(self, server: str, replies: Mapping[str, Replies]) -> None:
        """Keep what a server did."""
        for conversation_id, of in replies.items():
            if conversation_id in self.ids:
                self.replies.setdefault(conversation_id, {})[server] = of

    def journeys(self, specimen: str, *, is_exact: bool) -> list[Journey]:
        """Each conversation with its stages."""
        return [
            Journey(
                name,
                self.stages.get(name, {}),
                self.replies.get(name, {}),
                name == specimen,
                is_exact,
            )
            for name in self.ids
        ]


def _seen(column: str, rows: Sequence[tuple[int, bytes]], generation: Generation) -> History:
    """What a server decodes of a conversation, as axnb's own does."""
    if column != generation.step_column:
        return History(column, readable=True, pending=False)
    try:
        found = history.read(rows, generation)
    except LogError:
        return History(column, readable=False, pending=False)
    contents = sum(len(row.event.get(generation.content_key, ())) for row in found.rows)
    return History(
        column,
        readable=True,
        pending=found.is_pending,
        owner=found.owner,
        contents_decoded=contents,
        contents_stored=contents,
    )


def _canonical(text: str | None) -> str:
    try:
        return "" if text is None else canonical(text)
    except json_text.PayloadError:
        return text or ""
