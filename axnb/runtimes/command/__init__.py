"""The runtime `command`: an operator's own deployment, by commands or by a person's hands.

`[drill.command]` of `axnb.toml` (`axnb.settings_command`) names a command for each step. What is
observed is read from the log, the bucket and the ledger, never from what was asked of whom.
"""

from axnb.runtimes.command.guiding import Ask, ask_in_terminal
from axnb.runtimes.command.runtime import CommandRuntime

__all__ = ["Ask", "CommandRuntime", "ask_in_terminal"]
