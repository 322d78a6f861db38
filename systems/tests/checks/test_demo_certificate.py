"""The certificate of the demo pages is accepted by clients that verify strictly, as Python 3.13 does by default."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest

from hashrange_systems.checks.demo.certificate import issue_certificate

STRICT = ssl.VERIFY_X509_STRICT | getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0)


async def handshake(issued, client, host):
    """Connect to a server that has the certificate; return the certificate that the client accepted."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=issued.context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=host)
        accepted = writer.get_extra_info("ssl_object").getpeercert()
        writer.close()
        return accepted


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_strict_client_accepts_the_certificate(host, tmp_path):
    issued = issue_certificate(tmp_path, datetime.now(UTC), timedelta(days=9))
    client = ssl.create_default_context(cafile=str(issued.ca_file))
    client.verify_flags |= STRICT
    accepted = asyncio.run(handshake(issued, client, host))
    assert accepted["subjectAltName"] == (("DNS", "localhost"), ("IP Address", "127.0.0.1"))
    assert accepted["issuer"] == ((("commonName", "hashrange demo authority"),),)


def test_a_client_that_does_not_know_the_authority_refuses_it(tmp_path):
    issued = issue_certificate(tmp_path, datetime.now(UTC), timedelta(days=9))
    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(handshake(issued, ssl.create_default_context(), "localhost"))
