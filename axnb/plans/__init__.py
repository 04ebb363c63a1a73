"""Plans: text that an operator may run. axnb prints plans; it never runs them.

A plan holds the exact statements for the store, with a check before, a check after and the undo.
A check that fails stops the script and keeps nothing; no payload stands in a plan.
"""

from __future__ import annotations

from axnb.plans.planner import plan
from axnb.plans.section import Plan, Section

__all__ = ["Plan", "Section", "plan"]
