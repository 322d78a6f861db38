"""The JSON API: the form, the status codes and the pages of the original system."""

import pytest

from systems.tests.kelifax.web.running_site import make_form

PERSONAL = ("Zoë", "Díaz", "zoe@example.com", "submitter")


def test_a_submission_in_the_form_of_the_original_is_created(client):
    browser = client.visitor()
    created = browser.post("/api/resources", json=make_form("Pixel Kit"))
    assert created.status_code == 201
    assert created.json()["resourceSlug"] == "pixel-kit"
    assert created.json()["resourceStatus"] == "unconfirmed"
    assert browser.get(created.json()["statusUrl"]).status_code == 200
    again = browser.post("/api/resources", json=make_form("Pixel Kit", email="b@example.com"))
    assert again.status_code == 409
    assert again.json()["existing"]["resourceSlug"] == "pixel-kit"


def test_all_field_errors_come_at_once(client):
    form = make_form("Pixel Kit", usagePurpose="x", category="none", keyFeatures=["short"], resourceUrl="javascript:x")
    refused = client.visitor().post("/api/resources", json=form)
    assert refused.status_code == 400
    fields = {fault["field"] for fault in refused.json()["faults"]}
    assert {"resource.usagePurpose", "resource.category", "resource.resourceUrl", "details.keyFeatures"} <= fields


@pytest.mark.parametrize("more", [{"featured": True}, {"resourceStatus": "approved"}, {"viewCount": 10**6}])
def test_nobody_sets_what_the_form_does_not_have(client, more):
    form = make_form("Pixel Kit")
    form["resource"] |= more
    assert client.visitor().post("/api/resources", json=form).status_code == 400
    form = make_form("Pixel Kit") | more
    assert client.visitor().post("/api/resources", json=form).status_code == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 5000, b'{"submitter": 1}', b"\xff\xfe", b"{}"]
)
def test_nonsense_is_refused(client, body):
    refused = client.visitor().post("/api/resources", content=body)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"


def test_lists_continue_by_cursor_and_a_forged_one_is_refused(client):
    for number in range(7):
        client.publish(f"Tool {number}")
    browser = client.visitor()
    for sort in ("newest", "name", "popular"):
        seen, after = [], None
        while True:
            params = {"limit": 3, "sort": sort, "category": "design"} | ({"after": after} if after else {})
            page = browser.get("/api/resources", params=params).json()
            seen += [entry["resourceSlug"] for entry in page["resources"]]
            after = page["cursor"]
            if after is None:
                break
        assert sorted(seen) == [f"tool-{number}" for number in range(7)]
        cursor = browser.get("/api/resources", params={"limit": 3, "sort": sort}).json()["cursor"]
        for forged in (cursor[:-3] + "AAA", "x", cursor + "x"):
            assert browser.get("/api/resources", params={"sort": sort, "after": forged}).status_code == 400
        moved = browser.get("/api/resources", params={"sort": sort, "after": cursor, "category": "ai"})
        assert moved.status_code == 400, "a cursor belongs to its filters"
    assert browser.get("/api/resources", params={"limit": 51}).status_code == 400


def test_nothing_personal_leaves_the_api(client):
    client.publish("Pixel Kit")
    client.submit("Waiting Room")
    client.do(client.services.index_consumer.catch_up())
    browser = client.visitor()
    answers = [
        browser.get(path)
        for path in ("/api/resources", "/api/resources/pixel-kit", "/api/search?q=pixel", "/api/categories")
    ]
    assert all(answer.status_code == 200 for answer in answers)
    for answer in answers:
        assert not [word for word in PERSONAL if word in answer.text]
        assert "waiting-room" not in answer.text
    assert browser.get("/api/resources/waiting-room").status_code == 404
    assert browser.get("/api/search?q=pixxel").json()["resources"][0]["typo"] is True


def test_the_document_describes_every_route(client):
    document = client.visitor().get("/api/openapi.json").json()
    assert set(document["paths"]) == {
        "/resources", "/resources/{slug}", "/challenge", "/logos", "/search", "/categories",
    }  # fmt: skip
    assert "resourceName" in document["components"]["schemas"]["ResourceModel"]["properties"]
