"""The directory as hashrange hosts it."""

from __future__ import annotations

from hashrange_systems.kelifax.application import APPLICATION, move_former_accounts
from hashrange_systems.kelifax.demo.demo_data import fill_demo
from hashrange_systems.kelifax.web.app import make_app
from hashrange_systems.kelifax.web.worker_presence import report_health
from hashrange_systems.shared.application.application_type import make_system

SYSTEM = make_system(
    APPLICATION,
    title="Resource directory",
    summary="A public directory that takes submissions, moderates them, lists and searches them.",
    make_app=make_app,
    fill_demo=fill_demo,
    report_health=report_health,
    prepare=move_former_accounts,
)
