"""Whatever an address or a body contains, no route answers 500, and no body is answered at length."""

import logging
import re
from http import HTTPStatus
from itertools import product
from urllib.parse import quote

import orjson
import pytest

from hashrange_systems.kelifax.web import (
    admin_pages,
    admin_records,
    feeds,
    public_pages,
    resource_page,
    submission_pages,
    visitor_pages,
    worker_presence,
)
from hashrange_systems.kelifax.web.api import resource_api
from systems.tests.kelifax.web.running_site import make_form
from systems.tests.kelifax.web.web_client import find_token

PAGES = (
    admin_pages, admin_records, feeds, public_pages, resource_page, submission_pages, visitor_pages, worker_presence,
)  # fmt: skip
ODD = ("", "zzz", "x" * 3000, "é" * 1500, "\n", "a/b", "..", "\x00", "-1", "9" * 400, "%", "🙂", "#", "[]", "null")
LONG = ("", "zzz", "x" * 3000)
NAMES = ("tag", "category", "after", "q", "slug", "domain", "next", "name", "url", "undo")
NUMBERS = ("limit", "offset", "page", "sort", "pricing")
FILTERED = ("/browse", "/api/resources")


def list_paths(method):
    """The paths of all routes of pages and API, with their parameters in braces."""
    found = [("", route) for module in PAGES for route in module.router.routes]
    found += [("/api", route) for route in resource_api.router.routes]
    chosen = [prefix + route.path for prefix, route in found if method in route.methods]
    return sorted(path for path in chosen if path not in {"/health", "/admin/sign-out"})


def fill(path, value):
    """The path with a value for each parameter."""
    return re.sub(r"\{[^}]+\}", quote(value, safe=""), path)


def test_no_route_answers_an_odd_address_with_500(client):
    client.publish("Pixel Kit")
    client.do(client.services.index_consumer.catch_up())
    admin = client.admin()
    failed = []
    paths = list_paths("GET")
    assert len(paths) > 30
    asked = [(fill(path, value), {}) for path, value in product(paths, ODD) if "{" in path]
    asked += [(fill(path, "pixel-kit"), dict.fromkeys(NAMES, value)) for path, value in product(paths, LONG)]
    asked += [(path, {name: value}) for path, name, value in product(FILTERED, (*NAMES, *NUMBERS), ODD)]
    for path, params in asked:
        status = admin.get(path, params=params or None).status_code
        if status >= 500:
            failed.append((path[:40], str(params)[:40], status))
    assert failed == []


def test_no_form_is_answered_with_500(client):
    client.publish("Pixel Kit")
    admin = client.admin()
    token = find_token(admin, "/admin/live")
    failed = []
    for path, value in product(list_paths("POST"), ("x" * 3000, "pixel-kit")):
        address = fill(path, value)
        client.clock.advance(3600)  # the limits of requests
        for action in ("accept", "publish", "grant", "alias"):
            fields = {"form_token": token, "do": action, "slug": value, "alias": value, "reason": value, "email": value}
            status = admin.post(address, data=fields).status_code
            if status >= 500:
                failed.append((path, value[:5], action, status))
    assert failed == []


@pytest.mark.parametrize("section", [None, "details", "resource"])
def test_of_many_unknown_fields_only_some_are_named(client, section):
    many = {f"k{number}": 1 for number in range(5000)}
    form = make_form("Pixel Kit")
    body = {**form, **many} if section is None else form | {section: form[section] | many}
    answer = client.visitor().post("/api/resources", content=orjson.dumps(body))
    assert answer.status_code == 400
    assert len(answer.json()["faults"]) == 20


def test_a_form_of_the_api_that_is_longer_than_any_valid_one_is_not_parsed(client):
    answer = client.visitor().post("/api/resources", content=b" " * 256 * 1024 + b"{}")
    assert (answer.status_code, answer.json()["title"]) == (413, HTTPStatus(413).phrase)


def test_a_crash_of_the_api_is_answered_as_a_problem_and_logged_once(client, monkeypatch, caplog):
    async def crash():
        raise RuntimeError("a defect")

    monkeypatch.setattr(type(client.services.directory), "facets", lambda _self: crash())
    with caplog.at_level(logging.ERROR):
        answer = client.visitor().get("/api/categories")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "AttributeError" not in caplog.text
    assert len([record for record in caplog.records if record.name.startswith("hashrange_systems")]) == 1
