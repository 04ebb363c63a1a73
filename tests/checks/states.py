"""A bucket with what stands beside it, mapped: what `axnb map` finds, for pairs and for kinds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from axnb.case.case import Case
from axnb.loading import load, load_state, load_witnesses
from axnb.mapping import StateMap, state_map
from axnb.result import Finding
from axnb.settings import Settings
from axnb.settings_target import TargetSettings
from axnb.testing.fleet import Fleet
from axnb.testing.logs import LogBuilder
from axnb.testing.records import write_exports
from axnb.testing.state import StateBuilder

#: Whose it is (an actor or a conversation), and the object's key or the snapshot's, after its
#: location: what the finding names.
Found = tuple[str | None, str | None]


@dataclass(frozen=True, repr=False)
class State:
    """A bucket, the records of one or two exports, a log, a target."""

    built: StateBuilder = field(default_factory=StateBuilder)
    #: Exports that are given; None for all of the shape, none for no records at all.
    kinds: tuple[str, ...] | None = None
    second_fleet: Fleet | None = None
    #: Kinds of the second export, where it is not whole.
    second_kinds: tuple[str, ...] | None = None
    log: LogBuilder | None = None
    server_log: tuple[Mapping[str, Any], ...] = ()
    target: TargetSettings | None = None
    verify: bool = False
    everywhere: bool = False
    #: Where the bucket is: by default a folder that is written from `built`.
    locator: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Done to the case after it was loaded, with SQL.
    after: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = {
            "second": self.second_fleet is not None,
            "log": self.log is not None,
            "verify": self.verify,
            "everywhere": self.everywhere,
            "kinds": self.kinds,
        }
        return f"State({self.built!r}, {told})"

    @property
    def settings(self) -> Settings:
        """The settings of a case that holds it."""
        return Settings(target=self.target, environment=dict(self.environment))

    def load(self, case: Case, folder: Path) -> None:
        """Write it all into a folder and load it."""
        built, now = self.built, self.built.now
        kinds = built.kinds() if self.kinds is None else self.kinds
        records = write_exports(folder, built.fleet, built.shape, kinds, now)
        if self.second_fleet is not None:
            more = kinds if self.second_kinds is None else self.second_kinds
            fleet, shape = self.second_fleet, built.shape
            records += write_exports(folder, fleet, shape, more, now, "second-")
        if not self.locator:
            (folder / "bucket").mkdir()
            built.bucket.write(folder / "bucket")
        if self.log is not None and self.log.rows:
            load(case, [str(self.log.write_sqlite(folder / "log.sqlite"))])
        if self.server_log:
            text = "".join(f"{json.dumps(line)}\n" for line in self.server_log)
            (folder / "server.log").write_text(text, encoding="utf-8")
            assert load_witnesses(case, [], [folder / "server.log"]).skipped == ()
        place = self.locator or str(folder / "bucket")
        loaded = load_state(case, [place], records, verify=self.verify, everywhere=self.everywhere)
        assert loaded.told == ()
        if self.after:
            with case.writing() as session:
                for statement in self.after:
                    session.execute(statement)


def mapped(state: State) -> StateMap:
    """The map of a state."""
    with tempfile.TemporaryDirectory() as folder, Case(settings=state.settings) as case:
        state.load(case, Path(folder))
        return state_map(case)


Make = Callable[[], State]


@cache
def look(make: Make) -> StateMap:
    """The map of what a function makes, made once."""
    return mapped(make())


@dataclass(frozen=True)
class StatePair:
    """A state with the wound of a check, one without it, and what must be found in the first."""

    wounded: Make
    found: list[Found]
    healthy: Make


def seen(found: StateMap, identity: str, location: str = "ax-agent") -> list[Found]:
    """What the findings of one class name."""
    return sorted(
        (
            (f.actor or f.conversation_id, _tail(f, location))
            for f in found.findings
            if f.id == identity
        ),
        key=repr,
    )


def _tail(finding: Finding, location: str) -> str | None:
    named = finding.object or finding.snapshot
    return named.removeprefix(f"{location}/") if named else None


def severe(found: StateMap) -> list[Finding]:
    """Findings above info."""
    return [finding for finding in found.findings if finding.severity != "info"]


# --- states that several modules begin with -------------------------------------------------------


def state_of(built: StateBuilder, *, logged: bool = False, **options: Any) -> State:
    """What a builder holds, with its log and its server's log where asked."""
    if logged:
        options = {"log": built.log, "server_log": tuple(built.server_log)} | options
    return State(built, **options)


def changed(make: Make, **options: Any) -> Make:
    """The same with other options."""
    return lambda: replace(make(), **options)


def alone(
    shape: str = "august", generation: str = "", sandbox_class: str = "gvisor"
) -> StateBuilder:
    """A template and one actor, `conv-0001`, with one snapshot."""
    built = StateBuilder(shape, generation, sandbox_class)
    built.template()
    built.actor()
    return built


@cache
def last(shape: str = "august", generation: str = "", sandbox_class: str = "gvisor") -> str:
    """The prefix of the last snapshot that `alone` writes, after its location."""
    return alone(shape, generation, sandbox_class).built[-1].prefix.removeprefix("ax-agent/")
