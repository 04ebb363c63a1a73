"""A runtime without processes: it writes a real log, and tells of all else what a test wants.

What a healthy rehearsal under `read-before-retry` shows is the default; a test changes one thing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from axnb.ax import rows
from axnb.ax.rows import Part, Row
from axnb.ax.versions import GENERATIONS, Generation
from axnb.drills.resume.rehearsing import Job, Rehearsed, Rehearsing
from axnb.errors import AxnbError
from axnb.runtimes import (
    Answer,
    Interruption,
    NotRunError,
    Observation,
    Output,
    Policy,
    Program,
    Reversal,
    Snapshot,
    Task,
    content,
)
from axnb.settings import Settings

PENDING, COMPLETED = 1, 3


@dataclass
class Log:
    """A log in a SQLite file, as a server of a generation writes it."""

    path: Path
    generation: Generation
    conversation_id: str

    def create(self) -> None:
        """Make the table."""
        column = self.generation.step_column
        self.execute(
            f"create table conversation_log (conversation_id text not null, {column} integer not "
            f"null, payload text not null, primary key (conversation_id, {column}))"
        )

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run one statement."""
        with closing(sqlite3.connect(self.path)) as file, file:
            file.execute(statement, values)

    def add(self, step: int, *parts: Part, owner: str = "", state: int = PENDING) -> None:
        """Append a row."""
        row = Row(self.conversation_id, state, owner, parts=parts)
        payload = rows.write(row, self.generation, step)
        self.execute(
            "insert into conversation_log values (?, ?, ?)", (self.conversation_id, step, payload)
        )


@dataclass
class Script:
    """What a rehearsal shows; the functions change it before it is told."""

    #: Changes the log at the end.
    log: Callable[[Log], None] = lambda _: None
    #: Changes what is observed, and what the client got of the interruption and afterwards.
    observation: Callable[[Observation], Observation] = lambda seen: seen
    interruption: Callable[[Interruption], Interruption] = lambda cut: cut
    answers: Callable[[Answer, Answer], tuple[Answer, Answer]] = lambda a, b: (a, b)
    #: Is raised instead of going on.
    error: Exception | None = None
    #: Does the task's turn come to its end before anything is done to it?
    is_over: bool = False


@dataclass
class FakeRuntime:
    """Rehearsals that follow scripts, by point; the others are healthy."""

    scripts: Mapping[int, Script] = field(default_factory=dict)
    generation: Generation = GENERATIONS["G8"]
    has_bucket: bool = True
    kind: str = "embedded"
    closed: int = 0

    @property
    def program(self) -> Program:
        return Program(self.kind, self.generation.name, "0" * 64, "fake")  # type: ignore[arg-type]

    def task_for(self, task: Task, point: int, policy: Policy) -> Task:
        return task

    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> FakeRehearsal:
        return FakeRehearsal(self, point, task, scratch, self.scripts.get(point, Script()))

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


class FakeRehearsal:
    """Two turns before and one after, the task's turn cut after its call and gone on with."""

    def __init__(
        self, runtime: FakeRuntime, point: int, task: Task, scratch: Path, script: Script
    ) -> None:
        self.runtime, self.point, self.task, self.script = runtime, point, task, script
        self.log = Log(scratch / "log.sqlite", runtime.generation, task.conversation_id)
        self.log.create()
        self.reservation = f"R-{point}"
        self.released = False

    def prepare(self) -> Answer:
        self.log.add(1, content.user_text(self.task.first_text), owner="antigravity")
        self.log.add(2, content.said("I will remember."))
        self.log.add(3, state=COMPLETED)
        return Answer(self.task.first_text, (Output(2, "text", "I will remember."),))

    def interrupt(self) -> Interruption:
        arguments = json.dumps({"operation_id": self.task.operation_id})
        self.log.add(4, content.user_text(self.task.text), owner="antigravity")
        self.log.add(5, content.call("call_1", self.task.tool, arguments))
        if self.script.is_over:
            self.log.add(6, state=COMPLETED)
        outputs = (Output(5, "tool_call", arguments),)
        answer = Answer(self.task.text, outputs, "UNAVAILABLE: Socket closed")
        cut = Interruption("SIGKILL of server and actor", answer, ("server", "actor"))
        log, generation = str(self.log.path), self.runtime.generation.name
        return self.script.interruption(replace(cut, log=log, generation=generation, requests=1))

    def resume(self) -> tuple[Answer, Answer]:
        if self.script.error is not None:
            raise self.script.error
        response = json.dumps(
            {"reservation": self.reservation, "operation_id": self.task.operation_id}
        )
        text, last = f"Reserved: {self.reservation}.", f"You have {self.reservation}."
        self.log.add(6, content.result("call_1", self.task.tool, response))
        self.log.add(7, content.said(text))
        self.log.add(8, state=COMPLETED)
        self.log.add(9, content.user_text(self.task.next_text), owner="antigravity")
        self.log.add(10, content.said(last))
        self.log.add(11, state=COMPLETED)
        resumed = Answer("", (Output(6, "tool_result", response), Output(7, "text", text)))
        following = Answer(self.task.next_text, (Output(10, "text", last),))
        self.script.log(self.log)
        return self.script.answers(resumed, following)

    def observe(self) -> Observation:
        snapshot = Snapshot("ax/snapshots/3", "3" * 64, {"turns": 3})
        taken = Snapshot("ax/snapshots/2", "2" * 64, {"turns": 1})
        bucket = None
        if self.runtime.has_bucket:
            folder = self.log.path.parent / "bucket"
            folder.mkdir(exist_ok=True)
            bucket = folder.as_uri()
        is_evicted = self.point == 7
        request = {"request": 1, "operation_id": self.task.operation_id, "attempt": 1}
        labels = {"alertname": "AxTurnInterrupted", "conversation_id": self.task.conversation_id}
        return self.script.observation(
            Observation(
                log=str(self.log.path),
                generation=self.runtime.generation.name,
                answers=(),
                effects=(self.effect(),),
                requests=(request,),
                reported=(request,),
                alerts=({"labels": labels, "annotations": {}, "state": "resolved"},),
                bucket=bucket,
                taken=taken if is_evicted else None,
                restored=taken if is_evicted else None,
                newest=snapshot if bucket else None,
            )
        )

    def effect(self) -> dict[str, Any]:
        """The entry of the ledger."""
        return {
            "entry": 1,
            "operation_id": self.task.operation_id,
            "conversation_id": self.task.conversation_id,
            "item": self.task.item,
            "status": "released" if self.released else "reserved",
            "reservation": self.reservation,
        }

    def reverse(self) -> Reversal:
        self.released = True
        told = "1 effect released, and the ledger was read back"
        return Reversal((self.effect(),), told)

    def close(self) -> None:
        self.runtime.closed += 1


def rehearsed(runtime: FakeRuntime, job: Job, scratch: Path) -> Rehearsed:
    """Do one rehearsal."""
    return Rehearsing(runtime, scratch, Settings()).rehearse(job)


__all__ = ["AxnbError", "FakeRehearsal", "FakeRuntime", "Log", "NotRunError", "Script", "rehearsed"]
