"""Secrets: where one was left behind, told by kind, place and keyed digest. Never by its value."""
