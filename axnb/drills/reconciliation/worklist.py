"""What is to be done, one operation at a time: for a person as text, for a spreadsheet as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from axnb.text import cut_middle, safe

#: Operations that a plan tells one by one.
_MOST = 200

_COLUMNS = (
    "advice",
    "class",
    "tool",
    "operation_id",
    "conversation_id",
    "step",
    "outcome",
    "ledger",
    "entry",
    "status",
    "how",
    "source",
)

#: What a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: What to do by class, where it takes more than the advice.
_DO: Mapping[str, str] = {
    "duplicated": "Read the entries in the tool's own system; take one back there if it is real.",
    "cancelled-committed": "It was to be stopped and was done. Decide whether to take it back.",
    "no-call-in-log": "Find out who did it. A restored or a locked log may have lost the call.",
    "arguments-differ": "Hold the entry against the call. Decide which of them was meant.",
    "result-lost": "It was done. Give the conversation its result; do not make the call again.",
    "reversed": "It was done and taken back. Decide whether the conversation may rely on it.",
    "not-executed": "It was not done.",
    "ambiguous-number": "Its number was rounded before it was logged; look for neighbours, too.",
    "ambiguous": "Nothing tells whether it was done. Read it back from the tool.",
    "not-covered": "Nobody said that the ledger would have it. Read it back from the tool.",
    "no-ledger": "Read it back from the tool.",
}

_ADVICE: Mapping[str, str] = {
    "retry": "It may be made again.",
    "read-before-retry": "Read it back, and make it again only if it is not there.",
    "human-decision": "A person decides before anything runs again.",
    "never": "Never make it again.",
}


def as_csv(effects: Iterable[Mapping[str, Any]]) -> str:
    """Everything that is not matched, a line each; texts are strangers', and never a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in effects:
        if one["class"] != "matched":
            writer.writerow([_cell(one.get(name)) for name in _COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> str:
    text = "" if value is None else safe(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_plan(effects: Sequence[Mapping[str, Any]]) -> str:
    """The same as steps for a person, the worst first; empty if there is nothing to do.

    Where the log has a result and no ledger tells otherwise, there is nothing to do.
    """
    todo = [one for one in effects if one["class"] != "matched" and not _has_result(one)]
    lines = [line for number, one in enumerate(todo[:_MOST], 1) for line in _step(number, one)]
    if len(todo) > _MOST:
        lines.append(f"# {len(todo) - _MOST:,} more: ask for the work list.")
    return "\n".join(lines) + "\n" if lines else ""


def _has_result(one: Mapping[str, Any]) -> bool:
    return one["class"] in ("no-ledger", "not-covered") and one["outcome"] == "completed"


def _step(number: int, one: Mapping[str, Any]) -> Iterator[str]:
    where = "no call" if one["step"] is None else f"step {one['step']}"
    whose = one["conversation_id"]
    told = f"{_short(one['tool'] or '(no tool)')} {_short(one['operation_id'] or '(no id)')}"
    yield f"# {number}. {told}: {one['class'].replace('-', ' ')}"
    yield f"#    {_short(whose) if whose else '(no conversation)'}, {where}" + _entry(one)
    yield f"#    {_DO[one['class']]}"
    if one["advice"] in _ADVICE:
        yield f"#    {_ADVICE[one['advice']]}"


def _entry(one: Mapping[str, Any]) -> str:
    return f"; {one['ledger']} entry {one['entry']}" if one["ledger"] else ""


def _short(text: str) -> str:
    return cut_middle(safe(text), 60)
