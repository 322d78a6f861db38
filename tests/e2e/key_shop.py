"""A system whose release before this one kept keys beside its users: it moves them before it is started.

`test_up_prepare.py` hosts it with `--app key_shop`; environment variables make it slow, or fail.
"""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hashrange import Get, Host, Item, Key, LocalKeys, Patterns, Scan, Secret, System, Table
from hashrange.provision import Migration

users = Table("SHOP_USER", "pk", "sk", deletion_protection=False)
former_users = Table("SHOP_USER", "pk", "sk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
accounts = Table("shop-accounts", "pk", deletion_protection=False)


class User(Item, table=users, pk="USER#{name}", sk="USER"):
    name: Key[str]


class Users(Patterns, Protocol):
    def user(self, name: str) -> Get[User]: ...


class FormerKey(Item, table=former_users, pk="USER#{name}", sk="KEY#{number:05d}"):
    name: Key[str]
    number: Key[int]
    token: Secret[str]


class FormerUsers(Patterns, Protocol):
    def key(self, name: str, number: int) -> Get[FormerKey]: ...


class ApiKey(Item, table=accounts, pk="KEY#{number:05d}"):
    number: Key[int]
    owner: str
    token: Secret[str]


class Accounts(Patterns, Protocol):
    def key(self, number: int) -> Get[ApiKey]: ...
    def all_keys(self) -> Scan[ApiKey]: ...


former_keys = Migration("keys of the shop", source=FormerUsers, target=Accounts)


@former_keys.convert(FormerKey)
def convert(key: FormerKey) -> ApiKey:
    return ApiKey(number=key.number, owner=key.name, token=key.token)


def find_keys(host: Host) -> LocalKeys:
    return LocalKeys(Path(host.environment["SHOP_FILES"], "keys.json"))


def prepare(host: Host, report: Callable[[str, int, int], None]) -> None:
    files = Path(host.environment["SHOP_FILES"])

    def show(done: int, total: int) -> None:
        report("keys", done, total)
        (files / "reported").touch()
        time.sleep(float(host.environment.get("SHOP_PAUSE", "0")))

    if port := host.environment.get("SHOP_PORT"):
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", int(port))):
            (files / "reachable").touch()
    if host.environment.get("SHOP_FAILS"):
        raise RuntimeError("out of stock")
    command = "hashrange migrate {step} key_shop:former_keys --target URL --keys keys.json"
    run = former_keys.open(host.database, keys=find_keys(host), command=command)
    if host.owns_database:
        run.move(report=show)
    else:
        run.require_moved()


class RunningShop:
    def __init__(self, host: Host) -> None:
        tokens = [key.token for key in Accounts.open(host.database, keys=find_keys(host)).all_keys()]
        self.tokens = sorted(tokens)  # as they are when the system is started
        self.app = Starlette(routes=[Route("/", self.show)])

    async def show(self, _request: Request) -> JSONResponse:
        return JSONResponse(self.tokens)

    async def work(self) -> None:
        """No background work."""

    async def fill_demo(self) -> None:
        """No demo."""

    async def close(self) -> None:
        """Nothing to release."""


SYSTEM = System(
    name="shop",
    title="Shop",
    summary="Has keys.",
    patterns=(Users, Accounts),
    start=RunningShop,
    prepare=prepare,
)
