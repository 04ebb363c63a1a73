"""`python -m axnb.cli` is `axnb`."""

from __future__ import annotations

from axnb.cli import main

if __name__ == "__main__":
    main()
