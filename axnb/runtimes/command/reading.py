"""What can be read of an operator's deployment: its log, its bucket, its ledger, its alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axnb.case.case import Case, ask
from axnb.errors import AxnbError
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import locate
from axnb.loading import load_state
from axnb.mapping import state_map
from axnb.runtimes import Answer, Output, Snapshot, Task
from axnb.runtimes.command.guiding import REFUSED
from axnb.runtimes.command.running import Ran, object_list, objects
from axnb.settings import Settings
from axnb.text import cut, safe

#: Alertmanager's states of an alert that is not resolved.
_FIRING = ("active", "suppressed", "unprocessed")


def logged_outputs(log: str, conversation_id: str, settings: Settings) -> list[Output]:
    """What the log holds of a conversation, in order, without the inputs. Raises SourceError."""
    case = Case(None, settings)
    try:
        found = locate(log, settings.environment)
        source = load_log(case, found.log, LoadOptions(conversation=conversation_id))
        with case.reading() as session:
            rows = ask(session, "logged_parts", {"source": source, "id": conversation_id})
    finally:
        case.close()
    return [
        Output(int(row["step"]), row["kind"], row["value"] or "")
        for row in rows
        if row["kind"] is not None and (row["kind"], row["role"]) != ("text", "user")
    ]


def answer_of(sent: str, ran: Ran, logged: Sequence[Output]) -> Answer:
    """The answer that a command printed, with the numbers that the log gives it.

    `logged` is what the request added to the log. AX sends outputs in the order in which it logs
    them, so whoever got one has got those before. Text that ended well and is not in the log is
    told with number 0; of a command that failed, what it printed may be anything.
    """
    told = _numbered(ran.text, logged)
    if not told and ran.failure is None and ran.text.strip():
        told = (Output(0, "text", ran.text.strip()),)
    return Answer(sent, told, ran.failure)


def answer_by_hand(sent: str, told: str, logged: Sequence[Output]) -> Answer:
    """The answer that a person handed over; `error: …` for a refusal."""
    if told.lower().startswith(REFUSED):
        return Answer(sent, (), cut(safe(told[len(REFUSED) :].strip()), 200) or "refused")
    outputs = _numbered(told, logged)
    return Answer(sent, outputs or ((Output(0, "text", told),) if told else ()))


def _numbered(text: str, logged: Sequence[Output]) -> tuple[Output, ...]:
    """What is logged up to the last text that was seen."""
    seen = [
        n
        for n, output in enumerate(logged, 1)
        if output.kind == "text" and output.value.strip() and output.value.strip() in text
    ]
    return tuple(logged[: seen[-1]]) if seen else ()


def effects_of(text: str, task: Task) -> tuple[Mapping[str, Any], ...]:
    """Entries of the ledger for the task's operation, from the JSON lines of `effects`.

    Each needs `operation_id`, `status` (`released` once it is undone) and `reservation`, what the
    tool calls it in its results. Raises AxnbError for an entry without them.
    """
    found = []
    for number, entry in enumerate(objects(text, "effects"), 1):
        for name in ("operation_id", "status", "reservation"):
            if not isinstance(entry.get(name), str) or not entry[name]:
                raise AxnbError(f"entry {number} that effects printed has no {name}.")
        if entry["operation_id"] == task.operation_id:
            known = {
                "entry": number,
                "conversation_id": task.conversation_id,
                "tool": task.tool,
                "item": task.item,
            }
            found.append({**known, **entry})
    return tuple(found)


def alerts_of(ran: Ran, conversation_id: str) -> tuple[Mapping[str, Any], ...]:
    """Alerts that name the conversation in a label or an annotation, from `alert`."""
    if ran.exit_code == 1:
        return ()
    if ran.failure is not None:
        raise AxnbError(f"{ran.failure}.")
    return tuple(
        alert
        for alert in map(_alert, object_list(ran.text, "alert"))
        if any(
            conversation_id in str(text)
            for texts in (alert["labels"], alert["annotations"])
            for text in texts.values()
        )
    )


def _alert(told: Mapping[str, Any]) -> dict[str, Any]:
    labels, notes = told.get("labels"), told.get("annotations") or {}
    status = told.get("status")
    if not isinstance(labels, dict) or not isinstance(notes, dict) or not isinstance(status, dict):
        raise AxnbError("alert did not print alerts as Alertmanager's API v2 has them.")
    state = "firing" if status.get("state") in _FIRING else "resolved"
    return {"state": state, "labels": labels, "annotations": notes}


def merged_alerts(
    early: Iterable[Mapping[str, Any]], late: Iterable[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """Alerts of two looks: what is not told any more is resolved, since Alertmanager forgets it."""
    now = {_key(alert): alert for alert in late}
    before = {_key(alert): {**alert, "state": "resolved"} for alert in early}
    return tuple((before | now).values())


def _key(alert: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in alert["labels"].items()))


def newest_snapshot(bucket: str, conversation_id: str, settings: Settings) -> Snapshot | None:
    """The newest whole snapshot of a conversation; of any, where none says whose it is.

    What an actor's state in it means, nobody here can tell.
    """
    case = Case(None, settings)
    try:
        load_state(case, [bucket])
        whole = [s for s in state_map(case).snapshots if s.row["is_complete"]]
    finally:
        case.close()
    own = [s for s in whole if s.row["conversation_id"] == conversation_id]
    found = own or [s for s in whole if s.row["conversation_id"] is None]
    if not found:
        return None
    last = max(found, key=lambda s: (s.row["moment"] is not None, s.row["moment"], s.key))
    return Snapshot(last.key, "", {})
