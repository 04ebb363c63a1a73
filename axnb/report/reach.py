"""How far a verdict reaches: what was read, how it was asked, and what follows, in sentences."""

from __future__ import annotations

from collections import Counter

from axnb.ax.behaviour import Harness
from axnb.ax.versions import G5_OR_G5B, GENERATIONS
from axnb.report.words import release
from axnb.result import Finding
from axnb.text import count, cut_middle, safe
from axnb.triaging import SourceTriage, Triage

_ID_WIDTH = 28
_FEW = 3

_WITNESSED = (
    ("AX119", "lost outputs that a client was sent"),
    ("AX118", "had outputs or ends that the server could not log"),
    ("AX103", "lack the last steps"),
    ("AX107", "had a number handed out twice"),
)
_KINDS = {"client": "client transcript", "server-log": "server log"}


def about_source(source: SourceTriage, conversations: int) -> list[str]:
    """What a source is, and how much of it was read."""
    if not source.is_log:
        return [_KINDS[source.kind], _read(source)]
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


def sentences(triage: Triage) -> list[str]:
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
