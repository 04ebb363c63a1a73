"""What a notebook shows: tables and pictures for everybody, widgets where a person is there.

Nothing is computed here: the library answers, and these views ask it.
"""
