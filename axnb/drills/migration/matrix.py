"""The matrix: what every AX version makes of every generation's rows, and of this log's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from axnb.ax.behaviour import Harness
from axnb.ax.versions import GENERATIONS, Generation
from axnb.case.case import Case
from axnb.drills.migration.asking import Served, foretold
from axnb.drills.migration.reading import (
    OUTCOMES,
    Conversation,
    ReadLog,
    read_log,
)
from axnb.drills.migration.specimens import KINDS, named, write_specimens
from axnb.drills.steps import Check, Evidence
from axnb.settings import Settings
from axnb.text import count

#: Conversations that a step shows.
_MOST_SHOWN = 20

Cell = dict[str, Any]


def matrix_of_all(
    log: ReadLog, harnesses: Sequence[Harness], folder: Path, settings: Settings
) -> list[dict[str, Any]]:
    """Rows: the generations, those of this log with its own conversations, the others with
    specimens. Cells: every AX version, with how many conversations work, lose or fail."""
    groups: dict[str, list[Conversation]] = {}
    for c in log.conversations:
        if c.is_readable:
            groups.setdefault("+".join(c.generations) or log.newest, []).append(c)
    rows = [row(name, "log", found, harnesses) for name, found in groups.items()]
    # A conversation that only custom harnesses own is of G5 or of G5b.
    known = {part for name in groups for part in ("G5", "G5b") if "|" in name} | groups.keys()
    specimens = _specimens(folder, settings)
    for name, generation in GENERATIONS.items():
        if name not in known:
            found = [specimens[named(generation, kind)] for kind in KINDS]
            rows.append(row(name, "specimen", found, harnesses))
    order = {name: n for n, name in enumerate(GENERATIONS)}
    return sorted(rows, key=lambda r: ([order.get(n, 2) for n in r["rows"].split("+")], r["from"]))


def _specimens(folder: Path, settings: Settings) -> dict[str, Conversation]:
    found: dict[str, Conversation] = {}
    with Case(None, settings) as case:
        for path in write_specimens(folder):
            found |= read_log(case, str(path)).find()
    return found


def row(
    name: str, origin: str, found: Sequence[Conversation], harnesses: Sequence[Harness]
) -> dict[str, Any]:
    """A row of the matrix: some conversations under every version."""
    return {
        "rows": name,
        "from": origin,
        "conversations": len(found),
        "versions": {g.name: cell(found, g, harnesses) for g in GENERATIONS.values()},
    }


def cell(
    found: Sequence[Conversation], generation: Generation, harnesses: Sequence[Harness]
) -> Cell:
    """How many conversations work, lose or fail under a version, how, and what they lose."""
    outcomes = [c.outcome(generation, harnesses) for c in found]
    words = Counter(o.word for o in outcomes)
    fails = Counter(o.how for o in outcomes if o.word == "fails")
    losing = [c for c, o in zip(found, outcomes, strict=True) if o.word == "loses"]
    seen = [c.histories[generation.name] for c in losing]
    return {
        "outcome": next((w for w in reversed(OUTCOMES) if words[w]), "works"),
        **{word: words[word] for word in OUTCOMES},
        "how": dict(sorted(fails.items())),
        "contents_lost": sum(h.contents_stored - h.contents_decoded for h in seen),
        "contents": sum(h.contents_stored for h in seen),
        "owners_lost": sum("owner" in o.how for o in outcomes if o.word == "loses"),
        "differs": sum(bool(o.differs) for o in outcomes),
    }


def agrees(
    called: str,
    asked: Sequence[Conversation],
    served: Served,
    harnesses: Sequence[Harness],
) -> Check:
    """Does a server do what the rows of a log foretell, conversation by conversation?"""
    generation = served.generation
    expected = f"{called} does with each conversation, unmigrated, what its rows foretell"
    if served.error:
        return Check(expected, f"{called} broke off: {served.error}", "inconclusive")
    found = disagreements(asked, served, harnesses)
    told = summary(cell(asked, generation, harnesses))
    if found:
        first = found[0]
        words = (
            f"{count(len(found), 'conversation')} of {len(asked)} otherwise; "
            f"{first['conversation_id']}: {first['does']}, foretold {first['foretold']}"
        )
        return Check(expected, words, "failed", tuple(found[:_MOST_SHOWN]))
    if not asked:
        return Check(expected, "no conversation could be asked", "inconclusive")
    return Check(expected, f"{told}; the server agrees on all that were asked", "ok")


def disagreements(
    asked: Sequence[Conversation], served: Served, harnesses: Sequence[Harness]
) -> list[Evidence]:
    """Conversations with which a server does something else than their rows foretell."""
    found: list[Evidence] = []
    for c in asked:
        answer = c.next(served.generation, harnesses)
        words = foretold(answer.empty, answer.input)
        replies = served.replies.get(c.conversation_id)
        does = None if replies is None else replies.does
        if does != words:
            shown = {"does": does and ", ".join(does), "foretold": ", ".join(words)}
            if replies is not None and (error := replies.empty.error or replies.input.error):
                shown["error"] = error
            found.append({"conversation_id": c.conversation_id, **shown})
    return found


def summary(of: Mapping[str, Any]) -> str:
    """A cell in words: `12 work, 3 lose content or owner, 18 fail (wrong-column)`."""
    told = [f"{of['works']} work"] if of["works"] else []
    if of["loses"]:
        lost = (
            [f"{of['contents_lost']} of {of['contents']} contents"] if of["contents_lost"] else []
        )
        lost += [f"{count(of['owners_lost'], 'owner')}"] if of["owners_lost"] else []
        told.append(f"{of['loses']} lose in silence ({', '.join(lost)})")
    if of["fails"]:
        told.append(f"{of['fails']} fail ({', '.join(of['how'])})")
    if of["unknown"]:
        told.append(f"of {of['unknown']} it is not known")
    return ", ".join(told) or "there is no conversation"
