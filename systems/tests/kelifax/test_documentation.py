"""What docs/systems/kelifax.md says about access patterns, what actions cost, and commands.

When a field, a cost or a plan changes, `python -m systems.tests.kelifax.test_documentation` prints the rows anew.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import typer.main

import hashrange
from hashrange import ManualClock
from hashrange_systems.kelifax.cli import app
from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.draft import parse_draft
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.service.directory import Filters
from systems.tests.access_cost import CapacityMeter, describe_plan, read_rows
from systems.tests.kelifax.services import ANN, KelifaxServices, make_form

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "kelifax.md"
SCANS = {"search", "from_domain", "popular", "everything", "stored", "claims", "aliases", "all_tag_entries"}


def list_rows():
    plans = [plan for plan in Kelifax.plans.values() if plan.verb != "Filter"]
    return [describe_plan(plan, plan.table.physical_name.removeprefix("kelifax-")) for plan in plans]


def list_fields():
    """The rows of the table of the fields of a resource."""
    rules = [each.kind.limits + each.kind.more_rules for each in CONTENT_FIELDS]
    return [
        f"| `{each.name}` | {rule} | {describe_places(each)} | {describe_search(each)} |"
        for each, rule in zip(CONTENT_FIELDS, rules, strict=True)
    ]


def describe_places(each):
    """Where a field is shown besides forms, the API and the JSON export."""
    places = {
        "lists": each.listed,
        "cards": each.card,
        f"page ({each.page})": each.page,
        "CSV": each.column,
        "RSS": each.feed,
        "JSON-LD": each.json_ld,
    }
    return ", ".join(place for place, is_there in places.items() if is_there)


def describe_search(each):
    """How a field is searched, with the scores of what is found in it, and what it narrows."""
    searched = each.search
    ways = {
        "word": searched.word,
        "beginning": searched.begins,
        "similar word": searched.similar,
        "whole": searched.whole,
    }
    found = [*(["text"] if searched.in_text else []), *(f"{way} {score:g}" for way, score in ways.items() if score)]
    return ", ".join([*found, *(["filter"] if each.filter else []), *(["own lists"] if each.list_path else [])])


class Meter(CapacityMeter):
    """The services on an embedded database with 20 published resources, and what each action costs there."""

    def __init__(self):
        super().__init__()
        self.clock = clock = ManualClock(1_768_478_400)
        self.database = hashrange.open(clock=clock)
        self.kelifax = KelifaxServices(self.database, clock, hooks=[self.events.append])
        fixed_id = "00000000-0000-4000-8000-000000000000"  # the size of an item, and so its cost, depends on its id
        self.kelifax.submissions = replace(self.kelifax.submissions, make_id=lambda: fixed_id)

    async def fill(self):
        for number in range(20):
            await self.kelifax.list_resource(f"Tool {number:02d}")
            self.clock.advance(60)


def measure():
    """What each action costs, in the order of a resource's life."""
    meter = Meter()
    kelifax = meter.kelifax
    asyncio.run(meter.fill())
    accept = kelifax.submissions.accept(parse_draft(make_form()))
    found = {"a submission is taken in: slug, URL and mail": meter.spend(accept)}
    token = asyncio.run(kelifax.find_token("confirm-submission"))
    found["it is confirmed and waits"] = meter.spend(kelifax.submissions.confirm(token))
    found["the queue is listed"] = meter.spend(kelifax.moderation.queue())
    found["it is approved, with two tags"] = meter.spend(kelifax.moderation.approve("pixel-kit", ANN))
    found["a page of 20 of a list"] = meter.spend(kelifax.directory.browse(Filters()))
    found["a page of 20 of a tag"] = meter.spend(kelifax.directory.browse(Filters(tags=("icons",))))
    found["a resource is shown"] = meter.spend(kelifax.directory.find("pixel-kit"))
    kelifax.view_counts.count("pixel-kit")
    found["views of a resource are stored, however many"] = meter.spend(kelifax.view_counts.store())
    found["and flushed into `viewCount`"] = meter.spend(kelifax.view_counts.flush())
    found["a vote"] = meter.spend(kelifax.reviews.vote("pixel-kit", "visitor", "c"))
    edit = kelifax.moderation.edit("pixel-kit", {"usagePurpose": "Draws icons, and explains how."}, ANN)
    found["it is edited"] = meter.spend(edit)
    found["it is unpublished"] = meter.spend(kelifax.moderation.unpublish("pixel-kit", ANN, "Sold."))
    meter.database.close()
    return [f"| {action} | {reads:g} | {writes:g} |" for action, (reads, writes) in found.items()]


def test_what_actions_cost_is_as_documented():
    section = DOCS.read_text("utf-8").partition("## What it costs\n")[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| ")][1:] == measure()


def test_every_access_pattern_is_listed_with_what_it_costs():
    assert read_rows(DOCS, "All patterns") == list_rows()


def test_every_field_of_a_resource_is_listed_with_what_is_true_of_it():
    assert read_rows(DOCS, "Fields of a resource") == list_fields()


def test_only_what_the_seed_scans_and_what_operators_ask_for_scans():
    assert {plan.name for plan in Kelifax.plans.values() if plan.verb == "Scan"} == SCANS


def test_every_command_is_on_the_page():
    group = typer.main.get_group(app)
    text = DOCS.read_text("utf-8")
    assert [name for name in group.commands if f"`{name}" not in text and f" {name}" not in text] == []


if __name__ == "__main__":
    print("\n".join([*list_fields(), "", *measure(), "", *list_rows()]))  # noqa: T201 - what this is for
