"""Access and refresh tokens: sealed, bound to their shop, refreshed by one at a time."""

from datetime import timedelta

import pytest

from hashrange import Conflict, LocalKeys, NotFound, SealError, ValueInvalid
from hashrange_systems.shuttle.schema import InstalledShop, Operator
from systems.tests.shuttle.example import DOMAIN, OTHER, SHOP_ITEM, SHOPS, install, read_plain

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def stored_tokens(database, domain=DOMAIN):
    item = read_plain(database, SHOPS, domain=domain)
    return item["accessToken"]["S"], item["refreshToken"]["S"]


def test_tokens_are_stored_sealed_and_read_plain(tables, operator, now):
    shop = install(operator, now)
    assert (shop.access_token, shop.refresh_token) == ("shpat_first", "shprt_first")
    for text in stored_tokens(tables):
        assert text.startswith("hr1:")
        assert "first" not in text
    assert operator.shop(DOMAIN).required().run() == shop


def test_tokens_of_a_whole_item_are_sealed_too(tables, operator, now):
    made = InstalledShop(
        domain=OTHER, name="Other", installed_at=now, access_token="shpat_other", refresh_token="shprt_other"
    )
    operator.create(made).run()
    operator.batch([made.model_copy(update={"domain": "third.myshopify.com"})]).run()
    for domain in (OTHER, "third.myshopify.com"):
        assert all(text.startswith("hr1:") for text in stored_tokens(tables, domain))
        assert operator.shop(domain).required().run().access_token == "shpat_other"


def test_plain_tokens_of_the_original_system_are_read_with_keys_and_without(tables, operator, clock):
    tables.call("PutItem", {"TableName": SHOPS, "Item": SHOP_ITEM})
    assert operator.shop(DOMAIN).required().run().access_token == "shpat_..."
    assert Operator.open(tables, clock=clock).shop(DOMAIN).required().run().access_token == "shpat_..."


def test_a_token_that_is_copied_to_another_shop_is_refused(tables, operator, now):
    install(operator, now)
    stolen = read_plain(tables, SHOPS, domain=DOMAIN)
    tables.call("PutItem", {"TableName": SHOPS, "Item": stolen | {"domain": {"S": OTHER}}})
    with pytest.raises(SealError):
        operator.shop(OTHER).run()


def test_a_refresh_token_is_not_taken_for_an_access_token(tables, operator, now):
    install(operator, now)
    item = read_plain(tables, SHOPS, domain=DOMAIN)
    tables.call("PutItem", {"TableName": SHOPS, "Item": item | {"accessToken": item["refreshToken"]}})
    with pytest.raises(SealError):
        operator.shop(DOMAIN).run()


def test_a_sealed_token_needs_the_key_it_was_sealed_with(tables, operator, clock, now):
    install(operator, now)
    with pytest.raises(ValueInvalid, match="keys="):
        Operator.open(tables, clock=clock).shop(DOMAIN).run()
    with pytest.raises(SealError):
        Operator.open(tables, clock=clock, keys=LocalKeys.generate()).shop(DOMAIN).run()


def test_without_keys_no_token_is_written(tables, clock, now):
    bare = Operator.open(tables, clock=clock)
    with pytest.raises(ValueInvalid, match="keys="):
        install(bare, now)
    assert read_plain(tables, SHOPS, domain=DOMAIN) is None


def test_a_token_of_a_rotated_key_still_opens_and_the_key_id_tells_the_old_ones(operator, keys, now):
    first = keys.current
    install(operator, now, key_id=first)
    keys.rotate()
    install(operator, now, OTHER, key_id=keys.current)
    found = {shop.domain: (shop.key_id, shop.access_token) for shop in operator.shops()}
    assert found == {DOMAIN: (first, "shpat_first"), OTHER: (keys.current, "shpat_first")}


# ── refreshing ───────────────────────────────────────────────────────────────────────────────────────────────────────
def finish(operator, held_until, now, **changes):
    given = {
        "held_until": held_until,
        "refreshing_until": None,
        "access_token": "shpat_second",
        "refresh_token": "shprt_second",
        "access_token_expires_at": now + HOUR,
        "key_id": None,
    }
    return operator.finish_refresh(DOMAIN, **given | changes).run()


def test_tokens_are_refreshed_under_a_lock(tables, operator, now):
    install(operator, now, access_token_expires_at=now + HOUR)
    held = operator.begin_refresh(DOMAIN, refreshing_until=now + MINUTE, now=now).run()
    assert held.refresh_token == "shprt_first"
    shop = finish(operator, held.refreshing_until, now + HOUR)
    assert (shop.access_token, shop.refresh_token, shop.refreshing_until) == ("shpat_second", "shprt_second", None)
    assert shop.access_token_expires_at == now + 2 * HOUR
    assert "second" not in "".join(stored_tokens(tables))


def test_a_second_refresh_waits_until_the_lock_is_free_or_over(operator, now):
    install(operator, now)
    operator.begin_refresh(DOMAIN, refreshing_until=now + MINUTE, now=now).run()
    with pytest.raises(Conflict) as refusal:
        operator.begin_refresh(DOMAIN, refreshing_until=now + 2 * MINUTE, now=now).run()
    assert refusal.value.current.refreshing_until == now + MINUTE
    later = now + 2 * MINUTE
    taken = operator.begin_refresh(DOMAIN, refreshing_until=later + MINUTE, now=later).run()
    with pytest.raises(Conflict):
        finish(operator, now + MINUTE, later)  # whoever held it first is too late
    assert finish(operator, taken.refreshing_until, later).access_token == "shpat_second"


def test_a_shop_that_left_while_its_tokens_were_refreshed_gets_none(tables, operator, now):
    shop = install(operator, now)
    held = operator.begin_refresh(DOMAIN, refreshing_until=now + MINUTE, now=now).run()
    operator.uninstall(shop, uninstalled_at=now + MINUTE).run()
    with pytest.raises(Conflict):
        finish(operator, held.refreshing_until, now)
    assert not {"accessToken", "refreshToken"} & read_plain(tables, SHOPS, domain=DOMAIN).keys()
    with pytest.raises(Conflict):
        operator.begin_refresh(DOMAIN, refreshing_until=now + MINUTE, now=now).run()


def test_a_shop_that_is_not_there_cannot_be_refreshed(operator, now):
    with pytest.raises(NotFound):
        operator.begin_refresh(OTHER, refreshing_until=now + MINUTE, now=now).run()
