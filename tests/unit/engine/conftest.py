import pytest

from tests.unit.engine.local import Local


@pytest.fixture
def local():
    """A database in memory with a clock that stands still."""
    opened = Local()
    yield opened
    opened.close()


@pytest.fixture
def on_disk(tmp_path):
    """A database in a directory with a clock that stands still."""
    opened = Local(tmp_path / "data")
    yield opened
    opened.close()
