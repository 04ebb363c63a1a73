"""`[drill.command]` in every form that it can be written, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb.errors import UsageError
from axnb.settings import Settings
from axnb.settings_command import CommandSettings, fill

_NEEDED = """
log = "log.sqlite"
generation = "G8"
start = ["s", "{text}"]
resume = ["r"]
effects = ["e"]
reverse = ["u", "{operation}"]
"""


def _read(folder: Path, text: str) -> CommandSettings | None:
    path = folder / "axnb.toml"
    path.write_text(text, encoding="utf-8")
    return Settings.read(path).command


def _refused(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        _read(folder, text)
    return str(caught.value)


def test_without_it_there_is_no_deployment(tmp_path: Path) -> None:
    assert _read(tmp_path, "") is None
    assert _read(tmp_path, "[drill]") is None


def test_all_of_it(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"""
        [drill.command]
        {_NEEDED}
        snapshots = "s3://b/p"
        conversation = "drill-{{point}}-{{run}}"
        guided = true
        response = ["show", "{{conversation}}"]
        alert = ["a", "-o", "jsonpath={{.status}}"]
        [drill.command.interrupt]
        3 = ["kill", "{{operation}}"]
        cancel = ["leave"]
        [drill.command.seconds]
        interrupt = 5
        """,
    )
    assert found == CommandSettings(
        log="log.sqlite",
        generation="G8",
        snapshots="s3://b/p",
        conversation="drill-{point}-{run}",
        guided=True,
        verbs={
            "start": ("s", "{text}"),
            "resume": ("r",),
            "response": ("show", "{conversation}"),
            "alert": ("a", "-o", "jsonpath={.status}"),
            "effects": ("e",),
            "reverse": ("u", "{operation}"),
        },
        interrupts={"3": ("kill", "{operation}"), "cancel": ("leave",)},
        seconds={"interrupt": 5},
    )
    assert found is not None
    assert (found.limit("interrupt"), found.limit("start")) == (5, 60)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('start = "kubectl exec ax-0"', "drill.command.start"),
        ("start = []", "drill.command.start"),
        ('start = [""]', "drill.command.start"),
        ('start = ["a", 1]', "drill.command.start"),
        ('start = ["a", "{secret}"]', "{secret}"),
        ('resume = ["a", "{text}"]', "drill.command.resume"),
        ('conversation = "{conversation}"', "drill.command.conversation"),
        ("conversation = 1", "drill.command.conversation"),
        ('begin = ["a"]', "begin"),
        ("guided = 1", "drill.command.guided"),
        ('unattended = "yes"', "drill.command.unattended"),
        ('interrupt = ["a"]', "drill.command.interrupt"),
        ('interrupt = {9 = ["a"]}', "drill.command.interrupt"),
        ('interrupt = {3 = "kill it"}', "drill.command.interrupt.3"),
        ("seconds = {start = 0}", "drill.command.seconds.start"),
        ("seconds = {wait = 1}", "drill.command.seconds"),
        ("seconds = 1", "drill.command.seconds"),
    ],
)
def test_what_is_refused_names_its_key(tmp_path: Path, line: str, told: str) -> None:
    key = line.split(" ")[0]
    kept = [text for text in _NEEDED.splitlines() if not text.startswith(f"{key} ")]
    text = "\n".join(["[drill.command]", *kept, line])
    assert told in _refused(tmp_path, text)


@pytest.mark.parametrize("key", ["log", "generation", "start", "resume", "effects", "reverse"])
def test_what_is_missing_is_named(tmp_path: Path, key: str) -> None:
    kept = [text for text in _NEEDED.splitlines() if not text.startswith(f"{key} ")]
    assert f"drill.command.{key}" in _refused(tmp_path, "\n".join(["[drill.command]", *kept]))


def test_a_person_can_do_what_has_no_command(tmp_path: Path) -> None:
    text = '[drill.command]\nguided = true\nlog = "l"\ngeneration = "G8"\neffects = ["e"]'
    found = _read(tmp_path, text)
    assert found is not None
    assert set(found.verbs) == {"effects"}


def test_other_tables_are_refused(tmp_path: Path) -> None:
    assert "drill" in _refused(tmp_path, "[drill.other]")
    assert "drill" in _refused(tmp_path, "drill = 1")


def test_a_value_is_not_filled_again() -> None:
    assert fill("{a}-{b} {.c}", {"a": "{b}", "b": "$(x)"}) == "{b}-$(x) {.c}"
