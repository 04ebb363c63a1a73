"""`python -m axnb.runtimes.embedded NAME …` runs one of the programs."""

from __future__ import annotations

import sys
from importlib import import_module

#: A program's name and its module, which has `main(arguments) -> exit code`.
PROGRAMS = {
    "serve": "axnb.runtimes.embedded.server",
    "actor": "axnb.runtimes.actor",
    "tools": "axnb.runtimes.tools",
    "watchdog": "axnb.runtimes.watchdog",
}


def main(arguments: list[str]) -> int:
    """Run the program that the first argument names; 2 if there is none of that name."""
    name = arguments[0] if arguments else ""
    if name not in PROGRAMS:
        print(f"{name!r} is none of {', '.join(PROGRAMS)}.", file=sys.stderr)
        return 2
    return int(import_module(PROGRAMS[name]).main(arguments[1:]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
