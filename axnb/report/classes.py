"""Findings by class: what the groups of conversations do not tell, a line a class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from axnb.report.words import SEVERITIES, SEVERITY_SIGNS, name
from axnb.result import Finding
from axnb.text import columns, count, cut, pad, safe
from axnb.triaging import ConversationTriage, Triage

#: Findings that explain what to do; others of the same conversations are told by class.
_EXPLAINS: Mapping[str, tuple[str, ...]] = {
    "do-not-touch": ("AX141", "AX142", "AX149"),
    "quarantine": ("AX121",),
    "name-owner": ("AX145", "AX146", "AX147"),
    "read-back-then-unblock": ("AX110", "AX203"),
    "read-back-then-resume": ("AX110", "AX203"),
    "unblock": ("AX110", "AX148"),
    "resume": ("AX110", "AX148"),
}


def explaining(
    triage: Triage, action: str, conversations: Iterable[ConversationTriage]
) -> list[str]:
    """Ids of the findings that say why these conversations have this action."""
    found = {i for c in conversations for i in c.findings}
    found |= {f.id for f in triage.findings if f.conversation_id is None}
    return [identity for identity in _EXPLAINS.get(action, ()) if identity in found]


def untold(triage: Triage) -> list[Finding]:
    """Findings that explain the group of no conversation."""
    actions = {(c.source, c.conversation_id): c.action for c in triage.conversations}
    whole = {i for action in actions.values() for i in _EXPLAINS.get(action, ())}
    return [f for f in triage.findings if f.id not in _told(f, actions, whole)]


def _told(
    finding: Finding, actions: Mapping[tuple[str, str], str], whole: Collection[str]
) -> Collection[str]:
    """Ids that the groups tell of the finding's conversation, or of its whole source."""
    if finding.conversation_id is None:
        return whole
    return _EXPLAINS.get(actions.get((finding.source, finding.conversation_id), ""), ())


def class_lines(findings: Iterable[Finding], width: int, *, everything: bool = False) -> list[str]:
    """One line a class with its first finding, errors first; infos are left to `notes`.

    With `everything` each finding has a line of its own below its class, infos too.
    """
    ordered = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.id))
    classes = [list(group) for _, group in groupby(ordered, key=lambda f: f.id)]
    shown = [c for c in classes if everything or c[0].severity != "info"]
    names = [f"  {SEVERITY_SIGNS[c[0].severity]} {c[0].id} {c[0].name}" for c in shown]
    counts = [_count(c) for c in shown]
    first, second = (max(map(columns, texts), default=0) + 3 for texts in (names, counts))
    lines = []
    for title, counted, found in zip(names, counts, shown, strict=True):
        line = f"{pad(title, first)}{pad(counted, second)}"
        told = f"first: {_finding(found[0])}" if len(found) > 1 else _finding(found[0])
        lines.append((line + ("" if everything else told)).rstrip())
        lines += [f"      {_finding(finding)}" for finding in found if everything]
    return [line if columns(line) <= width else f"{cut(line, width - 1)}…" for line in lines]


def notes(findings: Iterable[Finding]) -> list[str]:
    """How many infos there are, in a sentence; none if there are none."""
    infos = [f for f in findings if f.severity == "info"]
    ids = ", ".join(sorted({f.id for f in infos}))
    return [f"{count(len(infos), 'note')} ({ids}) besides; --all shows them."] if infos else []


def _count(found: Sequence[Finding]) -> str:
    """`3 in 2 conversations`, `2 conversations`, or `1` where it is about none."""
    keys = {(f.source, f.conversation_id) for f in found if f.conversation_id is not None}
    if not keys:
        return f"{len(found):,}"
    conversations = count(len(keys), "conversation")
    return conversations if len(keys) == len(found) else f"{len(found):,} in {conversations}"


def _finding(finding: Finding) -> str:
    """`c1 step 4: the sentence`."""
    place = [] if finding.conversation_id is None else [name(finding.conversation_id, 20)]
    place += [] if finding.step is None else [f"step {finding.step}"]
    if not place and (held := finding.object or finding.snapshot or finding.actor):
        place = [name(held, 26)]
    sentence = safe(finding.sentence)
    return f"{' '.join(place)}: {sentence}" if place else sentence
