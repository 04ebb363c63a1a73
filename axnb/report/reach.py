"""How far a verdict reaches: what was read, how it was asked, and what follows, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from axnb.ax.behaviour import Harness
from axnb.ax.versions import G5_OR_G5B, GENERATIONS
from axnb.report.words import SOURCE_KINDS, release
from axnb.result import Finding
from axnb.text import count, cut_middle, safe
from axnb.triaging import SourceTriage, Triage

_ID_WIDTH = 28
_FEW = 3

#: What only something beside the log could tell: of one conversation, and of several.
_WITNESSED = (
    ("AX119", "lost outputs that a client was sent", "lost outputs that a client was sent"),
    (
        "AX118",
        "had outputs or ends that the server could not log",
        "had outputs or ends that the server could not log",
    ),
    ("AX103", "lacks its last steps", "lack their last steps"),
    ("AX107", "had a number handed out twice", "had numbers handed out twice"),
)

#: What an empty request does: how one conversation is called, and how several are.
_DOES = (
    ("blocked", "is blocked for good", "are blocked for good"),
    (
        "depends",
        "is interrupted; what happens depends on whether the harness accepts an empty start",
        "are interrupted; what happens depends on whether the harness accepts an empty start",
    ),
    ("resumes", "is interrupted and would be resumed", "are interrupted and would be resumed"),
    ("unreadable", "is unreadable", "are unreadable"),
    (
        "harness-changed",
        "is refused, since another harness owns it",
        "are refused, since another harness owns them",
    ),
    (
        "harness-missing",
        "is refused, since its harness is not registered",
        "are refused, since their harness is not registered",
    ),
    (
        "lost-pending",
        "is stuck: its pending execution cannot be found",
        "are stuck: their pending execution cannot be found",
    ),
    (
        "unknown",
        "is not judged: a row is too large or damaged",
        "are not judged: a row is too large or damaged",
    ),
)

#: Errors that one of these sentences tells; any other is named with its class.
_TOLD = {"AX110", "AX121", "AX141", "AX142", "AX146", "AX147", "AX148"}
_TOLD |= {witnessed[0] for witnessed in _WITNESSED}
_MOST_CLASSES = 6


def about_source(source: SourceTriage, conversations: int) -> list[str]:
    """What a source is, and how much of it was read."""
    if not source.is_log:
        return [SOURCE_KINDS[source.kind], _read(source)]
    return [_kind(source), f"{count(conversations, 'conversation')}, {_read(source)}"]


def _kind(source: SourceTriage) -> str:
    names = [_generation(name) for name in source.generations]
    variant = f" ({source.variant})" if source.variant else ""
    return f"AX log of {', '.join(names)}{variant}" if names else f"AX log, empty{variant}"


def _generation(name: str) -> str:
    if name == G5_OR_G5B:
        return "G5 or G5b"
    releases = GENERATIONS[name].releases
    return f"{name} ({releases[0]})" if len(releases) == 1 else name


def _read(source: SourceTriage) -> str:
    return f"read {source.read:,} = parsed {source.parsed:,} + rejected {source.rejected:,}"


def asked(triage: Triage) -> str:
    """The server that was asked: its version, its harnesses, and where they came from."""
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


def sentences(triage: Triage, *, every_error: bool = False) -> list[str]:
    """The blast radius, a sentence each; never empty.

    Errors that no other sentence tells are named by their classes first; with `every_error` all.
    """
    facts = _facts(triage)
    errors = [f for f in triage.findings if f.severity == "error"]
    if facts and not every_error:
        errors = [f for f in errors if f.id not in _TOLD]
    return ([*_errors(errors), *facts] or [_calm(triage)]) + _when(triage)


def _facts(triage: Triage) -> list[str]:
    """What stands in the way of ok, apart from what the checks found alone."""
    does = Counter(c.next.empty for c in triage.conversations)
    label = release(triage.target.generation)
    total = count(len(triage.conversations), "conversation")
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
    for word, one, several in _DOES:
        if does[word]:
            found.append(f"{does[word]:,} of {total} {one if does[word] == 1 else several}.")
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
    return found + _empty(triage)


def _empty(triage: Triage) -> list[str]:
    """Logs without a row, and none at all."""
    logs = [source for source in triage.sources if source.is_log]
    if not logs:
        return ["No event log was read."]
    if not triage.conversations and not triage.findings:
        return ["The log holds no conversation: that is no proof that there was none."]
    return [
        f"{source.name} holds no rows: that is no proof that there were none."
        for source in logs
        if not source.read
    ]


def _errors(errors: Sequence[Finding]) -> list[str]:
    """`3 errors: AX101 gap 2, AX104 duplicate-step 1.`"""
    if not errors:
        return []
    classes = Counter(f"{f.id} {f.name}" for f in errors).most_common()
    named = ", ".join(f"{name} {n:,}" for name, n in classes[:_MOST_CLASSES])
    left = len(classes) - _MOST_CLASSES
    more = f", {count(left, 'more class', 'more classes')}" if left > 0 else ""
    return [f"{count(len(errors), 'error')}: {named}{more}."]


def _calm(triage: Triage) -> str:
    """That nothing stands in the way, in the words that fit."""
    states = Counter(c.state for c in triage.conversations)
    total = count(len(triage.conversations), "conversation")
    told = ", ".join(f"{n:,} {state}" for state, n in sorted(states.items()))
    how = f"{total}, all finished" if set(states) == {"finished"} else f"{total}: {told}"
    open_calls = sum(len(c.unresolved) for c in triage.conversations)
    if open_calls:
        verb = "has" if open_calls == 1 else "have"
        calls = count(open_calls, "call")
        return f"{how}; {calls} of tools that change nothing {verb} no known outcome."
    return f"{how}, every logged call answered."


def _witnessed(triage: Triage) -> list[str]:
    """What only something beside the log could tell."""
    names_source = len([source for source in triage.sources if source.is_log]) > 1
    told = []
    for identity, one, several in _WITNESSED:
        about = [finding for finding in triage.findings if finding.id == identity]
        if about:
            number = len({(f.source, f.conversation_id) for f in about})
            words = one if number == 1 else several
            first = _first(about[0], names_source)
            told.append(f"{count(number, 'conversation')} {words} ({identity}): {first}")
    return told


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
