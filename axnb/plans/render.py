"""From parts to text: templates of the package, filled with quoted names only."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from axnb.plans.literals import Dialect

_WIDTH = 100


@cache
def _environment(dialect: Dialect) -> Environment:
    # A script is no HTML: what comes from strangers goes through `literal` and `identifier`.
    environment = Environment(  # noqa: S701
        loader=PackageLoader("axnb", "plans"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["literal"] = dialect.text
    environment.filters["identifier"] = dialect.identifier
    environment.filters["camel"] = _camel
    environment.globals["dialect"] = dialect.name
    return environment


def _camel(name: str) -> str:
    """The other spelling that AX takes for a key."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def render(dialect: Dialect, template: str, **values: Any) -> str:
    """Fill `DIALECT/TEMPLATE.sql.j2`; no literal holds a line end, so empty lines can go."""
    name = f"{dialect.name}/{template}.sql.j2"
    text = _environment(dialect).get_template(name).render(values)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines) + "\n" if lines else ""


def as_comment(sentences: Iterable[str]) -> str:
    """Sentences as comment lines; an indented one is not wrapped, so it can be pasted."""
    lines: list[str] = []
    for sentence in sentences:
        indented = sentence.startswith(" ")
        lines += [sentence] if indented else textwrap.wrap(sentence, _WIDTH - 3) or [""]
    return "".join(f"-- {line}".rstrip() + "\n" for line in lines)


def put_off(statements: str, mark: str) -> str:
    """Statements as comments that start with a mark; `sed 's/^MARK //'` brings them back."""
    return re.sub("^", f"{mark} ", statements.removesuffix("\n"), flags=re.MULTILINE) + "\n"
