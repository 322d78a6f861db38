"""Why a call in the sandbox has no result."""

from __future__ import annotations

from enum import StrEnum

from hashrange import HashrangeError


class Reason(StrEnum):
    """Why a call has no result."""

    TIME = "time"  # it took longer than its budget, and was killed
    MEMORY = "memory"  # it needed more memory than its budget
    CRASH = "crash"  # its process ended, or answered nonsense
    ERROR = "error"  # the function raised an exception
    BUSY = "busy"  # all processes are taken, or too many of this tenant's calls wait
    CLOSED = "closed"  # the sandbox was closed


class SandboxError(HashrangeError):
    """A call that has no result; the text is for users and says nothing about the process."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
