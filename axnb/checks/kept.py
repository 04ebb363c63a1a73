"""Findings that need no server: found when a source is loaded, kept in the case, read at triage.

They are as good as found anew as long as the checks are the same and no source has come or gone.
`meta` says under `findings` which checks they are of; whoever changes what a check may read takes
that entry away (`load_log` does), and then the checks run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import duckdb

from axnb.case.case import ask, run_sql
from axnb.checks.registry import Check, checks, run_checks


def keep_findings(session: duckdb.DuckDBPyConnection) -> None:
    """Run the checks that need no server over all sources, and keep what they find in the case.

    The key of the digests is kept beside them: it takes a look at every row.
    """
    run_checks(session, _lasting())
    (key,) = ask(session, "digest_key")
    values = {"checks": _fingerprint(), "key": f"{key['mixed']}/{key['events']}"}
    run_sql(session, "case", "queries/keep_findings.sql", values)
    session.execute("drop table found")


def find(session: duckdb.DuckDBPyConnection, asked: str, ready: Collection[str]) -> None:
    """Fill the temp table `found`: what is kept, and what the checks find that need more.

    `asked` is the server's name; `answers` (temp) holds what it does next. `ready`: of what checks
    may need, that for which the tables are there.
    """
    kept = _fingerprint() in _meta(session, "findings")
    wanted = [c for c in checks() if c.needs or not kept]
    wanted = [c for c in wanted if set(c.needs) <= {"answers", *ready}]
    run_checks(session, wanted, {"asked": asked})
    if kept:
        run_sql(session, "case", "queries/take_kept_findings.sql")


def digest_key(session: duckdb.DuckDBPyConnection) -> bytes:
    """A key that whoever has the evidence can derive, and nobody else."""
    seed = next(iter(_meta(session, "digest key")), None)
    if seed is None:
        (key,) = ask(session, "digest_key")
        seed = f"{key['mixed']}/{key['events']}"
    return hashlib.sha256(seed.encode()).digest()


def _lasting() -> list[Check]:
    return [check for check in checks() if not check.needs]


def _fingerprint() -> str:
    """Of the checks whose findings are kept: another version of axnb may have others."""
    told = "\0".join(f"{c.id} {c.name} {c.severity} {c.sql}" for c in _lasting())
    return hashlib.sha256(told.encode()).hexdigest()


def _meta(session: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    return [found["value"] for found in ask(session, "meta", {"name": name})]
