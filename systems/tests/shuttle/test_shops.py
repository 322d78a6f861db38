"""Shops: the seed's queries, and the life of an installation."""

from datetime import timedelta

import pytest

from hashrange import Conflict, NotFound, ValueInvalid
from hashrange_systems.shuttle.schema import ActiveShop, InstalledShop, SuspendedShop, UninstalledShop
from systems.tests.shuttle.example import DOMAIN, OTHER, SHOPS, install, make_job, read_plain

HOUR = timedelta(hours=1)


def domains(shops):
    return sorted(shop.domain for shop in shops)


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_shop_is_found_by_its_domain(operator, now):
    install(operator, now)
    assert operator.shop(DOMAIN).required().run().name == "My Store"
    assert operator.shop(OTHER).run() is None


def test_all_shops_are_listed_page_by_page(operator, now):
    made = [install(operator, now, f"shop-{number}.myshopify.com").domain for number in range(7)]
    seen, cursor = [], None
    for size in (3, 3, 1):
        page = operator.shops().page(3, after=cursor).run()
        assert len(page) == size
        seen += page.items
        cursor = page.cursor
    assert cursor is None
    assert domains(seen) == made


def test_active_shops_are_those_that_were_not_uninstalled_whether_absent_null_or_set(tables, operator, now):
    values = {"absent": None, "null": {"NULL": True}, "gone": {"N": "1999999999000"}}
    for name, value in values.items():
        item = {
            "domain": {"S": f"{name}.myshopify.com"},
            "name": {"S": name},
            "installedAt": {"N": "1699564800000"},
            "billingStatus": {"S": "ACTIVE"},
        }
        tables.call("PutItem", {"TableName": SHOPS, "Item": item | ({"uninstalledAt": value} if value else {})})
    operator.suspend(install(operator, now)).run()
    found = operator.active_shops().run()
    assert domains(found) == ["absent.myshopify.com", "null.myshopify.com"]
    assert all(isinstance(shop, ActiveShop) and shop.uninstalled_at is None for shop in found)


def test_scans_of_shops_pass_over_the_counters_in_their_table(operator, shuttle, now):
    install(operator, now)
    shuttle.use_quota(DOMAIN, now.date(), 1, limit=5).run()
    shuttle.use_month(DOMAIN, f"{now:%Y-%m}", 1, limit=100).run()
    assert domains(operator.shops().run()) == [DOMAIN]
    assert domains(operator.active_shops().run()) == [DOMAIN]


# ── life ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_installed_shop_is_free_and_active(tables, operator, now):
    shop = install(operator, now)
    assert isinstance(shop, InstalledShop)
    stored = read_plain(tables, SHOPS, domain=DOMAIN)
    millis = {"N": str(int(now.timestamp() * 1000))}
    assert stored["plan"] == {"S": "FREE"}
    assert stored["billingStatus"] == {"S": "ACTIVE"}
    assert stored["scopes"] == {"SS": ["read_products", "write_products"]}
    assert [stored[name] for name in ("installedAt", "createdAt", "updatedAt")] == [millis] * 3
    assert "uninstalledAt" not in stored


def test_settings_change_and_the_time_of_the_change_is_kept(operator, clock, now):
    install(operator, now)
    clock.advance(60)
    shop = operator.configure(DOMAIN, {"theme": "dark", "batch": 50, "notify": True}).run()
    assert shop.settings == {"theme": "dark", "batch": 50, "notify": True}
    assert (shop.created_at, shop.updated_at) == (now, now + timedelta(minutes=1))
    with pytest.raises(NotFound):
        operator.configure(OTHER, {}).run()


def test_a_shop_that_pays_is_active_and_one_that_does_not_is_suspended(operator, now):
    suspended = operator.suspend(install(operator, now)).run()
    assert isinstance(suspended, SuspendedShop)
    paying = operator.subscribe(suspended, plan="MEDIUM").run()
    assert isinstance(paying, ActiveShop)
    assert (paying.plan, paying.billing_status) == ("MEDIUM", "ACTIVE")


def test_an_unknown_plan_is_refused(operator, now):
    with pytest.raises(ValueInvalid, match="plan"):
        install(operator, now, plan="HUGE")


def test_a_suspended_shop_queues_no_jobs(operator, now):
    shop = install(operator, now)
    operator.transact(operator.is_active(DOMAIN), operator.create(make_job(1, now))).run()
    operator.suspend(shop).run()
    with pytest.raises(Conflict) as refusal:
        operator.transact(operator.is_active(DOMAIN), operator.create(make_job(2, now))).run()
    assert isinstance(refusal.value.current, SuspendedShop)
    assert len(operator.next_queued().run()) == 1


@pytest.mark.parametrize("suspended", [False, True])
def test_an_uninstalled_shop_is_cancelled_and_kept_without_its_tokens(tables, operator, now, suspended):
    shop = install(operator, now, key_id="k1", access_token_expires_at=now + HOUR)
    if suspended:
        shop = operator.suspend(shop).run()
    gone = operator.uninstall(shop, uninstalled_at=now + HOUR).run()
    assert isinstance(gone, UninstalledShop)
    stored = read_plain(tables, SHOPS, domain=DOMAIN)
    assert stored["billingStatus"] == {"S": "CANCELLED"}
    assert stored["uninstalledAt"] == {"N": str(int((now + HOUR).timestamp() * 1000))}
    assert not {"accessToken", "refreshToken", "accessTokenExpiresAt", "refreshingUntil", "keyId"} & stored.keys()
    assert operator.active_shops().run() == []


def test_an_uninstall_that_is_delivered_twice_changes_nothing_more(operator, now):
    shop = install(operator, now)
    first = operator.uninstall(shop, uninstalled_at=now + HOUR).run()
    again = operator.uninstall(operator.shop(DOMAIN).required().run(), uninstalled_at=now + HOUR).run()
    assert again == first


def test_a_domain_that_could_be_another_key_is_refused(operator, shuttle):
    for forged in ("USAGE#mystore.myshopify.com#2026-01-15", "Mystore.myshopify.com", "", "evil.com/x", "a\n"):
        with pytest.raises(ValueInvalid):
            operator.shop(forged)
        with pytest.raises(ValueInvalid):
            shuttle.jobs(forged)
