"""What the views of one notebook share: a result, what it was made from, and what was chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any

from axnb.case.case import Case, ask
from axnb.errors import AxnbError
from axnb.mapping import StateMap
from axnb.report.drill_view import Point, drill_view, telling
from axnb.report.migration_view import migration_view
from axnb.report.rehearsal_view import rehearsal_view
from axnb.report.restore_view import lost_lines
from axnb.result import Finding, Result
from axnb.triaging import Triage

Key = tuple[str, str]
Reader = Callable[[], None]


class ResultDesk:
    """A result, and those who want to know when another takes its place or a choice changes."""

    def __init__(self, result: Result) -> None:
        self.result = result
        #: Slow work ends in a thread of its own while a person clicks: whoever changes a view or
        #: the desk holds this.
        self.lock = RLock()
        self._of_case: list[Reader] = []
        self._of_choice: list[Reader] = []

    def on_case(self, reader: Reader) -> None:
        """Call `reader` when another result is there."""
        self._of_case.append(reader)

    def on_choice(self, reader: Reader) -> None:
        """Call `reader` when something else was chosen."""
        self._of_choice.append(reader)


class CaseDesk(ResultDesk, ABC):
    """A case, what was asked of it and a chosen conversation."""

    def __init__(self, case: Case, result: Result, chosen: Key | None = None) -> None:
        super().__init__(result)
        self.case, self.chosen = case, chosen
        self._index()

    def _index(self) -> None:
        #: What a view can be asked to show.
        self.conversations: Mapping[Key, Any] = self._conversations()
        #: Sources as they stand in a result, each with its locator.
        self.sources: Sequence[Mapping[str, Any]] = self._sources()
        if self.chosen not in self.conversations:
            self.chosen = next(iter(self.conversations), None)

    @property
    @abstractmethod
    def findings(self) -> Sequence[Finding]:
        """What was found."""

    @abstractmethod
    def _conversations(self) -> Mapping[Key, Any]: ...

    @abstractmethod
    def _answer(self, answer: Any) -> None:
        """Take another answer."""

    def _sources(self) -> list[Mapping[str, Any]]:
        with self.case.reading() as session:
            places = {row["name"]: row["locator"] for row in ask(session, "sources")}
        return [{**source, "locator": places[source["name"]]} for source in self.result.sources]

    def logs(self) -> list[str]:
        """Names of the sources that are event logs."""
        return [source["name"] for source in self.sources if source["kind"] == "eventlog"]

    def label(self, key: Key) -> str:
        """What a conversation is called: its id, with its source where there are several."""
        shown = key[1] or "(empty)"
        return f"{shown} ({key[0]})" if len(self.logs()) > 1 else shown

    def replace(self, case: Case, answer: Any, result: Result) -> None:
        """Another case takes the place of this one, which is let go of."""
        with self.lock:
            old, self.case, self.result = self.case, case, result
            self._answer(answer)
            self._index()
            for reader in self._of_case:
                reader()
        if old is not case:
            old.close()

    def choose(self, key: Key) -> None:
        """A conversation is chosen in one view, and the others follow."""
        with self.lock:
            if key != self.chosen and key in self.conversations:
                self.chosen = key
                for reader in self._of_choice:
                    reader()

    def refuse_old(self, case: Case) -> None:
        """Slow work on `case` has an answer: raises AxnbError if another one was opened since."""
        if case is not self.case:
            raise AxnbError("another case was opened meanwhile: ask again.")


class Desk(CaseDesk):
    """A triaged case."""

    def __init__(
        self, case: Case, triage: Triage, result: Result, chosen: Key | None = None
    ) -> None:
        self._answer(triage)
        super().__init__(case, result, chosen)

    def _answer(self, answer: Triage) -> None:
        self.triage = answer
        #: All conversations, the most urgent first.
        self.urgent = answer.by_urgency()

    def _conversations(self) -> Mapping[Key, Any]:
        return {(c.source, c.conversation_id): c for c in self.urgent}

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found."""
        return self.triage.findings


class MapDesk(CaseDesk):
    """A case whose snapshots were mapped."""

    def __init__(self, case: Case, state: StateMap, result: Result) -> None:
        self.state = state
        super().__init__(case, result)

    def _answer(self, answer: StateMap) -> None:
        self.state = answer

    def _conversations(self) -> Mapping[Key, Any]:
        return {(c["source"], c["conversation_id"]): c for c in self.state.conversations}

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found."""
        return self.state.findings


class RunDesk(ResultDesk, ABC):
    """A drill that was run, and that can be run again."""

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self._look()

    @abstractmethod
    def _look(self) -> None:
        """Look at the result."""

    def replace(self, result: Result) -> None:
        """Another run takes the place of this one."""
        with self.lock:
            self.result = result
            self._look()
            for reader in self._of_case:
                reader()


class RehearsalDesk(RunDesk):
    """A drill that answers in words."""

    def _look(self) -> None:
        self.answered = rehearsal_view(self.result)
        #: What a restore would lose, a conversation each; nothing for another drill.
        self.lost = lost_lines(self.result)
        #: What a migration does, with all conversations; None for another drill.
        self.migration = migration_view(
            self.result, most=len(self.result.answer.get("conversations", ()))
        )
        places = [*self.result.run.get("locators", ()), *[""] * len(self.result.sources)]
        #: Sources as they stand in a result, each with its locator.
        self.sources: Sequence[Mapping[str, Any]] = [
            {**source, "locator": place or source["name"]}
            for source, place in zip(self.result.sources, places, strict=False)
        ]


class DrillDesk(RunDesk):
    """A drill that was run, and a chosen policy and point."""

    chosen: Key | None = None

    def _look(self) -> None:
        self.drill = drill_view(self.result)
        self.points: Mapping[Key, Point] = {
            (point.policy, point.name): point
            for point in (self.drill.all_points() if self.drill else ())
        }
        points, before = self.points, self.chosen
        # The same point stays chosen, if another run has it.
        if before not in points:
            self.chosen = min(points, key=lambda key: telling(points[key]), default=None)

    @property
    def point(self) -> Point | None:
        """The chosen point."""
        return None if self.chosen is None else self.points[self.chosen]

    def choose(self, key: Key) -> None:
        """A point is chosen in one view, and the others follow."""
        with self.lock:
            if key != self.chosen and key in self.points:
                self.chosen = key
                for reader in self._of_choice:
                    reader()
