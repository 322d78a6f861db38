"""Reads the answer of a name server: a function for the sandbox, because the bytes are untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype

MALFORMED = "MALFORMED"


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsAnswer:
    """The response code by its name (`NOERROR`), and the values of the record, sorted."""

    code: str
    values: list[str]


def read_answer(wire: bytes, record_type: str) -> DnsAnswer:
    """Return the code and the values of a record type in an answer."""
    try:
        answer = dns.message.from_wire(wire)
        wanted = dns.rdatatype.from_text(record_type)
        records = [record.to_text() for rrset in answer.answer if rrset.rdtype == wanted for record in rrset]
        code = dns.rcode.to_text(answer.rcode())
    except (dns.exception.DNSException, ValueError):
        return DnsAnswer(code=MALFORMED, values=[])
    return DnsAnswer(code=code, values=sorted({normalise_value(text, record_type) for text in records}))


def normalise_value(text: str, record_type: str) -> str:
    """Return a value in the form that is compared: names without final dot in lower case, addresses canonical."""
    text = " ".join(text.split())
    if record_type == "TXT":
        return text.replace('" "', "").strip('"')
    if record_type in ("A", "AAAA"):
        try:
            return str(ip_address(text))
        except ValueError:
            return text
    return " ".join(word.removesuffix(".") for word in text.lower().split())
