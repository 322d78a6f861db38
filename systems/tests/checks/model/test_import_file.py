"""The files of Uptime Kuma and Gatus: what becomes of each kind of check, and files that are made to harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.gatus_import import read_duration
from hashrange_systems.checks.model.import_file import MAX_IMPORT_BYTES, MAX_IMPORTED_CHECKS, read_import_file

KUMA = {
    "version": "1.23.13",
    "notificationList": [],
    "monitorList": [
        {"id": 1, "name": "Shop", "type": "group"},
        {
            "id": 2,
            "name": "Front page",
            "type": "keyword",
            "url": "https://shop.example/",
            "method": "GET",
            "interval": 120,
            "maxretries": 3,
            "timeout": 48,
            "maxredirects": 0,
            "accepted_statuscodes": ["200-299", "404"],
            "keyword": "Basket",
            "invertKeyword": True,
            "headers": '{"X-A": "b"}',
            "parent": 1,
            "active": False,
            "tags": [{"name": "env", "value": "prod"}, {"name": "eu", "value": ""}],
            "ignoreTls": True,
        },
        {
            "name": "API",
            "type": "json-query",
            "url": "https://a.example/",
            "jsonPath": "$.items[0].state",
            "expectedValue": "ok",
        },
        {"name": "DB", "type": "port", "hostname": "db.example", "port": 5432, "interval": 60},
        {"name": "Router", "type": "ping", "hostname": "r.example"},
        {
            "name": "MX",
            "type": "dns",
            "hostname": "a.example",
            "dns_resolve_type": "MX",
            "dns_resolve_server": "1.1.1.1, 8.8.8.8",
        },
        {"name": "Backup", "type": "push", "interval": 86400},
        {"name": "Container", "type": "docker"},
        {"name": "Inverted", "type": "http", "url": "https://a.example/", "upsideDown": True},
        {
            "name": "Sums",
            "type": "json-query",
            "url": "https://a.example/",
            "jsonPath": "$sum(x)",
            "expectedValue": "1",
        },
    ],
}
GATUS = """
endpoints:
  - name: front
    group: shop
    url: "https://shop.example/health"
    interval: 2m30s
    headers: {X-A: b}
    client: {timeout: 5s, ignore-redirect: true}
    conditions:
      - "[STATUS] == 200"
      - "[BODY].status == UP"
      - "[BODY].list[1].n > 5"
      - "has([BODY].version) == true"
      - "[RESPONSE_TIME] < 300"
      - "[CERTIFICATE_EXPIRATION] > 48h"
      - "[DOMAIN_EXPIRATION] > 720h"
      - "len([BODY].list) > 0"
    alerts: [{type: slack, failure-threshold: 4}, {type: email}]
  - name: page
    url: "http://a.example/"
    enabled: false
    conditions: ["[STATUS] == any(200, 429)", "[BODY] == pat(*hello*)"]
  - {name: db, url: "tcp://db.example:5432", conditions: ["[CONNECTED] == true"]}
  - {name: host, url: "icmp://h.example", conditions: ["[CONNECTED] == true"]}
  - {name: mail, url: "tls://m.example:993", conditions: ["[CERTIFICATE_EXPIRATION] > 240h"]}
  - name: zone
    url: "8.8.8.8"
    dns: {query-name: a.example, query-type: A}
    conditions: ["[BODY] == 192.0.2.1", "[DNS_RCODE] == NOERROR"]
  - {name: shell, url: "ssh://h.example:22"}
external-endpoints:
  - {name: job, token: secret, heartbeat: {interval: 30m}}
  - {name: nothing, token: secret}
"""


def read(given):
    return read_import_file(json.dumps(given).encode() if isinstance(given, dict) else given.encode())


def test_a_backup_of_uptime_kuma_becomes_checks_and_reasons():
    found = read(KUMA)
    assert (found.source, found.error) == ("Uptime Kuma", "")
    page, api, port, ping, dns, job = found.checks
    assert (page.check_type, page.url, page.delay_ms, page.group) == (
        "AVAILABILITY",
        "https://shop.example/",
        120_000,
        "Shop",
    )
    assert page.attributes == {
        "method": "GET",
        "timeoutMs": 24_000,
        "followRedirects": False,
        "acceptedStatus": "200-299,404",
        "headers": {"X-A": "b"},
        "keyword": "Basket",
        "invert": True,
        "retries": 3,
    }
    assert (page.paused, page.tags, page.notes) == (True, ["env:prod", "eu"], ["certificates are always verified"])
    assert api.attributes["conditions"] == ["json items.0.state == ok"]
    assert (port.check_type, port.url) == ("TCP", "db.example:5432")
    assert (ping.check_type, ping.url) == ("PING", "r.example")
    assert (dns.attributes["recordType"], dns.attributes["nameserver"]) == ("MX", "1.1.1.1:53")
    assert (job.check_type, job.attributes["periodMs"]) == ("HEARTBEAT", 86_400_000)
    assert {each.name: each.reason for each in found.skipped} == {
        "Container": "there is no type of check for docker",
        "Inverted": "a check cannot be upside down",
        "Sums": "the JSON query '$sum(x)' is more than a path",
    }


def test_a_configuration_of_gatus_becomes_checks_and_reasons():
    found = read(GATUS)
    assert (found.source, found.error) == ("Gatus", "")
    front, domain, page, db, host, mail, zone, job = found.checks
    assert front.attributes == {
        "retries": 3,
        "method": "GET",
        "headers": {"X-A": "b"},
        "timeoutMs": 5000,
        "followRedirects": False,
        "acceptedStatus": "200",
        "conditions": ["json status == UP", "json list.1.n > 5", "json version"],
        "tooSlowMs": 299,
        "tlsWarningDays": 2,
    }
    assert (front.delay_ms, front.group, front.notes) == (150_000, "shop", ["left out: len([BODY].list) > 0"])
    assert (domain.check_type, domain.url, domain.attributes) == ("DOMAIN", "shop.example", {"warningDays": 30})
    assert (page.paused, page.attributes["acceptedStatus"], page.attributes["keyword"]) == (True, "200,429", "hello")
    assert (db.check_type, host.check_type, mail.check_type) == ("TCP", "PING", "TLS")
    assert mail.attributes["tlsWarningDays"] == 10
    assert zone.attributes == {"recordType": "A", "nameserver": "8.8.8.8", "expected": ["192.0.2.1"]}
    assert (job.check_type, job.attributes["periodMs"]) == ("HEARTBEAT", 1_800_000)
    assert [each.name for each in found.skipped] == ["shell", "nothing"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "neither a monitorList"),
        (b"{", "not JSON"),
        (b"{}", "no monitorList"),
        (b'{"monitorList": 5}', "no monitorList"),
        (b"[1, 2]", "neither a monitorList"),
        (b"a: &x [1]\nb: *x\n", "aliases are not read"),
        (b"a: !!python/object/apply:os.system [id]\n", "neither JSON nor plain YAML"),
        (b"\xff\xfe\x00", "neither JSON nor plain YAML"),
        (b"x" * (MAX_IMPORT_BYTES + 1), "longer than"),
        (b"- " * 5000, "neither"),
        (b"[" * 5000, "neither"),
    ],
)
def test_what_is_no_such_file_is_refused_with_a_reason(content, text):
    found = read_import_file(content)
    assert text in found.error
    assert found.checks == []


def test_a_file_with_very_many_checks_is_refused_before_it_takes_long():
    monitors = [{"name": str(n), "type": "ping", "hostname": "a.example"} for n in range(MAX_IMPORTED_CHECKS + 1)]
    assert len(read({"monitorList": monitors[1:]}).checks) == MAX_IMPORTED_CHECKS
    assert "more than 1,000 checks" in read({"monitorList": monitors}).error
    endpoints = [f"{{name: n{n}, url: 'https://a.example/'}}" for n in range(MAX_IMPORTED_CHECKS + 1)]
    assert "more than 1,000 checks" in read_import_file(f"endpoints: [{', '.join(endpoints)}]".encode()).error
    lines = "".join(f"  - name: n{n}\n    url: https://a.example/\n" for n in range(9000))
    unparsed = read_import_file(f"endpoints:\n{lines}: [this is no YAML".encode())
    assert "more than 1,000 checks" in unparsed.error, "it is not parsed"


@given(
    st.dictionaries(
        st.sampled_from(
            ["name", "type", "url", "interval", "headers", "tags", "port", "jsonPath", "accepted_statuscodes"]
        ),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.lists(st.text(), max_size=2)
        | st.sampled_from(["http", "dns"]),
    )
)
def test_no_monitor_makes_it_crash(monitor):
    read({"monitorList": [monitor]})


@pytest.mark.parametrize(
    ("text", "millis"),
    [("30s", 30_000), ("1h30m", 5_400_000), ("500ms", 500), ("soon", 7), ("5", 7), (None, 7), ("1.5s", 1500)],
)
def test_durations_are_those_of_go(text, millis):
    assert read_duration(text, 7) == millis
