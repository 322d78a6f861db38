"""The duck system: its worker notes each step, and can be told by the environment to fail or to take its time."""

import asyncio
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hashrange.hosting.system import Host, System
from ponds.duck.schema import Duck, Ducks

POND = "mill"


@dataclass
class Flock:
    host: Host
    steps: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self):
        self.ducks = Ducks.open(self.host.database)
        self.app = Starlette(
            routes=[
                Route("/", self.show),
                Route("/add/{name}", self.add, methods=["POST"]),
                Route("/thread", self.count_on_a_thread),
                Route("/slow", self.dawdle),
                Route("/broken", self.fail),
            ]
        )

    async def show(self, request: Request):
        host = self.host
        known = {"base_url": host.base_url, "own_ports": sorted(host.own_ports), "directory": str(host.directory)}
        names = [duck.name async for duck in self.ducks.ducks(POND)]
        return JSONResponse({**known, "demo": host.demo, "names": names, "steps": self.steps})

    async def add(self, request: Request):
        await self.ducks.put(Duck(pond=POND, name=request.path_params["name"]))
        return JSONResponse({})

    async def count_on_a_thread(self, request: Request):
        return JSONResponse(await run_in_threadpool(lambda: len(self.ducks.ducks(POND).run())))

    async def dawdle(self, request: Request):
        self.note("asked")
        await self.asked.wait()
        return JSONResponse("at last")

    async def fail(self, request: Request):
        raise RuntimeError("no pond")

    async def work(self):
        self.note("work began")
        if self.host.environment.get("DUCK_FAILS") and not self.has("failed"):
            self.note("failed")
            raise RuntimeError("the duck flew away")
        try:
            while True:
                await self.ducks.put(Duck(pond="steps", name=f"{self.steps}"))
                self.steps += 1
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await self.finish()
            raise

    async def finish(self):
        if self.host.environment.get("DUCK_STAYS"):
            self.note("stays")
            await asyncio.sleep(60)
        await self.ducks.put(Duck(pond="steps", name="last"))
        self.asked.set()

    async def fill(self):
        for name in ("Agnes", "Bertie", "Clyde"):
            await self.ducks.put(Duck(pond=POND, name=name))

    async def close(self):
        await self.ducks.put(Duck(pond="steps", name="closed"))

    def note(self, text):
        """Leave word for the test, where there is a directory."""
        if self.host.directory is not None:
            (self.host.directory / text).touch()

    def has(self, text):
        return self.host.directory is not None and (self.host.directory / text).exists()


SYSTEM = System(
    name="duck",
    title="Ducks & drakes",
    summary="Counts <ducks> on a pond.",
    patterns=(Ducks,),
    start=Flock,
)
