"""YAML as text: 007, yes and 2026-01-02 stay what was typed, and the declared type reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from axnb.errors import UsageError

_NULL = "tag:yaml.org,2002:null"


def texts_of(text: str) -> list[str]:
    """The texts of a list in YAML or JSON; raises ValueError if it is no list of them."""
    try:
        # YAML reads an escaped pair of surrogates, as JSON has it, as two halves.
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and all(isinstance(part, str) for part in found):
        return found
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as err:
        raise ValueError("no YAML") from err
    if not isinstance(node, yaml.SequenceNode):
        raise ValueError("no list")
    texts = [_text(part) for part in node.value]
    if None in texts:
        raise ValueError("not a list of texts")
    return [text for text in texts if text is not None]


def read_file(path: Path) -> dict[str, Any]:
    """The parameters of a YAML file: texts, and lists of texts; None where it says nothing.

    Raises UsageError with the file for one that cannot be read or holds no parameters.
    """
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}.") from err
    except yaml.MarkedYAMLError as err:
        line = f", line {err.problem_mark.line + 1}" if err.problem_mark else ""
        raise UsageError(f"{path} is not YAML{line}.") from err
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise UsageError(f"{path} is not YAML.") from err
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise UsageError(f"{path} holds no parameters: write a line `name: value` for each.")
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _text(key)
        if name is None:
            raise UsageError(f"{path}, line {key.start_mark.line + 1}: a parameter has no name.")
        if name in found:
            raise UsageError(f"{path} gives the parameter {name!r:.40} twice.")
        found[name] = _value(value)
    return found


def _value(node: yaml.Node) -> Any:
    """A text, a list of texts, or what is neither and fits no type."""
    if isinstance(node, yaml.SequenceNode):
        # What lies deeper is no text either; aliases could make it endless.
        return [_text(part) for part in node.value]
    return {} if isinstance(node, yaml.MappingNode) else _text(node)


def _text(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.ScalarNode) and node.tag != _NULL:
        return str(node.value)
    return None
