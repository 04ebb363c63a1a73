"""What the parts of a migration drill share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from axnb.ax.behaviour import Harness
from axnb.ax.versions import Generation
from axnb.case.case import Case
from axnb.drills.migration.asking import Bench
from axnb.drills.migration.options import MigrationDrillOptions
from axnb.drills.migration.reading import ReadLog, read_log
from axnb.drills.migration.stores import Store
from axnb.drills.steps import Check
from axnb.errors import AxnbError
from axnb.migrating import LossError, Migrated, MigrationOptions
from axnb.result import Verdict

#: Points of the drill, in order.
POINTS = ("matrix", "copy", "serve", "rollback", "plan")

#: What each asks.
TITLES: Mapping[str, str] = {
    "matrix": "What would the target do with the log as it is?",
    "copy": "Does a migrated copy hold all that the log holds?",
    "serve": "Does every conversation go on there, under its owner?",
    "rollback": "Can an interrupted conversation go back, and what stays?",
    "plan": "What does an operator do, step by step?",
}

#: Hears of each step when it is done: its point, its check, and what was found.
Progress = Callable[[str, str, Check], None]


class Migrate(Protocol):
    """`axnb.migrating.migrate`, or what a test puts in its place."""

    def __call__(self, source: str, destination: str, options: MigrationOptions) -> Migrated:
        """Migrate a log into a copy."""


@dataclass(frozen=True)
class Carried:
    """A migration into a copy, and what came of it."""

    target: Generation
    log: str
    migrated: Migrated | None
    #: Why there is no copy; empty where there is one.
    error: str = ""
    #: Of a migration that broke off: was it the log that was refused, or could it not be tried?
    verdict: Verdict = "ok"

    @property
    def losses(self) -> Mapping[str, int]:
        """Paths of what the target cannot hold, with counts."""
        return self.migrated.losses if self.migrated else {}


@dataclass
class Ground:
    """What the parts of a migration drill share."""

    options: MigrationDrillOptions
    case: Case
    store: Store
    bench: Bench
    #: The copy that nobody writes to.
    raw: str
    read: ReadLog
    harnesses: tuple[Harness, ...]
    migrate: Migrate
    steps: list[dict[str, Any]] = field(default_factory=list)
    progress: Progress = lambda *_: None

    @property
    def target(self) -> Generation:
        """The generation that the log is taken to."""
        return self.options.target

    def owners(self) -> dict[str, str]:
        """Who is to own each conversation in a copy."""
        default = self.options.default
        return {c.conversation_id: c.owner_in_copy(default) for c in self.read.conversations}

    def tell(self, point: str, check: str, found: Check) -> None:
        """Keep a step, and say that it is done."""
        self.steps.append({"point": point, "check": check, **found.as_dict()})
        self.progress(point, check, found)

    def carry(self, log: str, name: str, target: Generation) -> Carried:
        """Migrate a copy; every loss is accepted, since it is a rehearsal: it is told instead."""
        place = self.store.place(name)
        try:
            try:
                return Carried(target, place, self.migrate(log, place, self._options(target)))
            except LossError as err:
                accepted = self._options(target, err.unaccepted)
            return Carried(target, place, self.migrate(log, place, accepted))
        except AxnbError as err:
            # An error that is no refusal says nothing of the log.
            verdict: Verdict = "failed" if err.exit_code == 1 else "inconclusive"
            return Carried(target, place, None, self.words(err), verdict)

    def _options(
        self, target: Generation, losses: Mapping[str, int] | None = None
    ) -> MigrationOptions:
        return MigrationOptions(
            target=target.name,
            accept=tuple(losses or ()),
            default_harness=self.options.default,
            settings=self.case.settings,
        )

    def load(self, log: str, generation: Generation | None = None) -> ReadLog:
        """Load a copy beside the log; seen as servers of one generation decode it, or of all."""
        return read_log(self.case, log, generation)

    def words(self, err: AxnbError) -> str:
        """A sentence without the scratch folder: the same in every run."""
        return str(err).replace(str(self.bench.folder), "…")
