"""Logs that lost something on their way to another version: here nothing is lost in silence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.ax.versions import GENERATIONS
from axnb.migrating import MigrationOptions, RefusedRowError, examine, migrate
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say, think
from tests.migrating.logs import asked, said, stored

Run = Callable[..., Result]
G6, G8 = GENERATIONS["G6"], GENERATIONS["G8"]


def _written(log: LogBuilder, folder: Path, **options: Any) -> Path:
    return log.write_sqlite(folder / "log.sqlite", **options)


def _row(step: int, content: str, state: str = "STATE_PENDING") -> StoredRow:
    """A row of G8 with these steps."""
    payload = f'{{"conversation_id":"c","steps":[{content}],"state":"{state}"}}'
    return StoredRow("c", step, payload)


@pytest.mark.parametrize("value", ["null", '{"a":null}', '{"a":[null,{"b":null}]}', '""', "false"])
def test_no_value_becomes_null(value: str, tmp_path: Path) -> None:
    log = LogBuilder("G6")
    log.turn("c", "hi", call("t", {"v": json.loads(value)}), answer({"v": json.loads(value)}))
    path = _written(log, tmp_path)
    migrate(str(path), str(tmp_path / "new"), MigrationOptions("G8"))
    before, after = stored(path), stored(tmp_path / "new")
    for key, payload in before.items():
        assert said(after[key], "step", G8) == said(payload, "step", G6)


def test_one_unknown_kind_hides_nothing(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("c", "hi", say("one"), say("two"), say("three"))
    log.rows[2] = _row(3, '{"hologram":{"frames":2}}')
    path = _written(log, tmp_path)
    found = migrate(str(path), str(tmp_path / "new"), MigrationOptions("G6"))
    assert (found.rows_written, found.as_it_is, found.losses) == (5, 0, {})
    assert b'"messages":[{"hologram":{"frames":2}}]' in stored(tmp_path / "new")[b"c", 3]
    (conversation,) = asked(str(tmp_path / "new"), "G6").conversations
    assert (conversation.last_step, conversation.next.history) == (5, "read")


def test_a_summary_that_the_target_cannot_hold(tmp_path: Path) -> None:
    """Two texts fit; a picture in a thought has no place in a message."""
    log = LogBuilder("G8")
    log.turn("c", "hi", think("hm"))
    texts = '{"thought":{"summary":[{"text":{"text":"a"}},{"text":{"text":"b"}}]}}'
    log.rows[1] = _row(2, texts)
    path = _written(log, tmp_path)
    assert examine(str(path), MigrationOptions("G6")).losses == {}
    log.rows[1] = _row(2, texts.replace('{"text":{"text":"b"}}', '{"image":{"uri":"u"}}'))
    path.unlink()
    path = _written(log, tmp_path)
    lost = {"steps[].thought.summary[].image": 1}
    assert examine(str(path), MigrationOptions("G6")).losses == lost


def test_fields_that_an_older_version_does_not_know(axnb: Run, tmp_path: Path) -> None:
    """What AX discards in both is kept; what is known here and not there is refused by its path."""
    log = LogBuilder("G8")
    log.turn("c", "hi", say("x"))
    flagged = log.rows[1].payload.replace('"state"', '"new_flag":true,"state"')
    log.rows[1] = StoredRow("c", 2, flagged)
    log.rows.insert(2, _row(9, '{"description":"d","content":{"role":"a","content":[{}]}}'))
    path, new = _written(log, tmp_path), tmp_path / "new"
    refused = axnb("migrate", path, new, "--to", "v0.2.2", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["unaccepted"] == {"steps[].description": 1}
    assert "steps[].description" in refused.stderr
    assert not new.exists()
    accepted = axnb("migrate", path, new, "--to", "v0.2.2", "--accept-loss", "steps[].description")
    assert accepted.exit_code == 0
    assert "1   accepted" in accepted.stdout
    home = tmp_path / "home"
    migrate(str(new), str(home), MigrationOptions("G8"))
    assert b'"new_flag":true' in stored(home)[b"c", 2]


def test_two_rows_that_become_one(tmp_path: Path) -> None:
    """The log's own table had no key, the target's has one: no row wins by itself."""
    log = LogBuilder("G6")
    log.turn("c", "hi", say("first"))
    log.rows.append(StoredRow("c", 2, log.rows[1].payload.replace("first", "second")))
    path = _written(log, tmp_path, keyed=False)
    before = hashlib.sha256(path.read_bytes()).digest()
    for way in (examine, lambda log, options: migrate(log, str(tmp_path / "new"), options)):
        with pytest.raises(RefusedRowError, match="row 2 of conversation c"):
            way(str(path), MigrationOptions("G8"))
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [p.name for p in tmp_path.iterdir()] == ["log.sqlite"]


def test_a_call_beside_a_text_stays_a_call(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("c", "hi")
    steps = '{"content":{"role":"a","content":[{"text":{"text":"so"}}]}},{"tool_call":{"id":"7",'
    log.rows.append(_row(2, steps + '"function_call":{"name":"charge","arguments":{"n":1.0}}}}'))
    path, there, back = _written(log, tmp_path), tmp_path / "there", tmp_path / "back"
    migrate(str(path), str(there), MigrationOptions("G6"))
    migrate(str(there), str(back), MigrationOptions("G8"))
    assert stored(back) == stored(path)
    (then,), (now,) = (asked(str(p), v).conversations for p, v in ((path, "G8"), (there, "G6")))
    assert (now.calls, now.unresolved) == (then.calls, then.unresolved)
    assert now.calls["unknown"] == 1


@pytest.mark.parametrize(
    ("config", "kept", "is_read"),
    [
        ("{}", b'"agent_config":{}', True),
        ("null", b'"agent_config":null', True),
        ("[]", b'"harness_config":[]', False),
        ('"x"', b'"harness_config":"x"', False),
        ('""', b'"harness_config":""', False),
    ],
)
def test_a_configuration_that_is_no_object(
    config: str, kept: bytes, is_read: bool, tmp_path: Path
) -> None:
    log = LogBuilder("G6")
    log.turn("c", "hi")
    payload = log.rows[0].payload.replace('"messages"', f'"harness_config":{config},"messages"')
    log.rows[0] = StoredRow("c", 1, payload)
    path = _written(log, tmp_path)
    found = examine(str(path), MigrationOptions("G8"))
    assert (found.as_it_is == 0, found.losses) == (is_read, {} if is_read else {"messages": 1})
    accepted = MigrationOptions("G8", accept=("messages",))
    migrate(str(path), str(tmp_path / "new"), accepted)
    assert kept in stored(tmp_path / "new")[b"c", 1]


@pytest.mark.parametrize("payload", ["", None])
def test_a_payload_that_is_nothing(payload: str | None, tmp_path: Path) -> None:
    log = LogBuilder("G6")
    log.rows.append(StoredRow("c", 1, payload))
    path, options = _written(log, tmp_path, typed=False), MigrationOptions("G8")
    if payload is None:
        with pytest.raises(RefusedRowError, match="its values are text,integer,null"):
            migrate(str(path), str(tmp_path / "new"), options)
        return
    assert migrate(str(path), str(tmp_path / "new"), options).as_it_is == 1
    assert stored(tmp_path / "new") == {(b"c", 1): b""}


def test_whether_an_old_store_holds_more_can_be_told(tmp_path: Path) -> None:
    """Both are brought into the words of one generation: then their digests tell."""
    digests = []
    for name, text in (("old", "four"), ("new", "four"), ("other", "vier")):
        log = LogBuilder("G8" if name == "new" else "G6")
        log.turn("c", "hi", say("two"), say("three"), say(text))
        (tmp_path / name).mkdir()
        path = _written(log, tmp_path / name)
        digests.append(
            migrate(str(path), str(tmp_path / name / "8"), MigrationOptions("G8")).digest
        )
    assert digests[0] == digests[1] != digests[2]
