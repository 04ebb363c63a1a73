"""The outermost frame: what axnb raises becomes one sentence on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from axnb.errors import AxnbError
from axnb.text import safe


class Group(click.Group):
    """Turns axnb's own errors into one sentence and an exit code; nothing else is caught."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a verb and end the process with its exit code."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except AxnbError as err:
            say(f"axnb: {err}")
            code = err.exit_code
        except click.ClickException as err:
            # It quotes what stands in the arguments, which may be a stranger's id.
            err.message = safe(err.message)  # type: ignore[misc]
            err.show()
            code = 2
        except (click.Abort, KeyboardInterrupt):
            say("axnb: stopped; nothing was changed.")
            code = 4
        except BrokenPipeError:
            # The reader of a pipe has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 4
        except Exception as err:
            # A payload may stand in the message of an unforeseen error: its kind is enough here.
            if os.environ.get("AXNB_DEBUG"):
                raise
            say(
                f"axnb: could not go on ({type(err).__name__}); this is a fault of axnb. "
                "Set AXNB_DEBUG=1 to see where."
            )
            code = 4
        sys.exit(code or 0)


def say(text: str) -> None:
    """Tell a person what is no answer: on stderr, with nothing in it that moves a cursor."""
    click.echo(safe(text), err=True)


def is_coloured() -> bool:
    """Does stdout want colour?"""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )
