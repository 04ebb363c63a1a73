"""The migrated copy under a server of the target: does every conversation go on as its own?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from axnb.ax.behaviour import Harness
from axnb.ax.versions import Generation
from axnb.drills.migration.asking import Replies, Served, foretold
from axnb.drills.migration.logs import ScratchLog
from axnb.drills.migration.matrix import disagreements
from axnb.drills.migration.reading import Conversation
from axnb.drills.steps import Check, Evidence
from axnb.errors import AxnbError
from axnb.runtimes.embedded import history
from axnb.runtimes.embedded.store import LogError
from axnb.text import count

_MOST_SHOWN = 20

#: What becomes of an interrupted turn.
_STAYS = {
    "blocked": "blocked as before",
    "resumes": "closed by a harness that takes an empty start",
}

#: The rows of the drill's own turn.
_MARKS = ["input", "text", "end"]


def starts(served: Served) -> Check:
    """Does the server start on the copy, and stay?"""
    expected = f"a server of {served.generation.label} starts on the copy and answers"
    if served.error:
        return Check(expected, f"it did not: {served.error}", "failed")
    return Check(expected, f"it does: {count(len(served.replies), 'conversation')} asked", "ok")


def answers(
    asked: Sequence[Conversation], served: Served, before: Mapping[str, str], default: str
) -> Check:
    """Is a new input on each finished conversation answered by its owner, and nothing else done?

    `before` is the state of each in the log; `default` answers for those that nobody owns.
    """
    expected = (
        "a new input on each finished conversation is answered under its own owner, in three rows "
        "from the next number on, and no other row changes"
    )
    finished = [c for c in asked if before[c.conversation_id] == "finished"]
    # Where a number is no number, AX itself cannot go on from it; that was so before.
    odd = [c for c in finished if c.last_step is None]
    finished = [c for c in finished if c.last_step is not None]
    wrong = [evidence for c in finished for evidence in _unanswered(c, served, default)]
    wrong += [
        {"conversation_id": name, "what": "a row that was there is another"}
        for name in served.changed
    ]
    if wrong:
        told = f"{wrong[0]['conversation_id']}: {wrong[0]['what']}"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return Check(expected, f"{told}{more}", "failed", tuple(wrong[:_MOST_SHOWN]))
    if not finished:
        return Check(expected, "no readable conversation is finished", "not-run")
    told = f"{count(len(finished), 'conversation')} answered, each under its owner"
    told += f"; not judged: {len(odd)} whose numbers are none" if odd else ""
    return Check(expected, told, "ok")


def _unanswered(c: Conversation, served: Served, default: str) -> Iterable[Evidence]:
    """What is wrong with the answer on a finished conversation, if anything."""
    replies = served.replies.get(c.conversation_id)
    wrong = "it was not asked" if replies is None else _wrong(c, replies, default)
    if wrong:
        yield {"conversation_id": c.conversation_id, "owner": c.owner, "what": wrong}


def _wrong(c: Conversation, replies: Replies, default: str) -> str:
    if replies.does != ("nothing", "new-turn"):
        error = f" ({replies.input.error})" if replies.input.error else ""
        return f"an empty request and an input do {', '.join(replies.does)}{error}"
    added = replies.input.added
    if replies.input.owner != (c.owner or default):
        return f"it was answered as {replies.input.owner or 'nobody'}'s"
    if [row.mark for row in added] != _MARKS:
        return f"its rows are {', '.join(row.mark for row in added) or 'none'}"
    last = c.last_step or 0
    if [row.step for row in added] != [last + 1, last + 2, last + 3]:
        return f"its rows go on at {added[0].step}, after step {last}"
    return ""


def interrupted(
    asked: Sequence[Conversation],
    served: Served,
    before: Mapping[str, str],
    harnesses: Sequence[Harness],
) -> Check:
    """Does an interrupted conversation stay so, or is closed as its harness does; nothing re-run?

    `before` is the state of each in the log.
    """
    expected = (
        "each interrupted conversation does what its harness does with an empty start, and no "
        "tool is asked"
    )
    open_ones = [c for c in asked if before[c.conversation_id] == "interrupted"]
    wrong: list[Evidence] = disagreements(open_ones, served, harnesses)
    wrong += [
        {"conversation_id": c.conversation_id, "does": what, "foretold": "it is interrupted"}
        for c in open_ones
        if (what := _not_open(c, served, harnesses))
    ]
    if served.tool_requests:
        told = f"the tool service got {count(served.tool_requests, 'request')}"
        return Check(expected, told, "failed", ({"requests": served.tool_requests},))
    if wrong:
        first = wrong[0]
        told = f"{first['conversation_id']}: {first['does']}, foretold {first['foretold']}"
        return Check(expected, told, "failed", tuple(wrong[:_MOST_SHOWN]))
    if not open_ones:
        return Check(expected, "no readable conversation is interrupted; no tool was asked", "ok")
    does = Counter(served.replies[c.conversation_id].empty.does for c in open_ones)
    told = ", ".join(f"{number} {_STAYS.get(word, word)}" for word, number in sorted(does.items()))
    number = count(len(open_ones), "conversation")
    return Check(expected, f"{number}: {told}; no tool was asked", "ok")


def _not_open(c: Conversation, served: Served, harnesses: Sequence[Harness]) -> str:
    """How an interrupted conversation shows that it is none in the copy; empty where it is."""
    does = c.next(served.generation, harnesses).empty
    return "the copy has it as finished" if does == "nothing" else ""


def decoded(
    conversations: Sequence[Conversation],
    asked: Sequence[Conversation],
    log: ScratchLog,
    generation: Generation,
) -> Check:
    """Does the server of the target decode all of every conversation?

    Of all by what their rows say, and of those that were asked by its own reading, too.
    """
    expected = f"{generation.label} decodes every row, every content and every owner"
    wrong = [evidence for c in conversations for evidence in _undecoded(c, generation)]
    wrong += [
        {"conversation_id": c.conversation_id, "what": what}
        for c in asked
        if (what := _reads_otherwise(c, log, generation))
    ]
    contents = sum(c.histories[generation.name].contents_stored for c in conversations)
    if wrong:
        told = f"{wrong[0]['conversation_id']}: {wrong[0]['what']}"
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return Check(expected, f"{told}{more}", "failed", tuple(wrong[:_MOST_SHOWN]))
    if not conversations:
        return Check(expected, "there is no readable conversation", "not-run")
    number = count(len(conversations), "conversation")
    return Check(expected, f"all {count(contents, 'content')} of {number}", "ok")


def _undecoded(c: Conversation, generation: Generation) -> Iterable[Evidence]:
    seen = c.histories[generation.name]
    if not seen.readable:
        yield {"conversation_id": c.conversation_id, "what": "it is not readable"}
    elif seen.contents_decoded < seen.contents_stored:
        told = f"{seen.contents_decoded} of {seen.contents_stored} contents"
        yield {"conversation_id": c.conversation_id, "what": told}
    elif seen.owner != c.owner:
        yield {"conversation_id": c.conversation_id, "what": f"its owner is {seen.owner!r:.80}"}


def _reads_otherwise(c: Conversation, log: ScratchLog, generation: Generation) -> str:
    """What the server itself reads otherwise than the rows foretell; empty where nothing."""
    seen = c.histories[generation.name]
    rows = [(row.step, row.payload) for row in log.rows(c.conversation_id)]
    try:
        found = history.read(rows, generation)
    except (LogError, AxnbError):
        return "the server cannot read it"
    contents = sum(len(row.event.get(generation.content_key, ())) for row in found.rows)
    if (contents, found.owner, found.is_pending) != (
        seen.contents_decoded,
        seen.owner,
        seen.pending,
    ):
        return f"the server reads {count(contents, 'content')}, owner {found.owner!r:.80}"
    return ""


def agrees(
    called: str, asked: Sequence[Conversation], served: Served, harnesses: Sequence[Harness]
) -> Check:
    """Does a real server do with the migrated copy what its rows foretell?"""
    expected = f"{called} does with each conversation of the copy what its rows foretell"
    if served.error:
        return Check(expected, f"{called} broke off: {served.error}", "inconclusive")
    found = disagreements(asked, served, harnesses)
    if found:
        first = found[0]
        told = (
            f"{count(len(found), 'conversation')} of {len(asked)} otherwise; "
            f"{first['conversation_id']}: {first['does']}, foretold {first['foretold']}"
        )
        return Check(expected, told, "failed", tuple(found[:_MOST_SHOWN]))
    works = sum(foretold(*_words(c, served, harnesses))[1] == "new-turn" for c in asked)
    told = f"it does: {count(works, 'conversation')} of {len(asked)} answered a new input"
    return Check(expected, told, "ok" if asked else "inconclusive")


def _words(c: Conversation, served: Served, harnesses: Sequence[Harness]) -> tuple[str, str]:
    answer = c.next(served.generation, harnesses)
    return answer.empty, answer.input
