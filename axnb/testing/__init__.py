"""Builders of logs with known wounds, for axnb's tests and for those of its users."""
