"""Logos from upload to deletion: stored once, public with their resource, kept while something uses them."""

import asyncio
import io
from dataclasses import replace
from datetime import timedelta

import pytest
from obstore.store import MemoryStore
from PIL import Image

import hashrange
from hashrange import Conflict
from hashrange_systems.kelifax.logos.logo_consumer import LogoConsumer
from hashrange_systems.kelifax.logos.logo_schema import LogoRecords
from hashrange_systems.kelifax.logos.logos import Logos
from hashrange_systems.kelifax.logos.object_store import LogoStore, open_store
from hashrange_systems.kelifax.model.mail_text import CONFIRM_WITHIN
from hashrange_systems.kelifax.record_item import OpenSuggestion
from hashrange_systems.kelifax.schema import Kelifax, checkpoints
from hashrange_systems.shared.application.settings import InvalidSetting
from hashrange_systems.shared.errors import InvalidInput
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from systems.tests.kelifax.entries import NOON, approve, submit
from systems.tests.kelifax.services import KelifaxServices, make_form

DAY = 24 * 3600
KEPT = 3 * DAY


def draw(colour, **more):
    output = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(output, "PNG", **more)
    return output.getvalue()


def do(awaitable):
    async def wait():
        return await awaitable

    return asyncio.run(wait())


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox(processes=1, modules=["hashrange_systems.kelifax.logos.image"])
    yield sandbox
    sandbox.close()


class Directory:
    """Resources and logos on one database."""

    def __init__(self, database, clock, sandbox, store):
        hashrange.create_tables(database, Kelifax, LogoRecords, checkpoints)
        self.db = Kelifax.open(database, clock=clock)
        records = LogoRecords.open(database, clock=clock)
        self.logos = Logos(records, self.db, store, sandbox, clock)
        self.index_consumer = LogoConsumer(self.db, records)
        self.clock = clock

    def upload(self, content):
        return do(self.logos.upload(content)).name

    def sweep_after(self, seconds):
        do(self.index_consumer.catch_up())
        self.clock.advance(seconds)
        return do(self.logos.sweep())


@pytest.fixture(params=["memory", "files"])
def directory(request, clock, sandbox, tmp_path):
    store = LogoStore(MemoryStore()) if request.param == "memory" else open_store(None, tmp_path)
    with hashrange.open(clock=clock) as database:
        yield Directory(database, clock, sandbox, store)


def test_a_logo_is_public_while_an_approved_resource_uses_it(directory):
    name = directory.upload(draw("red"))
    entry = submit(directory.db, "red-tool", logo_image=name)
    do(directory.index_consumer.catch_up())
    assert do(directory.logos.read(name)).startswith(b"\x89PNG")
    assert do(directory.logos.read_public(name)) is None, "the resource is pending"
    published = approve(directory.db, entry, NOON)
    assert do(directory.logos.read_public(name)) == do(directory.logos.read(name))
    directory.db.unpublish(published, rejected_at=NOON, rejection_reason="gone", featured=False).run()
    directory.clock.advance(61)
    assert do(directory.logos.read_public(name)) is None


def test_the_logo_of_a_damaged_resource_is_public_while_it_is_approved(directory):
    name = directory.upload(draw("navy"))
    live = approve(directory.db, submit(directory.db, "saw", logo_image=name), NOON)
    do(directory.index_consumer.catch_up())
    spoil = {
        "TableName": "kelifax-resources",
        "Key": {"resourceSlug": {"S": live.resource_slug}},
        "UpdateExpression": "SET learningResources = :l",
        "ExpressionAttributeValues": {":l": {"S": "nonsense"}},
    }
    directory.db.session.transport.call("UpdateItem", spoil)
    assert do(directory.logos.read_public(name)) is not None
    values = {":s": {"S": "rejected"}}
    directory.db.session.transport.call(
        "UpdateItem",
        spoil | {"UpdateExpression": "SET resourceStatus = :s", "ExpressionAttributeValues": values},
    )
    directory.clock.advance(120)
    assert do(directory.logos.read_public(name)) is None


def test_equal_pictures_are_stored_once_and_deleted_when_the_last_resource_is_gone(directory):
    name = directory.upload(draw("red"))
    assert directory.upload(draw("red", compress_level=0)) == name
    for slug in ("one-tool", "two-tool"):
        submit(directory.db, slug, logo_image=name)
    assert directory.sweep_after(4 * DAY) == 0
    directory.db.drop("one-tool", submission_id="id-of-one-tool").run()
    assert directory.sweep_after(4 * DAY) == 0, "the other resource uses it"
    directory.db.drop("two-tool", submission_id="id-of-two-tool").run()
    assert directory.sweep_after(4 * DAY) == 1
    assert do(directory.logos.read(name)) is None


def test_a_rejected_resource_keeps_its_logo(directory):
    name = directory.upload(draw("green"))
    entry = submit(directory.db, "green-tool", logo_image=name)
    directory.db.reject(entry, rejected_at=NOON, rejection_reason="too short").run()
    assert directory.sweep_after(40 * DAY) == 0
    assert do(directory.logos.exists(name))


def test_a_logo_that_no_resource_uses_expires_after_three_days(directory):
    name = directory.upload(draw("blue"))
    assert directory.sweep_after(KEPT - 60) == 0
    directory.upload(draw("blue"))  # uploaded again: three more days
    assert directory.sweep_after(KEPT - 60) == 0
    assert directory.sweep_after(120) == 1
    assert not do(directory.logos.exists(name))
    assert do(directory.logos.read(name)) is None


def test_a_submission_keeps_its_logo_until_its_confirmation_has_expired(directory):
    name = directory.upload(draw("teal"))
    assert directory.sweep_after(KEPT - 60) == 0
    form = make_form(logoImage=name)
    services = KelifaxServices(directory.db.session.transport, directory.clock)
    submissions = replace(services.submissions, renew_logo=directory.logos.renew)
    do(submissions.submit(form, "192.0.2.1"))
    assert directory.sweep_after(CONFIRM_WITHIN.total_seconds() - 60) == 0
    token = do(services.find_token("confirm-submission"))
    do(submissions.confirm(token))
    assert directory.sweep_after(40 * DAY) == 0
    assert do(directory.logos.exists(name))


def test_a_logo_that_is_being_deleted_is_not_renewed_and_one_that_is_used_no_earlier(directory):
    name = directory.upload(draw("plum"))
    records = directory.logos.db
    records.look_later(records.logo(name).run(), due_at=NOON + timedelta(days=30)).run()
    assert do(directory.logos.renew(name))
    logo = records.logo(name).run()
    assert logo.due_at == NOON + timedelta(days=30)
    records.begin_deletion(logo, seen=logo.due_at, due_at=NOON).run()
    with pytest.raises(Conflict):
        records.look_later(logo, due_at=NOON + timedelta(days=3)).run()
    assert not do(directory.logos.renew(name))
    assert not do(directory.logos.renew("nothing"))


def test_a_use_that_was_recorded_for_a_change_that_failed_keeps_no_logo(directory):
    name = directory.upload(draw("gold"))
    submit(directory.db, "gold-tool")
    do(directory.logos.record_use(name, "gold-tool"))  # an edit that then lost against another
    do(directory.logos.record_use(name, "deleted-tool"))
    assert directory.sweep_after(KEPT + 60) == 1
    assert do(directory.logos.read(name)) is None


def test_the_logo_of_a_suggestion_is_kept_while_it_waits(directory):
    name = directory.upload(draw("navy"))
    suggestion = OpenSuggestion(
        slug="navy-tool",
        suggestion_id="suggestion1",
        created_at=NOON,
        changes={"logoImage": name},
        base={"logoImage": None},
    )
    do(directory.db.create(suggestion))
    do(directory.logos.record_suggestion(name, "navy-tool", "suggestion1"))
    assert directory.sweep_after(10 * DAY) == 0
    assert do(directory.logos.exists(name))
    assert do(directory.logos.read_public(name)) is None
    do(directory.db.decide_suggestion(suggestion, outcome="declined", decided_by="ann", decided_at=NOON))
    assert directory.sweep_after(40 * DAY) == 1


def test_a_deletion_that_was_interrupted_is_finished_and_does_not_take_a_new_upload_with_it(directory):
    name = directory.upload(draw("pink"))
    records = directory.logos.db
    logo = records.logo(name).run()
    records.begin_deletion(logo, seen=logo.due_at, due_at=NOON).run()
    assert not do(directory.logos.exists(name))
    assert directory.sweep_after(DAY) == 1
    assert directory.upload(draw("pink")) == name
    assert do(directory.logos.read(name)) is not None


@pytest.mark.parametrize(
    "content", [b"", b"<svg onload=alert(1)>", draw("red") + b"PK\x03\x04", bytes(3 * 1024 * 1024)]
)
def test_what_is_no_picture_is_refused_with_the_field(directory, content):
    with pytest.raises(InvalidInput) as refused:
        directory.upload(content)
    assert [error.field for error in refused.value.errors] == ["resource.logoImage"]


@pytest.mark.parametrize("name", ["../secret", "..%2fsecret", "x.png", "", "a" * 40 + ".png/..", "A" * 40 + ".png"])
def test_only_names_of_logos_are_read(directory, name):
    assert do(directory.logos.read(name)) is None
    assert do(directory.logos.read_public(name)) is None


def test_a_location_is_a_path_or_a_bucket(tmp_path):
    assert open_store("s3://bucket/prefix", None).store.__class__.__name__ == "S3Store"
    assert open_store(str(tmp_path / "logos"), None).store.__class__.__name__ == "LocalStore"
    with pytest.raises(InvalidSetting, match="KELIFAX_LOGOS"):
        open_store("ftp://bucket", None)
