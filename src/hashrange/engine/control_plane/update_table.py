"""UpdateTableDraft: the definition that an UpdateTable leads to, made on a copy: a rejected change leaves no trace.

The request has passed `update_table_request`; here it is checked against the table. The operation then changes rows,
index columns and streams.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from hashrange.core.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.control_plane import contributor_insights, throughput
from hashrange.engine.control_plane.create_table import (
    DEFAULT_CLASS,
    MOST_GLOBAL,
    compose_global_index,
    sort_definitions,
)
from hashrange.engine.control_plane.encryption import change_encryption, describe_encryption
from hashrange.engine.control_plane.key_schema import check_projected_total, names_of
from hashrange.engine.control_plane.table_description import (
    ACTIVE,
    describe_billing,
    describe_class,
    index_status,
    make_phase,
    running_phase,
)
from hashrange.engine.control_plane.table_status import IN_USE, check_changeable
from hashrange.engine.control_plane.throughput import NEITHER_UNIT, NO_UNITS, ON_DEMAND, PROVISIONED, TABLE, Owner
from hashrange.engine.control_plane.update_table_request import list_changes, pick_action
from hashrange.engine.table import Index, Table

if TYPE_CHECKING:
    from hashrange.engine.engine import EngineSettings


UPDATING = "UPDATING"


class UpdateTableDraft:
    """A table's definition on its way through one UpdateTable."""

    def __init__(self, table: Table, request: Wire, now: int, settings: EngineSettings) -> None:
        self.table = table
        self.request = request
        self.now = now
        self.settings = settings
        self.definition: Wire = deepcopy(table.definition)
        self._forget_phases()
        self.created: Wire | None = None  # the definition of an index to be added
        self.deleted: str | None = None  # the name of an index to be removed
        self._statuses: list[str] = []
        self._shown: Wire = {}
        self._delay = 0

    def make(self) -> None:
        """Work the request into the definition, or raise what the service answers."""
        check_changeable(self.table, list_changes(self.request), self.now)
        self._change_billing()
        self._change_indexes()
        self._change_stream()
        self._change_encryption()
        self._change_class()
        self._change_protection()
        self._change_caps()
        self._change_rates()
        if self._statuses:
            status = UPDATING if UPDATING in self._statuses else ACTIVE
            self.definition["phase"] = make_phase(status, self.now, self._delay, self._shown)

    def _forget_phases(self) -> None:
        """Drop the phases that are over, lest the answer, as of a moment ago, shows one that ended just now."""
        for part in (self.definition, *self.definition.get("GlobalSecondaryIndexes", ())):
            if running_phase(part, self.now) is None:
                part.pop("phase", None)

    def _note(self, status: str, shown: Wire | None = None, *, lasting: bool = True) -> None:
        """Note that the table goes through a phase, and what it shows meanwhile."""
        self._statuses.append(status)
        self._shown |= shown or {}
        if lasting:
            self._delay = self.settings.status_delay

    # -- billing and the table's figures -------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """Return the billing mode that the table will have."""
        return str(self.request.get("BillingMode", self.definition["BillingMode"]))

    @property
    def switching(self) -> bool:
        """Tell whether the billing mode changes."""
        return self.mode != str(self.table.definition["BillingMode"])

    def _change_billing(self) -> None:
        units = self.request.get("ProvisionedThroughput")
        if units is not None and self.mode == ON_DEMAND:
            raise ValidationException(NEITHER_UNIT)
        if self.switching:
            self._switch(units or NO_UNITS)
        elif units is not None:
            self._change_units(units)
        elif "BillingMode" in self.request:  # the mode that it has already
            self._note(UPDATING, lasting=False)

    def _switch(self, units: Wire) -> None:
        definition, before = self.definition, self.table.definition
        throughput.check_bounds(units, TABLE)
        throughput.check_quota(units, TABLE, self.settings.region)
        definition["BillingMode"] = self.mode
        shown: Wire = {"WarmThroughput": throughput.describe_rates(before["WarmThroughput"])}
        if self.mode == ON_DEMAND:
            definition["on_demand_since"] = self.now
            shown["BillingModeSummary"] = {**(describe_billing(before) or {}), "BillingMode": ON_DEMAND}
        for part in (definition, *definition.get("GlobalSecondaryIndexes", ())):
            part["OnDemandThroughput"] = None
            self._set_units(part, units if part is definition else NO_UNITS)
        if self.mode == PROVISIONED:
            self._check_every_index_paced()
        self._note(UPDATING, shown)

    def _set_units(self, part: Wire, units: Wire) -> None:
        part["ProvisionedThroughput"] |= {unit: units[unit] for unit in throughput.UNITS}
        part["WarmThroughput"] = throughput.lift_rates(part["WarmThroughput"], self.mode, part["ProvisionedThroughput"])

    def _check_every_index_paced(self) -> None:
        paced = {
            index["IndexName"]
            for action, index in map(pick_action, self.request.get("GlobalSecondaryIndexUpdates") or ())
            if action == "Update" and "ProvisionedThroughput" in index
        }
        for name in names_of_indexes(self.definition):
            if name not in paced:
                raise ValidationException(
                    f"{INVALID_PARAMETER}ProvisionedThroughput must be specified for index: {name}"
                )

    def _change_units(self, units: Wire) -> None:
        before = self.table.definition["ProvisionedThroughput"]
        changed = throughput.change_units(before, units, self.now, TABLE, self.settings.region)
        shown = {
            "ProvisionedThroughput": describe_old_units(before, changed, self.now),
            "WarmThroughput": throughput.describe_rates(self.table.definition["WarmThroughput"]),
        }
        self.definition["ProvisionedThroughput"] = changed
        self._set_units(self.definition, changed)
        self._note(UPDATING, shown)

    # -- indexes -------------------------------------------------------------------------------------------------------

    def _change_indexes(self) -> None:
        actions = [pick_action(update) for update in self.request.get("GlobalSecondaryIndexUpdates") or ()]
        for action, asked in actions:
            if action != "Create":
                self._find_index(action, asked["IndexName"])
        self._check_one_online(actions)
        for action, asked in actions:
            if action == "Create":
                self._create_index(asked)
            elif action == "Delete":
                self._delete_index(asked["IndexName"])
            else:
                self._update_index(asked)

    def _find_index(self, action: str, name: str) -> Index:
        index = self.table.indexes_by_name.get(name)
        if index is None:
            raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {self.table.name}")
        if not index.is_global:
            raise ValidationException(f"Cannot {action.lower()} an index that is not a GlobalSecondaryIndex: {name}")
        return index

    def _check_one_online(self, actions: list[tuple[str, Wire]]) -> None:
        reshaped = {asked["IndexName"] for action, asked in actions if action != "Update"}
        if not reshaped:
            return
        statuses = {index.name: index_status(self.table, index, self.now) for index in global_indexes(self.table)}
        busy = {name for name, status in statuses.items() if status in ("CREATING", "DELETING")}
        if len(reshaped | busy) > 1:
            raise LimitExceededException(
                "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
            )

    def _create_index(self, asked: Wire) -> None:
        name = asked["IndexName"]
        if name in self.table.indexes_by_name:
            raise ValidationException("Attempting to create an index which already exists")
        if len(global_indexes(self.table)) >= MOST_GLOBAL:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
                f"{MOST_GLOBAL}"
            )
        self._check_new_figures(asked)
        self._define_attributes(asked["KeySchema"])
        index = compose_global_index(asked, self.mode)
        check_projected_total([*all_indexes(self.definition), index])
        index["phase"] = make_phase("CREATING", self.now, self.settings.status_delay, {"Backfilling": False})
        self.created = index
        self._note(UPDATING)

    def _check_new_figures(self, asked: Wire) -> None:
        name, units = asked["IndexName"], asked.get("ProvisionedThroughput")
        if self.mode == ON_DEMAND and units is not None:
            raise ValidationException(_neither_for_index(name))
        if self.mode == PROVISIONED:
            if units is None:
                raise ValidationException(_both_for_index(name))
            throughput.check_bounds(units, Owner(name))
            throughput.check_quota(units, Owner(name), self.settings.region)

    def _define_attributes(self, schema: list[Wire]) -> None:
        """Take over the definitions of a new index's key; an attribute in use keeps its type."""
        known = {entry["AttributeName"]: entry["AttributeType"] for entry in self.definition["AttributeDefinitions"]}
        given = {entry["AttributeName"]: entry for entry in self.request["AttributeDefinitions"]}
        types = {name: given[name]["AttributeType"] for name in names_of(schema)}
        for name, kind in types.items():
            if known.get(name, kind) != kind:
                raise ValidationException(self._redefined(name, schema, known, types))
        added = [given[name] for name in types if name not in known]
        self.definition["AttributeDefinitions"] = sort_definitions([*self.definition["AttributeDefinitions"], *added])

    def _redefined(self, name: str, schema: list[Wire], known: dict[str, str], types: dict[str, str]) -> str:
        parts = [self.definition, *all_indexes(self.definition)]
        existing = next(part["KeySchema"] for part in parts if name in names_of(part["KeySchema"]))
        return (
            f"{INVALID_PARAMETER}Attributes cannot be redefined. Please check that your attribute has the same type "
            "as previously "
            f"defined. Existing schema: {_show_schema(existing, known)} New schema: {_show_schema(schema, types)}"
        )

    def _delete_index(self, name: str) -> None:
        index = self.table.indexes_by_name[name]
        if running_phase(index.definition, self.now) and index_status(self.table, index, self.now) == "CREATING":
            raise ResourceInUseException(
                f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
                f"when the index is active. Table: {self.table.name} Index: {name}"
            )
        self.deleted = name
        self._entry(name)["phase"] = make_phase("DELETING", self.now, 0, {"Backfilling": None})
        self._note(UPDATING)

    def _update_index(self, asked: Wire) -> None:
        name = asked["IndexName"]
        owner, entry, before = Owner(name), self._entry(name), self.table.indexes_by_name[name].definition
        units, caps, rates = (asked.get(m) for m in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput"))
        self._check_update(name, units, caps, rates)
        status, shown = ACTIVE, {}
        if rates:
            entry["WarmThroughput"] = throughput.raise_rates(
                before["WarmThroughput"], rates, owner, self.settings.region
            )
            shown["WarmThroughput"] = throughput.describe_rates(before["WarmThroughput"], UPDATING)
        if caps:
            merged = throughput.merge_caps(entry["OnDemandThroughput"], caps, self.mode, owner, self.settings.region)
            entry["OnDemandThroughput"] = throughput.clear_removed_caps(merged)
            status, shown["OnDemandThroughput"] = UPDATING, merged
        if units is not None:
            status = UPDATING
            shown |= self._pace_index(entry, before["ProvisionedThroughput"], units, owner)
        entry["phase"] = make_phase(status, self.now, self.settings.status_delay, shown)

    def _check_update(self, name: str, units: Wire | None, caps: Wire | None, rates: Wire | None) -> None:
        index = self.table.indexes_by_name[name]
        if running_phase(index.definition, self.now):
            raise ResourceInUseException(f"{IN_USE}Index is being updated. Table: {self.table.name} Index: {name}")
        if self.mode == ON_DEMAND:
            if units is not None and self.switching:
                raise ValidationException(_neither_for_index(name))
            if units is not None or not (caps or rates):
                raise ValidationException(
                    f"{INVALID_PARAMETER}The only Updates for index: {name} when TableThroughputMode is "
                    "PAY_PER_REQUEST can be to "
                    "OnDemandThroughput, WarmThroughput"
                )
        elif units is None and not (caps or rates):
            raise ValidationException(_both_for_index(name))

    def _pace_index(self, entry: Wire, before: Wire, units: Wire, owner: Owner) -> Wire:
        """Set the provisioned figures of an index; return what its phase shows."""
        if self.switching:
            throughput.check_bounds(units, owner)
            throughput.check_quota(units, owner, self.settings.region)
            self._set_units(entry, units)
            return {}
        changed = throughput.change_units(before, units, self.now, owner, self.settings.region)
        entry["ProvisionedThroughput"] = changed
        self._set_units(entry, changed)
        return {"ProvisionedThroughput": describe_old_units(before, changed, self.now)}

    def _entry(self, name: str) -> Wire:
        entries: list[Wire] = self.definition["GlobalSecondaryIndexes"]
        return next(entry for entry in entries if entry["IndexName"] == name)

    # -- what stands alone ---------------------------------------------------------------------------------------------

    def _change_stream(self) -> None:
        specification = self.request.get("StreamSpecification")
        if specification is None:
            return
        if specification["StreamEnabled"] and self.table.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {self.table.name}")
        if not specification["StreamEnabled"] and self.table.stream is None:
            raise ValidationException(f"Table has no stream to disable: TableName: {self.table.name}")
        self._note(UPDATING)

    def _change_encryption(self) -> None:
        specification = self.request.get("SSESpecification")
        if specification is None:
            return
        current = self.definition.get("SSESpecification")
        settings = self.settings
        wanted = change_encryption(current, specification, settings.region, settings.account)
        self.definition["SSESpecification"] = wanted
        self._note(ACTIVE, {"SSEDescription": describe_encryption(current or wanted, UPDATING)})

    def _change_class(self) -> None:
        wanted = self.request.get("TableClass")
        if wanted is None:
            return
        shown = {"TableClassSummary": describe_class(self.definition)}
        if wanted == self.definition.get("TableClass", DEFAULT_CLASS):
            self._note(UPDATING, shown, lasting=False)
            return
        self.definition |= {"TableClass": wanted, "class_changed": self.now}
        self._note(UPDATING, shown)

    def _change_protection(self) -> None:
        if "DeletionProtectionEnabled" in self.request:
            self.definition["DeletionProtectionEnabled"] = self.request["DeletionProtectionEnabled"]

    def _change_caps(self) -> None:
        asked = self.request.get("OnDemandThroughput")
        if asked:
            merged = throughput.merge_caps(
                self.definition["OnDemandThroughput"], asked, self.mode, TABLE, self.settings.region
            )
            self.definition["OnDemandThroughput"] = throughput.clear_removed_caps(merged)
            self._note(ACTIVE, {"OnDemandThroughput": merged}, lasting=False)

    def _change_rates(self) -> None:
        asked = self.request.get("WarmThroughput")
        if asked:
            before = self.table.definition["WarmThroughput"]
            self.definition["WarmThroughput"] = throughput.raise_rates(before, asked, TABLE, self.settings.region)
            self._note(ACTIVE, {"WarmThroughput": throughput.describe_rates(before, UPDATING)})


def drop_unused(definition: Wire) -> None:
    """Forget what only a removed index had: definitions of attributes that no key uses any more, and its insights."""
    parts = (definition, *all_indexes(definition))
    used = {name for part in parts for name in names_of(part["KeySchema"])}
    kept = [entry for entry in definition["AttributeDefinitions"] if entry["AttributeName"] in used]
    definition["AttributeDefinitions"] = kept
    known = {contributor_insights.TABLE, *names_of_indexes(definition)}
    settings = definition.get("insights") or {}
    definition["insights"] = {name: setting for name, setting in settings.items() if name in known}


def global_indexes(table: Table) -> list[Index]:
    """Return the global indexes of a table."""
    return [index for index in table.indexes if index.is_global]


def all_indexes(definition: Wire) -> list[Wire]:
    """Return the definitions of a table's indexes, local and global."""
    return [*(definition.get("LocalSecondaryIndexes") or ()), *(definition.get("GlobalSecondaryIndexes") or ())]


def names_of_indexes(definition: Wire) -> list[str]:
    """Return the names of a table's global indexes."""
    return [index["IndexName"] for index in definition.get("GlobalSecondaryIndexes") or ()]


def describe_old_units(before: Wire, after: Wire, now: int) -> Wire:
    """Return figures as the answer to their change shows them: the old ones, with the time of the change."""
    times: Wire = {kept: after[kept] for kept in ("increased", "decreased") if kept in after}
    shown = throughput.describe_units({**before, **times}, now)
    return {**shown, "NumberOfDecreasesToday": throughput.count_decreases(before, now)}


def _neither_for_index(name: str) -> str:
    return (
        f"{INVALID_PARAMETER}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
        "when BillingMode is PAY_PER_REQUEST"
    )


def _both_for_index(name: str) -> str:
    return f"{INVALID_PARAMETER}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"


def _show_schema(schema: list[Wire], types: dict[str, str]) -> str:
    elements = [f"{e['AttributeName']}:{types[e['AttributeName']]}:{e['KeyType']}" for e in schema]
    return "Schema:[" + ", ".join(f"SchemaElement: key{{{element}}}" for element in elements) + "]"
