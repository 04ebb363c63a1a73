"""The reconciliation drill: what did the tools really do of what the log asks for?

A log can be replayed without knowing whether a call was made just before the crash. The ledgers of
the tool systems are the other witness.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from axnb.case.case import Case
from axnb.drills.reconciliation.answer import Reconciled, reconciliation_result
from axnb.drills.reconciliation.judged import counts, judged
from axnb.drills.reconciliation.matching import match
from axnb.drills.reconciliation.options import FIRST_DAY, ReconciliationOptions
from axnb.evidence.load import LoadOptions
from axnb.loading import load_ledgers, load_or_reuse, load_witnesses
from axnb.result import Result
from axnb.started import Started
from axnb.triaging.look import Look

__all__ = ["ReconciliationOptions", "run"]


def run(
    options: ReconciliationOptions | None = None,
    progress: Callable[[str], None] = lambda _: None,
    **asked: Any,
) -> Result:
    """Hold the calls of logs against ledgers. `progress` hears what is done next, in a few words.

    `run(sources=["log.sqlite"], ledgers=[Ledger("bank", "bank.csv")])` is short for
    `run(ReconciliationOptions(…))`. Sources are only read. Raises SourceError if no log can be
    read, UsageError for what cannot be meant.
    """
    options = options or ReconciliationOptions(**asked)
    started = Started()
    with Case(options.case, options.settings) as case:
        progress("reading the log")
        load_or_reuse(case, options.sources, LoadOptions(live=options.live))
        skipped = load_witnesses(case, (), options.server_logs).skipped
        progress("reading the ledgers")
        unread = load_ledgers(case, options.ledgers).skipped
        progress("matching")
        with case.reading() as session:
            since = options.since or FIRST_DAY
            until = options.until or started.started
            match(session, _naive(since), _naive(until), is_whole=not unread)
            done = Reconciled(
                counts=counts(session),
                judged=judged(session, options.settings.tools),
                sources=Look(session, ()).sources(),
                skipped=(*skipped, *unread),
                since=since,
                until=until,
            )
    return reconciliation_result(options, done, started)


def _naive(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(tzinfo=None)
