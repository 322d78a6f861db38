"""UpdateTimeToLive and DescribeTimeToLive: which attribute says when an item expires."""

import pytest

from tests.conformance.refusal import invalid, not_found
from tests.conformance.table import new_name


def switch(table, name="expires", *, enabled=True):
    return table.update_time_to_live(TimeToLiveSpecification={"Enabled": enabled, "AttributeName": name})


def described(table):
    return table.describe_time_to_live()["TimeToLiveDescription"]


def test_a_new_table_keeps_its_items(table):
    assert described(table) == {"TimeToLiveStatus": "DISABLED"}


def test_switching_on_answers_what_was_asked_and_shows_at_once(table):
    response = switch(table)
    assert response["TimeToLiveSpecification"] == {"Enabled": True, "AttributeName": "expires"}
    assert described(table) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


def test_switching_off_needs_the_same_attribute(table):
    switch(table)
    text = "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    with invalid(text):
        switch(table, "other", enabled=False)
    switch(table, enabled=False)
    assert described(table) == {"TimeToLiveStatus": "DISABLED"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("expires", "TimeToLive is already enabled"),
        ("other", "TimeToLive is active on a different AttributeName: current AttributeName is expires"),
    ],
)
def test_it_is_switched_on_once(table, name, text):
    switch(table)
    with invalid(text):
        switch(table, name)


def test_what_is_off_cannot_be_switched_off(table):
    with invalid("TimeToLive is already disabled"):
        switch(table, enabled=False)


def test_an_attribute_name_has_1_to_255_characters(table):
    with invalid(containing="Member must have length less than or equal to 255"):
        switch(table, "x" * 256)
    with invalid(containing="Member must have length greater than or equal to 1"):
        switch(table, "")


def test_an_unknown_table_is_named(client):
    name = new_name()
    with not_found(f"Requested resource not found: Table: {name} not found"):
        client.describe_time_to_live(TableName=name)
