"""Single mutations of a log: one row, or one place in the table, is another one than it was."""

from tests.checks.mutations import content, events, executions, rows, texts
from tests.checks.mutations.mutant import MUTATIONS, InapplicableError, Mutant

__all__ = [
    "MUTATIONS",
    "InapplicableError",
    "Mutant",
    "content",
    "events",
    "executions",
    "rows",
    "texts",
]
