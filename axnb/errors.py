"""What axnb raises.

    AxnbError                  axnb itself could not run (exit 4)
    ├── UsageError             the request makes no sense (exit 2)
    ├── SourceError            a source cannot be read (exit 3)
    │   ├── NotALogError       it is there and is not an AX log that axnb reads
    │   ├── SourceChangedError it changed while it was copied
    │   ├── DamagedError       it is damaged in places
    │   └── UnavailableError   a server did not answer, or refused
    │       ├── CancelledError it broke off a read that may succeed later
    │       └── ObjectError    one object of a bucket cannot be read; others may be
    ├── VerdictError           a notebook ends with a verdict that is not ok (exit 1 or 3)
    ├── NotebookError          a notebook did not come to its end
    └── CaseError              the case file cannot be used
        └── CaseLockedError    another process holds it

Every message is one sentence that names the object it is about and what to do. A message never
holds a payload or a password.
"""

from __future__ import annotations

from axnb.text import safe


class AxnbError(Exception):
    """Base of all that axnb raises on purpose; `exit_code` is what the command line returns."""

    exit_code = 4

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence, without the insides of axnb."""
        return [safe(f"{type(self).__name__}: {self}")]


class UsageError(AxnbError):
    """The request makes no sense: an unknown version, a malformed option."""

    exit_code = 2


class SourceError(AxnbError):
    """A source cannot be read; nothing was concluded from it."""

    exit_code = 3


class NotALogError(SourceError):
    """The source is there, and is not an AX log of a generation that axnb reads."""


class SourceChangedError(SourceError):
    """The source changed while it was copied."""


class DamagedError(SourceError):
    """The source is damaged; what lies outside of the damage may be readable."""


class UnavailableError(SourceError):
    """A server did not answer, or refused."""


class CancelledError(UnavailableError):
    """A server broke off a read that may succeed later (SQLSTATE 40001)."""


class ObjectError(UnavailableError):
    """One object of a bucket cannot be read, or is not what was listed; others may be."""


class VerdictError(AxnbError):
    """A notebook ends with a verdict that is not ok; the result was written before."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class NotebookError(AxnbError):
    """A notebook did not come to its end; nothing was written."""


class CaseError(AxnbError):
    """The case file cannot be used."""


class CaseLockedError(CaseError):
    """Another process holds the case file for writing."""
