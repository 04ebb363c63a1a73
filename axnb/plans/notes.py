"""What a person is told where no statement helps, or before one does: sentences and commands."""

from __future__ import annotations

import shlex

from axnb.ax.behaviour import Target
from axnb.ax.versions import Generation
from axnb.plans.changes import Change
from axnb.plans.literals import comment, is_plain
from axnb.text import count
from axnb.triaging import ConversationTriage

#: Generations whose client is `ax exec`; later ones take the same options without it.
_EXEC = ("G3", "G4", "G5", "G5b")


def ax_command(
    generation: Generation, conversation_id: str, *options: str, owner: str | None = None
) -> str:
    """The client's command for one request, in the flags of a generation; or why there is none."""
    if not all(text.isprintable() and is_plain(text) for text in (conversation_id, owner or "")):
        return "(its id or owner is no text for a command line; send the request by gRPC)"
    words = ["ax", *(["exec"] if generation.name in _EXEC else [])]
    words.append(f"--conversation={conversation_id}")
    if owner:
        words.append(f"--{'agent' if generation.name == 'G8' else 'harness'}={owner}")
    return " ".join(map(shlex.quote, (*words, *options)))


def to_read_back(c: ConversationTriage) -> list[str]:
    """What a person must read back before the conversation goes on, a line each."""
    lines = []
    for call in c.unresolved:
        if not call.consequential:
            continue
        step = "?" if call.step is None else str(call.step)
        tool = comment(call.tool, 40) or "(no name)"
        lines.append(f"  {tool}  {comment(call.operation_id or '(no id)', 60)}  step {step}")
    if lines:
        return ["Read back from the tool's own system whether this happened:", *lines]
    if c.action.startswith("read-back"):
        return ["Rows are missing here: read back what the tools did in them."]
    return []


def describe(change: Change, c: ConversationTriage, target: Target) -> list[str]:
    """What the statements do, a sentence each."""
    asked = target.generation.label
    sentences = _moving(change, asked)
    if change.binding:
        owner = change.binding.owner
        sentences += [
            f"Names the owner {comment(owner, 40)} in the row at step {change.binding.row.step}, "
            f"under the key that {asked} reads; the old key stays. Instead, the next request may "
            "name it:",
            f"  {ax_command(target.generation, c.conversation_id, '--input=TEXT', owner=owner)}",
        ]
        if target.find(owner) is None:
            sentences.append("This server has no such harness: register it in ax.yaml as well.")
    if change.terminal:
        sentences.append(
            f"Ends the interrupted turn by a row at step {change.terminal.step} "
            f"(STATE_{change.terminal.state}); nothing of the turn runs again."
        )
    if change.kept:
        sentences.append(
            "Keeps what it changes in conversation_log_before_plan; when no undo is needed any "
            "more: drop table conversation_log_before_plan."
        )
    return sentences


def _moving(change: Change, asked: str) -> list[str]:
    if not change.moved:
        return []
    steps = ["?" if row.step is None else str(row.step) for row in change.moved]
    shown = ", ".join(steps[:12]) + (", …" if len(steps) > 12 else "")
    sentence = (
        f"Moves {count(len(steps), 'row')} aside (step {shown}): {asked} cannot decode what "
        "stands there, and goes on without it. Look at it first."
    )
    if change.after.rows == 0:
        return [sentence, "No row is left: AX takes the id for a new conversation."]
    return [sentence]


def owner_advice(c: ConversationTriage, target: Target) -> list[str]:
    """What to do where the server refuses the owner, and the store can change nothing about it."""
    does = {c.next.empty, c.next.input}
    if "harness-missing" in does:
        return [
            f"Register the harness {comment(c.harness or '', 40)} in the ax.yaml of this server: "
            "nothing in the store can help."
        ]
    if "harness-changed" in does:
        command = ax_command(target.generation, c.conversation_id, "--input=TEXT", owner=c.harness)
        return ["Every request must name the owner, since it is not the default:", f"  {command}"]
    return []


def advice(c: ConversationTriage, target: Target) -> list[str]:
    """What to do about a conversation where the store needs no change."""
    sentences = _hands_off(c, target.generation)
    if c.action == "decide":
        steps = ", ".join("?" if s is None else str(s) for s in c.question_steps) or "?"
        sentences.append(f"A question waits for a person (step {steps}): answer it as an input.")
    elif c.action.endswith("resume") and not sentences:
        sentences = _resume(c, target.generation)
    return sentences or ["Send no request before a person has looked at it."]


def _hands_off(c: ConversationTriage, generation: Generation) -> list[str]:
    """What not to send to a server that does harm with an empty request, and what instead."""
    if "re-runs" in (c.next.empty, c.next.input):
        harm = "runs the agent again on the whole history, and its effects may repeat"
    elif c.next.empty == "appends-then-fails":
        harm = "logs an input row and fails, and later generations find a turn without an end"
    else:
        return []
    instead = {
        "re-runs": "A new input does the same: go on in a new conversation.",
        "ignores-pending": "A new input starts a new turn; nobody finishes the old one.",
    }.get(c.next.input, "A new input is safe: it starts an ordinary turn.")
    return [f"Send no empty request (--resume): {generation.label} {harm}.", instead]


def _resume(c: ConversationTriage, generation: Generation) -> list[str]:
    if c.state != "interrupted" and c.next.empty == "nothing":
        return ["Nothing has to run again: the turn has its end."]
    command = ax_command(generation, c.conversation_id, "--resume")
    sentences = ["Restart the interrupted turn:", f"  {command}"]
    if c.next.empty == "closes-unrun":
        sentences.append("That closes it, and runs nothing.")
    if c.next.if_refused is not None:
        sentences.append(
            "If its harness refuses an empty start, this fails and changes nothing: then ask "
            "again with --harness ID=refuses."
        )
    return sentences
