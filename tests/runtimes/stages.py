"""Do again to the embedded server what was done to a recorded one.

A `Stage` is one log: it starts the server as a program, plays every conversation of the recording
that is no race, and stops the server as it was stopped then. Conversations that were held when a
server was killed are all held at once, and killed together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from axnb.ax.canonical import canonical
from axnb.ax.versions import GENERATIONS, Generation
from tests.ax_logs import RealLog
from tests.runtimes.driver import (
    Asking,
    Client,
    Got,
    InProcess,
    KillableHarness,
    Process,
    write_config,
)
from tests.runtimes.scripted import UNNAMED, Scripted

Entered = TypeVar("Entered")

CONFIG = b'{"model": "gemini-3.5-flash", "temperature": 0.2}'

#: What a conversation's user said, where `how` is no text of a script.
TEXTS = {
    "Not_A_DNS.Name": "Say hello",
    "last-good": "Say hello",
    "awaiting": "Delete the old backups",
    "agent-unknown": "Say hello",
    "end-then-broken": "End and break",
}

#: Conversations that were held when the server was killed: the text, and the outputs until then.
HELD = {
    "kill9-at-start": ("Wait for me", 0),
    "switch-pending": ("Wait for me", 0),
    "kill9-after-call": ("Charge the card and wait", 2),
    "resumed-twice": ("Charge the card and wait", 2),
    "kill9-after-effect": ("Charge the card, done, and wait", 2),
    "resumed": ("Charge the card, done, and wait", 2),
    "kill9-after-result": ("Send the report and wait", 3),
    "kill9-after-end": ("End and linger", 3),
}

#: What their clients sent to the next server: a text or nothing, and the harness it names.
THEN: dict[str, list[tuple[str | None, str]]] = {
    "resumed": [(None, ""), ("And goodbye", "")],
    "resumed-twice": [("And goodbye", "")],
    "switch-pending": [(None, "drill")],
}

#: Of a harness that was down, and then was not.
DOWN: dict[str, list[tuple[str | None, str]]] = {
    "harness-down": [("Say hello", ""), (None, "")],
    "drill-harness-down": [("Say hello", "")],
}

_EFFECT = "Charge the card, done, and wait"


@dataclass
class Played:
    """What clients got, by conversation."""

    client: dict[str, Any] = field(default_factory=dict)
    then: dict[str, list[Any]] = field(default_factory=dict)
    rows_then: dict[str, int] = field(default_factory=dict)


class Stage:
    """The embedded server in the place of the recorded one."""

    def __init__(self, log: RealLog, folder: Path, postgres: str | None = None) -> None:
        self.log = log
        self.generation: Generation = GENERATIONS[log.truth["written_by"]["generation"]]
        self.folder = folder
        self.played = Played()
        self.servers: list[Process] = []
        self._postgres = postgres
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def config(self, endpoint: str) -> Path:
        """The ax.yaml of the recorded server, with the harness at `endpoint`."""
        harness = self.log.truth["written_by"]["harness"]
        return write_config(
            self.folder,
            self.generation,
            built_in=endpoint if "antigravity" in harness else None,
            custom={"drill": endpoint} if "drill" in harness else {},
            default="antigravity" if "antigravity" in harness else "drill",
            postgres=self._postgres,
        )

    def serve(self, endpoint: str) -> Process:
        """A server as a program."""
        server = self._entered(Process(self.config(endpoint), self.generation))
        self.servers.append(server)
        return server

    def second(self, endpoint: str) -> Client:
        """One more server on the same log."""
        return self._entered(InProcess(self.config(endpoint), self.generation)).client

    def harness(self, port: int = 0) -> Scripted:
        """A scripted harness, which ends a turn that it is started with nothing for."""
        return self._entered(Scripted(self.generation, port=port))

    def play(self) -> None:
        """All that is no race and needs no lock."""
        killable = KillableHarness(self.generation)
        with killable:
            server = self.serve(killable.endpoint)
            self._kill_harness(server.client, killable)
        self._while_down(server.client)
        harness = self.harness(int(killable.endpoint.rpartition(":")[2]))
        self._after_down(server.client)
        self._ordinary(server.client)
        self._particular(server.client)
        self._leave(server, harness)
        self._two_servers(server.client, harness)
        self._kill(server, harness)
        server = self.serve(harness.endpoint)
        self._then(server.client)
        self._terminate(server, harness)

    def warnings(self) -> Counter[tuple[str, str, str]]:
        """What the servers warned of: the conversation, the message, the error."""
        return warnings(record for server in self.servers for record in server.records)

    def recorded(self, conversation_id: str) -> dict[str, Any]:
        """What is known of a conversation."""
        found: dict[str, Any] = self.log.truth["conversations"].get(conversation_id, {})
        return found

    def named(self, *names: str) -> list[tuple[str, str]]:
        """Those of the conversations that were recorded, under drill too, and whom they name."""
        return [
            (prefix + name, prefix.rstrip("-"))
            for name in names
            for prefix in ("", "drill-")
            if self.recorded(prefix + name)
        ]

    def keep(self, conversation_id: str, got: Got) -> None:
        """What the client of a conversation got."""
        self.played.client[conversation_id] = got.as_recorded()

    def _entered(self, manager: AbstractContextManager[Entered]) -> Entered:
        return self._stack.enter_context(manager)

    def _kill_harness(self, client: Client, harness: KillableHarness) -> None:
        asked: dict[str, Asking] = {}
        for name, naming in self.named("harness-killed"):
            asked[name] = client.ask(name, _EFFECT, naming=naming).wait_for(2)
            harness.wait(name)
        harness.kill()
        for name, asking in asked.items():
            self.keep(name, asking.result())

    def _while_down(self, client: Client) -> None:
        for name, naming in self.named("harness-down"):
            self.keep(name, client.say(name, "Say hello", naming=naming))

    def _after_down(self, client: Client) -> None:
        for name, requests in DOWN.items():
            if self.recorded(name):
                self._send_then(client, name, requests)

    def _send_then(self, client: Client, name: str, requests: list[tuple[str | None, str]]) -> None:
        got = [client.say(name, text, naming=naming) for text, naming in requests]
        self.played.then[name] = [one.as_recorded() for one in got]

    def _ordinary(self, client: Client) -> None:
        """Conversations of one request."""
        from tests.runtimes.scripted import scripts

        for name, about in self.log.truth["conversations"].items():
            text = TEXTS.get(name, about.get("how"))
            if name in TEXTS or text in scripts(self.generation):
                naming = "nobody" if name == "agent-unknown" else ""
                self.keep(name, client.say(name, text, naming=naming))
        if self.recorded("last-good"):
            self.played.client["last-good"] = None

    def _particular(self, client: Client) -> None:
        """Conversations that need their own words."""
        plays: Mapping[str, Callable[[Client], Any]] = {
            "hello-world": lambda c: [
                c.say("hello-world", "Say hello", config=CONFIG),
                c.say("hello-world", "And goodbye"),
            ],
            "approve-delete": lambda c: self._decide(c, "approve-delete", approved=True),
            "decline-delete": lambda c: self._decide(c, "decline-delete", approved=False),
            "to-delete": lambda c: self._delete(c, "to-delete"),
            "reborn": lambda c: (self._delete(c, "reborn"), c.say("reborn", "And goodbye"))[1],
            "agent-named": lambda c: [
                c.say("agent-named", "Say hello", naming="drill"),
                c.say("agent-named", "And goodbye"),
                c.say("agent-named", "Say hello", naming="antigravity"),
            ],
            "empty-new": lambda c: c.say("empty-new"),
            "bad-config": lambda c: c.say("bad-config", "Say hello", config=b"not JSON"),
            "client-index": lambda c: c.say("client-index", inputs=[_INDEXED]),
            "client-two-steps": lambda c: c.say(
                "client-two-steps", inputs=[_said("first"), _said("Say hello")]
            ),
            "client-tool-result": lambda c: c.say("client-tool-result", inputs=[_RESULT]),
            "client-deadline": lambda c: c.say("client-deadline", "Slow one", seconds=3),
        }
        for name, play in plays.items():
            if self.recorded(name):
                got = play(client)
                self.played.client[name] = (
                    [one.as_recorded() for one in got]
                    if isinstance(got, list) and isinstance(got[0], Got)
                    else got.as_recorded()
                    if isinstance(got, Got)
                    else got
                )

    def _decide(self, client: Client, name: str, *, approved: bool) -> list[Got]:
        asked = client.say(name, "Delete the old backups")
        key, value = ("approval", "approved") if approved else ("decline", "declined")
        content = {"confirmation": {"id": "confirm_1", key: {value: True}}}
        steps = self.generation.event == "StepEvent"
        spoken = {"role": "user", "content": [content] if steps else content}
        answer = {"content": spoken} if steps else spoken
        return [asked, client.say(name, inputs=[answer])]

    def _delete(self, client: Client, name: str) -> list[Any]:
        assert client.say(name, "Say hello").error is None
        error = client.delete(name)
        return ["", error]

    def _leave(self, server: Process, harness: Scripted) -> None:
        for name, naming in self.named("client-left"):
            failed = server.count("Stream failed")
            asking = server.client.ask(name, "Slow one", naming=naming).wait_for(1)
            harness.wait(name)
            asking.leave()
            got = asking.result()
            got.error = None  # its own cancellation
            self.keep(name, got)
            server.wait_for("Stream failed", failed + 1)
            harness.release(name)
        for name, naming in self.named("linger-then-close"):
            asking = server.client.ask(name, "End and linger", naming=naming).wait_for(3)
            harness.wait(name)
            harness.release(name)
            self.keep(name, asking.result())

    def _two_servers(self, client: Client, harness: Scripted) -> None:
        """A second server gets a request while the first's turn is held."""
        for name, naming in self.named("two-servers"):
            first = client.ask(name, "Slow one", naming=naming).wait_for(1)
            harness.wait(name)
            got = [self.second(harness.endpoint).say(name, "Many steps", naming=naming)]
            if len(self.recorded(name)["client"]) == 3:
                got.append(client.say(name, "Say hello"))
            harness.release(name)
            self.played.client[name] = [one.as_recorded() for one in (first.result(), *got)]

    def _kill(self, server: Process, harness: Scripted) -> None:
        asked: dict[str, Asking] = {}
        for name, naming in self.named(*HELD):
            text, outputs = HELD[name.removeprefix("drill-")]
            asked[name] = server.client.ask(name, text, naming=naming).wait_for(outputs)
            harness.wait(name)
        server.kill()
        for name, asking in asked.items():
            self.keep(name, asking.result())

    def _then(self, client: Client) -> None:
        for name, naming in self.named(*THEN):
            requests = THEN[name.removeprefix("drill-")]
            self._send_then(client, name, [(text, own or naming) for text, own in requests])

    def _terminate(self, server: Process, harness: Scripted) -> None:
        asked: dict[str, Asking] = {}
        for name, naming in self.named("sigterm-mid-turn"):
            asked[name] = server.client.ask(name, _EFFECT, naming=naming).wait_for(2)
            harness.wait(name)
        server.terminate()
        server.wait_for("Stopping server gracefully...")
        for name, asking in asked.items():
            harness.release(name)
            self.keep(name, asking.result())
        assert server.wait() == 0


def _said(text: str) -> dict[str, Any]:
    return {"content": {"role": "user", "content": [{"text": {"text": text}}]}}


_INDEXED = {**_said("Say hello"), "description": "from the client", "index": "99"}
_RESULT = {
    "tool_result": {
        "call_id": "c1",
        "function_result": {"name": "f", "result": {"string_value": "from the client"}},
    }
}


def warnings(records: Iterable[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """What servers warned of; what protobuf-go says of a text that is no JSON is its own."""
    found = (
        (record["conversation_id"], record["msg"], record["error"])
        for record in records
        if record["level"] == "WARN"
    )
    return Counter(
        (name, message, "" if "parse" in message else error) for name, message, error in found
    )


def comparable(payload: str) -> str:
    """A row's canonical text, with our number for a name that our schema has not."""
    for name, number in UNNAMED.items():
        payload = payload.replace(json.dumps(name), str(number))
    return canonical(payload)
