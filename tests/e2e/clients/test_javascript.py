"""The AWS SDK for JavaScript, version 3, with its document client."""

import shutil

from tests.conftest import ROOT, require

FOLDER = ROOT / "tests" / "clients" / "javascript"


def test_the_document_client_works_unchanged(run):
    node = shutil.which("node")
    require(node and (FOLDER / "node_modules" / "@aws-sdk" / "lib-dynamodb").exists(), "the AWS SDK for JavaScript")
    assert run(node, str(FOLDER / "document_client.mjs")).splitlines()[-1] == "done"
