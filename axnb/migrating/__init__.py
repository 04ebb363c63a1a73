"""Take a log to another generation in a copy: `migrate`, or `examine` to see what would happen.

Nothing is dropped in silence: what the target cannot hold is listed by its path and refused unless
each path was accepted. The source is never touched, and the copy comes to be whole or not at all.
"""

from __future__ import annotations

from axnb.migrating.migration import (
    AsItIs,
    LossError,
    Migrated,
    MigrationOptions,
    RefusedRowError,
    examine,
    migrate,
)

__all__ = [
    "AsItIs",
    "LossError",
    "Migrated",
    "MigrationOptions",
    "RefusedRowError",
    "examine",
    "migrate",
]
