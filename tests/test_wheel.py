"""The wheel alone, without a checkout, is all that a user needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, REPOSITORY]
    subprocess.run(command, check=True)
    (built,) = folder.glob("axnb-*.whl")
    return built


def _run(wheel: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the package as it lies in the wheel; its dependencies come from this environment."""
    installed = folder / "installed"
    if not installed.exists():
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, *arguments], cwd=work, env=environment, capture_output=True, text=True
    )


def test_the_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    where = _run(wheel, tmp_path, "-c", "import axnb; print(axnb.__file__)").stdout
    assert Path(where).is_relative_to(tmp_path)
    demo = _run(wheel, tmp_path, "-m", "axnb.cli", "demo")
    assert demo.returncode == 0, demo.stderr
    left = {path.name for path in (tmp_path / "work" / "axnb-demo").iterdir()}
    views = {"report.html", "junit.xml", "report.md"}
    assert left == {"result.json", "01_triage.ipynb", *views}
    # What the demo says to try next can be pasted.
    tried = [
        line.split("   ")[0].split() for line in demo.stdout.partition("Try next:")[2].splitlines()
    ]
    for words in filter(None, tried):
        ran = _run(wheel, tmp_path, "-m", "axnb.cli", *words[1:])
        assert ran.returncode in (0, 1), ran.stderr


def test_the_wheel_runs_its_notebook(wheel: Path, tmp_path: Path) -> None:
    log = str(REPOSITORY / "sample_data" / "log.sqlite")
    ran = _run(
        wheel,
        tmp_path,
        "-m",
        "axnb.cli",
        "notebook",
        "run",
        "triage",
        "-p",
        "source",
        log,
        "--out",
        "out",
    )
    assert ran.returncode == 1, ran.stderr
    result = json.loads((tmp_path / "work" / "out" / "result.json").read_text("utf-8"))
    assert result["verdict"] == "failed"


def test_the_wheel_holds_no_tests_and_nothing_twice(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith(("tests", "docs", "axnb-demo"))] == []
    notebooks = {f"axnb/notebooks/{name}.ipynb" for name in ("01_triage", "02_snapshots")}
    assert {*notebooks, "axnb/sample_data/log.sqlite"} <= set(names)
    for folder in ("snapshots", "records"):
        lying = [p for p in (REPOSITORY / "sample_data" / folder).rglob("*") if p.is_file()]
        held = [name for name in names if name.startswith(f"axnb/sample_data/{folder}/")]
        assert len(held) == len(lying)
