"""One task on an operator's deployment, step by step: by a command, or by a person's hands."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from axnb.ax.versions import resolve
from axnb.errors import AxnbError
from axnb.runtimes import CANCELLED, POINTS, Answer, Interruption, Observation, Reversal, Task
from axnb.runtimes.command import reading
from axnb.runtimes.command.guiding import REFUSED, Ask
from axnb.runtimes.command.running import Ran, Runner
from axnb.settings import Settings
from axnb.settings_command import CANCEL, CommandSettings
from axnb.text import count

#: Points at which it is the client that goes away.
_CLIENT_LEAVES = (5, CANCELLED)


class CommandRehearsal:
    """The task is sent in the background, and the command that interrupts runs at the same time.

    That one has to wait itself for the moment that it wants, such as an entry in the tool's ledger.
    Both are waited for. At point 8 it upgrades, and `resume` rolls back after its empty request.
    """

    def __init__(
        self,
        settings: Settings,
        command: CommandSettings,
        runner: Runner,
        ask: Ask | None,
        point: int,
        task: Task,
    ) -> None:
        self._settings = settings
        self._command = command
        self._runner = runner
        self._ask = ask
        self._point = point
        self._task = task
        self._last_step = 0
        self._answers: list[Answer] = []
        self._early: tuple[Mapping[str, Any], ...] | None = None

    def prepare(self) -> Answer:
        """Send the ordinary first turn."""
        return self._numbered(self._task.first_text, self._send(self._task.first_text))

    def interrupt(self) -> Interruption:
        """Send the task, and interrupt it meanwhile."""
        name = CANCEL if self._point == CANCELLED else str(self._point)
        is_by_hand = name not in self._command.interrupts
        if is_by_hand and self._runner.has("start"):
            self._do(f"Get ready to interrupt the task {self._place}. Done starts the task.")
        meanwhile = f" Meanwhile interrupt it {self._place}." if is_by_hand else ""
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self._send, self._task.text, meanwhile)
            with ExitStack() as stack:
                # The answer is waited for, whatever becomes of the interruption.
                stack.callback(sending.exception)
                if not is_by_hand:
                    _check(self._runner.run_interrupt(name))
                elif self._runner.has("start"):
                    self._do(f"The task is running. Interrupt it {self._place}.")
            sent = sending.result()
        answer = self._numbered(self._task.text, sent)
        if self._point in _CLIENT_LEAVES and answer.error is not None:
            answer = self._answers[-1] = replace(answer, error=None, cancelled=True)
        self._early = self._alerts()
        return Interruption(
            sentence=f"{'a person' if is_by_hand else 'a command'} interrupted {self._place}",
            answer=answer,
            victims=("client",) if self._point in _CLIENT_LEAVES else (),
            log=self._command.log,
            generation=self._generation,
        )

    def resume(self) -> tuple[Answer, Answer]:
        """Send an empty request, then a new input."""
        sent: Ran | str
        if self._runner.has("resume"):
            sent = self._runner.run("resume")
        else:
            sent = self._see(
                "Bring back what was stopped, then send an empty request (ax --resume) to "
                f"{self._task.conversation_id}."
            )
        if self._runner.has("response"):
            shown = self._runner.read("response")
            sent = replace(sent, text=shown) if isinstance(sent, Ran) else shown
        resumed = self._numbered("", sent)
        following = self._numbered(self._task.next_text, self._send(self._task.next_text))
        return resumed, following

    def observe(self) -> Observation:
        """What the log, the bucket, the ledger and the alerts show."""
        bucket, late = self._command.snapshots, self._alerts()
        return Observation(
            log=self._command.log,
            generation=self._generation,
            answers=tuple(self._answers),
            effects=self._effects(),
            requests=None,
            reported=None,
            alerts=None if late is None else reading.merged_alerts(self._early or (), late),
            bucket=bucket,
            newest=None
            if bucket is None
            else reading.newest_snapshot(bucket, self._task.conversation_id, self._settings),
        )

    def reverse(self) -> Reversal:
        """Undo the operation, and read the ledger back."""
        if not self._effects():
            return Reversal((), "there was no effect to undo")
        if self._runner.has("reverse"):
            _check(self._runner.run("reverse"))
        else:
            self._do(f"Undo the operation {self._task.operation_id} in its tool system.")
        left = self._effects()
        told = count(len(left), "entry of the ledger", "entries of the ledger")
        return Reversal(left, f"undone, and read back: {told}")

    def close(self) -> None:
        """Commands that are still running end with the runtime."""

    @property
    def _generation(self) -> str:
        return resolve(self._command.generation).name

    @property
    def _place(self) -> str:
        title = POINTS.get(self._point, "the client cancels after the tool has committed")
        return f"at point {self._point or CANCEL}: {title}"

    def _send(self, text: str, meanwhile: str = "") -> Ran | str:
        """Send an input: what the command printed, or what a person tells of the answer."""
        if self._runner.has("start"):
            return self._runner.run("start", text)
        return self._see(
            f"Send to the conversation {self._task.conversation_id}, and wait until it is over: "
            f"“{text}”.{meanwhile}"
        )

    def _numbered(self, sent: str, got: Ran | str) -> Answer:
        """The answer, with the numbers of what the request added to the log."""
        outputs = reading.logged_outputs(
            self._command.log, self._task.conversation_id, self._settings
        )
        added = [output for output in outputs if output.number > self._last_step]
        self._last_step = max([self._last_step, *(output.number for output in outputs)])
        if isinstance(got, Ran):
            answer = reading.answer_of(sent, got, added)
        else:
            answer = reading.answer_by_hand(sent, got, added)
        self._answers.append(answer)
        return answer

    def _effects(self) -> tuple[Mapping[str, Any], ...]:
        return reading.effects_of(self._runner.read("effects"), self._task)

    def _alerts(self) -> tuple[Mapping[str, Any], ...] | None:
        if not self._runner.has("alert"):
            return None
        return reading.alerts_of(self._runner.run("alert"), self._task.conversation_id)

    def _do(self, sentence: str) -> None:
        assert self._ask is not None, "whoever is not guided has commands"
        self._ask(sentence)

    def _see(self, sentence: str) -> str:
        assert self._ask is not None, "whoever is not guided has commands"
        told = f"{sentence} Hand over what the user sees; begin with {REFUSED} if it was refused."
        return self._ask(told, wants_text=True)


def _check(ran: Ran) -> None:
    if ran.failure is not None:
        raise AxnbError(f"{ran.failure}.")
