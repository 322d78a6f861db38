"""Ducks: counted, filled in and fed.

What follows the first line is not shown in the list of commands.
"""
