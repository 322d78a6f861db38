"""The limits of a worker are listed once with their reasons, are documented, and leave some to everybody."""

from pathlib import Path

from hashrange_systems.checks.service.host_concurrency import HostLimiter
from hashrange_systems.checks.worker import WorkerSettings
from hashrange_systems.checks.worker_limit import list_limits
from systems.tests.access_cost import read_rows

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "checks.md"


def list_rows():
    return [f"| {limit.name} | {limit} | {limit.reason} |" for limit in list_limits()]


def test_every_limit_is_documented_with_its_reason():
    assert read_rows(DOCS, "Limits of a worker") == list_rows()


def test_the_shares_of_two_hundred_permits_leave_some_to_others():
    settings = WorkerSettings(at_once=200)
    assert (settings.of_a_user, settings.slow, settings.slow_of_a_user) == (150, 150, 112)
    assert (settings.long_runs, settings.long_runs_of_a_user) == (400, 200)
    assert (HostLimiter().at_once, HostLimiter().of_a_user, HostLimiter().timeout_s) == (16, 12, 10)


def test_a_worker_with_a_single_permit_has_one_of_each():
    settings = WorkerSettings(at_once=1)
    assert (settings.of_a_user, settings.slow, settings.slow_of_a_user, settings.long_runs_of_a_user) == (1, 1, 1, 1)


if __name__ == "__main__":
    print("\n".join(list_rows()))  # noqa: T201
