"""Sources are read and never touched, and what was copied of them is private and soon gone."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.case.case import Case
from axnb.case.custody import PrivateCopy
from axnb.errors import SourceChangedError, SourceError
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call
from axnb.triaging import triage

REPOSITORY = Path(__file__).parents[1]
HOT_JOURNAL = Path(__file__).parent / "data" / "ax-logs" / "hot-journal-sqlite"
NOBODY = 65534

Cli = Callable[..., Result]


# --- sources of every kind -----------------------------------------------------------------------


def _builder() -> LogBuilder:
    log = LogBuilder("G6")
    log.turn("healthy", "hi", call("charge_card", {"amount": 9}), answer({"ok": True}))
    log.interrupted("stopped", "hi", call("charge_card", {"amount": 9}))
    return log


def _plain(folder: Path) -> None:
    _builder().write_sqlite(folder / "log.sqlite")


def _wal(folder: Path) -> None:
    """A database whose newest rows are in its -wal, as a killed writer leaves it."""
    with tempfile.TemporaryDirectory() as aside, _wal_writer(Path(aside, "log.sqlite")):
        for path in Path(aside).iterdir():
            shutil.copyfile(path, folder / path.name)


@contextmanager
def _wal_writer(path: Path) -> Iterator[sqlite3.Connection]:
    """A writer that has committed all rows into the -wal, and is still there."""
    log = _builder()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute(log.ddl())
        rows = [(row.conversation_id, row.step, row.payload) for row in log.rows]
        writer.executemany("insert into conversation_log values (?, ?, ?)", rows)
        yield writer


def _hot_journal(folder: Path) -> None:
    for packed in HOT_JOURNAL.glob("*.xz"):
        (folder / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))


def _damaged(folder: Path) -> None:
    """400 rows of 900 bytes, and 200 zeros in the middle of a page."""
    log = LogBuilder("G6")
    for number in range(200):
        log.turn(f"c{number:03}", "x" * 900)
    path = log.write_sqlite(folder / "log.sqlite")
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 8192 * 4096 + 8)
        file.write(bytes(200))


def _wal_alone(folder: Path) -> None:
    """A database in WAL mode that was closed in order: no -wal is beside it."""
    _builder().write_sqlite(folder / "log.sqlite", pragmas=["journal_mode = wal"])


def _empty(folder: Path) -> None:
    (folder / "log.sqlite").touch()


def _text(folder: Path) -> None:
    (folder / "log.sqlite").write_text("no database\n" * 100)


KINDS: dict[str, Callable[[Path], None]] = {
    "plain": _plain,
    "wal": _wal,
    "wal-alone": _wal_alone,
    "hot-journal": _hot_journal,
    "damaged": _damaged,
    "empty": _empty,
    "text": _text,
}
READABLE = ("plain", "wal", "wal-alone", "hot-journal", "damaged")


def _make(kind: str, folder: Path) -> Path:
    folder.mkdir()
    KINDS[kind](folder)
    return folder / "log.sqlite"


# --- the same before and after -------------------------------------------------------------------


def _state(path: Path) -> tuple[Any, ...]:
    about = path.lstat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return stat.filemode(about.st_mode), about.st_size, about.st_mtime_ns, content


def snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Everything about a tree that a reader could change, but the times of access."""
    return {str(path): _state(path) for path in (folder, *sorted(folder.rglob("*")))}


def _verbs(log: Path, other: Path, case: Path) -> list[list[str | Path]]:
    return [
        ["triage", log, other, "--all", "--wal", "ignore"],
        ["load", log, other, "--case", case],
        ["show", log, "stopped", "--reveal"],
        ["triage", log, "--json", "--ax-version", "v0.2.3", "--conversation", "stopped"],
        ["triage", log, "--ax-version", "G9"],
        ["triage", "--case", case],
        ["show", log, "nobody", "--case", case],
        ["sql", "select count(*) from events", "--case", case],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_leaves_the_source_as_it_was(axnb: Cli, kind: str, tmp_path: Path) -> None:
    # All verbs read a source as these three do.
    _check_verbs(axnb, kind, tmp_path, slice(None) if kind == "plain" else slice(3))


@pytest.mark.slow
def test_every_verb_leaves_a_hot_journal_as_it_was(axnb: Cli, tmp_path: Path) -> None:
    _check_verbs(axnb, "hot-journal", tmp_path, slice(None))


def _check_verbs(axnb: Cli, kind: str, tmp_path: Path, which: slice) -> None:
    log, other = _make(kind, tmp_path / "source"), _make("plain", tmp_path / "other")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "axnb.toml").write_text(f"scratch = '{scratch}'")
    before = snapshot(log.parent), snapshot(other.parent)
    for verb in _verbs(log, other, tmp_path / "case.duckdb")[which]:
        axnb(*verb)
        assert (snapshot(log.parent), snapshot(other.parent)) == before, verb
        # The spill folder belongs to the case, which a caught error may keep alive for a while.
        left = [path for path in scratch.iterdir() if not path.name.startswith("axnb-spill-")]
        assert left == [], verb


def test_what_is_read_of_each_kind(tmp_path: Path) -> None:
    """The test above would pass for a reader that reads nothing."""
    read = {}
    for kind in READABLE:
        with Case(settings=Settings()) as case:
            load_log(case, locate(str(_make(kind, tmp_path / kind)), {}).log)
            read[kind] = case.rows("select read from sources")[0][0]
    assert read == {"plain": 6, "wal": 6, "wal-alone": 6, "hot-journal": 29, "damaged": 400}


def test_a_source_that_is_named_as_the_case_is_not_written(axnb: Cli, tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    before = snapshot(log.parent)
    result = axnb("load", log, "--case", log)
    assert result.exit_code == 4
    assert snapshot(log.parent) == before


@pytest.mark.slow
def test_the_demo_leaves_the_sample_data_as_it_was(
    axnb: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    before = snapshot(REPOSITORY / "sample_data"), snapshot(REPOSITORY / "notebooks")
    result = axnb("demo", "--out", "out")
    assert result.exit_code == 0, result.stderr
    assert (snapshot(REPOSITORY / "sample_data"), snapshot(REPOSITORY / "notebooks")) == before
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"result.json", "report.html", "junit.xml", "report.md", "01_triage.ipynb"}


# --- as a normal user, in a folder that lets nobody write ----------------------------------------

_DRIVER = """
import json, sys
from click.testing import CliRunner
from axnb.cli import main
print(json.dumps([CliRunner().invoke(main, verb).exit_code for verb in json.load(sys.stdin)]))
"""


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def normal_user() -> Iterator[Path]:
    """A folder of a normal user, whom we become if we are root: `_as_user` runs there."""
    folder = Path(tempfile.mkdtemp(prefix="axnb-test-"))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def _as_user(arguments: list[str], folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is needed to become a normal user")
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return subprocess.run(
        [*prefix, sys.executable, *arguments],
        cwd=folder,
        env=_environment(folder),
        input=text,
        capture_output=True,
        text=True,
    )


def _lock(folder: Path) -> None:
    """Give a folder to the normal user, who may read it and not write."""
    for path in (*folder.iterdir(), folder):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.mark.slow
def test_a_normal_user_in_a_read_only_folder(normal_user: Path) -> None:
    logs = {kind: _make(kind, normal_user / kind) for kind in KINDS}
    for log in logs.values():
        _lock(log.parent)
    before = {kind: snapshot(log.parent) for kind, log in logs.items()}
    verbs = [["triage", str(log)] for log in logs.values()]
    verbs += [["load", str(logs["wal"]), "--case", str(normal_user / "case.duckdb")]]
    run = _as_user(["-c", _DRIVER], normal_user, json.dumps(verbs))
    if run.returncode:
        pytest.skip(f"a normal user cannot run axnb here: {run.stderr.splitlines()[-1:]}")
    codes = dict(zip([*KINDS, "load"], json.loads(run.stdout), strict=True))
    assert codes.pop("damaged") in (1, 3)
    assert codes == {
        **dict.fromkeys(("plain", "wal", "wal-alone", "hot-journal"), 1),
        **dict.fromkeys(("empty", "text"), 3),
        "load": 0,
    }
    assert {kind: snapshot(log.parent) for kind, log in logs.items()} == before
    assert list(normal_user.glob("axnb-*")) == [], "private copies and spills are gone"


# --- the private copy ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "wal", "hot-journal"])
@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_the_copy_is_private(kind: str, mask: int, tmp_path: Path) -> None:
    log = _make(kind, tmp_path / "source")
    previous = os.umask(mask)
    try:
        with PrivateCopy(log, scratch=tmp_path) as copy:
            folder = copy.path.parent
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert {p.name for p in folder.iterdir()} == {p.name for p in log.parent.iterdir()}
            for path in folder.iterdir():
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
                assert path.read_bytes() == (log.parent / path.name).read_bytes()
    finally:
        os.umask(previous)
    assert not folder.exists()


def test_the_copy_goes_after_a_failure(tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    copy = PrivateCopy(log, scratch=tmp_path)
    with pytest.raises(ZeroDivisionError), copy:
        1 / 0  # noqa: B018
    assert not copy.path.parent.exists()


def test_no_copy_is_left_where_the_source_cannot_be_copied(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with pytest.raises(SourceError), PrivateCopy(tmp_path / "none", scratch=tmp_path / "scratch"):
        pass
    assert list((tmp_path / "scratch").iterdir()) == []


def test_no_copy_is_left_when_a_person_stops_a_load(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    log = locate(str(_make("plain", tmp_path / "source")), {}).log
    case = Case(tmp_path / "case.duckdb", Settings(scratch=scratch))
    with pytest.raises((KeyboardInterrupt, Exception)):
        load_log(case, log, progress=stop)
    del case
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_what_sqlite_does_to_the_copy_is_no_change_of_the_source(mode: str, tmp_path: Path) -> None:
    """Opening a copy in WAL mode makes files beside it, maybe while it is still being hashed."""
    log = LogBuilder("G6")
    log.turn("c", "x" * (16 << 20))
    path = log.write_sqlite(tmp_path / "log.sqlite", pragmas=[f"journal_mode = {mode}"])
    with PrivateCopy(path) as copy, closing(sqlite3.connect(copy.path)) as reader:
        reader.execute("select count(*) from conversation_log").fetchall()
        assert set(copy.verify()["files"]) == {"log.sqlite"}


# --- a source that moves -------------------------------------------------------------------------


def _append(log: Path) -> None:
    with closing(sqlite3.connect(log)) as writer:
        writer.execute("insert into conversation_log values ('late', 1, '{}')")
        writer.commit()


def _replace(log: Path) -> None:
    fresh = log.with_name("fresh")
    fresh.write_bytes(log.read_bytes()[:-1] + b"\x01")
    fresh.replace(log)


def _add_journal(log: Path) -> None:
    log.with_name(log.name + "-journal").write_bytes(b"hot")


def _add_wal(log: Path) -> None:
    log.with_name(log.name + "-wal").write_bytes(b"frames")


@pytest.mark.parametrize("change", [_append, _replace, _add_journal, _add_wal])
def test_a_change_under_the_copy_is_noticed(change: Callable[[Path], None], tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    with PrivateCopy(log) as copy:
        change(log)
        with pytest.raises(SourceChangedError, match="--live") as caught:
            copy.verify()
    assert caught.value.exit_code == 3
    assert str(log) in str(caught.value)


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda log: log.with_name("log.sqlite-wal").unlink()]
)
def test_a_file_that_vanishes_is_a_change(change: Callable[[Path], None], tmp_path: Path) -> None:
    log = _make("wal", tmp_path / "source")
    with PrivateCopy(log) as copy:
        change(log)
        with pytest.raises(SourceChangedError, match="--live"):
            copy.verify()


def test_a_change_during_a_load_leaves_the_case_as_it_was(tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(log), {}).log)
        before = case.rows("select * from events order by all")
        with pytest.raises(SourceChangedError, match="--live"):
            load_log(case, locate(str(log), {}).log, progress=lambda _: _append(log))
        assert case.rows("select * from events order by all") == before


@contextmanager
def _restless(log: Path) -> Iterator[None]:
    """Count up the database's user version all the time: always whole, never the same."""
    stop = threading.Event()

    def count() -> None:
        number = 0
        with log.open("r+b", buffering=0) as file:
            while not stop.wait(0.0005):
                number += 1
                os.pwrite(file.fileno(), number.to_bytes(4, "big"), 60)

    writer = threading.Thread(target=count)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("verb", [["triage"], ["load", "--case", "case.duckdb"]])
def test_a_source_that_changes_is_inconclusive(axnb: Cli, verb: list[str], tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    with _restless(log):
        result = axnb(*verb, log)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "--live" in result.stderr
    assert len(result.stderr.splitlines()) == 1


_WRITER = """
import sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("pragma synchronous = off")
print("up", flush=True)
while True:
    writer.execute("insert into conversation_log values (random(), 1, '{}')")
"""


@contextmanager
def _busy_writer(log: Path) -> Iterator[None]:
    """A process that commits as fast as it can, each time with a journal that comes and goes."""
    command = [sys.executable, "-c", _WRITER, str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            yield
        finally:
            writer.kill()


def test_a_busy_source_is_said_to_be_busy(tmp_path: Path) -> None:
    """Whatever moves while it is copied, a journal that vanishes too: the sentence is the same."""
    log = _make("plain", tmp_path / "source")
    sentences = set()
    with _busy_writer(log):
        for _ in range(150):
            try:
                with PrivateCopy(log) as copy:
                    copy.verify()
            except SourceError as err:
                sentences.add(str(err).replace(str(log), "LOG"))
    assert sentences, "no copy was disturbed"
    assert [sentence for sentence in sentences if "--live" not in sentence] == []


# --- a database in use ---------------------------------------------------------------------------


def _triage_live(log: Path) -> dict[str, Any]:
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(log), {}).log, LoadOptions(live=True))
        found: dict[str, Any] = triage(case).as_dict()["sources"][0]
        return found


def test_live_reads_what_a_busy_writer_has_committed(tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    with closing(sqlite3.connect(log, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        writer.execute("insert into conversation_log values ('open', 1, '{}')")
        source = _triage_live(log)
    assert (source["read"], source["incomplete"]) == (6, [])
    assert source["custody"]["mode"] == "live backup"


def test_live_reads_a_wal_whole(tmp_path: Path) -> None:
    """The backup holds what the -wal held, so nothing may be missing from it."""
    log = tmp_path / "log.sqlite"
    with _wal_writer(log) as writer:
        writer.execute("begin immediate")
        source = _triage_live(log)
    assert source["read"] == 6
    assert source["incomplete"] == []


def test_live_under_a_writer_that_never_rests(axnb: Cli, tmp_path: Path) -> None:
    log = _make("plain", tmp_path / "source")
    with _busy_writer(log):
        result = axnb("triage", log, "--live", "--json")
    assert result.exit_code == 1, result.stderr
    assert json.loads(result.stdout)["sources"][0]["custody"]["mode"] == "live backup"


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "rows"), [("wal", 6), ("hot-journal", 29)])
def test_a_link_is_read_with_what_lies_beside_its_target(
    kind: str, rows: int, tmp_path: Path
) -> None:
    """SQLite looks for -wal and -journal beside the real file, so the copy must do the same."""
    link = tmp_path / "link.sqlite"
    link.symlink_to(_make(kind, tmp_path / "source"))
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(link), {}).log)
        assert case.rows("select read, parsed from sources") == [(rows, rows)]
