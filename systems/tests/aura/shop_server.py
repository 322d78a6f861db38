"""A small shop on a loopback port: pages, robots.txt, a log of requests, and misbehaviour where a test wants it."""

import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from systems.tests.shared.fetching.target import Exchange, accepting

LOOPBACK_POLICY = Policy(exempt=parse_exemptions(["127.0.0.1"]))
HTML = "text/html; charset=utf-8"


@dataclass
class Answer:
    """What the shop answers at a path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class ShopServer:
    """Answers by path; `log` has the time, the path and the head of every request."""

    answers: dict[str, Answer] = field(default_factory=dict)
    log: list[tuple[float, str, str]] = field(default_factory=list)
    port: int = 0
    before: object = None  # called with each path, before it is answered

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    @property
    def domain(self):
        return f"127.0.0.1:{self.port}"

    @property
    def paths(self):
        return [path for _, path, _ in self.log]

    def page(self, path, *links, title="Page", body="", **headers):
        """Serve a page with links; an ETag makes it conditional."""
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        text = f"<html lang=en><head><title>{title}</title></head><body><h1>{title}</h1>{body}{anchors}</body></html>"
        self.answers[path] = Answer(text.encode(), headers={"Content-Type": HTML, **headers})

    def product(self, path, *links, title="Vase", price="100.00", availability="InStock", **headers):
        """Serve the page of a product, with JSON-LD."""
        data = {
            "@context": "https://schema.org",
            "@type": "Product",
            "name": title,
            "offers": {
                "@type": "Offer",
                "price": price,
                "priceCurrency": "EUR",
                "availability": f"https://schema.org/{availability}",
            },
        }
        script = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        self.page(path, *links, title=title, body=script, **headers)

    def text(self, path, text, status=200, **headers):
        """Serve plain text or XML."""
        body = text if isinstance(text, bytes) else text.encode()
        self.answers[path] = Answer(body, status, {"Content-Type": "text/plain", **headers})

    async def handle(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        exchange = Exchange(head, reader, writer)
        self.log.append((time.monotonic(), exchange.path, head))
        if self.before is not None:
            await self.before(exchange.path)
        found = self.answers.get(exchange.path, Answer(b"not found", 404, {"Content-Type": HTML}))
        if callable(found):
            found = found(exchange)
        etag = found.headers.get("ETag")
        if etag and exchange.header("if-none-match") == etag:
            await exchange.respond(status=304, ETag=etag)
            return
        await exchange.respond(found.body, status=found.status, **found.headers)


@asynccontextmanager
async def serving_shop(shop=None):
    """Serve a shop; gives it with its port."""
    shop = shop or ShopServer()
    async with accepting(shop.handle) as port:
        shop.port = port
        yield shop


class LoopbackNames:
    """Resolves every name to this machine."""

    async def resolve(self, host):
        return ["127.0.0.1"]


def loopback_fetcher(*, port=None, **options):
    """A fetcher that may request this machine; with a port, nothing else on it."""
    policy = Policy(exempt=parse_exemptions([f"127.0.0.1:{port}"])) if port else LOOPBACK_POLICY
    return Fetcher(policy, user_agent="aura-test/1", **options)
