"""Runs systems in one process: public for those who write one are `System`, `Host` and `RunningSystem`.

A system registers in the entry-point group `hashrange.systems`; `hashrange up` finds it there and hosts it.
"""

from hashrange.hosting.system import Host, RunningSystem, System

__all__ = ["Host", "RunningSystem", "System"]
