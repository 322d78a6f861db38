"""The default address of the pages is that of `hashrange up`."""

from hashrange.hosting.port import WEB_PORT
from hashrange.server.settings import HOST
from hashrange_systems.shared.cli.database_target import find_default_url


def test_commands_link_to_the_port_on_which_up_serves_pages():
    assert f"http://{HOST}:{WEB_PORT}/checks" == find_default_url("checks")
