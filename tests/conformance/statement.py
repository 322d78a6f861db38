"""PartiQL statements for the conformance tests: parameters as plain Python values, one statement or several."""

from tests.conformance.wire import value


def make_runner(client):
    """`run(statement, *parameters, **options)` is what ExecuteStatement answers."""

    def run(statement, /, *parameters, **options):
        return client.execute_statement(**member((statement, parameters)), **options)

    return run


def member(given):
    """A statement, a statement and its parameters, or a member in wire form, as batches and transactions take it."""
    if isinstance(given, dict):
        return given
    statement, parameters = (given, ()) if isinstance(given, str) else given
    values = {"Parameters": [value(parameter) for parameter in parameters]} if parameters else {}
    return {"Statement": statement} | values
