"""Contributor insights as a setting of a table and of each of its global indexes; nothing is counted.

A table's definition holds one InsightsSetting per setting, under TABLE or the index's name.
"""

from __future__ import annotations

from msgspec.structs import replace

from hashrange.core.errors import ResourceNotFoundException
from hashrange.core.wire import Wire
from hashrange.engine.definition import InsightsSetting
from hashrange.engine.table import Table

TABLE = ""
EVERYTHING, THROTTLED = "ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"
RULES = {EVERYTHING: ("C", "T"), THROTTLED: ("T",)}


def check_index(table: Table, name: str | None) -> str:
    """Return under which name an index's setting is kept, or raise for what is not a global index."""
    if name is None:
        return TABLE
    index = table.indexes_by_name.get(name)
    if index is None or not index.is_global:
        raise ResourceNotFoundException(
            f"Requested resource not found: Index: {name} not found for table: {table.name}"
        )
    return name


def change_setting(current: InsightsSetting | None, request: Wire, now: int, delay: int) -> InsightsSetting | None:
    """Return the setting after an UpdateContributorInsights; repeats change nothing."""
    if request["ContributorInsightsAction"] == "DISABLE":
        if current is None or not current.enabled:
            return current
        return replace(current, enabled=False, updated=now, until=now + delay)
    mode = request.get("ContributorInsightsMode", EVERYTHING)
    if current is None or not current.enabled:
        return InsightsSetting(mode=mode, enabled=True, since=now, updated=now, until=now + delay)
    if current.mode == mode:
        return current
    return replace(current, mode=mode, updated=now, until=now + delay)


def summarize(table: Table, name: str, setting: InsightsSetting | None, at: int) -> Wire:
    """Return a setting as lists and the response to a change show it."""
    summary: Wire = {"TableName": table.name} | ({"IndexName": name} if name != TABLE else {})
    summary["ContributorInsightsStatus"] = _status(setting, at)
    if setting is not None:
        summary["ContributorInsightsMode"] = setting.mode
    return summary


def describe(table: Table, name: str, setting: InsightsSetting | None, at: int) -> Wire:
    """Return the full description of a setting."""
    description = summarize(table, name, setting, at)
    if setting is not None:
        description["LastUpdateDateTime"] = setting.updated / 1000
        if setting.enabled:
            description["ContributorInsightsRuleList"] = _name_rules(table, name, setting)
    return description


def _status(setting: InsightsSetting | None, at: int) -> str:
    if setting is None:
        return "DISABLED"
    if at < setting.until:
        return "ENABLING" if setting.enabled else "DISABLING"
    return "ENABLED" if setting.enabled else "DISABLED"


def _name_rules(table: Table, name: str, setting: InsightsSetting) -> list[str]:
    key_encoder = table.indexes_by_name[name].key_encoder if name != TABLE else table.key_encoder
    keys = ("PK", "SK") if key_encoder.ranges else ("PK",)
    resource = table.name if name == TABLE else f"{table.name}-{name}"
    return [
        f"DynamoDBContributorInsights-{key}{rule}-{resource}-{setting.since}"
        for key in keys
        for rule in RULES[setting.mode]
    ]


def list_settings(table: Table, at: int) -> list[Wire]:
    """Return the settings of a table that are not disabled: its own first, then its indexes'."""
    settings = table.definition.insights
    names = [TABLE, *(index.name for index in table.indexes)]
    summaries = [summarize(table, name, settings[name], at) for name in names if name in settings]
    return [summary for summary in summaries if summary["ContributorInsightsStatus"] != "DISABLED"]
