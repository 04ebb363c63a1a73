"""The algorithm of AX's controller from G5 to G8 (section 3.3 of the facts).

One request: the rows are read; an unfinished turn is restarted first; then the request's own
inputs, if it has any, are logged and run. Each message of the harness becomes a row and then goes
to the client. An append that fails is a warning, and the client gets number 0. COMPLETED is
logged when the harness's stream ends; a failure leaves no row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from axnb.ax import protojson, schemas, wire
from axnb.ax.json_text import Members, Number, PayloadError, dump
from axnb.ax.versions import Generation
from axnb.runtimes import Policy
from axnb.runtimes.embedded import history, payload
from axnb.runtimes.embedded.call import Call
from axnb.runtimes.embedded.console import Console
from axnb.runtimes.embedded.errors import RequestError, client_left
from axnb.runtimes.embedded.harness import Harness
from axnb.runtimes.embedded.policies import Redo, restart
from axnb.runtimes.embedded.store import LogError, Store
from axnb.runtimes.failpoints import reach


@dataclass(frozen=True)
class Settings:
    """How a server goes on with unfinished turns, and whether it asks for snapshots."""

    policy: Policy = "ax"
    suspend: bool = False


class Controller:
    """Runs the requests of all clients; any thread may use it."""

    def __init__(
        self,
        generation: Generation,
        store: Store,
        harnesses: Sequence[Harness],
        console: Console,
        settings: Settings,
    ) -> None:
        """`harnesses` has the default first."""
        self._generation = generation
        self._store = store
        self._harnesses = {harness.id: harness for harness in harnesses}
        self._default = harnesses[0]
        self._console = console
        self._settings = settings
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def execute(self, request: Any, call: Call) -> Iterator[Message]:
        """Run a client's request; yields the responses. Raises RequestError."""
        generation = self._generation
        conversation_id = request.conversation_id
        if not conversation_id:
            raise RequestError("conversation_id is required")
        with self._in_flight(conversation_id), ExitStack() as executions:
            logged = self._read(conversation_id)
            named = self._owner(request, logged)
            harness = self._find(named)
            config = getattr(request, generation.config_key or "")
            turn = _Turn(self, conversation_id, harness, call)
            if logged.is_pending:
                cursor = getattr(request, f"last_{generation.step_column}", 0)
                again = restart(self._settings.policy, logged, config, cursor)
                executions.callback(self._close, harness, conversation_id)
                yield from turn.run(again.items, again.config, again.redo)
            if not request.inputs:
                return
            executions.callback(self._close, harness, conversation_id)
            # Before G5b a default harness was stored as nothing.
            owner = harness.id if generation.names_default else named
            self._log_inputs(request, owner)
            yield from turn.run(request.inputs, config, Redo(()))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation's rows. Raises RequestError."""
        try:
            self._store.delete(conversation_id)
        except LogError as err:
            raise RequestError(f"failed to delete conversation: {err}") from err

    def close(self) -> None:
        """Close the log, as AX does before its streams have ended; later appends fail."""
        self._store.close()
        for harness in self._harnesses.values():
            if harness.stops_with_server:
                harness.cut()

    @contextmanager
    def _in_flight(self, conversation_id: str) -> Iterator[None]:
        """One request of a conversation at a time, in this process."""
        with self._lock:
            if conversation_id in self._busy:
                text = f'conversation "{conversation_id}" is already in flight'
                raise RequestError(text, "FAILED_PRECONDITION")
            self._busy.add(conversation_id)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(conversation_id)

    def _read(self, conversation_id: str) -> history.History:
        try:
            return history.read(self._store.read(conversation_id), self._generation)
        except LogError as err:
            raise RequestError(f"failed to check resumption state: {err}") from err

    def _owner(self, request: Any, logged: history.History) -> str:
        """The name of the harness that takes the request; empty for the default."""
        named: str = getattr(request, self._generation.owner_key or "")
        changed = f"harness ID changed from {logged.owner} to {named}"
        if not self._generation.names_default:
            if logged.rows and named != logged.owner:
                raise RequestError(
                    f"failed to check resumption state: resumption not allowed: {changed}"
                )
        elif named and logged.owner and named != logged.owner:
            raise RequestError(f"resumption not allowed: {changed}")
        return named or logged.owner

    def _find(self, name: str) -> Harness:
        harness = self._harnesses.get(name) if name else self._default
        if harness is None:
            raise RequestError(f'failed to get harness "{name}": harness {name} not found')
        return harness

    def _log_inputs(self, request: Any, owner: str) -> None:
        """Append the input row; the only append that a turn cannot do without."""
        generation = self._generation
        told = Members([(generation.owner_key or "", owner)] if owner else [])
        config = self._config(request)
        if config is not None:
            told.append((generation.config_key or "", config))
        content = [payload.tree(item) for item in request.inputs]
        told.append((generation.content_key, content))
        try:
            self.append(request.conversation_id, told, "STATE_PENDING", "input")
        except LogError as err:
            raise RequestError(f"failed to log inputs: {err}") from err
        reach("server.input-logged")

    def _config(self, request: Any) -> Any:
        """A configuration as a row holds it; one that is no JSON object is only warned of."""
        key = self._generation.config_key or ""
        raw: bytes = getattr(request, key)
        if not raw:
            return None
        try:
            config = protojson.parse(raw.decode())
            protojson.decode(Members([(key, config)]), schemas.event(self._generation))
            return payload.struct(config)
        except ValueError as err:
            reason = str(err) if isinstance(err, PayloadError) else "invalid UTF-8"
            self._console.warn(
                "Failed to parse harness config for logging",
                conversation_id=request.conversation_id,
                error=f"proto: {reason}",
            )
            return None

    def append(self, conversation_id: str, told: Members, state: str, kind: str) -> int:
        """Append a row that says `told`; returns its number. Raises LogError."""
        generation = self._generation
        numbered = generation.event == "ConversationEvent"

        def text(number: int) -> str:
            row = Members([("conversation_id", conversation_id)])
            if numbered:
                row.append((generation.step_column, Number(number)))
            return dump(Members([*row, *told, ("state", state)]))

        return self._store.append(conversation_id, text, kind)

    def append_or_warn(self, append: Callable[[], int], message: str, conversation_id: str) -> int:
        """Append an output or an end; 0 with a warning where AX goes on without it.

        Raises RequestError under a policy that does not.
        """
        try:
            return append()
        except LogError as err:
            self._console.warn(message, conversation_id=conversation_id, error=str(err))
            if self._settings.policy != "ax":
                raise RequestError(f"failed to log output: {err}") from err
            return 0

    def _close(self, harness: Harness, conversation_id: str) -> None:
        """Close an execution: the actor is suspended before the client's stream ends."""
        if not self._settings.suspend:
            return
        self._console.info(
            "Suspending SubstrATE actor", conversation_id=conversation_id, exec_id=""
        )
        try:
            harness.suspend(conversation_id)
        except RequestError as err:
            self._console.warn(
                "Failed to suspend SubstrATE actor",
                conversation_id=conversation_id,
                error=str(err),
            )

    @property
    def generation(self) -> Generation:
        """The generation that this server is of."""
        return self._generation


class _Turn:
    """One start of a harness, from its start to its end in the log."""

    def __init__(
        self, controller: Controller, conversation_id: str, harness: Harness, call: Call
    ) -> None:
        self._controller = controller
        self._conversation_id = conversation_id
        self._harness = harness
        self._call = call

    def run(self, items: Sequence[Message], config: bytes, redo: Redo) -> Iterator[Message]:
        outputs = self._outputs(items, config)
        for item in outputs:
            kind = kind_of(item)
            reach("server.received", kind=kind)
            if not self._call.is_active():
                raise self._failed(client_left())
            number = redo.number(item)
            if number is None:
                number = self._append_output(item, kind)
            if redo.is_owed(number):
                yield response(self._controller.generation, item, number)
            reach("server.sent", kind=kind)
        redo.finish()
        if not self._call.is_active():
            raise self._failed(client_left())
        self._append_end()

    def _outputs(self, items: Sequence[Message], config: bytes) -> Iterator[Message]:
        try:
            yield from self._harness.run(self._conversation_id, items, config, self._call)
        except RequestError as err:
            raise self._failed(err) from err

    def _failed(self, err: RequestError) -> RequestError:
        return RequestError(f"harness execution failed: {err}", err.code)

    def _append_output(self, item: Message, kind: str) -> int:
        key = self._controller.generation.content_key
        told = Members([(key, [payload.tree(item)])])
        return self._append(
            told, "STATE_PENDING", kind, "Failed to log streamed message to event log"
        )

    def _append_end(self) -> None:
        since_g7 = self._controller.generation.event == "StepEvent"
        action = "mark completion state in" if since_g7 else "log completion event to"
        self._append(Members(), "STATE_COMPLETED", "end", f"Failed to {action} event log")

    def _append(self, told: Members, state: str, kind: str, message: str) -> int:
        conversation_id = self._conversation_id
        return self._controller.append_or_warn(
            lambda: self._controller.append(conversation_id, told, state, kind),
            message,
            conversation_id,
        )


def kind_of(item: Any) -> str:
    """What an output is: text, thought, tool_call, …; `empty` where it says nothing."""
    if "type" not in item.DESCRIPTOR.oneofs_by_name:
        return item.content.WhichOneof("type") or "empty"
    kind = item.WhichOneof("type") or "empty"
    if kind != "content" or not item.content.content:
        return str(kind)
    return item.content.content[0].WhichOneof("type") or "empty"


def response(generation: Generation, item: Any, number: int) -> Message:
    """What a client gets for one output: since G7 its number is the step's own index."""
    answer = wire.client_method(generation).response
    if generation.event == "StepEvent":
        sent = type(item)()
        sent.CopyFrom(item)
        sent.index = number
        return answer(outputs=[sent])
    return answer(outputs=[item], **{generation.step_column: number})
