"""Ledgers of tool systems: what they say they did."""
