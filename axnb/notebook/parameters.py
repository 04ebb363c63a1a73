"""Parameters of a notebook: checked by type, and never a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from axnb.errors import UsageError

_SECRET = re.compile(r"://[^/]*:[^/]*@|passw(or)?d\s*=", re.IGNORECASE)


def check_types(chosen: Mapping[str, Any]) -> None:
    """Papermill hands on what YAML makes of a value: a number for 007, a text for a list."""
    for name, value in chosen.items():
        if name == "accept_inconclusive":
            fits, wanted = isinstance(value, bool), "true or false"
        elif name == "harnesses":
            fits = isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value)
            wanted = "a list of texts"
        else:
            fits, wanted = isinstance(value, str) and value != "None", "a text (empty for none)"
        if not fits:
            raise UsageError(f"the parameter {name} takes {wanted}, not {value!r:.40}.")


def refuse_secrets(parameters: Mapping[str, Any]) -> None:
    """Parameters are stored in the notebook, twice: a password must not be one.

    Raises UsageError with the parameter's name, without its value.
    """
    for name, value in parameters.items():
        if isinstance(value, str) and _SECRET.search(unquote(value)):
            raise UsageError(
                f"the parameter {name} holds a password; name an environment variable that holds "
                "the DSN instead."
            )
