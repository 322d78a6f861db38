"""Runs the cases of the model check: a database in memory on which cases run, each in a situation that is restored."""

import itertools
from typing import Any, NamedTuple

import hashrange
from hashrange import Conflict, ManualClock
from tests.model.declared import expected_key, fields_in

NOW = 1_768_478_400


class Situation(NamedTuple):
    """What a write meets: an item, and the object that somebody read before another one changed it."""

    start: Any
    foreign: Any
    name: str
    seen: Any
    before: dict[str, Any]
    current: Any
    now: float


class CaseRunner:
    """Runs cases and collects what is wrong with their outcomes."""

    def __init__(self, declared):
        self.declared, self.clock = declared, ManualClock(NOW)
        self.database = hashrange.open(clock=self.clock)
        hashrange.create_tables(self.database, declared.module.Things)
        self.things = declared.module.Things.open(self.database)
        self.cases, self.complaints, self.numbers = 0, [], itertools.count()
        self.changed = set()  # the names of items that are no longer as in their situation

    def key(self, name):
        """Return the members of a request that name an item."""
        return {"TableName": "things", "Key": {"pk": {"S": f"T#{name}"}}}

    def raw(self, name):
        """Return the attributes of an item; none if it does not exist."""
        return self.database.call("GetItem", self.key(name)).get("Item", {})

    def read(self, name):
        """Return an item as an object."""
        return self.things.thing(name).run()

    def load(self, raw):
        """Return the attributes of an item as an object, as `read` does."""
        return hashrange.load_item([self.declared.thing], raw) if raw else None

    def delete(self, name):
        """Delete an item."""
        self.database.call("DeleteItem", self.key(name))

    def restore(self, situation):
        """Store the item as it is in a situation, so that cases share what came before them."""
        self.clock.set(situation.now)
        if situation.name not in self.changed:
            return
        self.changed.discard(situation.name)
        if situation.before:
            self.database.call("PutItem", {"TableName": "things", "Item": situation.before})
        else:
            self.delete(situation.name)

    def attempt(self, write, *, may_conflict):
        """Run a write; return whether it happened and what it returned, and note a conflict without a cause."""
        try:
            return True, write().run()
        except Conflict as conflict:
            if not may_conflict:
                self.complaints.append(f"a conflict that nobody caused: {conflict}")
            return False, None

    def complain_about(self, where, faults):
        """Note what is wrong with the outcome of a case."""
        self.complaints += [f"{where}: {complaint}" for complaint in faults]

    def find_stale_keys(self, templates, before, raw, read):
        """Yield the index keys that differ from what their templates make of the stored item.

        A key that a write did not have to touch may be one of a program that did not know its template.
        """
        for attr, text in templates.items():
            wanted = expected_key(self.declared, text, raw, read)
            untouched = before and all(raw.get(name) == before.get(name) for name in [*fields_in(text), attr])
            if raw.get(attr) != wanted and not untouched:
                yield f"{attr} is {raw.get(attr)} and should be {wanted}, in {raw}, before {before}"

    def finish(self):
        """Close the database, and fail with the first complaints if there are any."""
        self.database.close()
        self.declared.forget()
        assert self.cases
        shown = "\n".join(self.complaints[:3])
        assert not self.complaints, f"{len(self.complaints)} complaints in {self.cases} cases:\n{shown}"
