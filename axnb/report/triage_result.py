"""A triage in the form of a result: all that its views show, so that they compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.case.case import Case, ask
from axnb.evidence.locators import is_ax_yaml
from axnb.recorded import as_evidence, told_checks, without_folders
from axnb.report import reach
from axnb.report.classes import explaining
from axnb.report.commands import Commands
from axnb.report.groups import TITLES, reason, standing, told_of
from axnb.report.lanes import lanes, urgent
from axnb.report.words import advice, name
from axnb.result import Finding, Result
from axnb.settings import FILE_NAME
from axnb.started import Started
from axnb.text import safe
from axnb.triaging import ACTIONS, ConversationTriage, Triage

#: Conversations of one action, and calls to read back, that are told in full; `answer` has all.
MOST_ROWS = 100

_FEW_TOOLS = 10


@dataclass(frozen=True)
class Asked:
    """What a user asked, by which a triage can be repeated, and when."""

    ax_version: str = ""
    harnesses: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    expect_last: tuple[str, ...] = ()
    #: The name of the settings' file.
    settings: str = ""
    accept_inconclusive: bool = False
    #: How SQLite files were read.
    live: bool = False
    wal: str = ""
    #: How buckets were read, and of what records were taken.
    verify: bool = False
    everywhere: bool = False
    #: The name of the ax.yaml that says what would run now.
    ax_config: str = ""
    begun: Started = field(default_factory=Started)

    @classmethod
    def now(
        cls,
        ax_version: str | None = None,
        harnesses: Sequence[str] = (),
        conversations: Sequence[str] = (),
        expect_last: Sequence[str] = (),
        settings: Path | None = None,
        *,
        accept_inconclusive: bool = False,
        live: bool = False,
        wal: str | None = None,
        verify: bool = False,
        everywhere: bool = False,
        ax_config: Path | None = None,
        sources: Sequence[str] = (),
    ) -> Asked:
        """What is asked at this moment, and in this folder: its axnb.toml is read unasked.

        A source that is an ax.yaml says what would run now, too.
        """
        if ax_config is None:
            ax_config = next((Path(text) for text in sources if is_ax_yaml(text)), None)
        if settings is None and Path(FILE_NAME).exists():
            settings = Path(FILE_NAME)
        return cls(
            ax_version or "",
            tuple(harnesses),
            tuple(conversations),
            tuple(expect_last),
            "" if settings is None else settings.name,
            accept_inconclusive,
            live,
            wal or "",
            verify,
            everywhere,
            "" if ax_config is None else ax_config.name,
        )

    def parameters(self) -> dict[str, Any]:
        """The parameters of a result: what differs between two runs on the same evidence is not
        among them."""
        return {
            "ax_version": self.ax_version,
            "harnesses": list(self.harnesses),
            "conversations": list(self.conversations),
            "expect_last": list(self.expect_last),
            "settings": self.settings,
            "accept_inconclusive": self.accept_inconclusive,
            "live": self.live,
            "wal": self.wal,
            "verify": self.verify,
            "all_atespaces": self.everywhere,
            "ax_config": self.ax_config,
        }

    def options(self) -> list[str]:
        """How sources were read, and what would run now, as the command line takes it."""
        told = {
            f"--wal={self.wal}": self.wal,
            f"--ax-config={self.ax_config}": self.ax_config,
            "--live": self.live,
            "--all-atespaces": self.everywhere,
            "--verify": self.verify,
        }
        return [option for option, is_given in told.items() if is_given]


def triage_result(case: Case, triage: Triage, asked: Asked, *, plan: str = "") -> Result:
    """The result of a triage."""
    locators = [source.locator for source in triage.sources]
    has_state = any(source.kind in ("bucket", "records") for source in triage.sources)
    answer = triage.as_dict()
    answer["sources"] = as_evidence(answer["sources"], locators)
    with case.reading() as session:
        drawn = lanes(session, triage)
        rules = ask(session, "tool_rules")
    return Result(
        drill="triage",
        verdict=triage.verdict,
        examined=_examined(triage),
        why=_why(triage),
        measures=_measures(triage),
        parameters={**asked.parameters(), "tools": rules},
        sources=tuple(answer["sources"]),
        actions=tuple(_actions(triage)),
        unresolved=_unresolved(triage),
        findings=tuple(answer["findings"]),
        checks=tuple(told_checks(triage.findings, has_state=has_state)),
        lanes=tuple(drawn),
        scope=(*triage.scope, *_assumed(rules)),
        answer=answer,
        plan=plan,
        run=asked.begun.block(locators, triage.target.generation.label, _again(triage, asked)),
    )


def _examined(triage: Triage) -> tuple[str, ...]:
    """What was read and how it was asked, a sentence each."""
    told = []
    for source in triage.sources:
        conversations = sum(c.source == source.name for c in triage.conversations)
        told.append(f"{source.name}: {', '.join(reach.about_source(source, conversations))}")
    return (*told, f"Asked as {reach.asked(triage)}")


def _why(triage: Triage) -> tuple[str, ...]:
    """Why the verdict is what it is; of ok also what it does not say."""
    places = [source.locator for source in triage.sources]
    told = [without_folders(s, places) for s in reach.sentences(triage, every_error=True)]
    if triage.verdict == "ok":
        told.append(
            "No check found an error, and nothing that was read is in doubt. That proves neither "
            "that the log is complete nor that an effect happened."
        )
    return tuple(safe(sentence) for sentence in told)


def _assumed(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was taken from the settings, on which a verdict may rest."""
    names = [name(rule["tool"]) for rule in rules if not rule["consequential"]]
    if not names:
        return []
    few, left = ", ".join(names[:_FEW_TOOLS]), len(names) - _FEW_TOOLS
    more = f", … {left:,} more" if left > 0 else ""
    return [
        "As axnb.toml says, these tools change nothing, and their calls raise no doubt: "
        f"{few}{more}."
    ]


def _measures(triage: Triage) -> dict[str, int]:
    logs = [source for source in triage.sources if source.is_log]
    calls = [call for c in triage.conversations for call in c.unresolved if call.consequential]
    return {
        "conversations": len(triage.conversations),
        "need_attention": sum(c.action != "nothing" for c in triage.conversations),
        "unknown_calls": len(calls),
        "open_questions": sum(len(c.question_steps) for c in triage.conversations),
        "rows_read": sum(source.read for source in logs),
        "rows_rejected": sum(source.rejected for source in logs),
    }


def _actions(triage: Triage) -> list[dict[str, Any]]:
    """Conversations by what to do, the most urgent first; all that need nothing are a number."""
    about: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in triage.findings:
        about.setdefault((finding.source, finding.conversation_id), []).append(finding)
    groups = []
    for action in ACTIONS:
        chosen = [c for c in triage.conversations if c.action == action]
        if not chosen:
            continue
        told = [] if action == "nothing" else chosen[:MOST_ROWS]
        groups.append(
            {
                "action": action,
                "title": TITLES[action],
                "count": len(chosen),
                "reason": safe(reason(triage, action, chosen)),
                "findings": explaining(triage, action, chosen),
                "conversations": [_told(triage, c, about) for c in told],
            }
        )
    return groups


def _told(
    triage: Triage,
    c: ConversationTriage,
    about: Mapping[tuple[str, str | None], Sequence[Finding]],
) -> dict[str, Any]:
    found = about.get((c.source, c.conversation_id), ())
    return {
        "source": c.source,
        "conversation_id": c.conversation_id,
        "last_step": c.last_step,
        "standing": standing(c),
        "advice": advice(c, triage.target.generation, found),
        "findings": list(c.findings),
    }


def _unresolved(triage: Triage) -> dict[str, Any]:
    """Calls to read back from their tools, those of the most urgent conversations first."""
    calls = [(c, call) for c in urgent(triage) for call in c.unresolved if call.consequential]
    return {
        "count": len(calls),
        "calls": [
            {
                "tool": call.tool,
                "operation_id": call.operation_id,
                "source": c.source,
                "conversation_id": c.conversation_id,
                "step": call.step,
                "known": told_of(call),
            }
            for c, call in calls[:MOST_ROWS]
        ],
    }


def _again(triage: Triage, asked: Asked) -> list[str]:
    found = Commands(triage).again(
        asked.conversations, asked.expect_last, asked.settings, asked.options()
    )
    return found or []
