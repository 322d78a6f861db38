"""The certificate of the demo's own web site: accepted by clients that check strictly, as Python 3.13 and later do."""

import ssl
from datetime import UTC, datetime, timedelta

from hashrange_systems.checks.demo.certificate import issue


def test_a_strict_client_accepts_the_certificate(tmp_path):
    issued = issue(tmp_path, datetime.now(UTC), timedelta(days=5))
    strict = ssl.create_default_context(cafile=str(issued.ca_file))
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = issued.context.wrap_bio(to_server, to_client, server_side=True)
    client = strict.wrap_bio(to_client, to_server, server_hostname="localhost")
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    names = client.getpeercert()["subjectAltName"]
    assert names == (("DNS", "localhost"), ("IP Address", "127.0.0.1"))
