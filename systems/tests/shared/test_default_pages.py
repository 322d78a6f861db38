"""The default addresses: of the pages, which are those of `hashrange up`, and the ports of the demos."""

import re
from pathlib import Path

from hashrange.hosting.port import DEFAULT_PORTS, WEB_PORT
from hashrange.server.settings import HOST, PORT
from hashrange_systems.shared.cli.database_target import find_default_url

ROOT = Path(__file__).parents[3]


def test_commands_link_to_the_port_on_which_up_serves_pages():
    assert f"http://{HOST}:{WEB_PORT}/checks" == find_default_url("checks")


def test_no_port_of_a_demo_is_advised_instead_of_a_taken_one():
    pages = (ROOT / "docs" / "systems").glob("*.md")  # which other tests compare with the settings
    demos = {int(port) for page in pages for port in re.findall(r"`\w+_PORT` \| (\d+) \|", page.read_text("utf-8"))}
    named = re.search(r"All ports are on .*", (ROOT / "README.md").read_text("utf-8"))[0]
    ports = {int(port) for port in re.findall(r"\b\d{4,5}\b", named)}
    assert demos
    assert ports >= demos | {PORT, WEB_PORT}
    assert ports <= set(DEFAULT_PORTS)
