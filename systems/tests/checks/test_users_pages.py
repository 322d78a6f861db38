"""Status pages: one for each user, under an address that only one user has."""

import pytest

from hashrange_systems.checks.errors import SlugTaken
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing
from systems.tests.checks.services import do, race, winners


def slugs(services):
    return [key for key in services.stored("USER") if key.startswith("PAGE#")]


def test_a_page_is_published_found_by_anybody_and_taken_off(services):
    userid = services.sign_up().user.userid
    checks = services.add(userid, 2)
    do(services.pages.publish(userid, "acme", " Acme ", [*checks, checks[0]]))
    page = do(services.pages.find("acme"))
    assert page == StatusPage(slug="acme", owner=userid, title="Acme", checks=checks)
    assert [check.checkid for check in do(services.pages.checks_on(page))] == checks
    do(services.pages.unpublish(userid))
    with pytest.raises(ResourceMissing):
        do(services.pages.find("acme"))
    do(services.pages.unpublish(userid))
    assert do(services.users.find(userid)).page_slug is None


def test_a_page_is_changed_and_moved(services):
    userid = services.sign_up().user.userid
    do(services.pages.publish(userid, "acme", "Acme", []))
    do(services.pages.publish(userid, "acme", "Acme!", services.add(userid)))
    assert do(services.pages.find("acme")).title == "Acme!"
    do(services.pages.publish(userid, "acme-status", "Acme", []))
    assert slugs(services) == ["PAGE#acme-status/PAGE"]
    assert do(services.users.find(userid)).page_slug == "acme-status"


def test_of_many_users_who_want_the_same_slug_at_once_one_gets_it(services):
    users = [services.sign_up(f"u{n}").user.userid for n in range(8)]
    outcomes = race(8, lambda n: services.pages.publish(users[n], "acme", "Acme", []))
    (won,) = winners(outcomes)
    assert {type(found) for found in outcomes if found is not won} == {SlugTaken}
    assert do(services.pages.find("acme")).owner == won.owner


def test_one_user_who_publishes_under_many_slugs_at_once_has_one_page(services):
    userid = services.sign_up().user.userid
    race(6, lambda n: services.pages.publish(userid, f"acme-{n}", "Acme", []))
    assert slugs(services) == [f"PAGE#{do(services.users.find(userid)).page_slug}/PAGE"]


def test_all_faults_of_a_page_are_told_at_once(services):
    userid = services.sign_up().user.userid
    with pytest.raises(InvalidInput) as refused:
        do(services.pages.publish(userid, "Not A Slug", "\n", ["of-somebody-else"]))
    assert [error.field for error in refused.value.errors] == ["slug", "title", "checks"]
    for slug in ("", "-a", "a--b", "a" * 61, "ä", "a/b", "a#b"):
        with pytest.raises(InvalidInput):
            do(services.pages.publish(userid, slug, "Title", []))


def test_a_page_shows_no_check_that_is_gone_or_anothers(services):
    ann, bob = services.sign_up("ann").user.userid, services.sign_up("bob").user.userid
    (mine, gone), (theirs,) = services.add(ann, 2), services.add(bob)
    do(services.pages.publish(ann, "acme", "Acme", [mine, gone]))
    do(services.checks.delete(ann, gone))
    services.db.edit_page("acme", owner=ann, title="Acme", checks=[mine, gone, theirs]).run()
    assert [check.checkid for check in do(services.pages.checks_on(do(services.pages.find("acme"))))] == [mine]


def test_an_address_that_cannot_be_a_page_is_not_there(services):
    for slug in ("", "x" * 5000, "\ud800", "nothing"):
        with pytest.raises(ResourceMissing):
            do(services.pages.find(slug))
