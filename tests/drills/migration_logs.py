"""A small log for migration drills, and a migration drill up to its copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

from axnb.case.case import Case
from axnb.drills.migration.asking import Bench
from axnb.drills.migration.ground import Ground, Migrate
from axnb.drills.migration.options import MigrationDrillOptions
from axnb.drills.migration.reading import read_log, registered
from axnb.drills.migration.stores import open_store
from axnb.evidence.locators import locate
from axnb.migrating import Migrated, MigrationOptions, migrate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say, think


def small(generation: str) -> LogBuilder:
    """A finished conversation, an interrupted one, and one of a harness of its own."""
    log = LogBuilder(generation)
    paid = [think("It is nine."), call("charge_card", {"amount": 9}), answer({"ok": True})]
    log.turn("done", "Charge the card", *paid, say("Charged."))
    log.interrupted("cut", "Charge the card", call("charge_card", {"amount": 9}))
    log.harness = "drill"
    log.turn("drilled", "Which seat?", say("12A."))
    return log


def executing(statement: str, place: str = "migrated", then: Migrate = migrate) -> Migrate:
    """A migration after which a statement is run on the copy that is called so."""

    def wounded(source: str, destination: str, options: MigrationOptions) -> Migrated:
        done = then(source, destination, options)
        if Path(destination).stem == place:
            with closing(sqlite3.connect(destination)) as copy, copy:
                assert copy.execute(statement).rowcount > 0
        return done

    return wounded


@contextmanager
def ground(
    source: Path, folder: Path, migrate: Migrate = migrate, **asked: Any
) -> Iterator[Ground]:
    """What a drill shares before any server is started; nobody can be asked there."""
    options, settings = MigrationDrillOptions(**asked), Settings(scratch=folder)
    with (
        open_store(locate(str(source), {}).log, "public", folder) as store,
        Case(None, settings) as case,
    ):
        raw = store.take()
        read = read_log(case, raw)
        harnesses = registered(options.declared, options.default, read.owners)
        bench = Bench(cast(Any, None), folder, harnesses)
        yield Ground(options, case, store, bench, raw, read, harnesses, migrate)


def verdicts(of: Ground) -> dict[str, str]:
    """Step -> verdict."""
    return {step["check"]: step["verdict"] for step in of.steps}
