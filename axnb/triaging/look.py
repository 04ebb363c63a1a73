"""What triage reads from a case, in one session."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import versions
from axnb.ax.behaviour import History, Next, Target
from axnb.ax.versions import G5_OR_G5B, Generation
from axnb.case.case import ask, has_rows, run_sql
from axnb.checks.kept import digest_key, find
from axnb.checks.told import told_finding
from axnb.mapping import is_loaded
from axnb.mapping import prepare as prepare_state
from axnb.result import Finding
from axnb.settings_target import TargetSettings
from axnb.triaging.answer import HeldSnapshot, SourceTriage, UnresolvedCall
from axnb.triaging.witnesses import Expectation, not_compared, prepare

Key = tuple[str, str]


def histories(
    session: duckdb.DuckDBPyConnection,
    generation: Generation,
    conversations: Sequence[str] = (),
) -> dict[Key, History]:
    """What a server of `generation` decodes from each conversation of a case, or from some."""
    kinds = {"G3": "none", "G4": "text", "G8": "none"}
    columns = dict(session.execute("select source, step_column from sources").fetchall())
    found = run_sql(
        session,
        "case",
        "histories.sql",
        {
            "generation": _schema(generation),
            "owner_key": generation.owner_key or "",
            "content_key": generation.content_key,
            "config_kind": kinds.get(generation.name, "object"),
            "ids": _ids(conversations),
        },
    )
    return {
        (source, conversation_id): History(
            column=columns[source],
            # Rows that AX's own query does not find are nobody's history.
            readable=readable if seen else True,
            pending=pending,
            owner=owner,
            execution=execution,
            contents_decoded=decoded,
            contents_stored=stored,
        )
        for (
            source,
            conversation_id,
            readable,
            pending,
            owner,
            execution,
            decoded,
            stored,
            seen,
        ) in found
    }


def _ids(conversations: Sequence[str]) -> list[str] | None:
    """Ids for a query; None for all. No log holds an id that is no text (a lone surrogate)."""
    if not conversations:
        return None
    return [i for i in conversations if i.encode(errors="replace").decode() == i]


def _schema(generation: Generation) -> str:
    """The generation whose schema a release decodes with: G5b reads as G5."""
    return "G5" if generation.name == "G5b" else generation.name


class Look:
    """What triage reads from a case, in one session, of all conversations or of the named ones."""

    def __init__(
        self, session: duckdb.DuckDBPyConnection, conversations: Sequence[str] = ()
    ) -> None:
        self._session = session
        self._ids = _ids(conversations)
        self._has_witnesses = False
        self._has_state = False

    def sources(self) -> tuple[SourceTriage, ...]:
        """What was loaded."""
        return tuple(
            SourceTriage(
                **{
                    **found,
                    "custody": json.loads(found["custody"]),
                    "notes": tuple(found["notes"]),
                    "incomplete": tuple(found["incomplete"]),
                    "generations": _ordered(found["generations"]),
                }
            )
            for found in ask(self._session, "sources")
        )

    def harnesses(self) -> list[str]:
        """Owners that the log names, in the order in which they first appear."""
        return [found["harness_id"] for found in ask(self._session, "harnesses")]

    def conversations(self) -> dict[Key, dict[str, Any]]:
        """Conversations with their unresolved calls and open questions."""
        values = {"ids": self._ids}
        unresolved: dict[Key, list[UnresolvedCall]] = {}
        for call in ask(self._session, "unresolved_calls", values):
            key = call.pop("source"), call.pop("conversation_id")
            unresolved.setdefault(key, []).append(UnresolvedCall(**call))
        questions: dict[Key, list[int | None]] = {}
        for question in ask(self._session, "open_questions", values):
            key = question["source"], question["conversation_id"]
            questions.setdefault(key, []).append(question["step"])
        found = {}
        for record in ask(self._session, "conversations", values):
            key = record["source"], record["conversation_id"]
            found[key] = {
                **record,
                "calls": {o["outcome"]: o["calls"] for o in record["outcomes"]},
                "unresolved": unresolved.get(key, []),
                "question_steps": questions.get(key, []),
            }
        return found

    def snapshots(self, target: TargetSettings | None) -> dict[Key, HeldSnapshot]:
        """What each conversation would go on from; nothing where no bucket was read.

        Call it before `findings`: it makes ready what checks read of buckets and records.
        """
        self._has_state = is_loaded(self._session)
        if not self._has_state:
            return {}
        prepare_state(self._session, target)
        if not has_rows(self._session, "snapshot_objects"):
            return {}
        return {
            (found["source"], found["conversation_id"]): HeldSnapshot(
                found["snapshot"] or found["named_snapshot"],
                found["restorable"],
                found["relation"],
            )
            for found in ask(self._session, "mapped_conversations")
            if found["relation"] is not None
        }

    def findings(
        self,
        target: Target,
        answers: Mapping[Key, Next],
        seen: Mapping[Key, History],
        expectations: Sequence[Expectation] = (),
    ) -> tuple[Finding, ...]:
        """What the checks say of the conversations that were asked about.

        `seen` is what the target decodes of them.
        """
        table = pa.table(
            {
                "source": pa.array([key[0] for key in answers], pa.string()),
                "conversation_id": pa.array([key[1] for key in answers], pa.string()),
                "empty": pa.array([answer.empty for answer in answers.values()], pa.string()),
                "input": pa.array([answer.input for answer in answers.values()], pa.string()),
                "history": pa.array([answer.history for answer in answers.values()], pa.string()),
                "harness": pa.array([answer.harness for answer in answers.values()], pa.string()),
                "owner": pa.array([seen[key].owner for key in answers], pa.string()),
            }
        )
        self._session.register("asked_answers", table)
        values = {
            "generation": _schema(target.generation),
            "asked": target.generation.label,
            "has_owners": target.generation.owner_key is not None,
        }
        run_sql(self._session, "checks", "views/answers.sql", values)
        self._has_witnesses = prepare(self._session, expectations, self._ids or ())
        ready = ["witnesses"] if self._has_witnesses else []
        ready += ["snapshots"] if self._has_state else []
        find(self._session, target.generation.label, ready)
        found = ask(self._session, "findings")
        key = digest_key(self._session) if found else b""
        return tuple(told_finding(record, key) for record in found)

    def not_compared(self) -> list[str]:
        """Which rows of two logs could not be held against each other; call it after `findings`."""
        return not_compared(self._session) if self._has_witnesses else []

    def not_held_against_now(self) -> list[str]:
        """That nothing tells what would run unfinished turns now, if their contexts are known."""
        if not has_rows(self._session, "contexts where part = 'config'"):
            return []
        (found,) = ask(self._session, "open_contexts", {"ids": self._ids})
        if not found["turns"]:
            return []
        if found["has_harnesses"]:
            return ["The ax.yaml does not say which model, instructions or tools would run now."]
        return ["What would run unfinished turns now is not known: give an ax.yaml (--ax-config)."]

    def times(self) -> dict[Key, tuple[str, str]]:
        """When conversations were seen first and last, in ISO 8601 and UTC."""
        if not any(has_rows(self._session, table) for table in ("server_events", "executions")):
            return {}
        return {
            (found["source"], found["conversation_id"]): (
                _utc(found["first_seen"]),
                _utc(found["last_seen"]),
            )
            for found in ask(self._session, "times")
        }

    def witnessed(self) -> set[str]:
        """Conversations that a client was sent outputs of, or the server could not log."""
        return {found["conversation_id"] for found in ask(self._session, "witnessed")}

    def close_ids(self, missing: str) -> list[str]:
        """Conversations whose ids look like one that no source has, the closest first."""
        if _ids([missing]) != [missing]:
            return []
        found = [f["conversation_id"] for f in ask(self._session, "close_ids", {"id": missing})]
        return difflib.get_close_matches(missing, found)

    def silent(self) -> set[Key]:
        """(source, harness) of harnesses that never log a result; an unnamed one is empty."""
        found = ask(self._session, "silent_harnesses")
        return {(f["source"], f["harness_id"]) for f in found}


def _utc(time: datetime) -> str:
    """Always with all digits: then texts are in the order of their times."""
    return f"{time.isoformat(timespec='microseconds')}Z"


def _ordered(generations: Sequence[str]) -> tuple[str, ...]:
    """Generations oldest first; the one that cannot be told is left out beside those that can."""
    names = set(generations)
    if names & {"G5", "G5b"}:
        names.discard(G5_OR_G5B)
    return tuple(sorted(names, key=versions.order))
