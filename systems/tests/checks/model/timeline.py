"""The runs of a check as a string: one letter per run, a minute apart."""

from dataclasses import dataclass, field

from hashrange_systems.checks.model.alert import AlertHistory, AlertInput, Rules, decide
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.state import State, StatePolicy, advance

START = 1_800_000_000_000
MINUTE = 60_000

OUTCOMES = {
    "u": Outcome(status=Status.UP),
    "d": Outcome(status=Status.DOWN, cause=Cause.STATUS, http_status=500, message="answered 500"),
    "w": Outcome(status=Status.DEGRADED, cause=Cause.CERTIFICATE, message="expires soon"),
    "?": Outcome(status=Status.UNKNOWN, cause=Cause.OURS),
    "a": Outcome(status=Status.UP, available=True),
    "n": Outcome(status=Status.UP, available=False),
}


@dataclass
class Timeline:
    """Applies the runs to the state and the alerts; upper case letters are runs within maintenance."""

    policy: StatePolicy = field(default_factory=StatePolicy)
    rules: Rules = field(default_factory=Rules)
    state: State = field(default_factory=State)
    history: AlertHistory = field(default_factory=AlertHistory)
    minute: int = 0
    events: list = field(default_factory=list)
    messages: list = field(default_factory=list)

    def run(self, letters):
        for letter in letters:
            self.step(OUTCOMES[letter.lower()], maintenance=letter.isupper())
        return self

    def step(self, outcome, *, maintenance=False, at=None):
        at = START + self.minute * MINUTE if at is None else at
        self.minute += 1
        self.state, events = advance(self.state, outcome, at, self.policy, maintenance=maintenance)
        given = AlertInput(
            check_id="c1", state=self.state, events=events, outcome=outcome, at=at, maintenance=maintenance
        )
        self.history, messages = decide(self.rules, self.history, given)
        self.events += events
        self.messages += messages

    def list_events(self):
        return [(event.type.value, minute_of(event.at)) for event in self.events]

    def topics(self):
        return [(message.topic.value, minute_of(message.at)) for message in self.messages]


def minute_of(at):
    return (at - START) // MINUTE
