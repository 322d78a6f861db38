"""Arguments and exit codes that several commands have, and what the arguments name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import AnyCheck, User

NOT_UP = 3  # exit code

CheckId = Annotated[str, typer.Argument(metavar="CHECK", help="The id of the check.")]
Owner = Annotated[str, typer.Option("--user", help="Whose: an e-mail address, or an id.")]


async def find_user(services: Application, name: str) -> User:
    """Return the user with this e-mail address or id."""
    return await (services.users.by_email(name) if "@" in name else services.users.find(name))


async def find_check(services: Application, checkid: str) -> AnyCheck:
    """Return a check of any user."""
    from hashrange_systems.shared.errors import ResourceMissing
    from hashrange_systems.shared.identifier import is_valid_id

    check = await services.db.check(checkid).consistent() if is_valid_id(checkid) else None
    if check is None:
        raise ResourceMissing("check")
    return check
