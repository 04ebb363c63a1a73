"""What a server would answer, and what a person should do, in words.

What servers answer was seen on real ones: `tests/data` holds their answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from axnb.ax.behaviour import DEPENDS, Next
from axnb.ax.versions import BUILT_IN_HARNESSES, Generation
from axnb.result import Finding
from axnb.text import count, cut_middle, safe
from axnb.triaging import ConversationTriage, UnresolvedCall

#: A sign for a finding's severity, for people who see no colour and for everybody else.
SEVERITY_SIGNS: Mapping[str, str] = {"error": "✗", "warning": "?", "info": "–"}

#: What people call a source of a kind.
SOURCE_KINDS: Mapping[str, str] = {
    "eventlog": "AX event log",
    "client": "client transcript",
    "server-log": "server log",
    "bucket": "bucket of snapshots",
    "records": "control-plane records",
}

#: Severities, the worst first.
SEVERITIES = tuple(SEVERITY_SIGNS)

#: Answers that are words of everyday.
_PLAIN = {"nothing": "nothing", "new-turn": "a new turn"}
_ANSWERS = {
    "resumes": "the interrupted turn runs again, without input",
    "resumes-then-new-turn": "the interrupted turn runs again, then a new one",
    "ignores-pending": "a new turn, and nobody finishes the interrupted one",
    "re-runs": "the agent runs again on the whole history, so effects may repeat",
    "asks-again": "the open question once more",
    "closes-unrun": "the turn ends although nothing runs",
    "lost-pending": "an error, since the pending execution cannot be found",
    "appends-then-fails": "an error, and one more input row in the log",
    "harness-changed": "harness ID changed …",
    "harness-missing": "failed to get harness …",
    "unreadable": "unmarshal event …",
    "wrong-column": "no such column …",
    "unknown": "not known, since a row is too large for axnb or damaged",
}

#: Operations that a sentence names.
_FEW = 4


def release(generation: Generation) -> str:
    """The newest release of a generation, as people call it; its own name if it has none."""
    return generation.releases[-1] if generation.releases else generation.name


def would_answer(generation: Generation, answer: Next) -> list[str]:
    """What the server does with an empty request and with a new input: a few sentences."""
    server = release(generation)
    if answer.empty == DEPENDS:
        harness = f"harness {name(answer.harness)}" if answer.harness else "its harness"
        return [
            f"{server} would answer as {harness} decides.",
            "If it takes an empty start, the interrupted turn runs again, also before a new input "
            "(resumes).",
            "If it refuses, every request fails (blocked).",
        ]
    does = {"empty": answer.empty, "input": answer.input}
    colon = ":" if answer.empty == answer.input else ""
    return [f"{server} would answer{colon} {_both(does, answer.harness)}."]


def _both(does: Mapping[str, str], harness: str | None) -> str:
    if does["empty"] == does["input"]:
        return _answer(does["empty"], harness)
    return (
        f"an empty request: {_answer(does['empty'], harness)}; "
        f"a new input: {_answer(does['input'], harness)}"
    )


def _answer(does: str, harness: str | None) -> str:
    if does == "blocked":
        custom = harness is not None and harness not in BUILT_IN_HARNESSES
        said = "an error for every request" if custom else "no input messages queued …"
        return f"{said} (blocked)"
    plain = _PLAIN.get(does)
    return plain or f"{_ANSWERS.get(does, does)} ({does})"


def advice(
    conversation: ConversationTriage, generation: Generation, findings: Iterable[Finding] = ()
) -> str:
    """What a person should do with a conversation: one sentence that names what it is about.

    `findings` are those of the conversation.
    """
    action, owner = conversation.action, conversation.harness
    depends = conversation.next.empty == DEPENDS
    how = " with an empty request if the harness takes one, else unblock" if depends else ""
    if action.startswith("read-back-then-"):
        then = action.removeprefix("read-back-then-")
        if conversation.state == "finished":
            return f"{_read_back(conversation.unresolved)}; the log itself needs nothing."
        return f"{_read_back(conversation.unresolved)}; then {then}{how}."
    if action == "name-owner":
        return _name_owner(conversation.next, owner)
    if action == "do-not-touch":
        return f"do not touch; {_danger(conversation.next, generation)}."
    if action == "decide":
        steps = ", ".join("?" if s is None else str(s) for s in conversation.question_steps)
        return f"decide: a person answers the question of step {steps}." if steps else "decide."
    return {
        "quarantine": f"quarantine: {_hidden_by(findings, generation)}.",
        "unblock": "unblock: end the interrupted turn in the log; no side effect is open.",
        "resume": f"resume{how}; no side effect is open.",
        "nothing": "nothing to do.",
    }.get(action, f"{action.replace('-', ' ')}.")


def _read_back(calls: Iterable[UnresolvedCall]) -> str:
    """`read order-4 back from charge_card, and order-5 from send_mail`."""
    by_tool: dict[str, list[str]] = {}
    for call in calls:
        if call.consequential:
            step = "?" if call.step is None else call.step
            operation = name(call.operation_id, 40) or f"the call of step {step} (it has no id)"
            by_tool.setdefault(name(call.tool, 24) or "a tool without a name", []).append(operation)
    told = [
        f"{_listed(operations)} {'from' if n else 'back from'} {tool}"
        for n, (tool, operations) in enumerate(by_tool.items())
    ]
    if len(told) > _FEW:
        told[_FEW:] = [f"those of {count(len(told) - _FEW, 'more tool')}"]
    return f"read {', and '.join(told or ['the open calls back from their tools'])}"


def _listed(operations: list[str]) -> str:
    if len(operations) > _FEW:
        return f"{', '.join(operations[:_FEW])} and {len(operations) - _FEW} more"
    *most, last = operations
    return f"{', '.join(most)} and {last}" if most else last


def _name_owner(answer: Next, owner: str | None) -> str:
    known = name(owner) or "the owner"
    if answer.empty == "harness-missing":
        return f"register harness {known}, which owns the conversation, before any request."
    if answer.empty == "harness-changed":
        return f"ask the harness that owns the conversation: {known}."
    return f"name the owner, {known}, in the first request."


def _danger(answer: Next, generation: Generation) -> str:
    server = release(generation)
    if "wrong-column" in (answer.empty, answer.input):
        return f"every request to {server} fails, and only a deletion works"
    if answer.history in ("lost", "part"):
        left = "empty" if answer.history == "lost" else "incomplete"
        return f"the first request under {server} answers from an {left} history"
    return f"{server} would answer an empty request with {_answer(answer.empty, answer.harness)}"


def _hidden_by(findings: Iterable[Finding], generation: Generation) -> str:
    step = next((f.step for f in findings if f.id == "AX121" and f.step is not None), None)
    row = "a row" if step is None else f"the row at step {step}"
    return f"{release(generation)} cannot decode {row}, and it hides all the others"


def name(text: str | None, width: int = 28) -> str:
    """A stranger's name in a sentence: escaped, cut in the middle; empty for none."""
    return cut_middle(safe(text), width) if text else ""
