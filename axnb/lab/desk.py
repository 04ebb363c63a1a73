"""What the views of one notebook share: the case, its triage, and what was chosen last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock

from axnb.case.case import Case
from axnb.errors import AxnbError
from axnb.result import Result
from axnb.triaging import ConversationTriage, Triage

Key = tuple[str, str]
Reader = Callable[[], None]


@dataclass
class Desk:
    """A triaged case and a chosen conversation, with those who want to know when either changes."""

    case: Case
    triage: Triage
    result: Result
    chosen: Key | None = None
    #: Slow work ends in a thread of its own while a person clicks: whoever changes a view or the
    #: desk holds this.
    lock: RLock = field(default_factory=RLock)
    _of_case: list[Reader] = field(default_factory=list)
    _of_choice: list[Reader] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._index()

    def _index(self) -> None:
        #: All conversations, the most urgent first.
        self.urgent = self.triage.by_urgency()
        self.conversations: dict[Key, ConversationTriage] = {
            (c.source, c.conversation_id): c for c in self.urgent
        }
        if self.chosen not in self.conversations:
            self.chosen = next(iter(self.conversations), None)

    def logs(self) -> list[str]:
        """Names of the sources that are event logs."""
        return [source.name for source in self.triage.sources if source.is_log]

    def label(self, key: Key) -> str:
        """What a conversation is called: its id, with its source where there are several."""
        shown = key[1] or "(empty)"
        return f"{shown} ({key[0]})" if len(self.logs()) > 1 else shown

    def replace(self, case: Case, triage: Triage, result: Result) -> None:
        """Another case takes the place of this one, which is let go of."""
        with self.lock:
            old, self.case, self.triage, self.result = self.case, case, triage, result
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

    def on_case(self, reader: Reader) -> None:
        """Call `reader` when another case was opened."""
        self._of_case.append(reader)

    def on_choice(self, reader: Reader) -> None:
        """Call `reader` when another conversation was chosen."""
        self._of_choice.append(reader)
