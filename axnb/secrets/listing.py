"""What is covered: the kinds, the excluded fields, the engine in use."""

from __future__ import annotations

from typing import Any

from axnb.secrets.engines import engine
from axnb.secrets.exclusions import EXCLUSIONS
from axnb.secrets.patterns import Kind, kinds
from axnb.settings import Secrets


def covered(settings: Secrets) -> dict[str, Any]:
    """What `axnb secrets` lists, as `axnb.secrets/1`."""
    own = [Kind(name, "of axnb.toml", (), text) for name, text in sorted(settings.patterns.items())]
    return {
        "schema": "axnb.secrets/1",
        "engine": engine().name,
        "include_excluded": settings.include_excluded,
        "kinds": [
            {
                "name": kind.name,
                "about": kind.about,
                "anchors": list(kind.anchors),
                "expression": kind.expression,
                "may_be_partial": kind.may_be_partial,
            }
            for kind in (*kinds(), *own)
        ],
        "excluded": [{"name": one.name, "about": one.about} for one in EXCLUSIONS],
    }
