"""Load what a user names into a case, with what the checks find in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb

from axnb.ax.behaviour import Harness
from axnb.case.case import Case
from axnb.checks.registry import checks, run_checks
from axnb.errors import UsageError
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import Located, locate
from axnb.settings import DSN_VARIABLE


def load(
    case: Case,
    sources: Sequence[str] = (),
    options: LoadOptions | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Harness, ...]:
    """Load event logs; without a source, the one that AX_EVENTLOG_DSN names.

    Returns the harnesses that an ax.yaml among the sources registers, the default first. Raises
    UsageError or SourceError; a source that fails leaves what the case held of it.
    """
    environment = case.settings.environment
    if not sources and not environment.get(DSN_VARIABLE):
        raise UsageError(f"name a log (a path or a DSN), or set {DSN_VARIABLE}.")
    located: list[Located] = [locate(text, environment) for text in sources or (DSN_VARIABLE,)]
    for found in located:
        load_log(case, found.log, options, progress, after=_keep_findings)
    return next((found.harnesses for found in located if found.harnesses), ())


def _keep_findings(session: duckdb.DuckDBPyConnection, source: str) -> None:
    """Findings that need no server to be asked go into the case with their source."""
    run_checks(session, [check for check in checks() if not check.needs])
    session.execute("insert into findings select * from found where source = ?", [source])
    session.execute("drop table found")
