"""Reads the configuration of Gatus, YAML with `endpoints`. Runs in the sandbox: the file is untrusted.

Aliases and tags are refused: a short file with aliases can describe an enormous one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from hashrange_systems.checks.model.attributes import MAX_GROUP_LENGTH, MAX_NAME_LENGTH, MAX_SLOW_MS
from hashrange_systems.checks.model.delay import MAX_DELAY_MS
from hashrange_systems.checks.model.imported_check import (
    ImportedCheck,
    ImportedFile,
    NotImportable,
    SkippedCheck,
    describe_excess,
    limit,
    read_line,
)
from hashrange_systems.checks.model.signals import MAX_PERIOD_MS, MIN_PERIOD_MS
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS

SOURCE = "Gatus"
URL_LINE = re.compile(rb"""^[ \t-]*["']?url["']?[ \t]*:""", re.MULTILINE)  # each endpoint has one
URLS_BESIDE = 100  # that alerting may have
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
UNITS_MS = {"ms": 1, "s": 1000, "m": MINUTE_MS, "h": HOUR_MS}
CONDITION = re.compile(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)", re.DOTALL)
BODY_PATH = re.compile(r"\[BODY\]\.([A-Za-z0-9_.\[\]-]+)", re.ASCII)
HAS_PATH = re.compile(r"has\(\[BODY\]\.([A-Za-z0-9_.\[\]-]+)\)", re.ASCII)
CONTAINS = re.compile(r"pat\(\*([^*?]+)\*\)")
ANY_OF = re.compile(r"any\(([\d,\s]+)\)", re.ASCII)
DAY_HOURS = 24
Endpoint = Mapping[str, Any]


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """A loader of plain YAML, without aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_gatus(content: bytes, most: int) -> ImportedFile:
    """Return the checks of a configuration; one with more endpoints than so many is an error."""
    if len(URL_LINE.findall(content)) > most + URLS_BESIDE:  # parsing 9,000 endpoints takes 10 s of processor time
        return ImportedFile(error=describe_excess(most))
    try:
        given = yaml.load(content, PlainLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return ImportedFile(error=f"The file is neither JSON nor plain YAML: {' '.join(str(error).split())[:200]}.")
    parts = given if isinstance(given, Mapping) else {}
    endpoints = [(each, read_endpoint) for each in list_maps(parts.get("endpoints") or parts.get("services"))]
    endpoints += [(each, read_external) for each in list_maps(parts.get("external-endpoints"))]
    if not endpoints:
        return ImportedFile(error="The file has neither a monitorList (Uptime Kuma) nor endpoints (Gatus).")
    if len(endpoints) > most:
        return ImportedFile(error=describe_excess(most))
    checks: list[ImportedCheck] = []
    skipped = []
    for each, read in endpoints:
        try:
            checks += read(each)
        except NotImportable as error:
            skipped.append(SkippedCheck(name=read_line(each, "name", MAX_NAME_LENGTH), reason=str(error)))
    return ImportedFile(source=SOURCE, checks=checks[:most], skipped=skipped)


def list_maps(value: object) -> list[Endpoint]:
    """Return the maps of a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def read_duration(text: object, usual_ms: int) -> int:
    """Return a duration as Go writes it, in milliseconds; the usual one if it is none."""
    found = DURATION.findall(text) if isinstance(text, str) else []
    if not found or "".join(number + unit for number, unit in found) != str(text).strip():
        return usual_ms
    return round(min(sum(float(number) * UNITS_MS[unit] for number, unit in found), 1e12))


def read_endpoint(endpoint: Endpoint) -> list[ImportedCheck]:
    """Return the checks of an endpoint: one, and another one for the registration of its domain, if wanted."""
    url = read_line(endpoint, "url")
    conditions = [each for each in endpoint.get("conditions") or () if isinstance(each, str)][:50]
    scheme = url.partition("://")[0] if "://" in url else ""
    common = read_common(endpoint)
    if isinstance(endpoint.get("dns"), Mapping):
        return [make_dns_check(endpoint["dns"], url, conditions, common)]
    if scheme not in SCHEMES:
        raise NotImportable(f"there is no type of check for {scheme or 'an address without scheme'}")
    if any(endpoint.get(each) for each in ("graphql", "ssh")):
        raise NotImportable("GraphQL and SSH are not supported")
    attributes, notes = read_conditions(conditions, SCHEMES[scheme])
    attributes = (
        read_retries(endpoint) | (read_request(endpoint) if SCHEMES[scheme] == "AVAILABILITY" else {}) | attributes
    )
    expiration = attributes.pop("domainDays", None)
    check = ImportedCheck(check_type=SCHEMES[scheme], url=url, attributes=attributes, notes=notes, **common)
    if expiration is None:
        return [check]
    host = re.sub(r"^.*?://|[:/].*$", "", url)
    name = f"{common['name'][: MAX_NAME_LENGTH - 10]} (domain)"
    domain = common | {"name": name, "delay_ms": DAY_MS}
    return [check, ImportedCheck(check_type="DOMAIN", url=host, attributes={"warningDays": expiration}, **domain)]


SCHEMES = {"http": "AVAILABILITY", "https": "AVAILABILITY", "tcp": "TCP", "icmp": "PING", "tls": "TLS"}


def read_common(endpoint: Endpoint) -> dict[str, Any]:
    """Return what every check has."""
    return {
        "name": read_line(endpoint, "name", MAX_NAME_LENGTH),
        "group": read_line(endpoint, "group", MAX_GROUP_LENGTH) or None,
        "delay_ms": limit(read_duration(endpoint.get("interval"), MINUTE_MS), 1000, MAX_DELAY_MS),
        "paused": endpoint.get("enabled") is False,
    }


def read_retries(endpoint: Endpoint) -> dict[str, Any]:
    """Return the retries from the smallest failure threshold of the alerts."""
    thresholds = [
        each["failure-threshold"]
        for each in list_maps(endpoint.get("alerts"))
        if isinstance(each.get("failure-threshold"), int)
    ]
    return {"retries": limit(min(thresholds) - 1, 0, 10)} if thresholds else {}


def read_request(endpoint: Endpoint) -> dict[str, Any]:
    """Return the attributes of a request."""
    client = endpoint.get("client") if isinstance(endpoint.get("client"), Mapping) else {}
    assert isinstance(client, Mapping)
    attributes: dict[str, Any] = {"method": read_line(endpoint, "method").upper() or "GET"}
    headers = endpoint.get("headers")
    if isinstance(headers, Mapping) and headers:
        attributes["headers"] = {str(name): str(value) for name, value in headers.items()}
    if isinstance(endpoint.get("body"), str) and attributes["method"] not in ("GET", "HEAD"):
        attributes["body"] = endpoint["body"]
    if "timeout" in client:
        attributes["timeoutMs"] = limit(read_duration(client["timeout"], 10_000), 100, 24_000)
    if client.get("ignore-redirect") is True:
        attributes["followRedirects"] = False
    return attributes


def read_conditions(conditions: list[str], check_type: str) -> tuple[dict[str, Any], list[str]]:
    """Return the attributes of conditions, and notes on those that have no counterpart."""
    attributes: dict[str, Any] = {}
    notes: list[str] = []
    for line in conditions:
        found = CONDITION.fullmatch(line.strip())
        read = read_condition(found[1], found[2], found[3]) if found else None
        if read is None and found and check_type == "AVAILABILITY":
            read = read_page_condition(found[1], found[2], found[3])
        if read is None:
            notes.append(f"left out: {line[:100]}")
            continue
        lines = attributes.get("conditions", []) + read.pop("conditions", [])
        attributes |= read | ({"conditions": lines} if lines else {})
    return attributes, notes


def read_condition(subject: str, operator: str, value: str) -> dict[str, Any] | None:
    """Return the attributes of a condition that several types have; None if it is none."""
    if subject == "[CONNECTED]" and value == "true":
        return {}
    if subject == "[RESPONSE_TIME]" and operator in ("<", "<=") and value.isdecimal():
        return {"tooSlowMs": limit(int(value) - (operator == "<"), 1, MAX_SLOW_MS)}
    if subject in ("[CERTIFICATE_EXPIRATION]", "[DOMAIN_EXPIRATION]") and operator in (">", ">="):
        days = limit(-(-read_duration(value, 0) // UNITS_MS["h"]) // DAY_HOURS, 0, 365)
        return {"tlsWarningDays" if "CERT" in subject else "domainDays": days}
    return None


def read_page_condition(subject: str, operator: str, value: str) -> dict[str, Any] | None:
    """Return the attributes of a condition on a page; None if there are none like it."""
    if subject == "[STATUS]":
        return read_status(operator, value)
    if subject == "[BODY]" and operator == "==" and (text := CONTAINS.fullmatch(value)):
        return {"keyword": text[1]}
    if (exists := HAS_PATH.fullmatch(subject)) and operator == "==" and value == "true":
        return {"conditions": [f"json {name_value(exists[1])}"]}
    if (path := BODY_PATH.fullmatch(subject)) and "(" not in value:
        return {"conditions": [f"json {name_value(path[1])} {operator} {value}"]}
    return None


def read_status(operator: str, value: str) -> dict[str, Any] | None:
    """Return the accepted statuses of a condition."""
    if operator == "==" and (several := ANY_OF.fullmatch(value)):
        return {"acceptedStatus": ",".join(several[1].split()).replace(",,", ",")}
    if not (value.isascii() and value.isdecimal() and 100 <= int(value) <= 600):
        return None
    number = int(value)
    ranges = {"==": value, "<": f"100-{number - 1}", "<=": f"100-{number}"}
    return {"acceptedStatus": ranges[operator]} if operator in ranges else None


def name_value(path: str) -> str:
    """Return the name of a JSON value: list positions after a dot."""
    return re.sub(r"\[(\d+)\]", r".\1", path).lstrip(".")


def make_dns_check(dns: Mapping[str, Any], url: str, conditions: list[str], common: dict[str, Any]) -> ImportedCheck:
    """Return the check of a DNS record; the address of the endpoint is the name server."""
    attributes: dict[str, Any] = {"recordType": read_line(dns, "query-type").upper() or "A"}
    if url:
        attributes["nameserver"] = url.removeprefix("dns://")
    notes = []
    for line in conditions:
        found = CONDITION.fullmatch(line.strip())
        if found and found[1] == "[BODY]" and found[2] == "==" and "(" not in found[3]:
            attributes["expected"] = [found[3]]
        elif not found or found[1] not in ("[DNS_RCODE]", "[CONNECTED]"):
            notes.append(f"left out: {line[:100]}")
    return ImportedCheck(
        check_type="DNS", url=read_line(dns, "query-name"), attributes=attributes, notes=notes, **common
    )


def read_external(endpoint: Endpoint) -> list[ImportedCheck]:
    """Return the check of an endpoint that reports itself: a heartbeat, with another URL here."""
    heartbeat = endpoint.get("heartbeat")
    period = read_duration(heartbeat.get("interval"), 0) if isinstance(heartbeat, Mapping) else 0
    if not period:
        raise NotImportable("an external endpoint without a heartbeat interval has no schedule")
    attributes = {"periodMs": limit(period, MIN_PERIOD_MS, MAX_PERIOD_MS), "graceMs": MINUTE_MS}
    return [ImportedCheck(check_type="HEARTBEAT", attributes=attributes, **read_common(endpoint))]
