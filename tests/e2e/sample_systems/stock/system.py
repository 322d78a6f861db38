"""The stock system: its worker records each step; environment variables make it fail or wait."""

import asyncio
import logging
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hashrange import Host, System
from sample_systems.stock.schema import Product, Products

SHOP = "north"
log = logging.getLogger(__name__)


@dataclass
class StockService:
    host: Host
    steps: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self):
        self.products = Products.open(self.host.database)
        self.app = Starlette(
            routes=[
                Route("/", self.show),
                Route("/add/{name}", self.add, methods=["POST"]),
                Route("/thread", self.count_on_a_thread),
                Route("/slow", self.respond_slowly),
                Route("/broken", self.fail),
            ]
        )

    async def show(self, request: Request):
        host = self.host
        known = {"base_url": host.base_url, "own_ports": sorted(host.own_ports), "directory": str(host.directory)}
        names = [product.name async for product in self.products.products(SHOP)]
        return JSONResponse({**known, "demo": host.demo, "names": names, "steps": self.steps})

    async def add(self, request: Request):
        await self.products.put(Product(shop=SHOP, name=request.path_params["name"]))
        return JSONResponse({})

    async def count_on_a_thread(self, request: Request):
        return JSONResponse(await run_in_threadpool(lambda: len(self.products.products(SHOP).run())))

    async def respond_slowly(self, request: Request):
        self.note("asked")
        await self.asked.wait()
        return JSONResponse("at last")

    async def fail(self, request: Request):
        raise RuntimeError("no such shop")

    async def work(self):
        self.note("work began")
        log.info("counting", extra={"fields": {"shop": SHOP}})
        log.debug("a detail")
        if self.host.environment.get("STOCK_FAILS") and not self.has("failed"):
            self.note("failed")
            raise RuntimeError("the worker failed")
        try:
            while True:
                await self.products.put(Product(shop="steps", name=f"{self.steps}"))
                self.steps += 1
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await self.finish()
            raise

    async def finish(self):
        if self.host.environment.get("STOCK_STAYS"):
            self.note("stays")
            await asyncio.sleep(60)
        await self.products.put(Product(shop="steps", name="last"))
        self.asked.set()

    async def fill_demo(self):
        for name in ("Agnes", "Bertie", "Clyde"):
            await self.products.put(Product(shop=SHOP, name=name))

    async def close(self):
        await self.products.put(Product(shop="steps", name="closed"))

    def note(self, text):
        """Create a file for the test, if there is a directory."""
        if self.host.directory is not None:
            (self.host.directory / text).touch()

    def has(self, text):
        return self.host.directory is not None and (self.host.directory / text).exists()


SYSTEM = System(
    name="stock",
    title="Products & prices",
    summary="Counts <products> in a shop.",
    patterns=(Products,),
    start=StockService,
)
