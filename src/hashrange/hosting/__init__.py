"""Runs systems in one process. Those who write one use the public names `System`, `Host` and `RunningSystem`.

A system registers in the entry-point group `hashrange.systems`; `hashrange up` finds it there and hosts it.
"""
