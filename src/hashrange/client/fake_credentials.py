"""The credentials in the environment while a patch is active, and what they were before.

moto does the same. Where its patch and ours end in another order than they began, each would put back what the other
had set: so only our own values are replaced, and what moto puts back of ours is replaced when moto stops.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

FAKE_KEY = "hashrange"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": FAKE_KEY,
    "AWS_SECRET_ACCESS_KEY": FAKE_KEY,
    "AWS_SESSION_TOKEN": None,  # belongs to the real keys
    "AWS_SECURITY_TOKEN": None,
}


class FakeCredentials:
    """Credentials in the environment that no one has."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] | None = None  # None while they are not set
        self._owed: dict[str, str | None] = {}  # variables that moto will set to our values

    def set(self) -> None:
        """Set them, and remember what was there; once is enough."""
        if self._before is None:
            self._before = {name: os.environ.get(name) for name in ENVIRONMENT}
            _set_variables(ENVIRONMENT)

    def restore(self) -> None:
        """Put back what was there, except where another program has set a variable meanwhile."""
        before, self._before = self._before or {}, None
        ours = _ours_of(before)
        _set_variables(ours)
        moto: Any = getattr(sys.modules.get("moto.core.models"), "MockAWS", None)
        if moto is not None and moto._mocks_active and len(ours) < len(before):  # noqa: SLF001 - has no other name
            self._owed |= {name: value for name, value in before.items() if name not in ours}
            self._follow(moto)

    def _follow(self, moto: Any) -> None:
        """Put back what is owed when moto stops."""
        stop = moto.stop

        @functools.wraps(stop)
        def stop_and_restore(*args: Any, **kwargs: Any) -> None:
            stop(*args, **kwargs)
            if not moto._mocks_active:  # noqa: SLF001 - as above
                moto.stop = stop
                self._restore_owed()

        moto.stop = stop_and_restore

    def _restore_owed(self) -> None:
        owed, self._owed = _ours_of(self._owed), {}
        if self._before is None:
            _set_variables(owed)
        else:  # they are set again: these are what was there before
            self._before |= owed


def _ours_of(variables: dict[str, str | None]) -> dict[str, str | None]:
    """Return the variables that have the value which we have set."""
    return {name: value for name, value in variables.items() if os.environ.get(name) == ENVIRONMENT[name]}


def _set_variables(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
