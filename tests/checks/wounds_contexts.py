"""Turns that ran with something else than what would run them now."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from axnb.ax.rows import Part, Row
from axnb.testing.logs import LogBuilder, ask, call, decide, say
from tests.checks.pairs import Evidence, Found, Pair

_PENDING, _COMPLETED = 1, 3


def configured(
    log: LogBuilder, configuration: Any, *parts: Part, ended: bool = False, to: str = "c"
) -> LogBuilder:
    """Add a turn whose input names a configuration, as JSON text or as what that says, or none."""
    text = configuration
    if configuration is not None and not isinstance(configuration, str):
        text = json.dumps(configuration)
    if text is not None and log.generation.name == "G4":
        text = base64.b64encode(text.encode()).decode()
    question = Part("text", "user", value="hi")
    exec_id = f"e-{len(log.rows)}"
    log.add(Row(to, _PENDING, log.harness, config=text, exec_id=exec_id, parts=(question,)))
    for part in parts:
        log.add(Row(to, _PENDING, exec_id=exec_id, parts=(part,)))
    if ended:
        log.add(Row(to, _COMPLETED, exec_id=exec_id))
    return log


def _log(
    configuration: Any, *parts: Part, generation: str = "G8", harness: str = "antigravity"
) -> LogBuilder:
    """Steps 1 to 5 of `c`: a turn that ended, and one that was interrupted, from step 4 on."""
    log = LogBuilder(generation, harness)
    configured(log, configuration, say("a"), ended=True)
    return configured(log, configuration, *(parts or (say("b"),)))


def _now(told: str, configuration: Any, **more: Any) -> Callable[[], Evidence]:
    """The log beside an ax.yaml of v0.2.3 that says something of its default harness."""
    yaml = f"antigravity: {{default: true}}\nregistry: {{substrate: [{{id: drill, {told}}}]}}"
    if more.get("harness", "antigravity") == "antigravity":
        yaml = f"antigravity: {{default: true, {told}}}"
    return lambda: Evidence(_log(configuration, **more), ax_yaml=yaml)


def _called(told: str, configuration: Any = None) -> Callable[[], Evidence]:
    """The interrupted turn calls `charge` and `refund`."""
    parts = call("charge"), call("refund", call_id="call_2")
    return lambda: Evidence(
        _log(configuration, *parts), ax_yaml=f"antigravity: {{default: true, {told}}}"
    )


def _finished() -> Evidence:
    log = configured(LogBuilder("G8"), {"model": "a"}, say("x"), ended=True)
    return Evidence(log, ax_yaml="antigravity: {default: true, model: b}")


def _asking(*more: Part) -> Callable[[], Evidence]:
    """A turn that ended with a question, which the next one answers or does not."""

    def make() -> Evidence:
        log = configured(LogBuilder("G8"), {"model": "a"}, ask("Charge?"), *more, ended=True)
        return Evidence(log, ax_yaml="antigravity: {default: true, model: b}")

    return make


def _turns(*configurations: Any) -> Callable[[], LogBuilder]:
    """Turns of three rows each."""

    def make() -> LogBuilder:
        log = LogBuilder("G8")
        for configuration in configurations:
            configured(log, configuration, say("x"), ended=True)
        return log

    return make


def _old(model: str) -> Callable[[], Evidence]:
    """A log of G3, in which the configuration stands in the execution."""

    def make() -> Evidence:
        log = LogBuilder("G3", "__planner")
        log.interrupted("c", "hi", say("b"))
        ((exec_id, payload, when),) = log.executions
        config = base64.b64encode(b'{"model": "old"}').decode()
        event = {**json.loads(payload), "agent_config": config}
        log.executions = [(exec_id, json.dumps(event), when)]
        return Evidence(log, ax_yaml=f"planner: {{type: gemini, gemini: {{model: {model}}}}}")

    return make


# --- images ---------------------------------------------------------------------------------------

_ACTOR = {
    "source": "records",
    "atespace": "ax",
    "name": "c",
    "uid": "actor-1",
    "shape": "september",
    "state": "SUSPENDED",
    "template": "ax/harness",
    "change": "seen-once",
}
_SNAPSHOT = {
    "source": "records",
    "kind": "actor",
    "space": "ax",
    "name": "c",
    "uid": "actor-1",
    "role": "latest",
    "snapshot": "a/b",
    "actor": "ax/c",
    "actor_uid": "actor-1",
    "change": "seen-once",
}
_TEMPLATE = {
    "source": "records",
    "space": "ax",
    "name": "harness",
    "shape": "september",
    "change": "seen-once",
}


def _container(uid: str, digit: str) -> dict[str, Any]:
    digest = f"sha256:{digit * 64}"
    image = f"registry/harness@{digest}"
    told = {"container": "main", "image": image, "digest": digest, "env_names": []}
    return {"source": "records", "space": "ax", "template": "harness", "uid": uid, **told}


def _images(
    taken: str, now: str, containers: Sequence[tuple[str, str]], **actor: Any
) -> Callable[[], Evidence]:
    """The snapshot was taken under one uid of the template, which has another one now."""
    tables = {
        "actors": [{**_ACTOR, **actor}],
        "record_snapshots": [{**_SNAPSHOT, "template_uid": taken}],
        "templates": [{**_TEMPLATE, "uid": now}],
        "template_containers": [_container(uid, digit) for uid, digit in containers],
    }
    return lambda: Evidence(_log(None), tables=tables)


_FOUND: list[Found] = [("c", 4, [4])]
_IN_THE_FIRST: list[Found] = [("c", 1, [1])]

PAIRS: dict[str, list[Pair]] = {
    "AX501": [
        Pair(_now("model: b", {"model": "a"}), _FOUND, _now("model: a", {"model": "a"})),
        Pair(
            _now("model: b", {"model": "a"}, generation="G4", harness="drill"),
            _FOUND,
            _now("model: a", {"model": "a"}, generation="G4", harness="drill"),
        ),
        Pair(
            _now("model: b", {"model": {"name": "a"}}, harness="drill"),
            _FOUND,
            _now("model: b", {"temperature": 1}, harness="drill"),
        ),
        Pair(_asking(), _IN_THE_FIRST, _finished),
        Pair(_asking(), _IN_THE_FIRST, _asking(decide("approved"))),
        Pair(_old("new"), _IN_THE_FIRST, _old("old")),
    ],
    "AX502": [
        Pair(
            _now("system_instruction: be bad", {"system_instructions": "be good"}),
            _FOUND,
            _now("system_instruction: be good", {"system_instructions": "be good"}),
        ),
    ],
    "AX503": [
        Pair(
            _now("tools: [charge]", {"tools": ["charge", "refund"]}),
            _FOUND,
            _now("tools: [refund, charge]", {"tools": [{"name": "charge"}, "refund"]}),
        ),
        Pair(_now("skills: [a]", {"skills_paths": ["b"]}), _FOUND, _now("skills: [a]", {})),
        Pair(_called("tools: [charge]"), _FOUND, _called("tools: [charge, refund, more]")),
        Pair(
            _called("tools: []"),
            _FOUND,
            _called("tools: [charge]", {"tools": ["charge"]}),
        ),
    ],
    "AX504": [
        Pair(
            _images("t-1", "t-2", [("t-1", "a"), ("t-2", "b")]),
            _FOUND,
            _images("t-1", "t-2", [("t-1", "a"), ("t-2", "a")]),
        ),
        Pair(
            _images("t-1", "t-2", [("t-2", "b")]),
            _FOUND,
            _images("t-1", "t-1", [("t-1", "b")]),
        ),
        Pair(
            _images("t-1", "t-2", []),
            _FOUND,
            _images("t-1", "t-2", [], template="ax/other"),
        ),
    ],
    "AX505": [
        Pair(
            _now("temperature: 0.3", {"temperature": 0.2}),
            _FOUND,
            _now("temperature: 0.20", {"temperature": 2e-1, "seed": 1}),
        ),
    ],
    "AX507": [
        Pair(
            _turns({"model": "a"}, {"model": "b"}, None, {"model": "a"}),
            [("c", 4, [4, 10])],
            _turns({"model": "a"}, {"model": "a", "seed": 1}, None, {"model": "a"}),
        ),
        Pair(
            _turns({"tools": ["a"]}, {"tools": ["b", "a"]}),
            [("c", 4, [4])],
            _turns({"tools": ["a", "b"]}, {"tools": ["b", "a"]}),
        ),
    ],
}
