"""The embedded runtime: an AX server, an actor and a tool service of our own, as real programs.

    python -m axnb.runtimes.embedded serve --config ax.yaml --generation G8

The server does what a released AX of its generation does, row by row and word by word (policy
`ax`), or goes on with an unfinished turn in a better way (`requeue`, `read-before-retry`).
"""
