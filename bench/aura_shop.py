"""A generated shop for the crawl benchmark, as a process of its own: `python -m bench.aura_shop PORT PAGES`.

Lists of fifty products link to each other and to their products; each product has JSON-LD, navigation and text, about
20 KB as shops have it. Connections are kept open for clients that ask for it.
"""

import asyncio
import json
import sys

PER_LIST = 50
TEXT = "<p>" + "An old piece with a story, in good condition, collected from an estate. " * 8 + "</p>"


def make_page(path: str, pages: int) -> bytes | None:
    """Return the HTML of a path; None if there is none."""
    lists = (pages + PER_LIST - 1) // PER_LIST
    kind, _, number = path.strip("/").partition("/")
    navigation = "".join(f'<li><a href="/list/{at}">Section {at}</a></li>' for at in range(min(lists, 40)))
    if path == "/":
        return wrap("Shop", navigation, '<a href="/list/0">all</a>')
    if not number.isdecimal():
        return None
    at = int(number)
    if kind == "list" and at < lists:
        own = range(at * PER_LIST, min(at * PER_LIST + PER_LIST, pages))
        cards = "".join(f'<div class="card"><a href="/item/{each}">Item {each}</a></div>' for each in own)
        return wrap(f"List {at}", navigation, f'{cards}<a rel="next" href="/list/{at + 1}">next</a>')
    if kind == "item" and at < pages:
        data = {"@context": "https://schema.org", "@type": "Product", "name": f"Item {at}", "sku": str(at), "offers": {
            "@type": "Offer", "price": f"{at % 900 + 10}.00", "priceCurrency": "EUR",
            "availability": "https://schema.org/InStock"}}  # fmt: skip
        others = "".join(f'<a href="/item/{(at * 7 + step) % pages}">similar</a>' for step in range(10))
        script = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        return wrap(f"Item {at}", navigation, f"{script}<h1>Item {at}</h1>{TEXT * 25}{others}")
    return None


def wrap(title: str, navigation: str, body: str) -> bytes:
    """Return a page."""
    return f"<!doctype html><html lang=en><head><title>{title}</title></head><body><ul>{navigation}</ul>{body}".encode()


class Shop:
    """Answers requests; counts them."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                close = b"connection: close" in head.lower()
                writer.write(self.respond(path, close=close))
                await writer.drain()
                if close:
                    break
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    def respond(self, path: str, *, close: bool) -> bytes:
        """Return a whole response."""
        robots = b"User-agent: *\nDisallow: /private\n" if path == "/robots.txt" else None
        body = robots or make_page(path, self.pages)
        kind = "text/plain" if robots else "text/html; charset=utf-8"
        status = "200 OK" if body is not None else "404 Not Found"
        content = body or b"not found"
        connection = "close" if close else "keep-alive"
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\nConnection: {connection}"
        )
        return f"{head}\r\n\r\n".encode() + content


async def serve(port: int, pages: int) -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(Shop(pages).attend, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
