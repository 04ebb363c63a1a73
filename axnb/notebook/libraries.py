"""Papermill and what it brings along: imported faster, and quiet about what axnb tells."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: A grammar of addresses, which JupyterLab installs. Where it is there, jsonschema takes most of a
#: second to build it; a notebook's schema has no addresses.
_GRAMMAR = "rfc3987_syntax"


def import_papermill() -> Any:
    """The module papermill."""
    absent = _GRAMMAR not in sys.modules
    if absent:
        sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        import papermill
    finally:
        if absent:
            del sys.modules[_GRAMMAR]
    return papermill


@contextmanager
def quiet() -> Iterator[None]:
    """No warning, and nothing that papermill or what it uses logs."""
    loggers = [logging.getLogger(name) for name in ("papermill", "traitlets", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
