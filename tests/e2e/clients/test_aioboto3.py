"""aioboto3, which needs an older botocore than the tests do and therefore runs in an environment of its own."""

from tests.conftest import require
from tests.e2e.clients.conftest import HERE, ROOT

PYTHON = ROOT / ".venv-clients" / "bin" / "python"


def test_aioboto3_works_unchanged(run):
    require(PYTHON.exists(), "aioboto3")
    assert run(str(PYTHON), str(HERE / "aioboto3_program.py")).splitlines()[-1] == "done"
