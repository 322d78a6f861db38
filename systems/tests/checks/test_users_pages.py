"""Status pages: one for each user, under an address that only one user has."""

import pytest

from hashrange_systems.checks.errors import NotThere, SlugTaken
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.schema import StatusPage
from systems.tests.checks.office import do, race, winners


def slugs(office):
    return [key for key in office.stored("USER") if key.startswith("PAGE#")]


def test_a_page_is_published_found_by_anybody_and_taken_off(office):
    userid = office.sign_up().user.userid
    checks = office.add(userid, 2)
    do(office.pages.publish(userid, "acme", " Acme ", [*checks, checks[0]]))
    page = do(office.pages.find("acme"))
    assert page == StatusPage(slug="acme", owner=userid, title="Acme", checks=checks)
    assert [check.checkid for check in do(office.pages.checks_on(page))] == checks
    do(office.pages.unpublish(userid))
    with pytest.raises(NotThere):
        do(office.pages.find("acme"))
    do(office.pages.unpublish(userid))
    assert do(office.users.find(userid)).page_slug is None


def test_a_page_is_changed_and_moved(office):
    userid = office.sign_up().user.userid
    do(office.pages.publish(userid, "acme", "Acme", []))
    do(office.pages.publish(userid, "acme", "Acme!", office.add(userid)))
    assert do(office.pages.find("acme")).title == "Acme!"
    do(office.pages.publish(userid, "acme-status", "Acme", []))
    assert slugs(office) == ["PAGE#acme-status/PAGE"]
    assert do(office.users.find(userid)).page_slug == "acme-status"


def test_of_many_users_who_want_the_same_slug_at_once_one_gets_it(office):
    users = [office.sign_up(f"u{n}").user.userid for n in range(8)]
    outcomes = race(8, lambda n: office.pages.publish(users[n], "acme", "Acme", []))
    (won,) = winners(outcomes)
    assert {type(found) for found in outcomes if found is not won} == {SlugTaken}
    assert do(office.pages.find("acme")).owner == won.owner


def test_one_user_who_publishes_under_many_slugs_at_once_has_one_page(office):
    userid = office.sign_up().user.userid
    race(6, lambda n: office.pages.publish(userid, f"acme-{n}", "Acme", []))
    assert slugs(office) == [f"PAGE#{do(office.users.find(userid)).page_slug}/PAGE"]


def test_all_faults_of_a_page_are_told_at_once(office):
    userid = office.sign_up().user.userid
    with pytest.raises(InputRefused) as refused:
        do(office.pages.publish(userid, "Not A Slug", "\n", ["of-somebody-else"]))
    assert [fault.field for fault in refused.value.faults] == ["slug", "title", "checks"]
    for slug in ("", "-a", "a--b", "a" * 61, "ä", "a/b", "a#b"):
        with pytest.raises(InputRefused):
            do(office.pages.publish(userid, slug, "Title", []))


def test_a_page_shows_no_check_that_is_gone_or_anothers(office):
    ann, bob = office.sign_up("ann").user.userid, office.sign_up("bob").user.userid
    (mine, gone), (theirs,) = office.add(ann, 2), office.add(bob)
    do(office.pages.publish(ann, "acme", "Acme", [mine, gone]))
    do(office.ledger.delete(ann, gone))
    office.db.edit_page("acme", owner=ann, title="Acme", checks=[mine, gone, theirs]).run()
    assert [check.checkid for check in do(office.pages.checks_on(do(office.pages.find("acme"))))] == [mine]


def test_an_address_that_cannot_be_a_page_is_not_there(office):
    for slug in ("", "x" * 5000, "\ud800", "nothing"):
        with pytest.raises(NotThere):
            do(office.pages.find(slug))
