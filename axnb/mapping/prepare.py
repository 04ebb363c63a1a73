"""Make ready what the map shows and the checks of snapshots read: links, judgements, relations."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from axnb.case.case import ask, has_rows, run_sql
from axnb.mapping.judging import Judge, Judged, Templates
from axnb.settings_target import TargetSettings

_JUDGED = pa.schema(
    [
        (name, pa.string())
        for name in ("source", "snapshot", "restorable", "rule", "because", "code", "reason")
    ]
)
_TIMES = pa.schema(
    [
        ("source", pa.string()),
        ("conversation_id", pa.string()),
        ("first_seen", pa.timestamp("us")),
        ("last_seen", pa.timestamp("us")),
        ("last_written", pa.timestamp("us")),
        ("heard_until", pa.timestamp("us")),
    ]
)

Key = tuple[str, str]

#: One of these has rows where a bucket or records were loaded; an empty bucket has none.
_TABLES = ("bucket_scopes", "actors", "record_coverage")


def is_loaded(session: duckdb.DuckDBPyConnection) -> bool:
    """Does the case hold a bucket or records?"""
    return any(has_rows(session, table) for table in _TABLES)


def prepare(session: duckdb.DuckDBPyConnection, target: TargetSettings | None) -> dict[Key, Judged]:
    """Make the temp tables of `links.sql`, `mapped.sql` and `relations.sql`; the judgements."""
    run_sql(session, "mapping", "links.sql")
    judge = Judge(target, _templates(session))
    found = {(row["source"], row["snapshot"]): judge.judge(row) for row in ask(session, "linked")}
    session.register("judged", _judged(found))
    values = {"writer": target.layout if target else None, "has_target": target is not None}
    run_sql(session, "mapping", "mapped.sql", values)
    has_times = any(has_rows(session, table) for table in ("server_events", "executions"))
    times = ask(session, "times") if has_times else []
    session.register("log_times", pa.Table.from_pylist(times, schema=_TIMES))
    run_sql(session, "mapping", "relations.sql")
    return found


def _templates(session: duckdb.DuckDBPyConnection) -> Templates:
    found = ask(session, "template_facts")
    return Templates(
        created={f["template"]: f["created"] for f in found if f["created"]},
        from_data={f["template"]: f["from_data"] for f in found if f["from_data"]},
        golden={
            f["template"]: f["golden"] or ("unknown" if f["has_golden"] else "") for f in found
        },
        assets={f["template"]: frozenset(f["assets"]) for f in found if f["assets"]},
    )


def _judged(found: Mapping[Key, Judged]) -> pa.Table:
    rows = [
        {
            "source": source,
            "snapshot": snapshot,
            "restorable": judged.decision.restorable,
            "rule": judged.decision.rule,
            "because": judged.decision.because,
            "code": judged.decision.code,
            "reason": judged.decision.reason,
        }
        for (source, snapshot), judged in found.items()
    ]
    return pa.Table.from_pylist(rows, schema=_JUDGED)
