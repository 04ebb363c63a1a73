"""Parameters of a notebook: read by the type that is declared, checked by name, never a secret.

Papermill executes the name of a parameter that is not declared, and hands on whatever YAML makes
of a value: a number for 007, a text for a list. Both are refused before anything runs.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from axnb.errors import UsageError
from axnb.notebook.libraries import import_papermill, quiet
from axnb.notebook.yaml_text import read_file, texts_of
from axnb.text import is_text

_SECRET = re.compile(r"://[^/]*:[^/]*@|passw(or)?d\s*=", re.IGNORECASE)

_WANTED = {
    "str": "a text (empty for none)",
    "bool": "true or false",
    "list": "a list of texts",
    "int": "a whole number",
    "float": "a number",
}
_BOOLS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True)
class Parameter:
    """A parameter that a notebook declares, with the name of its type."""

    name: str
    kind: str
    default: Any

    def read(self, value: Any) -> Any:
        """A value from its text, or one of the type already; raises UsageError for any other."""
        if isinstance(value, date):
            value = value.isoformat()
        if isinstance(value, str):
            value = _from_text(self.kind, value)
        return _checked(self.name, self.kind, value)


def declared(notebook: Path, name: str) -> dict[str, Parameter]:
    """What a notebook declares in its cell `parameters`.

    Raises UsageError, with the `name` that the notebook goes by, if papermill cannot tell.
    """
    papermill = import_papermill()
    try:
        with quiet():
            found = papermill.inspect_notebook(without_fields(notebook))
    except Exception as err:
        raise UsageError(f"{name} is no notebook that papermill can read.") from err
    return {
        key: Parameter(key, _kind(about["inferred_type_name"], default), default)
        for key, about in found.items()
        for default in [_literal(about["default"])]
    }


def without_fields(path: Path) -> str:
    """A path as papermill takes it: it puts each through `str.format`."""
    return str(path).replace("{", "{{").replace("}", "}}")


def gathered(files: Sequence[Path], pairs: Sequence[str], out: str | None) -> dict[str, Any]:
    """Parameters from YAML files, then from texts `name=value`, and the result folder.

    What comes later goes before what came earlier. Raises UsageError for a file that holds none,
    or two result folders.
    """
    given: dict[str, Any] = {}
    for file in files:
        given |= read_file(file)
    given |= {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
    if out is not None and given.setdefault("out", out) != out:
        raise UsageError("--out and the parameter out name two different folders.")
    return given


def read_values(
    known: Mapping[str, Parameter], given: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """The given values by the types that the notebook declares.

    Raises UsageError with the parameter's name for one that is not declared or does not fit.
    """
    if unknown := sorted(given.keys() - known.keys()):
        raise UsageError(
            f"{name} has no parameter {unknown[0]!r:.40}; it has {', '.join(known) or 'none'}."
        )
    return {key: known[key].read(value) for key, value in given.items()}


def check_types(chosen: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Do values fit the parameters of a function, by the types of its defaults?

    Plain papermill hands them to a kernel unchecked. Raises UsageError with the parameter's name.
    """
    for name, parameter in inspect.signature(function).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        _checked(name, "str" if required else _kind("None", parameter.default), chosen[name])


def refuse_secrets(parameters: Mapping[str, Any]) -> None:
    """Parameters are stored in the notebook: a password must not be one.

    Raises UsageError with the parameter's name, without its value.
    """
    for name, value in parameters.items():
        if _holds_secret(name):
            raise UsageError("a password is no name of a parameter.")
        if any(map(_holds_secret, _texts(value))):
            raise UsageError(
                f"the parameter {name} holds a password; name an environment variable that holds "
                "the DSN instead."
            )


def _holds_secret(text: str) -> bool:
    return bool(_SECRET.search(unquote(text)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.items()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part)


def _literal(default: str) -> Any:
    try:
        return ast.literal_eval(default)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _kind(annotation: str, default: Any) -> str:
    """`str` of `str` and `Optional[str]`, `list` of `List[str]`; without one, the default's."""
    if annotation == "None":
        return "list" if isinstance(default, tuple) else type(default).__name__
    inner = re.sub(r"^Optional\[(.*)\]$", r"\1", annotation)
    return inner.split("[")[0].strip().lower()


def _from_text(kind: str, text: str) -> Any:
    """What a text says; the text itself where it says no value of that kind."""
    try:
        if kind == "bool":
            return _BOOLS.get(text.strip().lower(), text)
        if kind == "list":
            return texts_of(text)
        if kind in ("int", "float"):
            return int(text) if kind == "int" else float(text)
    except ValueError:
        pass
    return text


def _checked(name: str, kind: str, value: Any) -> Any:
    if kind not in _WANTED:
        raise UsageError(f"the parameter {name} has a type that takes no value: {kind!r:.40}.")
    if not _holds(kind, value):
        raise UsageError(f"the parameter {name} takes {_WANTED[kind]}, not {value!r:.40}.")
    if not all(map(is_text, _texts(value))):
        raise UsageError(f"the parameter {name} is no text in UTF-8.")
    return list(value) if kind == "list" else value


def _holds(kind: str, value: Any) -> bool:
    if kind == "str":
        return isinstance(value, str) and value != "None"
    if kind == "list":
        return isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int)
    return isinstance(value, (int, float)) and math.isfinite(value)
