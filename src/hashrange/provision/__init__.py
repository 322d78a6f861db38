"""Tables and their items: plan, apply, drift, backfill, migrate, adopt, export, import, copy, diff.

The names of `__all__` are public, as those of `hashrange` are.
"""

from hashrange.provision.item_backfill import BackfillReport, backfill
from hashrange.provision.item_diff import ItemDifference, diff_items
from hashrange.provision.item_repair import Repair, Unrepairable
from hashrange.provision.item_transfer import (
    ImportReport,
    LinesRefused,
    Refusal,
    copy_items,
    export_items,
    import_items,
)
from hashrange.provision.key_collision import Collision
from hashrange.provision.migration import Migration, MigrationRun
from hashrange.provision.migration_report import Conversion, Dropped, MigrationReport
from hashrange.provision.plan_executor import Progress, apply, create_tables
from hashrange.provision.plan_step import Difference, PlanStep
from hashrange.provision.table_adoption import adopt
from hashrange.provision.table_plan import TablePlan, drift, plan
from hashrange.provision.table_request import create_request, follow_up_requests
from hashrange.schema.declare.table import Declared

__all__ = [
    "BackfillReport",
    "Collision",
    "Conversion",
    "Declared",
    "Difference",
    "Dropped",
    "ImportReport",
    "ItemDifference",
    "LinesRefused",
    "Migration",
    "MigrationReport",
    "MigrationRun",
    "PlanStep",
    "Progress",
    "Refusal",
    "Repair",
    "TablePlan",
    "Unrepairable",
    "adopt",
    "apply",
    "backfill",
    "copy_items",
    "create_request",
    "create_tables",
    "diff_items",
    "drift",
    "export_items",
    "follow_up_requests",
    "import_items",
    "plan",
]
