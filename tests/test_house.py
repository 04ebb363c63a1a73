"""The rules that hold the house up: import arrows, sizes, headers, schemas, docstrings, SQL."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "axnb"

#: Rooms from the ground up: a room may use its own floor and those below.
FLOORS = (
    ("errors", "settings", "settings_command", "settings_ledgers", "settings_target", "text"),
    ("ax", "substrate"),
    ("case",),
    ("secrets",),
    ("evidence",),
    ("checks", "result", "started"),
    ("mapping",),
    ("triaging", "loading", "recorded", "converting"),
    ("plans", "migrating"),
    ("runtimes",),
    ("backups",),
    ("drills",),
    ("report",),
    ("notebook", "lab", "cli", "testing"),
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


MODULES = {_name(path): ast.parse(_read(path)) for path in sorted(PACKAGE.rglob("*.py"))}
SQL_FILES = sorted(PACKAGE.rglob("*.sql"))
CHECKS = sorted((PACKAGE / "checks").glob("*.sql"))
SCHEMAS = sorted((PACKAGE / "ax" / "proto").glob("*.pb"))


# --- import arrows -------------------------------------------------------------------------------


def _room(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Modules of axnb that a module imports anywhere in it, as `axnb.ROOM.…`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("axnb."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            if node.module == "axnb":
                # `from axnb import __version__` is no room.
                yield from (f"axnb.{a.name}" for a in node.names if a.name in FLOOR_OF)
            elif (node.module or "").startswith("axnb."):
                yield str(node.module)


IMPORTS = {name: set(_imported(tree)) for name, tree in MODULES.items()}


def test_every_room_has_a_floor() -> None:
    assert {_room(name) for name in MODULES} - FLOOR_OF.keys() == {"__init__"}


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__.py"])
def test_imports_point_down(module: str) -> None:
    floor = FLOOR_OF[_room(module)]
    upward = {name for name in IMPORTS[module] if FLOOR_OF[name.split(".")[1]] > floor}
    assert upward == set()


def test_only_tests_use_the_builders() -> None:
    using = [
        module
        for module, imported in IMPORTS.items()
        if _room(module) != "testing" and any(name.startswith("axnb.testing") for name in imported)
    ]
    assert using == []


def test_runtimes_observe_what_happens_next() -> None:
    predicting = [
        module
        for module, imported in IMPORTS.items()
        if _room(module) == "runtimes" and "axnb.ax.behaviour" in imported
    ]
    assert predicting == []


# --- sizes and docstrings ------------------------------------------------------------------------


def test_modules_are_short() -> None:
    lines = {name: len(_read(PACKAGE / name).splitlines()) for name in MODULES}
    assert {name: n for name, n in lines.items() if n > MAX_MODULE_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{module}: {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _public(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
    """Public functions and classes of a module, and the public methods of those classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{prefix}{node.name}.")


def test_what_is_public_has_a_docstring() -> None:
    silent = [
        name
        for module, tree in MODULES.items()
        for name, node in _public(tree.body, f"{module}: ")
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_modules_say_what_they_are_for() -> None:
    silent = [name for name, tree in MODULES.items() if tree.body and not ast.get_docstring(tree)]
    assert silent == []


# --- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: path.stem)
def test_a_check_has_a_full_header(path: Path) -> None:
    lines = _read(path).splitlines()
    assert re.fullmatch(r"AX[1-7]\d\d", path.stem)
    assert lines[0] == f"-- id: {path.stem}"
    assert re.fullmatch(r"-- name: [a-z]+(-[a-z0-9]+)*", lines[1])
    assert re.fullmatch(r"-- severity: (info|warning|error)", lines[2])
    header = [line for line in lines if line.startswith("--")]
    told = [
        line
        for line in header
        if not re.match(r"-- (id|name|severity|needs|empty without|only with):", line)
    ]
    text = " ".join(line.removeprefix("--").strip() for line in told)
    assert text.count(".") >= 2, "the explanation is a few sentences"


def test_the_page_of_findings_is_fresh() -> None:
    """After a change of a header: `make findings`."""
    from axnb.checks.registry import catalogue

    assert (PACKAGE.parent / "docs" / "findings.md").read_text(encoding="utf-8") == catalogue()


def test_names_of_checks_are_unique() -> None:
    names = [_read(path).splitlines()[1] for path in CHECKS]
    assert len(set(names)) == len(names)


# --- SQL -----------------------------------------------------------------------------------------

_JSON = re.compile(r"\bjson_\w+|->>|->|\bto_json\b|::\s*json\b|\bas json\b", re.IGNORECASE)
_INFERENCE = re.compile(
    r"\bread_json\w*|\bjson_structure\b|\bjson_tree\b|(::|\bas)\s*variant\b", re.IGNORECASE
)


def _statements(path: Path) -> str:
    """The SQL of a file without its comments."""
    return "\n".join(line.split("--")[0] for line in _read(path).splitlines())


def _outside_of_landing(path: Path) -> str:
    """What of a file may not take JSON apart."""
    name, text = _name(path), _statements(path)
    if name.startswith("evidence/landing/") or name == "case/derive/32_operation_ids.sql":
        return ""
    if name == "case/schema.sql":
        return re.sub(r"create or replace view parts as.*?;", "", text, flags=re.DOTALL)
    return text


@pytest.mark.parametrize("path", SQL_FILES, ids=_name)
def test_only_landing_takes_json_apart(path: Path) -> None:
    assert _JSON.findall(_outside_of_landing(path)) == []


@pytest.mark.parametrize("path", SQL_FILES, ids=_name)
def test_no_schema_is_inferred_from_payloads(path: Path) -> None:
    assert _INFERENCE.findall(_statements(path)) == []


def test_python_holds_no_json_sql() -> None:
    found = [
        (module, node.value)
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"\bjson_\w+\(|->>", node.value)
    ]
    assert found == []


# --- AX's schemas --------------------------------------------------------------------------------


def _compile(schema: str, target: Path) -> bytes:
    grpc_tools = pytest.importorskip("grpc_tools", reason="grpcio-tools compiles the schemas")
    protos = PACKAGE / "ax" / "proto"
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    compiler = [sys.executable, "-m", "grpc_tools.protoc"]
    folders = ["-I", str(protos), "-I", str(well_known)]
    out = ["--include_imports", f"--descriptor_set_out={target}"]
    subprocess.run([*compiler, *folders, *out, str(protos / f"{schema}.proto")], check=True)
    return target.read_bytes()


@pytest.mark.parametrize("compiled", SCHEMAS, ids=_name)
def test_compiled_schemas_are_fresh(compiled: Path, tmp_path: Path) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    fresh = FileDescriptorSet.FromString(_compile(compiled.stem, tmp_path / "fresh.pb"))
    assert FileDescriptorSet.FromString(compiled.read_bytes()) == fresh


def test_every_generation_has_a_compiled_schema() -> None:
    from axnb.ax.versions import GENERATIONS

    assert {g.schema for g in GENERATIONS.values()} == {path.stem for path in SCHEMAS}
