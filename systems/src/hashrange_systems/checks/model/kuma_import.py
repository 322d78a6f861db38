"""Reads the backup file of Uptime Kuma, JSON with a `monitorList`. Runs in the sandbox: the file is untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from hashrange_systems.checks.model.attributes import MAX_GROUP_LENGTH, MAX_NAME_LENGTH
from hashrange_systems.checks.model.delay import MAX_DELAY_MS
from hashrange_systems.checks.model.imported_check import (
    ImportedCheck,
    ImportedFile,
    NotImportable,
    SkippedCheck,
    describe_excess,
    limit,
    read_count,
    read_line,
)
from hashrange_systems.checks.model.signals import MAX_PERIOD_MS, MIN_PERIOD_MS
from hashrange_systems.shared.epoch import MINUTE_MS

SOURCE = "Uptime Kuma"
SIMPLE_PATH = re.compile(r"\$?\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+|\[\d+\])*", re.ASCII)
Monitor = Mapping[str, Any]


def read_kuma(content: bytes, most: int) -> ImportedFile:
    """Return the checks of a backup file; one with more monitors than so many is an error."""
    try:
        given = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        return ImportedFile(error=f"The file is not JSON: {error.msg}.")
    monitors = given.get("monitorList") if isinstance(given, Mapping) else None
    if isinstance(monitors, Mapping):
        monitors = list(monitors.values())
    if not isinstance(monitors, list):
        return ImportedFile(error="The file has no monitorList: export a backup in Uptime Kuma under Settings, Backup.")
    known = [each for each in monitors if isinstance(each, Mapping)]
    groups = {
        each.get("id"): read_line(each, "name", MAX_GROUP_LENGTH) for each in known if each.get("type") == "group"
    }
    listed = [each for each in known if each.get("type") != "group"]
    if len(listed) > most:
        return ImportedFile(error=describe_excess(most))
    checks, skipped = [], []
    for each in listed:
        try:
            checks.append(read_monitor(each, groups))
        except NotImportable as error:
            skipped.append(SkippedCheck(name=read_line(each, "name", MAX_NAME_LENGTH), reason=str(error)))
    return ImportedFile(source=SOURCE, checks=checks, skipped=skipped)


def read_monitor(monitor: Monitor, groups: Mapping[Any, str]) -> ImportedCheck:
    """Return the check of a monitor; raise NotImportable if there is none like it."""
    monitor_type = read_line(monitor, "type")
    if monitor_type not in MONITOR_TYPES:
        raise NotImportable(f"there is no type of check for {monitor_type or 'this'}")
    if monitor.get("upsideDown"):
        raise NotImportable("a check cannot be upside down")
    check_type, url, attributes = MONITOR_TYPES[monitor_type](monitor)
    attributes |= {"retries": limit(read_count(monitor, "maxretries", 2), 0, 10)}
    parent = groups.get(monitor.get("parent"))
    return ImportedCheck(
        check_type=check_type,
        name=read_line(monitor, "name", MAX_NAME_LENGTH),
        url=url,
        delay_ms=limit(read_count(monitor, "interval", 60) * 1000, 1000, MAX_DELAY_MS),
        attributes=attributes,
        group=parent or None,
        tags=read_tags(monitor),
        paused=monitor.get("active") in (False, 0),
        notes=["certificates are always verified"] if monitor.get("ignoreTls") else [],
    )


def read_tags(monitor: Monitor) -> list[str]:
    """Return the tags, with their values."""
    given = monitor.get("tags")
    tags = given if isinstance(given, list) else []
    pairs = [(read_line(tag, "name", 20), read_line(tag, "value", 18)) for tag in tags if isinstance(tag, Mapping)]
    return [f"{name}:{value}" if value else name for name, value in pairs if name][:20]


def read_page(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a web page."""
    attributes: dict[str, Any] = {
        "method": read_line(monitor, "method").upper() or "GET",
        "timeoutMs": limit(read_count(monitor, "timeout", 10) * 1000, 100, 24_000),
        "followRedirects": read_count(monitor, "maxredirects", 10) > 0,
    }
    statuses = monitor.get("accepted_statuscodes")
    if isinstance(statuses, list) and statuses:
        attributes["acceptedStatus"] = ",".join(str(each) for each in statuses[:20])
    if isinstance(monitor.get("body"), str) and monitor["body"] and attributes["method"] not in ("GET", "HEAD"):
        attributes["body"] = monitor["body"]
    if headers := read_headers(monitor.get("headers")):
        attributes["headers"] = headers
    return "AVAILABILITY", read_line(monitor, "url"), attributes


def read_headers(text: object) -> dict[str, str]:
    """Return headers, which Kuma stores as JSON text."""
    try:
        given = orjson.loads(text) if isinstance(text, str) and text.strip() else text
    except orjson.JSONDecodeError:
        return {}
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, Mapping) else {}


def read_keyword(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a page with a text."""
    check_type, url, attributes = read_page(monitor)
    return (
        check_type,
        url,
        attributes
        | {
            "keyword": str(monitor.get("keyword") or ""),
            "invert": bool(monitor.get("invertKeyword")),
        },
    )


def read_json_query(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a JSON value, if its path has no functions."""
    path, value = read_line(monitor, "jsonPath"), read_line(monitor, "expectedValue")
    operator = read_line(monitor, "jsonPathOperator") or "=="
    if not SIMPLE_PATH.fullmatch(path):
        raise NotImportable(f"the JSON query {path!r} is more than a path")
    check_type, url, attributes = read_page(monitor)
    name = re.sub(r"\[(\d+)\]", r".\1", path).removeprefix("$").removeprefix(".")
    return check_type, url, attributes | {"conditions": [f"json {name} {operator} {value}"]}


def read_port(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a port."""
    return "TCP", f"{read_line(monitor, 'hostname')}:{read_count(monitor, 'port', 0)}", {}


def read_ping(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a host."""
    return "PING", read_line(monitor, "hostname"), {}


def read_dns(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a DNS record; several servers become the first."""
    attributes = {"recordType": read_line(monitor, "dns_resolve_type") or "A"}
    if server := read_line(monitor, "dns_resolve_server").split(",")[0].strip():
        attributes["nameserver"] = f"{server}:{read_count(monitor, 'port', 53) or 53}"
    return "DNS", read_line(monitor, "hostname"), attributes


def read_push(monitor: Monitor) -> tuple[str, str | None, dict[str, Any]]:
    """Return the check of a job that calls a URL, which is another one here."""
    period = limit(read_count(monitor, "interval", 60) * 1000, MIN_PERIOD_MS, MAX_PERIOD_MS)
    return "HEARTBEAT", None, {"periodMs": period, "graceMs": MINUTE_MS}


MONITOR_TYPES: Mapping[str, Callable[[Monitor], tuple[str, str | None, dict[str, Any]]]] = {
    "http": read_page,
    "keyword": read_keyword,
    "json-query": read_json_query,
    "port": read_port,
    "ping": read_ping,
    "dns": read_dns,
    "push": read_push,
}
