"""The registry: domains in any spelling, countries, CSV files, related shops, removal, shops that others write."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.aura.errors import FetchRefused, ShopTaken
from hashrange_systems.aura.model.domain import find_core_name, parse_address, spellings
from hashrange_systems.aura.service import registry as registry_module
from hashrange_systems.aura.service.registry import Registry, ShopInput
from hashrange_systems.aura.service.stream_registration import Registrar
from hashrange_systems.aura.work_schema import ShopOptions
from hashrange_systems.shared.errors import InvalidInput, LimitReached, ResourceMissing
from systems.tests.aura.plain import get_item, put_item
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import serving_shop


@pytest.fixture
def registry(db, work, clock):
    return Registry(db, work, clock)


def run(awaitable):
    async def act():
        return await awaitable

    return asyncio.run(act())


def add(registry, address, **more):
    return run(registry.add(ShopInput(address=address, **more)))


# ── domains ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("pasted", "domain", "start"),
    [
        ("antik.de", "antik.de", "https://antik.de/"),
        ("  WWW.Antik.DE.  ", "antik.de", "https://www.antik.de/"),
        ("http://www.antik.de:8080/shop?a=1#top", "antik.de", "http://www.antik.de:8080/shop?a=1"),
        ("https://antik-müller.de/", "xn--antik-mller-zhb.de", "https://xn--antik-mller-zhb.de/"),
        ("localhost", "localhost", "https://localhost/"),
        ("http://127.0.0.1:8400/", "127.0.0.1:8400", "http://127.0.0.1:8400/"),
        ("www.de", "www.de", "https://www.de/"),
    ],
)
def test_a_domain_has_one_form_and_the_crawl_begins_where_it_was_pasted(pasted, domain, start):
    address = parse_address(pasted)
    assert (address.domain, address.start_url) == (domain, start)


@pytest.mark.parametrize(
    "pasted", ["", "a" * 3000, "x" * 300 + ".de", "http://ann:secret@antik.de", "ftp://antik.de", "a b", "a\x00.de"]
)
def test_what_is_no_domain_is_refused_with_a_reason(pasted):
    with pytest.raises(InvalidInput, match="domain"):
        parse_address(pasted)


@given(st.text(max_size=60))
def test_any_text_is_a_domain_or_refused_and_a_domain_is_its_own_form(text):
    try:
        domain = parse_address(text).domain
    except InvalidInput:
        return
    assert parse_address(domain).domain == domain
    assert find_core_name(domain)
    assert len(domain.encode()) <= 300


@pytest.mark.parametrize(
    ("domain", "core"),
    [
        ("www.example.co.uk", "example"),
        ("one.myshopify.com", "one"),
        ("antik.github.io", "antik"),
        ("localhost", "localhost"),
        ("127.0.0.1:8400", "127.0.0.1"),
        ("de", "de"),
    ],
)
def test_the_core_name_counts_private_suffixes_and_is_never_empty(domain, core):
    assert find_core_name(domain) == core


def test_both_spellings_of_a_shop_are_found(database, registry):
    put_item(database, {"pk": "SHOP#www.old.de", "sk": "META#", "domain": "www.old.de", "core_domain_name": "old"})
    assert spellings("www.old.de") == ("old.de", "www.old.de")
    for address in ("old.de", "www.old.de", "https://www.old.de/shop"):
        assert run(registry.find(address)).domain == "www.old.de"
        with pytest.raises(ShopTaken):
            add(registry, address)


# ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_shop_is_added_once_with_its_country(database, registry):
    shop = add(registry, "https://www.antik.de/shop", name=" Antik ", country="de", shop_type="auction house")
    assert (shop.domain, shop.shop_name, shop.shop_country) == ("antik.de", "Antik", "DE")
    assert (shop.core_domain_name, shop.start_url, shop.shop_type) == (
        "antik",
        "https://www.antik.de/shop",
        "AUCTION_HOUSE",
    )
    assert get_item(database, "SHOP#antik.de")["gsi2_pk"] == "COUNTRY#DE"
    assert run(registry.countries()) == ("DE",)
    with pytest.raises(ShopTaken):
        add(registry, "ANTIK.de")


def test_every_wrong_field_is_named_at_once(registry):
    with pytest.raises(InvalidInput) as refused:
        add(registry, "http://", name="x" * 300, country="Germany", shop_type="kiosk")
    assert {error.field for error in refused.value.errors} == {"domain", "name", "country", "type"}


def test_a_csv_file_is_imported_row_by_row_and_again_without_effect(registry):
    text = (
        "\ufeffURL;Name;Country\nhttps://a.de/;Antik A;DE\nhttp://;Bad;DE\nb.fr;;xx\n;;\nwww.a.de;Again;\nc.at;C;AT\n"
    )
    report = run(registry.import_csv(text))
    assert report.added == ("a.de", "c.at")
    assert report.known == ("a.de",)
    assert [(line, address) for line, address, _ in report.refused] == [(3, "http://"), (4, "b.fr")]
    assert run(registry.import_csv(text)).added == ()
    with pytest.raises(InvalidInput, match="columns domain"):
        run(registry.import_csv("shop,town\na.de,Berlin\n"))


def test_boards_list_the_shops_by_country(registry):
    for address, country in (("a.de", "DE"), ("b.de", "DE"), ("c.fr", "FR"), ("d.com", None)):
        add(registry, address, country=country)
    boards = run(registry.board(each=1))
    assert [(board.country, board.name, len(board.shops), board.more) for board in boards] == [
        ("DE", "Germany", 1, True),
        ("FR", "France", 1, False),
        ("ZZ", "Unknown country", 1, False),
    ]


def test_a_country_without_shops_leaves_the_registry(registry):
    add(registry, "a.de", country="DE")
    run(registry.move("a.de", "AT"))
    assert run(registry.countries()) == ("AT",)
    run(registry.remove("a.de"))
    assert run(registry.countries()) == ()


def test_removing_a_shop_removes_everything_of_it_and_nothing_else(database, registry, db, work):
    add(registry, "a.de", country="DE")
    add(registry, "a.de.example.com", country="DE")
    for number in range(130):
        put_item(database, {"pk": "SHOP#a.de", "sk": f"URL#https://a.de/{number}", "url": f"https://a.de/{number}"})
    run(registry.save_options(ShopOptions(domain="a.de", delay_ms=5)))
    run(registry.remove("a.de"))
    left = database.call("Scan", {"TableName": "aura-historia-data"})["Items"]
    assert [item["pk"]["S"] for item in left if item["pk"]["S"].startswith("SHOP#")] == ["SHOP#a.de.example.com"]
    assert work.options("a.de").run() is None
    with pytest.raises(ResourceMissing):
        run(registry.find("a.de"))


# ── related ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_related_shops_are_a_hint_that_somebody_answers_for_both(registry):
    for address in ("antik.de", "antik.fr", "other.de"):
        add(registry, address)
    (hint,) = run(registry.related("antik.de"))
    assert (hint.shop.domain, hint.same) == ("antik.fr", None)
    run(registry.answer_same("antik.de", "antik.fr", same=True))
    assert [hint.same for hint in run(registry.related("antik.fr"))] == [True]


@pytest.mark.parametrize("database", ["embedded"], indirect=True)  # a server of all tests has the streams of all
def test_a_shop_that_another_program_writes_is_registered_and_joined_to_its_relatives(database, registry, work, clock):
    add(registry, "antik.de", country="DE")
    put_item(database, {"pk": "SHOP#antik.fr", "sk": "META#", "domain": "antik.fr", "shop_country": "FR"})
    put_item(database, {"pk": "SHOP#antik.fr", "sk": "URL#https://antik.fr/", "url": "https://antik.fr/"})
    registrar = Registrar(registry.db, work, clock)
    assert run(registrar.register_new()) >= 1
    assert run(registry.countries()) == ("DE", "FR")
    stored = get_item(database, "SHOP#antik.fr")
    assert (stored["core_domain_name"], stored["gsi2_pk"], stored["shop_country"]) == (
        "antik",
        "COUNTRY#FR",
        "COUNTRY#FR",
    )
    assert [each.other for each in work.same_shops("antik.de").run()] == ["antik.fr"]
    assert [each.other for each in work.same_shops("antik.fr").run()] == ["antik.de"]
    assert run(registrar.register_new()) == run(registrar.register_new())  # what it wrote itself ends


# ── preview ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_a_dry_run_looks_at_ten_pages_and_stores_nothing(database, services):
    async def look():
        async with serving_shop() as server:
            server.text("/robots.txt", "User-agent: *\nCrawl-delay: 0.01\nDisallow: /secret")
            server.page("/", "/secret", *(f"/{number}" for number in range(20)))
            for number in range(20):
                server.product(f"/{number}")
            found = await services.preview.dry_run(server.url)
            explained = await services.preview.explain(f"{server.url}3?utm_source=x")
            forbidden = await services.preview.explain(f"{server.url}secret")
            return found, explained, forbidden, server

    found, explained, forbidden, server = asyncio.run(look())
    assert len(found.pages) == 10
    assert found.types == {"listing": 1, "product": 9} or found.types["product"] == 9
    assert (found.crawl_delay_s, found.standards_used) == (0.01, ("json-ld",))
    assert explained.stored_as == f"{server.url}3"
    assert "json-ld" in {answer.extractor for answer in explained.facts.answers}
    assert not forbidden.allowed
    assert "/secret" not in server.paths
    assert database.call("Scan", {"TableName": "aura-historia-data"})["Items"] == []


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_a_dry_run_of_a_private_address_is_refused(services):
    with pytest.raises(FetchRefused, match="may not be requested"):
        run(services.preview.dry_run("http://10.0.0.1/"))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]"]
)
def test_a_webhook_to_an_address_that_is_not_public_is_refused_when_it_is_saved(database, work, clock, sandbox, host):
    services = AuraServices(database, clock, sandbox, AURA_ALLOW="")

    async def save():
        added = await services.members.add("a@example.com")
        await services.accounts.channels.add(added.member.member_id, "WEBHOOK", f"http://{host}/hook")

    with pytest.raises(InvalidInput, match="may not be requested"):
        asyncio.run(save())


# ── limits of members ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_member_adds_a_limited_number_of_shops_by_form_and_by_file(services, monkeypatch):
    monkeypatch.setattr(registry_module, "MAX_SHOPS_ADDED", 3)
    registry = services.registry

    async def act():
        member_id = (await services.members.add("ann@example.com")).member.member_id
        await registry.add(ShopInput(address="a.de"), member_id)
        with pytest.raises(ShopTaken):
            await registry.add(ShopInput(address="a.de"), member_id)
        report = await registry.import_csv("domain\na.de\nb.de\nc.de\nd.de\n", member_id)
        with pytest.raises(LimitReached, match="at most 3 shops"):
            await registry.add(ShopInput(address="e.de"), member_id)
        other = (await services.members.add("bob@example.com")).member.member_id
        await registry.add(ShopInput(address="e.de"), other)
        await registry.add(ShopInput(address="f.de"))  # the command line has no limit
        return report, await services.members.find(member_id)

    report, member = run(act())
    assert (report.known, report.added) == (("a.de",), ("b.de", "c.de"))
    assert [(address, "at most 3" in reason) for _, address, reason in report.refused] == [("d.de", True)]
    assert member.shops_added == 3


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_others_are_served_between_the_rows_of_an_import(services):
    rows = 50

    async def act():
        member_id = (await services.members.add("ann@example.com")).member.member_id
        text = "domain\n" + "".join(f"s{number}.de\n" for number in range(rows))
        importing = asyncio.create_task(services.registry.import_csv(text, member_id))
        turns = 0
        while not importing.done():
            turns += 1
            await asyncio.sleep(0)
        return turns, len((await importing).added)

    turns, added = run(act())
    assert added == rows
    assert turns > rows
