"""Take a configuration apart: the model, the instructions, the tools and skills that it names.

Facts: AX hands a turn's configuration on as it comes and knows none of its keys. Those of the
built-in harness are `model` or `models`, `system_instructions`, `tools`, `capabilities` and
`skills_paths`; an ax.yaml says `agent` and `system_instruction` of antigravity-interactions, and in
G3 `system_prompt` and `skills_dir`. Other harnesses are asked by the same words. Texts are known by
fingerprint alone, and no piece of one is in any message.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from axnb.ax.canonical import tree_digest, tree_text
from axnb.ax.json_text import Members, parse

_INSTRUCTIONS = {"system_instructions", "system_instruction", "system_prompt", "instructions"}
_TOOLS = {"tools", "enabled_tools", "allowed_tools"}
_SKILLS = {"skills", "skills_paths", "skills_dir", "skill_paths"}
_MODELS = {"model", "models", "model_name"}
#: Objects that are looked into: SDKs put what belongs together there.
_GROUPS = {
    *("config", "agent_config", "harness_config", "gemini", "gemini_config", "generation_config"),
    *("capabilities", "llm", "planner"),
}

#: What can be shown of a stranger's name, and how many of them.
_SHOWABLE = re.compile(r"\w[\w./:@+-]{0,79}")
_MOST_SHOWN = 12

#: A longer name is none that is met again.
_LONG = 80

#: Other members that are told one by one.
_MOST_SETTINGS = 200


@dataclass(frozen=True)
class ContextPart:
    """A part of a context, as a row of `contexts` tells it."""

    part: str
    #: sha256 (hex) of its canonical JSON.
    fingerprint: str
    shown: str | None = None


def parts_of_text(text: str, *, is_base64: bool) -> tuple[ContextPart, ...]:
    """The parts of a configuration as a row holds it: JSON text, or base64 of JSON (G3, G4).

    Empty for what has no canonical form; never an error.
    """
    try:
        return parts_of(parse(_decoded(text) if is_base64 else text))
    except ValueError:
        # No base64, no text, or no JSON that has a canonical form.
        return ()


def parts_of(tree: Any) -> tuple[ContextPart, ...]:
    """The parts of a configuration that is parsed (see `json_text.parse`).

    Raises PayloadError where `canonical` does.
    """
    whole = ContextPart("config", tree_digest(tree).hex())
    if not isinstance(tree, Members):
        return (whole,)
    found = _Found()
    for name, value in _members(tree):
        found.take(name, value)
    return (*found.parts(), whole)


def named(part: str, name: str) -> ContextPart:
    """A part that is a name, such as a harness."""
    return _short_named(part, name) if len(name) <= _LONG else _named(part, name)


def _named(part: str, name: str) -> ContextPart:
    return ContextPart(part, tree_digest(name).hex(), _shown(name))


#: Configurations that differ in a number of the request name the same model and tools.
_short_named = lru_cache(1024)(_named)


def names_part(part: str, names: list[str]) -> ContextPart:
    """A part that is a set of names."""
    text = f"[{','.join(sorted({tree_text(name) for name in names}))}]"
    return ContextPart(part, hashlib.sha256(text.encode()).hexdigest(), shown_names(names))


def shown_names(names: list[str]) -> str:
    """Names in one line, some of many; what is no name is only counted."""
    shown = sorted({name for name in names if _shown(name)})
    told = ", ".join(shown[:_MOST_SHOWN])
    more = len(set(names)) - len(shown[:_MOST_SHOWN])
    if not more:
        return told or "none"
    return f"{told} and {more} more" if told else f"{more} without a name to show"


def _decoded(text: str) -> str:
    """Base64 as protobuf-go takes it: either alphabet, padded or not."""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()


def _members(tree: Members) -> Iterator[tuple[str, Any]]:
    """The members of a configuration and of the groups in it, those further out first."""
    waiting = deque([tree])
    # A group in a group in a group is none that anybody writes.
    for _ in range(100):
        if not waiting:
            return
        for name, value in waiting.popleft():
            name = _snake(name)
            if name in _GROUPS and isinstance(value, Members):
                waiting.append(value)
            elif value is not None:
                yield name, value


def _snake(name: str) -> str:
    """`systemInstruction` and `system-instruction` are `system_instruction`."""
    return _short_snake(name) if len(name) <= _LONG else name


@lru_cache(1024)
def _short_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").lower()


class _Found:
    """What was found so far; of two that say the same thing, the first one counts."""

    def __init__(self) -> None:
        self._parts: dict[str, ContextPart] = {}
        #: The Interactions API is asked for an agent by name, and not for a model.
        self._agent: ContextPart | None = None
        self._tools: list[Any] | None = None
        self._skills: list[Any] | None = None

    def take(self, name: str, value: Any) -> None:
        if name in _MODELS and (model := _model(value)) is not None:
            self._keep("model", model)
        elif name == "agent" and isinstance(value, str) and value:
            self._agent = self._agent or named("model", value)
        elif name in _INSTRUCTIONS:
            if value not in ("", []):
                self._keep("instructions", ContextPart("instructions", tree_digest(value).hex()))
        elif name in _TOOLS:
            self._tools = [*(self._tools or ()), *_entries(value)]
        elif name in _SKILLS:
            self._skills = [*(self._skills or ()), *_entries(value)]
        elif len(self._parts) < _MOST_SETTINGS and _shown(name):
            self._keep(f"setting {name}", ContextPart("setting", tree_digest(value).hex(), name))

    def _keep(self, name: str, part: ContextPart) -> None:
        self._parts.setdefault(name, part)

    def parts(self) -> Iterator[ContextPart]:
        if self._agent is not None:
            self._keep("model", self._agent)
        yield from self._parts.values()
        if self._tools is not None:
            yield _set("tools", self._tools)
            yield from (named("tool", name) for name in sorted(set(_names(self._tools))))
        if self._skills is not None:
            yield _set("skills", self._skills)


def _model(value: Any) -> ContextPart | None:
    """A model is its name, however much else is said of it; None if it has none."""
    if isinstance(value, str):
        return named("model", value) if value else None
    targets = value if type(value) is list else [value]
    names = [_own_name(target) for target in targets]
    # The SDK of before `models` was a list: {"default": {"name": …}, "image_generation": …}.
    if isinstance(value, Members) and names == [None]:
        names = [_own_name(dict(value).get("default"))]
    told = [name for name in names if name]
    if not told:
        return None
    return named("model", told[0]) if len(told) == 1 else names_part("model", told)


def _own_name(value: Any) -> str | None:
    if isinstance(value, Members):
        value = dict(value).get("name")
    return value if isinstance(value, str) else None


def _entries(value: Any) -> list[Any]:
    """The entries of a list, however it is written: an object has one under each of its keys."""
    if isinstance(value, Members):
        # `skills: {local: [...], registries: [...]}`
        if all(type(inner) is list for _, inner in value):
            return [entry for _, inner in value for entry in inner]
        return [Members([member]) for member in value]
    if type(value) is list:
        return value
    return [] if value == "" else [value]


def _set(part: str, entries: list[Any]) -> ContextPart:
    """A set by the names of its entries; by all that they say where one has no name."""
    names = list(_names(entries))
    if all(any(True for _ in _names([entry])) for entry in entries):
        return names_part(part, names)
    text = f"[{','.join(sorted({tree_text(entry) for entry in entries}))}]"
    return ContextPart(part, hashlib.sha256(text.encode()).hexdigest(), shown_names(names))


def _names(entries: list[Any]) -> Iterator[str]:
    """The names of tools: plain ones, and those of declarations in the forms of known APIs."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, Members):
            told = {_snake(name): value for name, value in entry}
            declared = told.get("function_declarations")
            if type(declared) is list:
                yield from (name for inner in declared if (name := _own_name(inner)))
            elif name := _own_name(entry) or _own_name(told.get("function")):
                yield name
            elif len(entry) == 1:
                # {"google_search": {}}
                yield entry[0][0]


def _shown(name: str) -> str | None:
    return name if _SHOWABLE.fullmatch(name) else None
