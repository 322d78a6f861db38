"""The settings of a server: address, limits, timeouts."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
HOST, PORT = "127.0.0.1", 8000
BACKLOG = 1024  # connections that wait to be accepted
MAX_CONNECTIONS = 4096
SPIN_MICROSECONDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of one server; defaults are DynamoDB's where it has any. Times are in seconds."""

    host: str = HOST
    port: int = PORT  # 0 takes any free one
    listen: bool = True  # False: no requests, only the maintenance of the database
    cors: tuple[str, ...] = ()  # origins of web pages whose requests are accepted; "*" accepts all
    allow_hosts: tuple[str, ...] = ()  # names of this server beside loopback and `host`; "*" accepts all

    max_connections: int = MAX_CONNECTIONS
    max_line: int = 16 * KIB
    max_head: int = 16 * KIB
    max_body: int = 16 * MIB  # inflated
    max_unfinished: int = 512 * MIB  # of all the bodies that are still arriving

    head_timeout: float = 10.0  # from a request's first byte to the end of its headers
    body_timeout: float = 60.0  # from a request's first byte to its last
    idle_timeout: float = 300.0  # without any request
    write_timeout: float = 60.0  # a client that does not read its responses
    linger: float = 2.0  # how long a refused client may go on sending before it is cut off
    sweep: float = 1.0  # how often the timeouts are looked at

    spin: float = SPIN_MICROSECONDS / 1e6  # how long to poll for the next request before going to sleep; 0 never
    slow: float = 1.0  # a request that took longer is logged as a warning
    grace: float = 5.0  # how long a stopping server waits for requests that are still arriving
    stall: float = 1.0  # ... as long as their next bytes take no longer than this
