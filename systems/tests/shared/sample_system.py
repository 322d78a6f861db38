"""A system that is as small as one can be: a shelf that a loop fills, and its commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Protocol

import typer
from starlette.applications import Starlette

from hashrange import Delete, Get, Item, Patterns, Query, Secret, Table
from hashrange_systems.shared.application.application_type import ApplicationType, make_system
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.application.settings import SystemSettings, declare_keys, number, setting
from hashrange_systems.shared.cli.system_commands import Runner, add_worker_commands, make_cli
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import Presence, PresenceFields

stock = Table("stock", "pk", "sk")


class Shelf(Item, table=stock, pk="SHELF", sk="{name}"):
    name: str
    count: int = 0
    owner: Secret[str] = ""


class Clerk(PresenceFields, Item, table=stock, pk="CLERKS", sk="{worker_id}"):
    pass


class Stock(Patterns, Protocol):
    def shelf(self, name: str) -> Get[Shelf]: ...
    def workers(self) -> Query[Clerk]: ...
    def forget_worker(self, worker_id: str) -> Delete[Clerk]: ...


@dataclass(frozen=True, kw_only=True)
class Settings(SystemSettings):
    system: ClassVar[str] = "stock"

    shelves: int = setting(4, "How many shelves there are.", number(1, 100))
    label: str = setting("plain", "What is on the shelves.", str)
    partner: str | None = setting(None, "The id at the partner.", str, variable="PARTNER_ID")
    keys: Path | None = declare_keys()
    work: int = setting(1, "Whether this process works.", number(0, 1))

    @property
    def works(self) -> bool:
        return self.work == 1

    def check(self):
        yield from super().check()
        if self.partner and self.shelves < 2:
            yield "STOCK_SHELVES must be at least 2 with PARTNER_ID"


class Application:
    def __init__(self, runtime: Runtime[Settings]) -> None:
        self.runtime = runtime
        self.db = runtime.bind(Stock.open)
        self.closed: list[str] = []
        runtime.on_close(lambda: self.closed.append("first"))
        runtime.on_close(self.close_slowly)
        presence = Presence(self.db, Clerk, runtime.clock, works=runtime.settings.works)
        self.loops = Loops(presence, [Loop("fill", 0.01, self.fill)])

    async def close_slowly(self) -> None:
        self.closed.append("last")

    async def fill(self) -> None:
        await self.db.put(Shelf(name="a", count=7, owner="ann"))

    async def count(self, name: str) -> int:
        return (await self.db.shelf(name).required()).count


APPLICATION = ApplicationType(Application, Settings, (Stock,))
SYSTEM = make_system(APPLICATION, title="Stock", summary="What there is.", make_app=lambda _: Starlette())

app = make_cli("stock", "Stock: what there is.", "  hashrange stock count a", lambda: APPLICATION)


@app.command()
def count(runner: Runner[Application], shelf: Annotated[str, typer.Argument(help="Which one.")] = "a") -> None:
    typer.echo(runner.run(lambda services: services.count(shelf)))


@app.command()
def fill(runner: Runner[Application]) -> None:
    runner.run(lambda services: services.fill())
    typer.echo(f"filled as a command: {runner.run(ask_role)}")


@app.command()
def hello(name: str) -> None:
    typer.echo(f"hello {name}")


async def ask_role(services: Application) -> bool:
    return services.runtime.is_command


add_worker_commands(app, "Work until Ctrl-C.", lambda services: f"working on {services.runtime.settings.label}")
