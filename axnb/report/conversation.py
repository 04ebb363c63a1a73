"""One conversation on a terminal: its turns and parts, redacted unless a person asks."""

from __future__ import annotations

from typing import Any

from axnb.case.case import Case, ask
from axnb.errors import UsageError
from axnb.text import cut_middle, safe
from axnb.triaging import Triage

#: Characters of a revealed payload that are shown.
REVEAL_LIMIT = 4096

_SIGNS = {
    "text": "▪ text",
    "thought": "▪ thought",
    "tool_call": "◆ call",
    "tool_result": "◇ result",
    "confirmation": "▸ question",
    "end": "■ end",
}


def render_conversation(
    case: Case, triage: Triage, conversation_id: str, *, reveal: bool = False
) -> str:
    """The rows of a conversation, a line a part, and what triage says of it.

    Raises UsageError if no source has it.
    """
    found = [c for c in triage.conversations if c.conversation_id == conversation_id]
    if not found:
        raise UsageError(f"no source has a conversation {conversation_id!r}.")
    lines = []
    for conversation in found:
        about = [
            ", ".join(conversation.generations),
            f"harness {safe(conversation.harness)}" if conversation.harness else "no harness named",
            f"{conversation.last_step or 0} steps",
            conversation.state,
        ]
        lines.append(f"{cut_middle(safe(conversation_id), 40)}     {', '.join(about)}")
        lines += _rows(case, conversation.source, conversation_id, reveal)
        lines += [
            f"     ✗ {f.id} {f.name}: {safe(f.sentence)}"
            for f in triage.findings
            if (f.source, f.conversation_id) == (conversation.source, conversation_id)
        ]
        label, answer = triage.target.generation.label, conversation.next
        lines.append(
            f"  {label} would answer an empty request with: {answer.empty}; "
            f"a new input with: {answer.input}."
        )
        lines.append(f"  Advice: {conversation.action.replace('-', ' ')}.")
    return "\n".join(lines)


def _rows(case: Case, source: str, conversation_id: str, reveal: bool) -> list[str]:
    values = {"source": source, "id": conversation_id}
    with case.reading() as session:
        rows = ask(session, "conversation_rows", values)
        parts = ask(session, "conversation_parts", values)
        calls = {
            (call["call_position"], call["part"]): call
            for call in ask(session, "conversation_calls", values)
        }
    of_row: dict[int, list[dict[str, Any]]] = {}
    for part in parts:
        of_row.setdefault(part["row"], []).append(part)
    return [line for row in rows for line in _row(row, of_row.get(row["row"], []), calls, reveal)]


def _row(
    row: dict[str, Any],
    parts: list[dict[str, Any]],
    calls: dict[tuple[int, int], dict[str, Any]],
    reveal: bool,
) -> list[str]:
    step = "?" if row["step"] is None else row["step"]
    if row["reason"] is not None:
        return [f"{step:>5}           ✗ unreadable   {row['reason']}"]
    head = f"{step:>5}  turn {row['turn']:<3}"
    if not parts:
        return [f"{head} ■ {row['state'].removeprefix('STATE_').lower()}"]
    return [f"{head} {_part(p, calls.get((p['position'], p['part'])), reveal)}" for p in parts]


def _part(part: dict[str, Any], call: dict[str, Any] | None, reveal: bool) -> str:
    user = part["role"] == "user" and part["kind"] == "text"
    sign = "▸ user" if user else _SIGNS.get(part["kind"], f"▪ {part['kind']}")
    tool = f"{cut_middle(safe(part['tool']), 24)}  " if part["tool"] else ""
    about = f"{part['size']:,} bytes" if part["size"] else ""
    if call is not None:
        operation = cut_middle(safe(call["operation_id"] or "(no id)"), 40)
        origin = f" (from {call['operation_id_from']})" if call["operation_id"] else ""
        about = f"{operation}{origin}   outcome {call['outcome']}"
    elif part["kind"] == "confirmation":
        about = part["decision"]
    value = part["text"] or part["arguments"] or part["result"]
    line = f"{sign:<11} {tool}{about}".rstrip()
    if not reveal or value is None:
        return line
    cut = f" … ({len(value):,} characters)" if len(value) > REVEAL_LIMIT else ""
    return f"{line}\n                  {safe(value[:REVEAL_LIMIT])}{cut}"
