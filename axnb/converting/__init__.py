"""The rows of a log in the words of another generation, by as many processes as there are cores.

A process beside this one begins here, so nothing is imported that it does not need.
"""
