"""Rehearsals that really do the thing in a scratch place, observe, and give a verdict.

Each drill is a package with a function `run` that returns a `Result`.
"""
