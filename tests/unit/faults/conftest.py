import pytest

from hashrange.faults.faults import Faults
from tests.unit.engine.local import Local


@pytest.fixture(params=["memory", "disk"])
def local(request, tmp_path):
    """A database with the table `tab`, whose calls go wrong as `local.faults` is told."""
    opened = Local(tmp_path / "data" if request.param == "disk" else None, Faults(seed=1))
    opened.create(gsi={"byn": "n:N"})
    yield opened
    opened.close()
