"""Web pages of several hosts (one port each) in a process of their own: `/hang` never answers, `/slow` after a second.

`python -m bench.pages COUNT` prints the ports, and serves until its standard input is closed.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SLOW_S = 1.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers the requests of a connection, as their paths say."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1]
            if path.startswith(b"/hang"):
                await reader.read()  # until the client gives up
                break
            await asyncio.sleep(SLOW_S if path.startswith(b"/slow") else 0)
            writer.write(ANSWER)
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


async def serve(count: int) -> None:
    """Serves until the standard input is closed."""
    servers = [await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000) for _ in range(count)]
    print(*[server.sockets[0].getsockname()[1] for server in servers], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def serve_pages(count: int) -> Iterator[list[int]]:
    """Serves so many hosts until the block ends; yields their ports."""
    command = [sys.executable, "-m", "bench.pages", str(count)]
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield [int(port) for port in process.stdout.readline().split()]
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
