"""`[target]` in every form that it can be written, and what is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from axnb.errors import UsageError
from axnb.settings import Settings
from axnb.settings_target import TargetSettings, TemplateSettings

_A, _B = "a1" * 32, "b2" * 32


def _read(folder: Path, text: str) -> TargetSettings | None:
    path = folder / "axnb.toml"
    path.write_text(text, encoding="utf-8")
    return Settings.read(path).target


def test_what_is_left_out_is_not_known(tmp_path: Path) -> None:
    assert _read(tmp_path, "") is None
    assert _read(tmp_path, '[target]\nlayout = "B3b"\n') == TargetSettings(layout="B3b")


def test_all_of_it(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"""
        [target]
        layout = "B4"
        built = 2026-09-20
        sandbox_classes = ["gvisor", "microvm"]
        architecture = "x86_64"
        cpu_features = "same"
        pause_image = "p@sha256:1"
        [target.assets]
        gvisor = "{_A}"
        runsc = {{ url = "gs://x/runsc", sha256 = "{_B}" }}
        [target.templates."ax/agent"]
        uid = "t-1"
        assets = ["sha256:{_A}"]
        """,
    )
    assert found == TargetSettings(
        layout="B4",
        built=date(2026, 9, 20),
        sandbox_classes=frozenset({"gvisor", "microvm"}),
        architectures=frozenset({"amd64"}),
        same_cpu=True,
        pause_images=frozenset({"p@sha256:1"}),
        assets=frozenset({_A, _B}),
        templates={"ax/agent": TemplateSettings("t-1", frozenset({_A}))},
    )


@pytest.mark.parametrize(
    "assets",
    [
        f'assets = ["{_A}", "{_B}"]',
        f'assets = [{{ name = "gvisor", sha256 = "{_A}" }}, {{ url = "u", sha256 = "{_B}" }}]',
        f'[target.assets.amd64]\ngvisor = {{ url = "u", sha256 = "{_A}" }}\nrunsc = "{_B}"',
    ],
)
def test_forms_of_assets(tmp_path: Path, assets: str) -> None:
    found = _read(tmp_path, f'[target]\nlayout = "B3b"\n{assets}\n')
    assert found is not None
    assert found.assets == frozenset({_A, _B})


@pytest.mark.parametrize(
    "templates",
    ['templates = { "ax/agent" = "t-1" }', '[[target.templates]]\nname = "ax/agent"\nuid = "t-1"'],
)
def test_forms_of_templates(tmp_path: Path, templates: str) -> None:
    found = _read(tmp_path, f'[target]\nlayout = "B3b"\n{templates}\n')
    assert found is not None
    assert found.templates == {"ax/agent": TemplateSettings("t-1")}


def test_cpu_features_are_known_only_if_both_sides_are(tmp_path: Path) -> None:
    for text, same in (
        ('cpu_features = ["avx2"]', None),
        ('cpu_features = ["avx2", "avx"]\nsnapshot_cpu_features = ["avx"]', True),
        ('cpu_features = ["avx"]\nsnapshot_cpu_features = ["avx2"]', False),
    ):
        found = _read(tmp_path, f'[target]\nlayout = "B3b"\n{text}\n')
        assert found is not None
        assert found.same_cpu is same


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('target = "B3b"', "target"),
        ("[target]\n", "layout"),
        ('[target]\nlayout = "B9"', "target.layout"),
        ('[target]\nlayout = ["B3b"]', "target.layout"),
        ('[target]\nbuilt = "soon"', "target.built"),
        ('[target]\nlayout = "B3b"\ncolour = 1', "colour"),
        ('[target]\nlayout = "B3b"\nsandbox_classes = 3', "target.sandbox_classes"),
        ('[target]\nlayout = "B3b"\nassets = ["short"]', "target.assets"),
        ('[target]\nlayout = "B3b"\nassets = "x"', "target.assets"),
        ('[target]\nlayout = "B3b"\ntemplates = ["ax/agent"]', "target.templates"),
        ('[target]\nlayout = "B3b"\ntemplates = { a = { name = "x" } }', "target.templates.a"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        _read(tmp_path, text)
    assert named in str(refused.value)
    assert "axnb.toml" in str(refused.value)
