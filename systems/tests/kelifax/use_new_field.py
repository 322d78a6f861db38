"""Uses two fields that `test_new_field` adds to a copy of the package, and prints what is seen as JSON."""

import json
from contextlib import contextmanager

import hashrange
from hashrange import ManualClock
from systems.tests.kelifax.test_content_fields import (
    test_what_is_declared_for_the_table_are_the_fields_with_the_types_of_their_kinds as compare_declaration,
)
from systems.tests.kelifax.web.running_site import make_form
from systems.tests.kelifax.web.web_client import WebClient, flatten, read_text, send

SEARCHES = ("q=windows", "q=mit", "platforms=linux", "q=amiga")


def make_new_form(platforms, licence):
    form = make_form("Pixel Kit", platforms=platforms)
    form["details"]["licence"] = licence
    return form


@contextmanager
def open_client():
    clock = ManualClock(1_768_478_400)
    with hashrange.open(clock=clock) as database:
        client = WebClient(database, clock)
        yield client
        client.close()


def read_stored(client, slug):
    key = {"resourceSlug": {"S": slug}}
    return client.database.get_item(TableName="kelifax-resources", Key=key)["Item"]


def submit(client, visitor, admin):
    """Submit a resource with the new fields, approve it, and publish another without them."""
    seen = {"form": visitor.get("/submit").text}
    seen["refused"] = visitor.post("/api/resources", json=make_new_form(["amiga"], "x" * 41)).json()
    form = flatten(make_new_form(["windows", "linux"], "MIT licence"))
    sent = send(visitor, "/submit", step="2", go="send", **form)
    assert sent.status_code == 303, read_text(sent)
    visitor.post(client.find_link("/submit/confirm/"))
    seen["admin"] = read_text(admin.get("/admin/queue/pixel-kit"))
    send(admin, "/admin/queue/pixel-kit", do="approve")
    client.publish("Vector Loom")
    seen["stored"], seen["stored without"] = read_stored(client, "pixel-kit"), read_stored(client, "vector-loom")
    return seen


def read(client, visitor):
    """Read it as people and as programs do."""
    return {
        "page": visitor.get("/r/pixel-kit").text,
        "page without": read_text(visitor.get("/r/vector-loom")),
        "list": read_text(visitor.get("/browse")),
        "filtered": read_text(visitor.get("/browse?platforms=mac")),
        "suggest form": visitor.get("/r/pixel-kit/suggest").text,
        "api": visitor.get("/api/resources/pixel-kit").json(),
        "api list": visitor.get("/api/resources?platforms=linux").json()["resources"],
        "api refused": visitor.get("/api/resources?platforms=amiga").json(),
        "openapi": visitor.get("/api/openapi.json").json(),
        "csv": visitor.get("/export.csv").text,
        "json": visitor.get("/export.json").json(),
        "feed": visitor.get("/feed.xml").text,
        "facets": client.do(client.services.directory.count_facets()).choices,
    }


def search(visitor, by):
    """Return what each search finds; `by` is what must have answered."""
    answers = {query: visitor.get(f"/api/search?{query}").json() for query in SEARCHES}
    assert {answer["by"] for answer in answers.values()} == {by}
    return {query: [each["resourceSlug"] for each in answer["resources"]] for query, answer in answers.items()}


def change(client, visitor, admin):
    """Suggest other values, and accept them."""
    send(visitor, "/r/pixel-kit/suggest", **flatten(make_new_form(["mac"], "")))
    seen = {"difference": read_text(admin.get("/admin/suggestions"))}
    (suggestion,), _ = client.do(client.services.suggestions.waiting())
    path = f"/admin/suggestions/pixel-kit/{suggestion.suggestion_id}"
    send(admin, path, "/admin/suggestions", do="accept")
    return seen | {"changed": visitor.get("/api/resources/pixel-kit").json(), "then": read_stored(client, "pixel-kit")}


def main():
    compare_declaration()
    with open_client() as client:
        visitor, admin = client.visitor(), client.admin()
        seen = submit(client, visitor, admin) | read(client, visitor)
        seen["scan"] = search(visitor, "scan")
        client.do(client.services.index_consumer.catch_up())
        seen["index"] = search(visitor, "index")
        print(json.dumps(seen | change(client, visitor, admin)))  # noqa: T201 - what this is for


if __name__ == "__main__":
    main()
