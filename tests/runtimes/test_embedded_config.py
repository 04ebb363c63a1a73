"""What a server reads from an ax.yaml, by its generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import AxnbError
from axnb.runtimes.embedded.config import HarnessEntry, ServerConfig, read

G5, G6, G8 = (GENERATIONS[name] for name in ("G5", "G6", "G8"))

OLD = "harnesses: {antigravity: {default: true, endpoint: 'old:1'}}\n"
NEW = "antigravity: {default: true, endpoint: 'new:1'}\n"
OURS = "axnb: {suspend: true, harnesses: [{id: drill, endpoint: 'own:1'}]}\n"


def config(
    folder: Path, text: str, generation: Generation = G8, version: str = "v1alpha", **given: str
) -> ServerConfig:
    path = folder / "ax.yaml"
    path.write_text(f"version: {version}\n{text}", encoding="utf-8")
    return read(path, generation, given)


@pytest.mark.parametrize(
    ("generation", "endpoint"), [(G5, "old:1"), (GENERATIONS["G5b"], "old:1"), (G6, "new:1")]
)
def test_a_key_of_another_layout_is_ignored(
    generation: Generation, endpoint: str, tmp_path: Path
) -> None:
    found = config(tmp_path, OLD + NEW, generation)
    assert found.harnesses == (HarnessEntry("antigravity", endpoint, built_in=True, refuses=True),)


def test_an_own_harness_stands_in_for_an_actor(tmp_path: Path) -> None:
    registry = "registry: {substrate: [{id: drill, namespace: n, template: t, default: true}]}\n"
    found = config(tmp_path, NEW.replace("true", "false") + registry + OURS)
    assert found.harnesses == (
        HarnessEntry("drill", "own:1", built_in=False, refuses=False),
        HarnessEntry("antigravity", "new:1", built_in=True, refuses=True),
    )
    assert found.suspend


def test_a_built_in_one_can_be_dialled_as_an_actor(tmp_path: Path) -> None:
    ours = "axnb: {harnesses: [{id: antigravity, endpoint: 'own:1'}]}\n"
    found = config(tmp_path, NEW + ours)
    assert found.harnesses == (HarnessEntry("antigravity", "own:1", built_in=False, refuses=False),)
    assert not found.suspend


def test_postgres_wins_and_its_dsn_is_expanded(tmp_path: Path) -> None:
    store = "eventlog: {sqlite: {filename: a.sqlite}, postgres: {dsn: '${DSN}/$NAME$GONE'}}\n"
    found = config(tmp_path, NEW + store, DSN="postgres://h", NAME="db")
    assert (found.postgres, found.sqlite) == ("postgres://h/db", Path("a.sqlite"))


def test_an_unset_dsn_is_none(tmp_path: Path) -> None:
    assert config(tmp_path, NEW + "eventlog: {postgres: {dsn: $DSN}}\n").postgres is None


def test_what_is_not_said_is_as_ax_has_it_but_on_loopback(tmp_path: Path) -> None:
    found = config(tmp_path, NEW)
    assert (found.address, found.sqlite) == ("127.0.0.1:8494", Path("eventlog/log.sqlite"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (NEW + "server: {address: '0.0.0.0:1'}\n", "no port of the loopback address"),
        (NEW + "server: {address: 'localhost:http'}\n", "no port of the loopback address"),
        ("registry: {substrate: [{id: drill}]}\n", "no endpoint that can be dialled"),
        ("antigravity: {default: true}\n", "no endpoint that can be dialled"),
        ("axnb: {harnesses: [{id: 'a/b', endpoint: 'own:1'}]}\n", "no endpoint"),
        (OLD, "registers no harness that G8 knows"),
        ("\t{", "is not YAML"),
    ],
)
def test_what_cannot_be_served_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(AxnbError, match=sentence):
        config(tmp_path, text)


def test_the_version_is_mandatory(tmp_path: Path) -> None:
    with pytest.raises(AxnbError, match=r"is no ax\.yaml"):
        config(tmp_path, NEW, version="v2")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AxnbError, match="cannot be read"):
        read(tmp_path / "gone.yaml", G8)
