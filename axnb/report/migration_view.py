"""What a report shows of a migration drill beside its matrix: what the migration does, what becomes
of each conversation, the way there and back, and what no rollback undoes.

It comes from the drill's answer, `axnb.migration-drill/1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.report.matrix_view import HOWS, SCHEMA, SIGNS, MatrixView, label, matrix_view
from axnb.report.view import brief, capital
from axnb.result import Result
from axnb.text import count

#: Conversations, journeys, damages of one kind, losses and traces that are shown.
MOST_CONVERSATIONS, MOST_JOURNEYS, MOST_DAMAGES, MOST_LOSSES, MOST_TRACES = 60, 40, 12, 40, 40

#: Ways of a rollback, as a reader says them.
WAYS: Mapping[str, str] = {
    "migrated": "With a migration there and back",
    "unmigrated": "Without a migration: the file is opened by the one version, then by the other",
}

#: Damage that stays: what it is.
KINDS: Mapping[str, str] = {
    "owner-rebound": "bound to another owner, and its own one is refused from there on",
    "other-words": "rows that the older version does not read",
    "closed-unrun": "an interrupted turn was closed that never ran to its end",
    "left-behind": "a request that failed left an input without an end",
}

#: What a server does with a request, in few words.
DOES: Mapping[str, str] = {
    "nothing": "nothing",
    "new-turn": "a new turn",
    "resumes": "the turn goes on",
    "resumes-then-new-turn": "the turn goes on, then a new one",
    "blocked": "an error: blocked",
    "ignores-pending": "a new turn; the open one stays open",
    "re-runs": "the agent runs again",
    "asks-again": "the open question again",
    "closes-unrun": "the turn ends unrun",
    "lost-pending": "an error: the open turn is not found",
    "appends-then-fails": "an error, and a row more",
    "harness-changed": "an error: owner refused",
    "harness-missing": "an error: owner not registered",
    "unreadable": "an error: not decoded",
    "wrong-column": "an error: no such column",
    "unknown": "not known",
}

#: What an earlier change of version left in the log.
TRACES: Mapping[str, str] = {
    "renamed-column": "the column was renamed, and the rows were not",
    "mixed-words": "messages and steps in one conversation: no version reads both",
    "owner-rebound": "bound to another owner",
}


@dataclass(frozen=True)
class Loss:
    """A path of which the target has no place for what stands there."""

    path: str
    times: int
    accepted: bool


@dataclass(frozen=True)
class Became:
    """What a migration does with the rows."""

    sentences: tuple[str, ...]
    losses: tuple[Loss, ...]
    #: Rows that stay as they are: conversation, step and why.
    left: tuple[tuple[str, str, str], ...]
    more_losses: int = 0
    more_left: int = 0


@dataclass(frozen=True)
class Fate:
    """One conversation under the target: as it is, and migrated."""

    conversation_id: str
    generations: str
    state: str
    owner: str
    owner_after: str
    before: str
    before_does: str
    after: str
    after_does: str
    #: `works`, `loses`, `fails`, `unknown` or `unreadable`: unmigrated, and in the copy.
    outcomes: tuple[str, str]
    #: What a rollback does not undo, a line a way.
    damages: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Is there nothing to say of it?"""
        return self.outcomes == ("works", "works") and not self.damages


@dataclass(frozen=True)
class Journey:
    """An interrupted conversation there and back: a cell a stage."""

    conversation_id: str
    is_specimen: bool
    #: What it is at each stage, and what the server before did with two requests; empty for none.
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Damaged:
    """Conversations that keep one kind of damage."""

    kind: str
    means: str
    conversations: int
    #: A conversation and what stays in it.
    first: tuple[tuple[str, str], ...]
    more: int = 0


@dataclass(frozen=True)
class Rollback:
    """One way of going back."""

    title: str
    kinds: tuple[Damaged, ...]


@dataclass(frozen=True)
class MigrationView:
    """A migration drill as a reader sees it."""

    target: str
    back_to: str
    matrix: MatrixView
    became: Became
    fates: tuple[Fate, ...]
    stages: tuple[str, ...]
    journeys: tuple[Journey, ...]
    rollbacks: tuple[Rollback, ...]
    #: Conversation, what was done to it, and what shows it.
    traces: tuple[tuple[str, str, str], ...]
    more_fates: int = 0
    more_journeys: int = 0
    more_traces: int = 0

    def ill(self) -> list[Fate]:
        """The conversations of which there is something to say."""
        return [fate for fate in self.fates if not fate.is_well]


def migration_view(result: Result, most: int = MOST_CONVERSATIONS) -> MigrationView | None:
    """Look at a migration drill, with at most so many conversations; None for another drill."""
    answer = result.answer
    matrix = matrix_view(result)
    if matrix is None or answer.get("schema") != SCHEMA:
        return None
    target, back_to = label(answer["target"]), label(answer["back_to"])
    fates, journeys = answer["conversations"], answer["rollback"]
    damaged = _by_conversation(answer["damage"])
    told = sorted((_fate(c, damaged.get(c["conversation_id"], ())) for c in fates), key=_badness)
    traces = answer["history"]
    return MigrationView(
        target=target,
        back_to=back_to,
        matrix=matrix,
        became=_became(result),
        fates=tuple(told[:most]),
        stages=("in the log", "migrated", f"after {target}", "taken back", f"after {back_to}"),
        journeys=tuple(map(_journey, journeys[:MOST_JOURNEYS])),
        rollbacks=tuple(_rollbacks(answer["damage"])),
        traces=tuple(
            (
                brief(trace["conversation_id"], 80) or "(empty)",
                TRACES.get(trace["kind"]) or brief(trace["kind"], 40),
                brief(trace["sentence"], 300),
            )
            for trace in traces[:MOST_TRACES]
        ),
        more_fates=max(0, len(fates) - most),
        more_journeys=max(0, len(journeys) - MOST_JOURNEYS),
        more_traces=max(0, len(traces) - MOST_TRACES),
    )


# --- what the migration does ---------------------------------------------------------------------


def _became(result: Result) -> Became:
    told = result.answer["migration"]
    if told.get("error") or "rows_read" not in told:
        why = brief(told.get("error"), 300) or "the migration was not tried"
        return Became((f"There is no copy: {why.rstrip('.')}.",), (), ())
    accepted = result.parameters.get("accept_loss") or []
    losses = sorted(told["losses"].items(), key=lambda loss: (-loss[1], loss[0]))
    left = told["as_it_is_first"]
    return Became(
        sentences=tuple(_sentences(told)),
        losses=tuple(
            Loss(brief(path, 200), times, path in accepted) for path, times in losses[:MOST_LOSSES]
        ),
        left=tuple(
            (
                brief(row["conversation_id"], 80) or "(empty)",
                brief(row["step"], 20),
                brief(row["reason"], 200),
            )
            for row in left[:MOST_LOSSES]
        ),
        more_losses=max(0, len(losses) - MOST_LOSSES),
        more_left=max(0, told["as_it_is"] - min(len(left), MOST_LOSSES)),
    )


def _sentences(told: Mapping[str, Any]) -> Iterator[str]:
    read, written = told["rows_read"], told["rows_written"] or 0
    same = read - told["converted"]
    yield (
        f"{count(read, 'row')} read, {written:,} written: {told['converted']:,} in the words of "
        f"{brief(told['target'], 20)}, {same:,} with the same text."
    )
    for owner, number in told["owners"].items():
        yield (
            f"{count(number, 'conversation')} whose rows name no owner: "
            f"{brief(owner, 60) or 'nobody'} is named."
        )
    if told["renumbered"]:
        rows = count(told["renumbered"], "row")
        yield f"{rows} told another number than the key, which counts."
    if told["executions"]:
        yield (
            f"{count(told['executions'], 'row')} of execution_log, copied as they are: no server "
            "after G4 reads them."
        )
    yield from (brief(note, 300) for note in told["notes"][:10])


# --- conversations -------------------------------------------------------------------------------


def _by_conversation(damages: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Conversation -> what stays in it, a line a way: `unmigrated: owner-rebound, other-words`."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for damage in damages:
        ways = found.setdefault(damage["conversation_id"], {})
        ways.setdefault(damage["way"], {})[brief(damage["kind"], 40)] = None
    return {
        conversation: [f"{way}: {', '.join(kinds)}" for way, kinds in ways.items()]
        for conversation, ways in found.items()
    }


def _fate(told: Mapping[str, Any], damages: Sequence[str]) -> Fate:
    before, after = told["before"], told["after"]
    readable = told["state"] != "unreadable"
    return Fate(
        conversation_id=told["conversation_id"],
        generations=", ".join(told["generations"]),
        state=told["state"],
        owner=told["owner"],
        owner_after=told["owner_after"],
        before=_outcome(before) if readable else _UNREADABLE,
        before_does=_does(before),
        after=(_outcome(after) if readable else _UNREADABLE) if after else "– no copy",
        after_does=_does(after) if after else "",
        outcomes=(before["outcome"] if readable else "unreadable", told["outcome"]),
        damages=tuple(damages),
    )


#: What no version can decode is nobody's loss.
_UNREADABLE = "– unreadable as it was"


def _outcome(told: Mapping[str, Any]) -> str:
    """`◐ loses 7 of 7 contents, its owner`."""
    word = told["outcome"]
    how = str(told.get("how") or "")
    how = HOWS[how][0] if how in HOWS else brief(how, 100)
    sign = SIGNS["differs"] if word == "works" and told.get("differs") else SIGNS.get(word, "?")
    joint = ": " if word == "fails" else " "
    return f"{sign} {brief(word, 20)}{joint + how if how else ''}"


def _does(told: Mapping[str, Any]) -> str:
    """What its server did with an empty request and a new input; else what is foretold."""
    server = told.get("server")
    if server:
        return _both(server["empty"]["does"], server["input"]["does"])
    return f"foretold: {_both(told['does']['empty'], told['does']['input'])}"


def _both(empty: str, with_input: str) -> str:
    told = [DOES.get(word, brief(word, 60)) for word in (empty, with_input)]
    return f"{told[0]}, both times" if told[0] == told[1] else "; ".join(told)


def _badness(fate: Fate) -> tuple[int, int, int, str]:
    # What nobody could read before is nobody's loss.
    ranks = ("fails", "unknown", "loses", "works", "unreadable")
    before, after = (ranks.index(o) if o in ranks else 0 for o in fate.outcomes)
    return after, before, -len(fate.damages), fate.conversation_id


# --- there and back ------------------------------------------------------------------------------


def _journey(told: Mapping[str, Any]) -> Journey:
    asked = {of["server"]: of for of in told["asked"]}
    servers = {"asked": "new", "asked-again": "old"}
    cells: list[tuple[str, str]] = []
    for stage in told["stages"]:
        cell = f"{'▸' if stage['state'] == 'interrupted' else '■'} {stage['state']}"
        cell += f" at step {stage['last_step']}" if stage["last_step"] is not None else ""
        cell += f", {brief(stage['owner'], 40)}" if stage["owner"] else ", nobody's"
        did = ""
        of = asked.get(servers.get(stage["stage"], ""))
        if of is not None:
            did = _both(of["empty"], of["input"])
        cells.append((cell, did))
    return Journey(brief(told["conversation_id"], 80) or "(empty)", told["specimen"], tuple(cells))


def _rollbacks(damages: Sequence[Mapping[str, Any]]) -> Iterator[Rollback]:
    for way, title in WAYS.items():
        own = [damage for damage in damages if damage["way"] == way]
        kinds = dict.fromkeys(damage["kind"] for damage in own)
        yield Rollback(title, tuple(_damaged(kind, own) for kind in kinds))


def _damaged(kind: str, damages: Sequence[Mapping[str, Any]]) -> Damaged:
    own = [damage for damage in damages if damage["kind"] == kind]
    first = [
        (brief(d["conversation_id"], 80) or "(empty)", capital(brief(d["sentence"], 300)))
        for d in own[:MOST_DAMAGES]
    ]
    return Damaged(
        kind=brief(kind, 40),
        means=KINDS.get(kind, ""),
        conversations=len({damage["conversation_id"] for damage in own}),
        first=tuple(first),
        more=len(own) - len(first),
    )
