"""What an ax.yaml says of what its harnesses run with, in every generation's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from axnb.ax.config import read_config
from axnb.ax.contexts import parts_of, parts_of_text
from axnb.errors import SourceError

G3 = """
planner:
  type: gemini
  gemini: {model: m3, system_prompt: be good, skills_dir: s, temperature: 0.2}
registry:
  remote_agents: [{id: remote, address: "a:1", description: d, model: r3}]
"""
G5 = """
version: v1alpha
skills: {registries: [{name: common, url: u}]}
harnesses:
  antigravity: {endpoint: "a:1"}
  antigravity-interactions: {default: true, agent: m5, system_instruction: be good}
  substrate: [{id: drill, namespace: n, template: t, port: 80}]
"""
G6 = """
version: v1alpha
antigravity: {default: true, endpoint: "a:1"}
registry:
  antigravity-interactions: {agent: m6, system_instruction: be good}
  substrate: [{id: drill, namespace: n, template: t, model: d6}]
skills: {local: [a, b]}
"""

#: Harness, is it the default, its parts with what is shown of them.
FORMS = {
    "G3": (
        G3,
        [
            ("__planner", True, {"model": "m3", "instructions": None, "skills": "s"}),
            ("remote", False, {"model": "r3"}),
        ],
    ),
    "G5": (
        G5,
        [
            (
                "antigravity-interactions",
                True,
                {"model": "m5", "instructions": None, "skills": "common"},
            ),
            ("antigravity", False, {"skills": "common"}),
            ("drill", False, {}),
        ],
    ),
    "G6": (
        G6,
        [
            ("antigravity", True, {"skills": "a, b"}),
            (
                "antigravity-interactions",
                False,
                {"model": "m6", "instructions": None, "skills": "a, b"},
            ),
            ("drill", False, {"model": "d6"}),
        ],
    ),
}


def _write(folder: Path, text: str) -> Path:
    path = folder / "ax.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_every_generation(form: str, tmp_path: Path) -> None:
    text, expected = FORMS[form]
    config = read_config(_write(tmp_path, text), {})
    found = [
        (
            told.harness_id,
            told.is_default,
            {
                part.part: part.shown
                for part in parts_of(told.tree)
                if part.part not in ("config", "setting", "tool")
            },
        )
        for told in config.configs
    ]
    assert found == expected
    # The planner is no harness that a request can name.
    assert [h.id for h in config.harnesses] == [n for n, _, _ in expected if n != "__planner"]


def test_numbers_of_yaml_and_of_json_are_the_same(tmp_path: Path) -> None:
    path = _write(
        tmp_path, "antigravity: {a: 0.2, b: 1.0, c: 1e3, d: [7, true, null, x], model: m}"
    )
    (config,) = read_config(path, {}).configs
    text = '{"d":[7,true,null,"x"],"c":"1e3","b":1,"a":2e-1,"model":"m"}'
    assert parts_of(config.tree)[-1] == parts_of_text(text, is_base64=False)[-1]


def test_what_json_has_no_words_for_is_left_out(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        "antigravity: {model: m, a: .inf, b: .nan, c: 2026-01-01, d: !!binary aGk=, e: {1: x}}",
    )
    (config,) = read_config(path, {}).configs
    assert dict(config.tree) == {"model": "m"}


def test_anchors_that_say_much_end(tmp_path: Path) -> None:
    """A file of some lines that would unfold to billions, and one that holds itself."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    bomb = "\n".join([*lines, "antigravity: {model: m, x: *a11}"])
    (config,) = read_config(_write(tmp_path, bomb), {}).configs
    assert [name for name, _ in config.tree] == ["model"]
    circle = "antigravity: &a {model: m, tools: &t [*t], x: *a}"
    (config,) = read_config(_write(tmp_path, circle), {}).configs
    assert [name for name, _ in config.tree] == ["model"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000,
        "a: 2026-99-99",
        f"a: {'9' * 5000}",
        "a: !!python/object:os.system x",
        "[]",
        "x",
    ],
    ids=range(6),
)
def test_a_file_that_cannot_be_read_is_one_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as told:
        read_config(_write(tmp_path, text), {})
    assert "ax.yaml" in str(told.value)
    assert "\n" not in str(told.value)
