"""What the views of one notebook share: the case, its triage, and what was chosen last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from axnb.case.case import Case
from axnb.result import Result
from axnb.triaging import ACTIONS, ConversationTriage, Triage

Key = tuple[str, str]


@dataclass
class Desk:
    """A triaged case and a chosen conversation, with those who want to know when either changes."""

    case: Case
    triage: Triage
    result: Result
    chosen: Key | None = None
    _on_case: list[Callable[[], None]] = field(default_factory=list)
    _on_choice: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._index()

    def _index(self) -> None:
        #: All conversations, the most urgent first.
        self.urgent = sorted(self.triage.conversations, key=lambda c: ACTIONS.index(c.action))
        self.conversations: dict[Key, ConversationTriage] = {
            (c.source, c.conversation_id): c for c in self.urgent
        }
        if self.chosen not in self.conversations:
            first = next(iter(self.urgent), None)
            self.chosen = None if first is None else (first.source, first.conversation_id)

    def replace(self, case: Case, triage: Triage, result: Result) -> None:
        """Another case takes the place of this one."""
        if case is not self.case:
            self.case.close()
        self.case, self.triage, self.result = case, triage, result
        self._index()
        for reader in (*self._on_case, *self._on_choice):
            reader()

    def choose(self, key: Key) -> None:
        """A conversation is chosen in one view, and the others follow."""
        if key != self.chosen and key in self.conversations:
            self.chosen = key
            for reader in self._on_choice:
                reader()

    def on_case(self, reader: Callable[[], None]) -> None:
        """Call `reader` after another case has taken the place of this one."""
        self._on_case.append(reader)

    def on_choice(self, reader: Callable[[], None]) -> None:
        """Call `reader` after a conversation was chosen, or another case opened."""
        self._on_choice.append(reader)
