"""How triage and a conversation look on a terminal: what to do first, one line a conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from axnb.ax.behaviour import Harness
from axnb.ax.versions import G5_OR_G5B, GENERATIONS
from axnb.checks.registry import checks
from axnb.report.classes import class_lines, explaining, notes, untold
from axnb.report.commands import PLANNED, Command, Commands, explain, next_lines
from axnb.report.words import SEVERITIES, release
from axnb.result import SIGNS, Finding
from axnb.text import columns, count, cut, cut_middle, pad, safe, wrap
from axnb.triaging import ACTIONS, ConversationTriage, SourceTriage, Triage, UnresolvedCall

WIDTH = 100
_ID_WIDTH = 28
_FEW = 3

#: The check whose page says why a log without gaps proves nothing.
_LOST = "AX119"

_TITLES = {
    "do-not-touch": "DO NOT TOUCH",
    "quarantine": "QUARANTINE",
    "name-owner": "NAME THE OWNER",
    "read-back-then-unblock": "READ BACK, THEN UNBLOCK",
    "read-back-then-resume": "READ BACK, THEN RESUME",
    "unblock": "UNBLOCK",
    "resume": "RESUME",
    "decide": "DECIDE",
    "nothing": "NOTHING TO DO",
}
_REASONS = {
    "read-back-then-unblock": "a side effect may have happened",
    "read-back-then-resume": "a side effect may have happened",
    "unblock": "interrupted, no open side effect",
    "resume": "interrupted, no open side effect",
    "decide": "a question waits for a person",
    "nothing": "finished",
}
_WITNESSED = (
    ("AX119", "lost outputs that a client was sent"),
    ("AX118", "had outputs or ends that the server could not log"),
    ("AX103", "lack the last steps"),
    ("AX107", "had a number handed out twice"),
)
_KINDS = {"client": "client transcript", "server-log": "server log"}
_COLOURS = {"ok": "32", "failed": "31", "inconclusive": "33", "not-run": "90"}


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
        about = [_kind(source), _counts(source, conversations)]
        if not source.is_log:
            about = [_KINDS[source.kind], _read(source)]
        if columns("   ".join(about)) < WIDTH - width:
            about = ["   ".join(about)]
        lines += _beside(name, [*about, *source.notes], width)
    return [*lines, *_beside("asked as", [_asked(triage)], width)]


def _beside(name: str, sentences: Sequence[str], width: int) -> list[str]:
    """Sentences in a column of their own, the name before the first line."""
    first, *rest = [line for s in sentences for line in wrap(safe(s), WIDTH - width - 1)]
    return [f"{pad(name, width)} {first}", *(f"{'':<{width}} {line}" for line in rest)]


def _kind(source: SourceTriage) -> str:
    names = [_generation(name) for name in source.generations]
    variant = f" ({source.variant})" if source.variant else ""
    return f"AX log of {', '.join(names)}{variant}" if names else f"AX log, empty{variant}"


def _generation(name: str) -> str:
    if name == G5_OR_G5B:
        return "G5 or G5b"
    releases = GENERATIONS[name].releases
    return f"{name} ({releases[0]})" if len(releases) == 1 else name


def _counts(source: SourceTriage, conversations: int) -> str:
    return f"{count(conversations, 'conversation')}, {_read(source)}"


def _read(source: SourceTriage) -> str:
    return f"read {source.read:,} = parsed {source.parsed:,} + rejected {source.rejected:,}"


def _asked(triage: Triage) -> str:
    harnesses = triage.target.harnesses
    names = ", ".join(_harness(h, first=n == 0) for n, h in enumerate(harnesses[:_FEW]))
    more = f", … {len(harnesses) - _FEW} more" if len(harnesses) > _FEW else ""
    word = "harness" if len(harnesses) == 1 else "harnesses"
    known = f"{word} {names}{more}" if harnesses else "no harness is known"
    where = {"option": "as asked", "log": "newest of the log", "default": "nothing in the log"}
    return f"{triage.target.generation.label}, {known}; {where[triage.version_from]}"


def _harness(harness: Harness, *, first: bool) -> str:
    how = {True: "accepts", False: "refuses", None: "may refuse"}[harness.accepts]
    what = " an empty start" if first else ""
    return f"{cut_middle(safe(harness.id), _ID_WIDTH)} ({how}{what})"


# --- the verdict, and how far it reaches ---------------------------------------------------------


def _verdict(triage: Triage, colour: bool) -> list[str]:
    word = f"{SIGNS[triage.verdict]} {triage.verdict.upper()}"
    shown = f"\x1b[{_COLOURS[triage.verdict]};1m{word}\x1b[0m" if colour else word
    sentences = _sentences(triage)
    lines = [line for sentence in sentences for line in wrap(safe(sentence), WIDTH - 16)]
    first = f"{shown}{' ' * (16 - len(word))}{lines[0]}"
    return [first, *(f"{'':16}{line}" for line in lines[1:])]


def _sentences(triage: Triage) -> list[str]:
    """The blast radius, a sentence each; never empty."""
    does = Counter(c.next.empty for c in triage.conversations)
    label = release(triage.target.generation)
    total = len(triage.conversations)
    found = []
    if does["wrong-column"]:
        found.append(
            f"{label} cannot use this log: its step column has the other name, and every request "
            "fails."
        )
    lost = sum(c.next.history in ("lost", "part") for c in triage.conversations)
    if lost:
        found.append(
            f"{label} reads this log's content as empty: {count(lost, 'conversation')} would lose "
            "the history."
        )
    for word, sentence in (
        ("blocked", "blocked for good"),
        (
            "depends",
            "interrupted; what happens depends on whether the harness accepts an empty start",
        ),
        ("resumes", "interrupted and would be resumed"),
        ("unreadable", "unreadable"),
        ("harness-changed", "refused, since another harness owns them"),
        ("harness-missing", "refused, since their harness is not registered"),
        ("lost-pending", "stuck: their pending execution cannot be found"),
        ("unknown", "not judged: a row is too large or damaged"),
    ):
        if does[word]:
            verb = "is" if does[word] == 1 else "are"
            found.append(f"{does[word]:,} of {count(total, 'conversation')} {verb} {sentence}.")
    found += _unresolved_sentence(triage)
    questions = sum(len(c.question_steps) for c in triage.conversations)
    if questions:
        verb = "waits" if questions == 1 else "wait"
        found.append(f"{count(questions, 'question')} {verb} for a person.")
    found += triage.skipped
    found += [i for source in triage.sources for i in source.incomplete]
    found += _witnessed(triage)
    rejected = sum(source.rejected for source in triage.sources if source.is_log)
    if rejected:
        found.append(f"{count(rejected, 'row')} could not be read.")
    if not total and not triage.findings:
        found.append("The log holds no conversation: that is no proof that there was none.")
    found = found or [f"{count(total, 'conversation')}, all finished, every logged call answered."]
    return found + _when(triage)


def _witnessed(triage: Triage) -> list[str]:
    """What only something beside the log could tell."""
    about: dict[str, list[Finding]] = {}
    for finding in triage.findings:
        about.setdefault(finding.id, []).append(finding)
    return [
        f"{count(len(about[identity]), 'conversation')} {words} ({identity}): "
        f"{_first(about[identity][0], len([s for s in triage.sources if s.is_log]) > 1)}"
        for identity, words in _WITNESSED
        if identity in about
    ]


def _first(finding: Finding, names_source: bool) -> str:
    name = cut_middle(safe(finding.conversation_id or ""), _ID_WIDTH)
    where = f" of {finding.source}" if names_source else ""
    return f"{name}{where}: {safe(finding.sentence)}"


def _when(triage: Triage) -> list[str]:
    if triage.verdict == "ok":
        return []
    if triage.first_seen and triage.last_seen:
        return [f"First seen {_second(triage.first_seen)}, last seen {_second(triage.last_seen)}."]
    if any(source.kind == "server-log" for source in triage.sources):
        return ["When: unknown. The server logs do not tell when these conversations ran."]
    return ["When: unknown. The log has no times; give --server-log to get them."]


def _second(time: str) -> str:
    return f"{time[:19]}Z"


def _unresolved_sentence(triage: Triage) -> list[str]:
    tools = Counter(
        call.tool or "(no name)"
        for c in triage.conversations
        for call in c.unresolved
        if call.consequential
    )
    if not tools:
        return []
    named = ", ".join(
        f"{cut_middle(safe(tool), _ID_WIDTH)} {n:,}" for tool, n in tools.most_common(4)
    )
    more = f", {count(len(tools) - 4, 'more tool')}" if len(tools) > 4 else ""
    calls = sum(tools.values())
    verb = "has" if calls == 1 else "have"
    return [f"{count(calls, 'tool call')} {verb} an unknown outcome: {named}{more}."]


# --- what to do ----------------------------------------------------------------------------------


def _group(
    triage: Triage, action: str, chosen: Sequence[ConversationTriage], everything: bool
) -> list[str]:
    ids = " ".join(explaining(triage, action, chosen))
    reason = _REASONS.get(action) or _reason(triage, action, chosen)
    title = f"{_TITLES[action]}  {len(chosen):,}"
    head = f"{title:<30}{cut_middle(reason, WIDTH - 32 - len(ids))}"
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


def _reason(triage: Triage, action: str, chosen: Sequence[ConversationTriage]) -> str:
    server = release(triage.target.generation)
    first = chosen[0].next
    does = Counter(c.next.empty for c in chosen).most_common(1)[0][0]
    if action == "do-not-touch":
        if does == "wrong-column":
            return "every request fails, and only deletion works"
        if first.history in ("lost", "part"):
            left = "empty" if first.history == "lost" else "incomplete"
            return f"the first request under {server} answers from an {left} history"
        return f"a request under {server} does harm: {does}"
    if action == "quarantine":
        return "one row hides the whole conversation"
    return {
        "harness-missing": "the owner is not registered",
        "harness-changed": "another harness owns the conversation",
    }.get(does, f"{server} does not see the owner; the first request must name it")


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
        lines = [f"{_step(c.last_step)}   {_last(c)}"]
    head, *rest = (cut(line, WIDTH - width - 2) for line in lines)
    return [f"{name}{head}".rstrip(), *(f"  {'':{width}}{line}" for line in rest)]


def _last(c: ConversationTriage) -> str:
    if c.action == "nothing":
        return f"{count(c.turns, 'turn')}, {c.state}"
    state = f"turn {c.turns} has no end" if c.state == "interrupted" else c.state
    if c.action in ("read-back-then-resume", "read-back-then-unblock"):
        return f"{state}; rows are missing"
    if c.action == "name-owner":
        return f"{state}; owner {cut_middle(safe(c.harness or '(not named)'), _ID_WIDTH)}"
    if c.next.if_accepted is not None:
        return f"{state}; its harness decides if it resumes"
    if c.next.empty == c.next.input:
        return f"{state}; every request: {c.next.empty}"
    return f"{state}; an empty request: {c.next.empty}"


def _call(call: UnresolvedCall) -> str:
    why = "no result logged"
    if call.answered:
        why = "a placeholder for a result" if call.outcome == "placeholder" else "a time-out"
    tool, operation = safe(call.tool) or "(no name)", safe(call.operation_id or "(no id)")
    return f"{_step(call.step)}   {cut_middle(tool, 24)} {cut_middle(operation, 30)}   {why}"


def _step(step: int | None) -> str:
    return "step ?" if step is None else f"step {step}"


# --- the end of every run ------------------------------------------------------------------------


def _scope(triage: Triage, besides: Sequence[str]) -> list[str]:
    """What was not looked at, and where it is explained why a log alone proves little."""
    text = " ".join([*triage.scope, *besides])
    if any(check.id == _LOST for check in checks()):
        text = text.replace("lost outputs.", f"lost outputs (axnb explain {_LOST}).")
    return wrap(safe(text), WIDTH)


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
