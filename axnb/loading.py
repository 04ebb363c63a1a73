"""Load what a user names into a case, with what the checks find in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from axnb.ax.behaviour import Harness
from axnb.ax.config import AxConfig, HarnessConfig, read_config
from axnb.case.case import Case, ask, has_rows
from axnb.case.comparing import compare
from axnb.case.contexts import keep_now
from axnb.checks.kept import keep_findings
from axnb.errors import SourceError, UsageError
from axnb.evidence.buckets import BucketLocator
from axnb.evidence.ledgers.load import Ledger, load_ledger
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import Located, locate
from axnb.evidence.oddities import look_again
from axnb.evidence.records import load_records
from axnb.evidence.snapshots import load_snapshots
from axnb.evidence.witnesses import CLIENT, SERVER_LOG, load_witness
from axnb.secrets.payloads import look_for_secrets
from axnb.settings import DSN_VARIABLE, Secrets
from axnb.text import is_path


@dataclass(frozen=True)
class Loaded:
    """What became of the sources that were named."""

    #: Harnesses that an ax.yaml among them registers, the default first.
    harnesses: tuple[Harness, ...] = ()
    #: Why a source could not be read, a sentence each: for whoever named it, and without the
    #: folder, for a result.
    told: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def load(
    case: Case,
    sources: Sequence[str] = (),
    options: LoadOptions | None = None,
    progress: Callable[[int], None] | None = None,
    ax_config: Path | None = None,
) -> Loaded:
    """Load event logs; without a source, the one that AX_EVENTLOG_DSN names.

    `ax_config` is an ax.yaml that says what would run all of them now. One of several logs that
    cannot be read does not hide the others. Raises UsageError, or SourceError if none can be read,
    or the ax.yaml; what the case held of a source before stays.
    """
    environment = case.settings.environment
    config = _read(case, ax_config)
    if not sources and not environment.get(DSN_VARIABLE):
        raise UsageError(f"name a log (a path or a DSN), or set {DSN_VARIABLE}.")
    located: list[Located] = [locate(text, environment) for text in sources or (DSN_VARIABLE,)]
    errors: list[tuple[SourceError, str]] = []
    is_looked_at = False
    for one in located:
        # Checks read all sources: where there are several, they run after the last one.
        is_last = one is located[-1]
        after = partial(
            _look,
            config.configs if config else one.configs,
            is_last,
            case.settings.secrets,
        )
        try:
            load_log(case, one.log, options, progress, after)
            is_looked_at = is_last
        except SourceError as err:
            errors.append((err, str(one.log)))
    if len(errors) == len(located):
        found = [err for err, _ in errors]
        raise found[0] if len(found) == 1 else SourceError(" ".join(map(str, found)))
    if not is_looked_at:
        with case.writing() as session:
            keep_findings(session)
    harnesses = next((f.harnesses for f in located if f.harnesses), ())
    return Loaded(config.harnesses if config else harnesses, *_skipped(errors))


def load_or_reuse(
    case: Case,
    sources: Sequence[str],
    options: LoadOptions | None = None,
    progress: Callable[[int], None] | None = None,
    ax_config: Path | None = None,
) -> Loaded:
    """Load event logs; if none is named, what a case file holds already is enough."""
    if sources or case.path is None or not case.path.exists():
        return load(case, sources, options, progress, ax_config)
    config = _read(case, ax_config)
    if config is None:
        return Loaded()
    with case.writing() as session:
        for found in ask(session, "sources"):
            if found["kind"] == "eventlog":
                keep_now(session, found["name"], config.configs)
        keep_findings(session)
    return Loaded(config.harnesses)


def _read(case: Case, ax_config: Path | None) -> AxConfig | None:
    return None if ax_config is None else read_config(ax_config, case.settings.environment)


def look_closer(
    session: duckdb.DuckDBPyConnection, source: str, secrets: Secrets | None = None
) -> None:
    """Prepare what checks read and no reader needs: comparisons, oddities of rows, secrets."""
    compare(session, source)
    look_again(session, source)
    look_for_secrets(session, source, secrets)


def _look(
    configs: Sequence[HarnessConfig],
    is_last: bool,
    secrets: Secrets,
    session: duckdb.DuckDBPyConnection,
    source: str,
) -> None:
    look_closer(session, source, secrets)
    if configs:
        keep_now(session, source, configs)
    if is_last:
        keep_findings(session)


def held(case: Case, source: str) -> Loaded | None:
    """What a case file holds of a source already, named as for `load` or as in the case.

    None if it holds nothing of it. The source itself is not looked at.
    """
    if case.path is None or not case.path.exists():
        return None
    with case.reading() as session:
        known = {found["name"]: found["locator"] for found in ask(session, "sources")}
    if source in known and not Path(source).exists():
        return Loaded()
    located = locate(source, case.settings.environment)
    if any(located.log.is_at(locator) for locator in known.values()):
        return Loaded(located.harnesses or ())
    return None


def load_witnesses(
    case: Case,
    clients: Sequence[Path | str] = (),
    server_logs: Sequence[Path | str] = (),
) -> Loaded:
    """Load client transcripts and server logs; one that cannot be read does not hide the others."""
    errors = []
    named = [(CLIENT, path) for path in clients] + [(SERVER_LOG, path) for path in server_logs]
    for witness, path in named:
        try:
            load_witness(case, Path(path), witness)
        except SourceError as err:
            errors.append((err, str(path)))
    return Loaded((), *_skipped(errors))


def load_ledgers(case: Case, ledgers: Sequence[Ledger]) -> Loaded:
    """Load ledgers of tool systems; one that cannot be read does not hide the others."""
    errors = []
    for ledger in ledgers:
        try:
            load_ledger(case, ledger)
        except SourceError as err:
            errors.append((err, ledger.place))
    return Loaded((), *_skipped(errors))


def load_state(
    case: Case,
    snapshots: Sequence[str] = (),
    records: Sequence[Path | str] = (),
    *,
    verify: bool = False,
    everywhere: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Loaded:
    """Load buckets of snapshots and exports of the control plane.

    One that cannot be read does not hide the others. `verify` reads every object of a snapshot to
    its end; `everywhere` says that the exports were taken of all atespaces. A folder stands for the
    exports in it, in the order of their names. Raises UsageError for what cannot be meant.
    """
    if not snapshots and not records:
        # A case that nobody may write can still be asked.
        return Loaded()
    located = [BucketLocator.parse(text, case.settings.environment) for text in snapshots]
    errors: list[tuple[SourceError, str]] = []
    if records:
        try:
            load_records(case, _exports(records), everywhere=everywhere)
        except SourceError as err:
            errors.append((err, str(records[0])))
    for locator in located:
        try:
            load_snapshots(case, locator, verify=verify, progress=progress)
        except SourceError as err:
            errors.append((err, str(locator)))
    _find_again(case)
    return Loaded((), *_skipped(errors))


def _exports(named: Sequence[Path | str]) -> list[Path]:
    """The files that are named, and those of the folders that are. Raises SourceError."""
    found: list[Path] = []
    for path in map(Path, named):
        if not is_path(str(path)) or not path.is_dir():
            found.append(path)
            continue
        exports = sorted(one for one in path.iterdir() if one.suffix == ".json" and one.is_file())
        if not exports:
            raise SourceError(f"{path} holds no export: no file in it ends in .json.")
        found += exports
    return found


def _find_again(case: Case) -> None:
    """Look for findings once more where what is kept of them is not true any more."""
    with case.writing() as session:
        if has_rows(session, "conversation_numbers") and not ask(
            session, "meta", {"name": "findings"}
        ):
            keep_findings(session)


def _skipped(errors: Sequence[tuple[SourceError, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was wrong with which place: in full, and without the folder that it is in."""
    told = tuple(str(err) for err, _ in errors)
    return told, tuple(_without_folder(str(err), place) for err, place in errors)


def _without_folder(sentence: str, place: str) -> str:
    """A sentence about a file without the folder: the result of a triage does not tell where its
    sources lie, and is the same for a copy that lies elsewhere."""
    if "://" in place:
        return sentence
    for path in (os.path.realpath(place), place):
        if name := os.path.basename(path):
            sentence = sentence.replace(path, name)
    return sentence
