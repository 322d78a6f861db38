"""UpdateTableDraft: the definition that an UpdateTable leads to, made on a copy: a refused change leaves no trace.

The request has passed `update_table_request`; here it is checked against the table. The operation then changes rows,
index columns and streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from hashrange.core.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.core.limits import MAX_GLOBAL_INDEXES
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.control_plane import contributor_insights, throughput
from hashrange.engine.control_plane.create_table import (
    DEFAULT_CLASS,
    compose_global_index,
    sort_attributes,
)
from hashrange.engine.control_plane.encryption import change_encryption, describe_encryption
from hashrange.engine.control_plane.key_schema import check_projected_total
from hashrange.engine.control_plane.table_description import describe_billing, describe_class
from hashrange.engine.control_plane.table_status import (
    ACTIVE,
    IN_USE,
    check_changeable,
    index_status,
    make_phase,
    running_phase,
)
from hashrange.engine.control_plane.throughput import NEITHER_UNIT, NO_UNITS, ON_DEMAND, PROVISIONED, TABLE, Owner
from hashrange.engine.control_plane.update_table_request import list_changes, pick_action
from hashrange.engine.definition import (
    AttributeDefinition,
    Definition,
    GlobalIndexDefinition,
    KeySchema,
    ProvisionedThroughput,
    names_of,
    to_wire,
)
from hashrange.engine.table import Index, Table

if TYPE_CHECKING:
    from hashrange.engine.context import EngineSettings


UPDATING = "UPDATING"
Part = TypeVar("Part", Definition, GlobalIndexDefinition)


class UpdateTableDraft:
    """The changes that one UpdateTable makes to a table's definition."""

    def __init__(self, table: Table, request: Wire, now: int, settings: EngineSettings) -> None:
        self.table = table
        self.request = request
        self.now = now
        self.settings = settings
        self.definition = drop_past_phases(table.definition, now)
        self.created: GlobalIndexDefinition | None = None  # an index to be added
        self.deleted: str | None = None  # the name of an index to be removed
        self._statuses: list[str] = []
        self._shown: Wire = {}
        self._delay = 0

    def make(self) -> None:
        """Apply the request to the definition, or raise the service's error."""
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
            self._change(phase=make_phase(status, self.now, self._delay, self._shown))

    def _change(self, **fields: object) -> None:
        self.definition = replace(self.definition, **fields)

    def _start_phase(self, status: str, shown: Wire | None = None, *, lasting: bool = True) -> None:
        """Record that the table goes through a phase, and what its description shows meanwhile."""
        self._statuses.append(status)
        self._shown |= shown or {}
        if lasting:
            self._delay = self.settings.status_delay

    # -- billing and the table's throughput ----------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """Return the billing mode that the table will have."""
        return str(self.request.get("BillingMode", self.definition.billing_mode))

    @property
    def switching(self) -> bool:
        """Whether the billing mode changes."""
        return self.mode != self.table.definition.billing_mode

    def _change_billing(self) -> None:
        asked = self.request.get("ProvisionedThroughput")
        if asked is not None and self.mode == ON_DEMAND:
            raise ValidationException(NEITHER_UNIT)
        if self.switching:
            self._switch(throughput.parse_units(asked))
        elif asked is not None:
            self._change_units(throughput.parse_units(asked))
        elif "BillingMode" in self.request:  # the mode that it has already
            self._start_phase(UPDATING, lasting=False)

    def _switch(self, units: ProvisionedThroughput) -> None:
        before = self.table.definition
        throughput.check_bounds(units, TABLE)
        throughput.check_quota(units, TABLE, self.settings.region)
        self._change(billing_mode=self.mode)
        shown: Wire = {"WarmThroughput": throughput.describe_rates(before.warm)}
        if self.mode == ON_DEMAND:
            self._change(on_demand_since=self.now)
            shown["BillingModeSummary"] = {**(describe_billing(before) or {}), "BillingMode": ON_DEMAND}
        indexes = [
            self._set_units(replace(index, on_demand=None), NO_UNITS) for index in self.definition.global_indexes
        ]
        self.definition = self._set_units(
            replace(self.definition, on_demand=None, global_indexes=tuple(indexes)), units
        )
        if self.mode == PROVISIONED:
            self._check_every_index_provisioned()
        self._start_phase(UPDATING, shown)

    def _set_units(self, part: Part, units: ProvisionedThroughput) -> Part:
        """Return a table or index with other provisioned units, and the warm throughput that they include."""
        provisioned = replace(part.provisioned, read=units.read, write=units.write)
        return replace(
            part, provisioned=provisioned, warm=throughput.raise_rates_to_units(part.warm, self.mode, provisioned)
        )

    def _check_every_index_provisioned(self) -> None:
        provisioned = {
            index["IndexName"]
            for action, index in map(pick_action, self.request.get("GlobalSecondaryIndexUpdates") or ())
            if action == "Update" and "ProvisionedThroughput" in index
        }
        for name in names_of(self.definition.global_indexes):
            if name not in provisioned:
                raise ValidationException(
                    f"{INVALID_PARAMETER}ProvisionedThroughput must be specified for index: {name}"
                )

    def _change_units(self, units: ProvisionedThroughput) -> None:
        before = self.table.definition
        changed = throughput.change_units(before.provisioned, units, self.now, TABLE, self.settings.region)
        shown = {
            "ProvisionedThroughput": describe_old_units(before.provisioned, changed, self.now),
            "WarmThroughput": throughput.describe_rates(before.warm),
        }
        self.definition = self._set_units(replace(self.definition, provisioned=changed), changed)
        self._start_phase(UPDATING, shown)

    # -- indexes -------------------------------------------------------------------------------------------------------

    def _change_indexes(self) -> None:
        actions = [pick_action(update) for update in self.request.get("GlobalSecondaryIndexUpdates") or ()]
        self._check_one_online(actions)
        for action, asked in actions:
            if action != "Create":
                self._find_index(action, asked["IndexName"])
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
        if len(global_indexes(self.table)) >= MAX_GLOBAL_INDEXES:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
                f"{MAX_GLOBAL_INDEXES}"
            )
        self._check_new_throughput(asked)
        index = compose_global_index(asked, self.mode)
        self._define_attributes(index.key_schema)
        check_projected_total(each.projection.non_key_attributes for each in (*self.definition.indexes, index))
        phase = make_phase("CREATING", self.now, self.settings.status_delay, {"Backfilling": False})
        self.created = replace(index, phase=phase)
        self._start_phase(UPDATING)

    def _check_new_throughput(self, asked: Wire) -> None:
        name, units = asked["IndexName"], asked.get("ProvisionedThroughput")
        if self.mode == ON_DEMAND and units is not None:
            raise ValidationException(_neither_for_index(name))
        if self.mode == PROVISIONED:
            if units is None:
                raise ValidationException(_both_for_index(name))
            throughput.check_bounds(throughput.parse_units(units), Owner(name))
            throughput.check_quota(throughput.parse_units(units), Owner(name), self.settings.region)

    def _define_attributes(self, schema: KeySchema) -> None:
        """Add the definitions of a new index's key attributes; an attribute in use keeps its type."""
        known = {attribute.name: attribute.type for attribute in self.definition.attributes}
        given = {entry["AttributeName"]: entry["AttributeType"] for entry in self.request["AttributeDefinitions"]}
        types = {name: given[name] for name in names_of(schema)}
        for name, attribute_type in types.items():
            if known.get(name, attribute_type) != attribute_type:
                raise ValidationException(self._message_for_redefined(name, schema, known, types))
        added = [
            AttributeDefinition(name, attribute_type) for name, attribute_type in types.items() if name not in known
        ]
        self._change(attributes=sort_attributes([*self.definition.attributes, *added]))

    def _message_for_redefined(self, name: str, schema: KeySchema, known: dict[str, str], types: dict[str, str]) -> str:
        schemas = [self.definition.key_schema, *(index.key_schema for index in self.definition.indexes)]
        existing = next(found for found in schemas if name in names_of(found))
        return (
            f"{INVALID_PARAMETER}Attributes cannot be redefined. Please check that your attribute has the same type "
            "as previously "
            f"defined. Existing schema: {_format_schema(existing, known)} New schema: {_format_schema(schema, types)}"
        )

    def _delete_index(self, name: str) -> None:
        index, entry = self.table.indexes_by_name[name], self._entry(name)
        if running_phase(entry, self.now) and index_status(self.table, index, self.now) == "CREATING":
            raise ResourceInUseException(
                f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
                f"when the index is active. Table: {self.table.name} Index: {name}"
            )
        self.deleted = name
        phase = make_phase("DELETING", self.now, 0, {"Backfilling": None})
        self.definition = self.definition.replace_global_index(replace(entry, phase=phase))
        self._start_phase(UPDATING)

    def _update_index(self, asked: Wire) -> None:
        name = asked["IndexName"]
        owner, entry, region = Owner(name), self._entry(name), self.settings.region
        units, caps, rates = (asked.get(m) for m in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput"))
        self._check_update(name, units, caps, rates)
        status, shown = ACTIVE, {}
        if rates:
            shown["WarmThroughput"] = throughput.describe_rates(entry.warm, UPDATING)
            entry = replace(entry, warm=throughput.raise_rates(entry.warm, rates, owner, region))
        if caps:
            entry, shown["OnDemandThroughput"] = self._set_caps(entry, caps, owner)
            status = UPDATING
        if units is not None:
            entry, more = self._provision_index(entry, throughput.parse_units(units), owner)
            status, shown = UPDATING, shown | more
        phase = make_phase(status, self.now, self.settings.status_delay, shown)
        self.definition = self.definition.replace_global_index(replace(entry, phase=phase))

    def _check_update(self, name: str, units: Wire | None, caps: Wire | None, rates: Wire | None) -> None:
        if running_phase(self._entry(name), self.now):
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

    def _provision_index(
        self, entry: GlobalIndexDefinition, units: ProvisionedThroughput, owner: Owner
    ) -> tuple[GlobalIndexDefinition, Wire]:
        """Return an index with other provisioned units, and what its phase shows."""
        if self.switching:
            throughput.check_bounds(units, owner)
            throughput.check_quota(units, owner, self.settings.region)
            return self._set_units(entry, units), {}
        before = entry.provisioned
        changed = throughput.change_units(before, units, self.now, owner, self.settings.region)
        entry = self._set_units(replace(entry, provisioned=changed), changed)
        return entry, {"ProvisionedThroughput": describe_old_units(before, changed, self.now)}

    def _set_caps(self, part: Part, asked: Wire, owner: Owner) -> tuple[Part, Wire]:
        """Return a table or index with other on-demand limits, and how its phase shows them."""
        merged = throughput.merge_caps(part.on_demand, asked, self.mode, owner, self.settings.region)
        return replace(part, on_demand=throughput.clear_removed_caps(merged)), to_wire(merged)

    def _entry(self, name: str) -> GlobalIndexDefinition:
        return next(index for index in self.definition.global_indexes if index.name == name)

    # -- what stands alone ---------------------------------------------------------------------------------------------

    def _change_stream(self) -> None:
        specification = self.request.get("StreamSpecification")
        if specification is None:
            return
        if specification["StreamEnabled"] and self.table.definition.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {self.table.name}")
        if not specification["StreamEnabled"] and self.table.definition.stream is None:
            raise ValidationException(f"Table has no stream to disable: TableName: {self.table.name}")
        self._start_phase(UPDATING)

    def _change_encryption(self) -> None:
        specification = self.request.get("SSESpecification")
        if specification is None:
            return
        current, settings = self.definition.encryption, self.settings
        wanted = change_encryption(current, specification, settings.region, settings.account)
        self._change(encryption=wanted)
        self._start_phase(ACTIVE, {"SSEDescription": describe_encryption(current or wanted, UPDATING)})

    def _change_class(self) -> None:
        wanted = self.request.get("TableClass")
        if wanted is None:
            return
        shown = {"TableClassSummary": describe_class(self.definition)}
        if wanted == (self.definition.table_class or DEFAULT_CLASS):
            self._start_phase(UPDATING, shown, lasting=False)
            return
        self._change(table_class=wanted, class_changed=self.now)
        self._start_phase(UPDATING, shown)

    def _change_protection(self) -> None:
        if "DeletionProtectionEnabled" in self.request:
            self._change(is_protected=self.request["DeletionProtectionEnabled"])

    def _change_caps(self) -> None:
        asked = self.request.get("OnDemandThroughput")
        if asked:
            self.definition, shown = self._set_caps(self.definition, asked, TABLE)
            self._start_phase(ACTIVE, {"OnDemandThroughput": shown}, lasting=False)

    def _change_rates(self) -> None:
        asked = self.request.get("WarmThroughput")
        if asked:
            before = self.table.definition.warm
            self._change(warm=throughput.raise_rates(before, asked, TABLE, self.settings.region))
            self._start_phase(ACTIVE, {"WarmThroughput": throughput.describe_rates(before, UPDATING)})


def drop_past_phases(definition: Definition, now: int) -> Definition:
    """Return a definition without phases that are over: the response, as of a moment ago, must not show them."""
    indexes = tuple(replace(index, phase=running_phase(index, now)) for index in definition.global_indexes)
    return replace(definition, phase=running_phase(definition, now), global_indexes=indexes)


def drop_unused(definition: Definition) -> Definition:
    """Return a definition without what only a removed index used: attribute definitions, contributor insights."""
    schemas = [definition.key_schema, *(index.key_schema for index in definition.indexes)]
    used = {name for schema in schemas for name in names_of(schema)}
    known = {contributor_insights.TABLE, *names_of(definition.global_indexes)}
    return replace(
        definition,
        attributes=tuple(attribute for attribute in definition.attributes if attribute.name in used),
        insights={name: setting for name, setting in definition.insights.items() if name in known},
    )


def global_indexes(table: Table) -> list[Index]:
    """Return the global indexes of a table."""
    return [index for index in table.indexes if index.is_global]


def describe_old_units(before: ProvisionedThroughput, after: ProvisionedThroughput, now: int) -> Wire:
    """Return units as the response to their change shows them: the old ones, with the time of the change."""
    shown = throughput.describe_units(replace(before, increased=after.increased, decreased=after.decreased), now)
    return {**shown, "NumberOfDecreasesToday": throughput.count_decreases(before, now)}


def _neither_for_index(name: str) -> str:
    return (
        f"{INVALID_PARAMETER}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
        "when BillingMode is PAY_PER_REQUEST"
    )


def _both_for_index(name: str) -> str:
    return f"{INVALID_PARAMETER}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"


def _format_schema(schema: KeySchema, types: dict[str, str]) -> str:
    elements = [f"{element.name}:{types[element.name]}:{element.type}" for element in schema]
    return "Schema:[" + ", ".join(f"SchemaElement: key{{{element}}}" for element in elements) + "]"
