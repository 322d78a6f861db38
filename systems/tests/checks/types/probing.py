"""Probes one target with one type of check, on loopback."""

import asyncio

from hashrange import ManualClock
from hashrange_systems.checks.registry import parse_attributes
from hashrange_systems.checks.service.page_evaluation import PageEvaluator
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from systems.tests.shared.fetching.target import ENOUGH, LOOPBACK, ScriptedResolver

NOW_S = 1_768_478_400
NAMES = {"a_example": [["127.0.0.1"]], "inside_example": [["10.0.0.1"]], "mixed_example": [["127.0.0.1", "10.0.0.1"]]}
STRICT = Policy()
OWN = Policy(exempt=parse_exemptions(["127.0.0.1"]), own_ports=frozenset({8002}))


async def look(
    check_type,
    url,
    *,
    policy=LOOPBACK,
    resolver=None,
    now_s=NOW_S,
    rdap="https://rdap.example",
    evaluator=None,
    **attributes,
):
    """Return the outcome of one probe."""
    fetcher = Fetcher(policy, resolver=resolver or ScriptedResolver(**NAMES))
    prober = Prober(fetcher, ManualClock(now_s), rdap=rdap, evaluator=evaluator or PageEvaluator())
    async with asyncio.timeout(ENOUGH):
        return await prober.probe(url, parse_attributes(check_type, attributes))


def probe(check_type, url, **more):
    return asyncio.run(look(check_type, url, **more))
