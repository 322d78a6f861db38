"""What the pages of the systems say about access patterns: plans as rows of a table, and the capacity of actions."""

import asyncio
import re

READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}


def describe_plan(plan, table=None):
    """A plan as a row of the documentation; `table` is shown where a system has several."""
    text = plan.explain()
    where = re.match(r".*<- ([\w-]+)", text)[1]
    if table is not None:
        where = table if where == "table" else f"{table}, {where}"
    found = re.search(r"^ +key +(.*)$", text, re.MULTILINE)
    key = f"`{found[1]}`" if found else "all of it"
    cost = re.search(r"^ +cost +(.*)$", text, re.MULTILINE)
    return f"| `{plan.name}` | {plan.verb} | {where} | {key} | {cost[1] if cost else ''} |"


def read_rows(page, heading):
    """The rows of the tables below a heading of a page."""
    section = page.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


class CapacityMeter:
    """Adds up the capacity of actions; `events` is the hook of the session that they use."""

    def __init__(self):
        self.events = []

    def spend(self, action):
        """The read and write units of an action."""
        self.events.clear()
        asyncio.run(action)
        spent = {True: 0.0, False: 0.0}
        for event in self.events:
            if event.capacity is None:  # DescribeTable, once
                continue
            reports = event.capacity if isinstance(event.capacity, list) else [event.capacity]
            spent[event.operation in READS] += sum(report["CapacityUnits"] for report in reports)
        return spent[True], spent[False]
