"""The drill itself: backups of every kind, restored and served, with real servers."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from axnb.drills.restore import RestoreOptions, run
from axnb.errors import SourceError, UsageError
from axnb.result import Result
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.ax_logs import ROOT, RealLog
from tests.runtimes.ax_binary import wrapper

Drill = Callable[..., Result]


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Drill:
    """Runs a drill that leaves nothing in its scratch and no source changed."""

    def drilled(**asked: Any) -> Result:
        scratch = tmp_path_factory.mktemp("scratch")
        places = [Path(asked[k]) for k in ("source", "backup") if k in asked]
        before = {path: _listed(path.parent) for path in places if path.exists()}
        settings = Settings(scratch=scratch, environment={})
        result = run(RestoreOptions(settings=settings, **asked))
        assert list(scratch.iterdir()) == []
        assert {path: _listed(path.parent) for path in before} == before
        return result

    return drilled


def _listed(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy log: finished conversations, and one that waits for a result."""
    built = LogBuilder("G8")
    for n in range(3):
        paid = (call("charge_card", {"n": n}), answer({"ok": True}))
        built.turn("pays", f"charge {n}", *paid, say("done"))
        built.turn("talks", f"hello {n}", say("hi"))
    built.interrupted("cut", "charge", call("charge_card", {"n": 9}))
    return built.write_sqlite(tmp_path_factory.mktemp("log") / "log.sqlite")


def verdicts(result: Result) -> dict[str, str]:
    return {f"{s['point']} {s['check']}": s["verdict"] for s in result.steps}


def bad(result: Result) -> dict[str, str]:
    return {key: word for key, word in verdicts(result).items() if word != "ok"}


def without_run(result: Result) -> dict[str, Any]:
    return {key: value for key, value in result.as_dict().items() if key != "run"}


ALL = [
    *(f"consistent {check}" for check in ("backup", "store", "decoded", "apart")),
    *(f"complete {check}" for check in ("rows", "loss", "numbers")),
    *(f"usable {check}" for check in ("first-write", "goes-on", "quiet")),
]


def test_a_healthy_log_is_restored_in_all_three_words(drill: Drill, log: Path) -> None:
    result = drill(source=str(log))
    assert (result.verdict, bad(result)) == ("ok", {})
    assert sorted(verdicts(result)) == sorted(ALL)
    assert result.measures["rows"] == 26
    assert [result.measures[f"rpo_{what}"] for what in ("steps", "conversations", "effects")] == [
        0
    ] * 3
    assert result.run["rto_seconds"] > 0
    assert result.run["phases"].keys() >= {"take", "judge", "start AX", "first answers"}
    quiet = next(s for s in result.steps if s["check"] == "quiet")
    assert "got no request" in quiet["observed"]
    asked = {
        e["conversation_id"]: e for s in result.steps for e in s["evidence"] if e["kind"] == "asked"
    }
    # An interrupted one stays interrupted, and is refused as AX refuses it.
    assert (asked["cut"]["predicted"], asked["cut"]["new_steps"]) == ("blocked", [])
    assert asked["talks"]["new_steps"] == [10, 11, 12]


@pytest.mark.slow
def test_what_is_kept_is_the_backup_and_the_log_as_it_was_served(log: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run(RestoreOptions(source=str(log), keep=kept, settings=Settings(environment={})))
    assert {path.name for path in kept.iterdir()} >= {"backup", "served.sqlite", "embedded"}
    with closing(sqlite3.connect(kept / "served.sqlite")) as served:
        ((rows,),) = served.execute("select count(*) from conversation_log").fetchall()
    assert rows == 26 + 3 * 3


@pytest.mark.slow
@pytest.mark.parametrize("how", ["backup", "vacuum", "copy"])
def test_two_runs_differ_in_what_ran_alone(drill: Drill, log: Path, how: str) -> None:
    first, again = (drill(source=str(log), how=how) for _ in range(2))
    assert first.verdict == "ok"
    assert without_run(first) == without_run(again)


def test_a_restore_of_what_a_real_server_left_is_judged_beside_it(
    drill: Drill, tmp_path: Path
) -> None:
    """Copied without the journal that would roll it back, a commit looks as if it had ended."""
    folder = ROOT / "hot-journal-sqlite"
    alone = tmp_path / "backup.sqlite"
    alone.write_bytes((folder / "log.sqlite").read_bytes())
    result = drill(source=str(folder / "log.sqlite"), backup=alone)
    assert result.verdict == "failed"
    assert bad(result) == {"consistent backup": "failed", "complete rows": "failed"}
    assert "busy step 27" in next(s["observed"] for s in result.steps if s["check"] == "rows")


def changed(log: Path, path: Path, script: str) -> Path:
    path.write_bytes(log.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


_AS_BLOB = "update conversation_log set payload = cast(payload as blob)"
_REFUSES = """create trigger no_more before insert on conversation_log
begin select raise(abort, 'no'); end"""
_OTHER = """drop table conversation_log;
create table conversation_log (id integer primary key, role text, content text)"""

#: A backup made bad: how, and the checks that turn; whatever could not be reached is not run.
BAD: dict[str, tuple[Callable[[Path, Path], Path], dict[str, str]]] = {
    "no bytes": (lambda log, path: _written(path, b""), {"consistent backup": "failed"}),
    "zeros": (lambda log, path: _written(path, bytes(8192)), {"consistent backup": "failed"}),
    "half": (
        lambda log, path: _written(path, log.read_bytes()[: log.stat().st_size // 2]),
        {"consistent backup": "failed"},
    ),
    "another database": (
        lambda log, path: changed(log, path, _OTHER),
        {"consistent backup": "failed"},
    ),
    "text as blob": (
        lambda log, path: changed(log, path, _AS_BLOB),
        {"consistent store": "failed"},
    ),
    "first write": (
        lambda log, path: changed(log, path, _REFUSES),
        {
            "consistent store": "inconclusive",
            "usable first-write": "failed",
            "usable goes-on": "failed",
        },
    ),
    "no row": (
        lambda log, path: changed(log, path, "delete from conversation_log"),
        {"consistent decoded": "failed"},
    ),
}


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, marks=() if turned == {"consistent backup": "failed"} else pytest.mark.slow
        )
        for kind, (_, turned) in BAD.items()
    ],
)
def test_a_bad_backup_is_never_ok(drill: Drill, log: Path, tmp_path: Path, kind: str) -> None:
    make, turned = BAD[kind]
    result = drill(source=str(log), backup=make(log, tmp_path / "backup.sqlite"))
    assert result.verdict == "failed"
    assert turned.items() <= bad(result).items()
    if turned == {"consistent backup": "failed"}:
        rest = {key: word for key, word in verdicts(result).items() if key not in turned}
        assert set(rest.values()) == {"not-run"}
        assert result.measures["rpo_steps"] is None
        assert result.run["rto_seconds"] is None


@pytest.mark.slow
def test_a_seal_tells_without_the_source(drill: Drill, log: Path, tmp_path: Path) -> None:
    sealed = drill(source=str(log))
    sealed.write(tmp_path / "sealed")
    result = drill(backup=log, seal=tmp_path / "sealed")
    assert verdicts(result)["complete seal"] == "ok"
    shorter = changed(
        log, tmp_path / "shorter.sqlite", "delete from conversation_log where step > 8"
    )
    short = drill(backup=shorter, seal=tmp_path / "sealed")
    assert verdicts(short)["complete seal"] == "failed"
    # It tells where each conversation went on to, and so what is lost.
    assert (verdicts(short)["complete loss"], short.measures["rpo_steps"]) == ("failed", 8)
    assert verdicts(result)["complete loss"] == "inconclusive"
    other = changed(
        log,
        tmp_path / "other.sqlite",
        "update conversation_log set payload = replace(payload, 'hello 1', 'hullo 1')",
    )
    assert verdicts(drill(backup=other, seal=tmp_path / "sealed"))["complete seal"] == "failed"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g8-postgres", "g6-builtin-postgres"])
def test_a_dump_of_a_real_log_goes_into_a_server_of_its_own(
    drill: Drill, postgres: Any, name: str
) -> None:
    dsn = postgres.create_database()
    postgres.execute(RealLog(ROOT / name).dump, dsn)
    result = drill(source=dsn)
    assert (result.verdict, bad(result)) == ("ok", {})
    source = next(s for s in result.sources if s["kind"] == "eventlog")
    assert result.run["restored"]["system_identifier"] != source["custody"]["system_identifier"]


@pytest.mark.slow
def test_a_binary_is_asked_as_its_own_version(drill: Drill, log: Path, tmp_path: Path) -> None:
    fitting = drill(source=str(log), ax_bin=[wrapper(tmp_path, "G8", name="ax-8")])
    assert (fitting.verdict, verdicts(fitting)["usable real-ax-8"]) == ("ok", "ok")
    assert "ax-8 is axnb's own program, and proves no AX binary." in fitting.scope
    other = drill(source=str(log), ax_bin=[wrapper(tmp_path, "G6", name="ax-6")])
    assert (other.verdict, verdicts(other)["usable real-ax-6"]) == ("inconclusive", "not-run")


def test_what_cannot_be_meant_is_refused(log: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name a log"):
        RestoreOptions()
    with pytest.raises(UsageError, match="--how says"):
        RestoreOptions(backup=log, how="vacuum")
    with pytest.raises(SourceError, match="does not exist"):
        run(source=str(tmp_path / "nowhere.sqlite"))
