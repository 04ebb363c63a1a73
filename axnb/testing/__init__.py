"""Builders of logs, buckets and records, for axnb's tests and those of its users.

`logs` writes event logs, `buckets` snapshots and their wounds, `fleet` with `records` exports of
the control plane, and `state` all of these so that they fit each other.
"""
