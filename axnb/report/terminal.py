"""How triage and a conversation look on a terminal: what to do first, one line a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from axnb.report.classes import class_lines, explaining, notes, untold
from axnb.report.commands import PLANNED, Command, Commands, explain, next_lines
from axnb.report.groups import TITLES, reason, standing, told_of
from axnb.report.reach import about_source, asked, sentences
from axnb.report.words import SEVERITIES
from axnb.result import SIGNS, Verdict
from axnb.text import columns, count, cut, cut_middle, pad, safe, wrap
from axnb.triaging import ACTIONS, ConversationTriage, Triage, UnresolvedCall

WIDTH = 100
_ID_WIDTH = 28
_FEW = 3

#: How a verdict looks on a terminal.
COLOURS = {"ok": "32", "failed": "31", "inconclusive": "33", "not-run": "90"}


def render_triage(
    triage: Triage,
    *,
    everything: bool = False,
    colour: bool = False,
    case_path: Path | None = None,
) -> str:
    """The whole triage as text, without a line end; `case_path` is the case file, if any."""
    told: list[str] = []
    for action in ACTIONS:
        chosen = [c for c in triage.conversations if c.action == action]
        if chosen and (everything or action != "nothing"):
            told += ["", *_group(triage, action, chosen, everything)]
    besides = untold(triage)
    others = class_lines(besides, WIDTH, everything=everything)
    if others:
        told += ["", "ALSO FOUND", *others]
    if told or triage.verdict != "ok":
        told += ["", *_scope(triage, [] if everything else notes(besides))]
    lines = [*_heads(triage), "", *_verdict(triage, colour), *told, *_next(triage, case_path)]
    return "\n".join(lines)


# --- what was read, and how it was asked ---------------------------------------------------------


def _heads(triage: Triage) -> list[str]:
    names = [cut_middle(safe(Path(s.locator).name or s.locator), 30) for s in triage.sources]
    width = max([len("asked as"), *map(columns, names)]) + 2
    lines = []
    for source, name in zip(triage.sources, names, strict=True):
        conversations = sum(c.source == source.name for c in triage.conversations)
        about = about_source(source, conversations)
        if columns("   ".join(about)) < WIDTH - width:
            about = ["   ".join(about)]
        lines += beside(name, [*about, *source.notes], width)
    return [*lines, *beside("asked as", [asked(triage)], width)]


def beside(name: str, sentences: Sequence[str], width: int) -> list[str]:
    """Sentences in a column of their own, the name before the first line."""
    first, *rest = [line for s in sentences for line in wrap(safe(s), WIDTH - width - 1)]
    return [f"{pad(name, width)} {first}", *(f"{'':<{width}} {line}" for line in rest)]


# --- the verdict, and how far it reaches ---------------------------------------------------------


def verdict_word(verdict: Verdict, colour: bool) -> tuple[str, str]:
    """A verdict as it is shown, and the same without colour."""
    word = f"{SIGNS[verdict]} {verdict.upper()}"
    return (f"\x1b[{COLOURS[verdict]};1m{word}\x1b[0m" if colour else word), word


def _verdict(triage: Triage, colour: bool) -> list[str]:
    shown, word = verdict_word(triage.verdict, colour)
    told = sentences(triage)
    lines = [line for sentence in told for line in wrap(safe(sentence), WIDTH - 16)]
    first = f"{shown}{' ' * (16 - len(word))}{lines[0]}"
    return [first, *(f"{'':16}{line}" for line in lines[1:])]


# --- what to do ----------------------------------------------------------------------------------


def _group(
    triage: Triage, action: str, chosen: Sequence[ConversationTriage], everything: bool
) -> list[str]:
    ids = " ".join(explaining(triage, action, chosen))
    why = reason(triage, action, chosen)
    title = f"{TITLES[action].upper()}  {len(chosen):,}"
    head = f"{title:<30}{cut_middle(why, WIDTH - 32 - len(ids))}"
    lines = [f"{pad(head, WIDTH - len(ids))}{ids}".rstrip()]
    if action in ("do-not-touch", "nothing") and not everything:
        names = [cut_middle(safe(c.conversation_id), _ID_WIDTH) for c in chosen[:_FEW]]
        more = f", … {len(chosen) - _FEW:,} more (--all)" if len(chosen) > _FEW else ""
        return [*lines, cut(f"  {', '.join(names)}{more}", WIDTH)]
    shown = chosen if everything else chosen[:20]
    width = max(columns(cut_middle(safe(c.conversation_id), _ID_WIDTH)) for c in shown) + 3
    hidden = {(f.source, f.conversation_id): f.step for f in triage.findings if f.id == "AX121"}
    for conversation in shown:
        lines += _conversation(conversation, width, hidden)
    if len(chosen) > len(shown):
        lines.append(f"  … {len(chosen) - len(shown):,} more (--all)")
    return lines


def _conversation(
    c: ConversationTriage, width: int, hidden: Mapping[tuple[str, str | None], int | None]
) -> list[str]:
    name = f"  {pad(cut_middle(safe(c.conversation_id), _ID_WIDTH), width)}"
    if c.unresolved and c.action not in ("do-not-touch", "name-owner"):
        lines = [_call(call) for call in c.unresolved[:4]]
        if len(c.unresolved) > 4:
            lines.append(f"… {count(len(c.unresolved) - 4, 'more call')}")
    elif c.question_steps and c.action == "decide":
        lines = [
            f"{_step(s)}   a question (axnb show … --reveal shows it)" for s in c.question_steps
        ]
    elif (c.source, c.conversation_id) in hidden:
        lines = [f"{_step(hidden[c.source, c.conversation_id])}   this row cannot be decoded"]
    else:
        lines = [f"{_step(c.last_step)}   {standing(c)}"]
    room = WIDTH - width - 2
    head, *rest = (x if columns(x) <= room else f"{cut(x, room - 1)}…" for x in lines)
    return [f"{name}{head}".rstrip(), *(f"  {'':{width}}{line}" for line in rest)]


def _call(call: UnresolvedCall) -> str:
    tool, operation = safe(call.tool) or "(no name)", safe(call.operation_id or "(no id)")
    return (
        f"{_step(call.step)}   {cut_middle(tool, 24)} {cut_middle(operation, 30)}   {told_of(call)}"
    )


def _step(step: int | None) -> str:
    return "step ?" if step is None else f"step {step}"


# --- the end of every run ------------------------------------------------------------------------


def _scope(triage: Triage, besides: Sequence[str]) -> list[str]:
    """What was not looked at, and where it is explained why a log alone proves little."""
    return wrap(safe(" ".join([*triage.scope, *besides])), WIDTH)


def _next(triage: Triage, case_path: Path | None) -> list[str]:
    """Commands that can be pasted."""
    urgent = next((c for a in ACTIONS for c in triage.conversations if c.action == a), None)
    about = Commands(triage, case_path)
    offered: list[Command | None] = []
    if urgent is not None and urgent.action != "nothing":
        offered.append(about.show(urgent.source, urgent.conversation_id))
    if any(c.action in PLANNED for c in triage.conversations):
        assert urgent is not None
        plan = about.plan(urgent.source)
        offered.append(plan and [*plan, ">", "plan.sql"])
    if worst := _worst(triage, urgent):
        offered.append(explain(worst))
    lines = next_lines(offered, WIDTH)
    return ["", *lines] if lines else []


def _worst(triage: Triage, urgent: ConversationTriage | None) -> str | None:
    """The finding that says most of what to do first."""
    if urgent is not None and (ids := explaining(triage, urgent.action, [urgent])):
        return ids[0]
    found = [f for f in triage.findings if f.severity != "info"]
    return min(found, key=lambda f: SEVERITIES.index(f.severity)).id if found else None
