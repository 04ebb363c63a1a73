"""Notebooks: what their cells call, and how they are run without a person."""
