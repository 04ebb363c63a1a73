"""Several processes compute what one does, and none of them is left."""

from __future__ import annotations

import io
import os
import signal
from array import array
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from axnb.ax.canonical import canonical_digest
from axnb.case import canonical as canonical_module
from axnb.case import digesters as digesters_module
from axnb.case.canonical import all_canonical_digests
from axnb.case.case import Case
from axnb.case.digesters import Digesters
from axnb.case.digesting import HEADER, SIZE, Digests, Texts, digests_of, serve
from axnb.errors import AxnbError
from axnb.testing.logs import LogBuilder, StoredRow

Load = Callable[[Path | str], str]

#: More than is done without a process.
LARGE = 1 << 40


def texts_of(*payloads: str) -> Texts:
    """Texts as a column of Arrow has them, though not from its beginning."""
    offsets = array("i", [7])
    for payload in payloads:
        offsets.append(offsets[-1] + len(payload.encode()))
    return Texts(memoryview(offsets), memoryview("".join(payloads).encode()))


def expected(*payloads: str) -> Digests:
    """What is to be found: a text without a canonical form begins with `no`."""
    known = [not payload.startswith("no") for payload in payloads]
    digests = [
        canonical_digest(payload) if is_known else bytes(SIZE)
        for payload, is_known in zip(payloads, known, strict=True)
    ]
    return Digests(bytes(known), b"".join(digests))


PIECES = [
    ('{"b":10,"a":"é"}', "no JSON", "[1]", ""),
    (),
    *((f'{{"n":{n}}}', f'{{"b":{n}, "a":0}}', "no") for n in range(30)),
]


def test_a_piece() -> None:
    """Texts with and without a canonical form; an empty one has none."""
    found = digests_of(texts_of(*PIECES[0]))
    assert found == expected('{"b":10,"a":"é"}', "no JSON", "[1]", "no")
    assert digests_of(texts_of()) == Digests(b"", b"")


def test_a_process_answers_piece_by_piece_until_nobody_asks() -> None:
    """Its input ends between two pieces."""
    asked, answers = io.BytesIO(), io.BytesIO()
    for piece in PIECES:
        texts = texts_of(*piece)
        asked.write(HEADER.pack(texts.offsets.nbytes, texts.data.nbytes))
        asked.write(bytes(texts.offsets) + bytes(texts.data))
    serve(io.BytesIO(asked.getvalue()), answers)
    found = [digests_of(texts_of(*piece)) for piece in PIECES]
    assert answers.getvalue() == b"".join(each.known + each.digests for each in found)


def is_there(pid: int) -> bool:
    """Is there a process of this number? One that has ended and was waited for is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pids(digesters: Digesters) -> list[int]:
    """The numbers of its processes."""
    return [process.pid for process in digesters._processes]


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On any machine."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def test_processes_answer_in_order_and_end() -> None:
    """Every piece with its own key."""
    with Digesters(LARGE) as digesters:
        assert pids(digesters) == []
        pieces = [(n, texts_of(*piece)) for n, piece in enumerate(PIECES)]
        found = [*digesters.digests(pieces)]
        again = [*digesters.digests(pieces)]
        started = pids(digesters)
        assert len(started) == 2
    assert found == again == [(n, digests_of(texts)) for n, texts in pieces]
    assert not any(map(is_there, started))


def test_few_texts_start_no_process() -> None:
    """Starting one takes longer."""
    with Digesters(1000) as digesters:
        assert [*digesters.digests([("key", texts_of("[1]"))])] == [("key", expected("[1]"))]
        assert pids(digesters) == []


def test_a_process_that_is_killed_is_one_clear_error() -> None:
    """Never a digest that is missing."""
    with Digesters(LARGE) as digesters:
        answers = digesters.digests((n, texts_of(f"[{n}]")) for n in count(1))
        assert next(answers) == (1, expected("[1]"))
        started = pids(digesters)
        os.kill(started[0], signal.SIGKILL)
        with pytest.raises(AxnbError, match=rf"process {started[0]}\b.* has ended before its time"):
            for _ in answers:
                pass
    assert not any(map(is_there, started))


def test_an_interrupt_ends_the_processes() -> None:
    """Wherever it comes: here while texts are read."""
    started: list[int] = []

    def read(digesters: Digesters) -> Iterator[tuple[int, Texts]]:
        for n in range(9):
            yield n, texts_of(f"[{n}]")
        started.extend(pids(digesters))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Digesters(LARGE) as digesters:
        for _ in digesters.digests(read(digesters)):
            pass
    assert len(started) == 2
    assert not any(map(is_there, started))


def test_an_interrupt_while_nobody_answers() -> None:
    """A person need not wait for a process that hangs."""
    started: list[int] = []

    def read(digesters: Digesters) -> Iterator[tuple[int, Texts]]:
        yield 0, texts_of("[0]")
        started.extend(pids(digesters))
        for pid in started:
            os.kill(pid, signal.SIGSTOP)
        Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        for n in count(1):
            yield n, texts_of(f"[{n}]")

    with pytest.raises(KeyboardInterrupt), Digesters(LARGE) as digesters:
        for _ in digesters.digests(read(digesters)):
            pass
    assert len(started) == 2
    assert not any(map(is_there, started))


def test_an_interrupt_of_the_terminal_is_not_for_them() -> None:
    """It goes to the group of whoever runs axnb, who then ends them."""
    with Digesters(LARGE) as digesters:
        [*digesters.digests([(1, texts_of("[1]"))])]
        groups = [os.getpgid(pid) for pid in pids(digesters)]
        assert os.getpgid(0) not in groups


def test_modules_in_the_present_folder_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's folder may be where evidence lies."""
    (tmp_path / "orjson.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with Digesters(LARGE) as digesters:
        assert [*digesters.digests([(1, texts_of("[1]"))])] == [(1, expected("[1]"))]


# --- of a log ------------------------------------------------------------------------------------


@pytest.fixture
def source(load: Load, tmp_path: Path) -> str:
    """A log with short, usual and large rows, and such that AX cannot read."""
    log = LogBuilder("G8")
    for n in range(1, 400):
        log.rows.append(StoredRow("c", n, f'{{"conversation_id":"c","state":3,"n":{n}0}}'))
    for n, size in enumerate((4050, 4096, 5000, 65_400, 65_536, 70_000, 200_000), 400):
        log.rows.append(StoredRow("d", n, f'{{"x":"{"é" * (size // 2)}","state":3}}'))
    log.rows += [StoredRow("d", 1, "no JSON"), StoredRow("d", 2, '{"state":3,"a":1,"a":2}')]
    log.rows += [StoredRow("d", 3, '{ "steps": 7 }'), StoredRow("d", "one", "{}")]
    return load(log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False))


def all_of(case: Case, source: str) -> dict[int, tuple[object, ...]]:
    """The digests of all rows, by row."""
    with case.reading() as session:
        return {
            row["row"]: tuple(row[k] for k in ("conversation", "step", "text_digest", "digest"))
            for batch in all_canonical_digests(session, source)
            for row in batch.to_pylist()
        }


def test_every_row_has_the_digest_of_its_own_text(
    case: Case, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that AX cannot read as well, if they have a canonical form; pieces change nothing."""
    texts = dict(case.rows('select "row", payload from event_rows'))
    texts |= {row: raw.decode() for row, raw in case.rows('select "row", raw from rejects') if raw}
    found = all_of(case, source)
    assert len(found) == len(texts) == 410
    for row, (_, _, _, digest) in found.items():
        has_none = texts[row] == "no JSON" or '"a":2' in texts[row]
        assert digest == (None if has_none else canonical_digest(texts[row]))
    assert [step for _, step, _, _ in found.values()].count(None) == 1
    monkeypatch.setattr(canonical_module, "_CLASSES", ((100, 64), (5000, 2)))
    monkeypatch.setattr(canonical_module, "_TOGETHER", 100_000)
    assert all_of(case, source) == found
    monkeypatch.setattr(digesters_module, "_FEW_BYTES", 0)
    assert all_of(case, source) == found


def test_a_source_that_is_not_there_has_no_rows(case: Case) -> None:
    """And nothing is started for it."""
    assert all_of(case, "no such source") == {}
