"""What other programs store in a form that cannot be read breaks no page, list, feed or export, and is never hidden."""

from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from hashrange_systems.kelifax.service.directory import Filters
from systems.tests.kelifax.entries import EXAMPLE, put_plain

AT = "2025-10-25T10:30:00Z"
LISTED = EXAMPLE | {
    "resourceStatus": "approved", "approvedAt": AT, "publishedAt": AT, "publicFeed": "approved",
    "publicCategory": "development", "rejectedAt": "", "searchText": "odd tool",
}  # fmt: skip
EDGES = ("zzz", "2025-01-01T00:00:00-99:00")
DAMAGES = [
    {"viewCount": "9" * 5000},
    {"viewCount": Decimal("1E+100")},
    {"viewCount": Decimal("-5.5")},
    *({"publishedAt": at, "createdAt": at, "approvedAt": at} for at in EDGES),
    {"resourceUrl": "http://[bad"},
    {"tags": ["x"], "keyFeatures": {}, "resourceName": 5},
    {"resourceName": None, "resourceUrl": None, "usagePurpose": b"\xff"},
    {"learningResources": "{bad|json", "submitterEmail": 7},
    {"category": "a/b<script>", "publicCategory": "a/b<script>"},
]
PUBLIC = (
    "/", "/browse", "/browse?sort=name", "/browse?sort=popular", "/category/development", "/feed.xml",
    "/feed/development.xml", "/sitemap.xml", "/export.json", "/export.csv", "/export.md", "/api/resources?limit=50",
    "/api/resources?sort=popular", "/api/resources?sort=name", "/api/search?q=tool", "/search?q=tool", "/r/odd-tool",
    "/api/resources/odd-tool", "/metrics",
)  # fmt: skip
ADMIN = ("/admin/queue", "/admin/live", "/admin/live/odd-tool", "/admin/rejected", "/admin/analytics")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: next(iter(damage.items()))[1].__repr__()[:20])
def test_a_damaged_resource_breaks_no_page_feed_or_export(client, damage):
    client.publish("Pixel Kit")
    put_plain(client.database, LISTED | {"resourceSlug": "odd-tool"} | damage)
    client.do(client.services.index_consumer.catch_up())
    visitor, admin = client.visitor(), client.admin()
    answers = {path: (admin if path in ADMIN else visitor).get(path) for path in (*PUBLIC, *ADMIN)}
    assert {path: answer.status_code for path, answer in answers.items() if answer.status_code != 200} == {}
    assert {entry["resourceSlug"] for entry in answers["/export.json"].json()} == {"pixel-kit", "odd-tool"}
    for path in ("/sitemap.xml", "/feed.xml"):
        assert ET.fromstring(answers[path].content) is not None
    assert "john@techcorp.com" not in answers["/r/odd-tool"].text


@pytest.mark.parametrize("at", ["zzz", "0", "2099-99-99", "2026-01-01T00:00:00-99:00"])
def test_a_damaged_resource_is_in_exactly_one_page_of_each_list_wherever_its_time_sorts(client, at):
    for number in range(45):
        moment = {"createdAt": f"2025-10-25T10:30:{number:02d}Z", "publishedAt": f"2025-10-25T10:30:{number:02d}Z"}
        put_plain(client.database, LISTED | {"resourceSlug": f"tool-{number}"} | moment)
    put_plain(client.database, LISTED | {"resourceSlug": "odd-tool", "createdAt": at, "publishedAt": at})
    moderation, found = client.services.moderation, []
    for read in (moderation.live, lambda size, after: read_feed(client, size, after)):
        found, after = [], None
        while True:
            page = client.do(read(10, after))
            found += [getattr(entry, "slug", None) or entry.resource_slug for entry in page.entries]
            after = page.cursor
            if after is None:
                break
        assert found.count("odd-tool") == 1
        assert len(found) == 46
    assert client.do(client.services.analytics.report()).total == 46


async def read_feed(client, size, after):
    return await client.services.directory.browse(Filters(), size, after)


def test_damaged_facets_are_counted_again_and_a_damaged_score_is_none(client):
    slug = client.publish("Pixel Kit")
    client.visitor().get("/")
    client.do(client.services.db.count_vote(slug, votes=1))
    stored = client.database.call("Scan", {"TableName": "kelifax-records"})["Items"]
    damaged = [item for item in stored if item["pk"]["S"].split("#")[0] in {"FACETS", "SCORE"}]
    assert len(damaged) == 2
    for item in damaged:
        broken = {name: value if name in {"pk", "sk"} else {"S": "broken"} for name, value in item.items()}
        client.database.call("PutItem", {"TableName": "kelifax-records", "Item": broken})
    visitor = client.visitor()
    for path in ("/", f"/r/{slug}", "/browse", "/metrics", "/api/categories"):
        assert visitor.get(path).status_code == 200
    assert sum(visitor.get("/api/categories").json().values()) == 1
