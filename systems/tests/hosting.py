"""The host of a system in a test, which hosts it, runs its commands, or builds its application alone."""

from hashrange import Host


def make_host(database, clock, directory=None, *, base_url, demo=False, own_ports=(), **environment):
    """A host on a database of the test, with these environment variables."""
    return Host(
        database=database,
        clock=clock,
        directory=directory,
        base_url=base_url,
        demo=demo,
        own_ports=frozenset(own_ports),
        environment=environment,
    )
