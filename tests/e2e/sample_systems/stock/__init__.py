"""Products: counted and listed.

What follows the first line is not shown in the list of commands.
"""
