"""What a resume drill is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from axnb.runtimes import POINTS, Kind, Policy
from axnb.settings import Settings


@dataclass(frozen=True)
class ResumeOptions:
    """How a drill is run."""

    runtime: Kind = "embedded"
    policies: tuple[Policy, ...] = ("ax",)
    idempotent: bool = False
    store: str = "sqlite"
    generation: str = "G8"
    points: tuple[int, ...] = tuple(POINTS)
    #: Empty for a folder in the scratch, None for no bucket.
    snapshots: str | None = ""
    alertmanager: str = ""
    ax_bin: Path | None = None
    repeat: int = 1
    seed: int = 0
    keep: Path | None = None
    confirmed: bool = False
    settings: Settings = field(default_factory=Settings)
