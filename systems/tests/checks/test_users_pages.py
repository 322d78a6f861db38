"""Status pages: several for each user, each under an address that only one user has; own texts and announcements."""

import pytest

from hashrange_systems.checks.errors import SlugTaken
from hashrange_systems.checks.model.announcement import MAX_ANNOUNCEMENTS, read_announcements
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.service.status_pages import MAX_PAGES, PageContent
from hashrange_systems.shared.errors import InvalidInput, LimitReached, ResourceMissing
from systems.tests.checks.services import do, race, winners


def slugs(services):
    return [key for key in services.stored("USER") if key.startswith("PAGE#")]


def test_a_page_is_published_found_by_anybody_and_taken_off(services):
    userid = services.sign_up().user.userid
    checks = services.add(userid, 2)
    do(services.pages.publish(userid, "acme", PageContent(title=" Acme ", checks=[*checks, checks[0]])))
    page = do(services.pages.find("acme"))
    assert page == StatusPage(slug="acme", owner=userid, title="Acme", checks=checks)
    assert [check.checkid for check in do(services.pages.checks_on(page))] == checks
    do(services.pages.unpublish(userid, "acme"))
    for again in (services.pages.find("acme"), services.pages.unpublish(userid, "acme")):
        with pytest.raises(ResourceMissing):
            do(again)
    assert do(services.pages.list_by_user(userid)) == []


def test_a_page_is_changed_and_moved(services):
    userid = services.sign_up().user.userid
    do(services.pages.publish(userid, "acme", PageContent(title="Acme", checks=[])))
    do(services.pages.publish(userid, "acme", PageContent(title="Acme!", checks=services.add(userid))))
    assert do(services.pages.find("acme")).title == "Acme!"
    do(services.pages.announce(userid, "acme", "INFO", "Hello"))
    do(services.pages.publish(userid, "acme-status", PageContent(title="Acme", intro=" Hi. "), renames="acme"))
    assert slugs(services) == ["PAGE#acme-status/PAGE"]
    (page,) = do(services.pages.list_by_user(userid))
    assert (page.slug, page.intro, len(page.announcements)) == ("acme-status", "Hi.", 1)


def test_a_user_has_several_pages_up_to_a_limit(services):
    userid = services.sign_up().user.userid
    for number in range(MAX_PAGES):
        do(services.pages.publish(userid, f"p{number}", PageContent(title="Acme")))
    assert [page.slug for page in do(services.pages.list_by_user(userid))] == [f"p{n}" for n in range(MAX_PAGES)]
    with pytest.raises(LimitReached):
        do(services.pages.publish(userid, "more", PageContent(title="Acme")))
    do(services.pages.publish(userid, "other", PageContent(title="Acme"), renames="p3"))
    do(services.pages.unpublish(userid, "p0"))
    assert [page.slug for page in do(services.pages.list_by_user(userid))][:3] == ["p1", "p2", "other"]


def test_the_only_page_of_before_is_one_of_the_pages(services):
    user = services.sign_up().user
    services.db.create(StatusPage(slug="old", owner=user.userid, title="Old")).run()
    item = {"PK": {"S": user.userid}, "SK": {"S": "USER"}}
    change = {"UpdateExpression": "SET pageSlug = :s", "ExpressionAttributeValues": {":s": {"S": "old"}}}
    services.database.call("UpdateItem", {"TableName": "USER", "Key": item, **change})
    do(services.pages.publish(user.userid, "new", PageContent(title="New")))
    assert [page.slug for page in do(services.pages.list_by_user(user.userid))] == ["old", "new"]
    do(services.pages.unpublish(user.userid, "old"))
    assert [page.slug for page in do(services.pages.list_by_user(user.userid))] == ["new"]


def test_announcements_are_shown_until_their_end_latest_first(services):
    userid, now = services.sign_up().user.userid, services.clock.millis()
    do(services.pages.publish(userid, "acme", PageContent(title="Acme")))
    do(services.pages.announce(userid, "acme", "MAINTENANCE", "Upgrade", "At noon.", now + 1000))
    second = do(services.pages.announce(userid, "acme", "INFO", "Hello"))
    known = read_announcements(do(services.pages.find("acme")).announcements)
    assert [(each.title, each.is_shown(now + 1000)) for each in known] == [("Hello", True), ("Upgrade", False)]
    do(services.pages.withdraw(userid, "acme", second.announcement_id))
    assert [each["title"] for each in do(services.pages.find("acme")).announcements] == ["Upgrade"]
    for bad in (("LOUD", "x"), ("INFO", ""), ("INFO", "a\nb"), ("INFO", "x", "y" * 2001), ("INFO", "x", "", now)):
        with pytest.raises(InvalidInput):
            do(services.pages.announce(userid, "acme", *bad))


def test_of_announcements_at_the_same_time_none_is_lost_and_there_is_a_limit(services):
    userid = services.sign_up().user.userid
    do(services.pages.publish(userid, "acme", PageContent(title="Acme")))
    race(4, lambda n: services.pages.announce(userid, "acme", "INFO", f"n{n}"))
    assert len(do(services.pages.find("acme")).announcements) == 4
    for number in range(MAX_ANNOUNCEMENTS):
        do(services.pages.announce(userid, "acme", "INFO", f"m{number}"))
    assert len(do(services.pages.find("acme")).announcements) == MAX_ANNOUNCEMENTS


def test_of_many_users_who_want_the_same_slug_at_once_one_gets_it(services):
    users = [services.sign_up(f"u{n}").user.userid for n in range(8)]
    outcomes = race(8, lambda n: services.pages.publish(users[n], "acme", PageContent(title="Acme", checks=[])))
    (won,) = winners(outcomes)
    assert {type(found) for found in outcomes if found is not won} == {SlugTaken}
    assert do(services.pages.find("acme")).owner == won.owner


def test_one_user_who_publishes_under_many_slugs_at_once_has_all_pages(services):
    userid = services.sign_up().user.userid
    race(6, lambda n: services.pages.publish(userid, f"acme-{n}", PageContent(title="Acme", checks=[])))
    assert sorted(do(services.users.find(userid)).page_slugs) == [f"acme-{n}" for n in range(6)]
    assert slugs(services) == [f"PAGE#acme-{n}/PAGE" for n in range(6)]


def test_all_faults_of_a_page_are_told_at_once(services):
    userid = services.sign_up().user.userid
    with pytest.raises(InvalidInput) as refused:
        do(services.pages.publish(userid, "Not A Slug", PageContent(title="\n", checks=["of-somebody-else"])))
    assert [error.field for error in refused.value.errors] == ["slug", "title", "checks"]
    for slug in ("", "-a", "a--b", "a" * 61, "ä", "a/b", "a#b"):
        with pytest.raises(InvalidInput):
            do(services.pages.publish(userid, slug, PageContent(title="Title", checks=[])))


def test_a_page_shows_no_check_that_is_gone_or_anothers(services):
    ann, bob = services.sign_up("ann").user.userid, services.sign_up("bob").user.userid
    (mine, gone), (theirs,) = services.add(ann, 2), services.add(bob)
    do(services.pages.publish(ann, "acme", PageContent(title="Acme", checks=[mine, gone])))
    do(services.checks.delete(ann, gone))
    services.db.edit_page("acme", owner=ann, title="Acme", checks=[mine, gone, theirs], intro="").run()
    assert [check.checkid for check in do(services.pages.checks_on(do(services.pages.find("acme"))))] == [mine]


def test_an_address_that_cannot_be_a_page_is_not_there(services):
    for slug in ("", "x" * 5000, "\ud800", "nothing"):
        with pytest.raises(ResourceMissing):
            do(services.pages.find(slug))
