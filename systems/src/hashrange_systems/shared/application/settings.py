"""Settings of a system: a frozen dataclass whose fields are environment variables, read and checked once at the start.

    @dataclass(frozen=True, kw_only=True)
    class Settings(SystemSettings):
        system: ClassVar[str] = "stock"

        shelves: int = setting(4, "How many shelves there are.", number(1, 100))

A field is named once: its variable is the system and the field in capitals (`STOCK_SHELVES`), and the table of the
documentation is `Settings.list_variables()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from hashrange import HashrangeError
from hashrange_systems.shared.accounts.sign_up_policy import CLOSED, SignUpPolicy, parse_sign_up
from hashrange_systems.shared.channels.email_sender import MailServer, MailServerInvalid, read_server
from hashrange_systems.shared.channels.sender import DeliveryRefused
from hashrange_systems.shared.fetching.errors import PolicyInvalid
from hashrange_systems.shared.fetching.policy import Exemption, parse_exemptions

MIN_SECRET_LENGTH = 16
DECLARATION = "setting"  # in the metadata of a field

T = TypeVar("T")


class InvalidSetting(HashrangeError):
    """Environment variables with invalid values; the text names each variable and its rule."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable: its default in words, and its meaning."""

    name: str
    usual: str
    meaning: str

    @property
    def row(self) -> str:
        """The row of the table in the documentation."""
        return f"| `{self.name}` | {self.usual} | {self.meaning} |"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `setting` declares; in the texts, `{prefix}` is that of the system's variables, `{system}` its name."""

    meaning: str
    parse: Callable[[str], Any]
    usual: str
    variable: str | None


def setting(
    default: T,
    meaning: str,
    parse: Callable[[str], T],
    *,
    usual: str | None = None,
    variable: str | None = None,
    secret: bool = False,
) -> T:
    """Declare a field of settings.

    `parse` returns the value of a text, or raises InvalidSetting with the end of a sentence that begins with the
    variable. `usual` is the default in words, `variable` the name if it is not the usual one. A secret is not shown.
    """
    if usual is None:
        usual = "none" if default is None else f"`{default}`" if isinstance(default, str) else str(default)
    metadata = {DECLARATION: Declaration(meaning, parse, usual, variable)}
    declared: T = field(default=default, repr=not secret, metadata=metadata)
    return declared


# ── parsers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def number(first: int, last: int) -> Callable[[str], int]:
    """Return a parser of whole numbers of a range."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and first <= int(text) <= last):
            raise InvalidSetting(f"is {text!r}: it must be a whole number from {first} to {last}")
        return int(text)

    return parse


def parse_url(text: str) -> str:
    """Return a URL without a slash at the end."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidSetting(f"is {text!r}: it must be an address such as https://example.com/path")
    return text.rstrip("/")


def parse_file(text: str) -> Path:
    """Return the path of an existing file."""
    path = Path(text)
    if not path.is_file():
        raise InvalidSetting(f"is {text!r}, where there is no file")
    return path


def parse_secret(text: str) -> str:
    """Return a secret that is long enough."""
    if len(text) < MIN_SECRET_LENGTH:
        raise InvalidSetting(f"must have at least {MIN_SECRET_LENGTH} characters")
    return text


def parse_signing_key(text: str) -> bytes:
    """Return a secret that signs texts."""
    return parse_secret(text).encode()


def parse_list(text: str) -> tuple[str, ...]:
    """Return the parts between commas, without empty ones."""
    return tuple(part for each in text.split(",") if (part := each.strip()))


def parse_addresses(text: str) -> frozenset[Exemption]:
    """Return non-public addresses that may be requested."""
    try:
        return parse_exemptions(parse_list(text))
    except PolicyInvalid as error:
        raise InvalidSetting(f"cannot be used: {error}") from error


# ── what every system has ────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, kw_only=True)
class SystemSettings:
    """The settings of every system: its URL, its secret and its mail server."""

    system: ClassVar[str]

    url: str | None = setting(
        None,
        "The public URL of the pages, used for links in messages and feeds.",
        parse_url,
        usual="where it runs",
    )
    smtp_url: str | None = setting(
        None,
        "The mail server: `smtp://host`, `smtp+starttls://user:password@host` or `smtps://user:password@host`.",
        str,
        usual="no e-mail",
        secret=True,
    )
    sender: str | None = setting(
        None, "The sender address of e-mails.", str, usual="`{system}@` and the host of `{prefix}_URL`"
    )
    smtp_ca_file: Path | None = setting(
        None, "Certificate authorities, in PEM, for the mail server.", parse_file, usual="the public ones"
    )
    secret: bytes | None = setting(
        None,
        "The secret that signs cursors, sessions, links and forms; the same for all processes.",
        parse_signing_key,
        usual="a file",
        secret=True,
    )
    keys: Path | None = None  # a system with secret fields declares it with `declare_keys`

    @property
    def works(self) -> bool:
        """Whether this process does background work."""
        return True

    @property
    def mail_name(self) -> str:
        """The name that e-mails are from."""
        return f"hashrange {self.system}"

    @property
    def mail(self) -> MailServer | None:
        """The mail server, if there is one."""
        if self.smtp_url is None:
            return None
        host = urlsplit(self.url).hostname if self.url else None
        sender = self.sender or (f"{self.system}@{host}" if host else "")
        url, address = self.name_variable("smtp_url"), self.name_variable("sender")
        if not sender:
            raise InvalidSetting(f"{url} needs {address}, the address that e-mails are from")
        try:
            return read_server(self.smtp_url, sender, self.smtp_ca_file, self.mail_name)
        except MailServerInvalid as error:  # its text does not contain the password
            raise InvalidSetting(f"{url} cannot be used: {error}") from error
        except DeliveryRefused as error:
            raise InvalidSetting(f"{address} is {sender!r}: it must be an e-mail address") from error

    def check(self) -> Iterator[str]:
        """Yield what is wrong with values that do not fit together; a system adds to it."""
        try:
            _ = self.mail
        except InvalidSetting as error:
            yield str(error)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings of an environment; raise InvalidSetting with everything that is wrong.

        An empty variable counts as not set.
        """
        values: dict[str, Any] = {}
        problems: list[str] = []
        for name, declaration in cls._list_declarations():
            variable = cls.name_variable(name)
            if text := environment.get(variable, "").strip():
                try:
                    values[name] = declaration.parse(text)
                except InvalidSetting as error:
                    problems.append(f"{variable} {error}")
        found = cls(**values)
        problems += [] if problems else found.check()
        if problems:
            raise InvalidSetting("\n".join(f"{problem.rstrip('.')}." for problem in problems))
        return found

    @classmethod
    def name_variable(cls, name: str) -> str:
        """Return the environment variable of a field."""
        declared = dict(cls._list_declarations())[name].variable
        return declared or f"{cls.system}_{name}".upper()

    @classmethod
    def list_variables(cls) -> list[Variable]:
        """Return the variables in the order of their fields."""
        words = {"system": cls.system, "prefix": cls.system.upper()}
        return [
            Variable(cls.name_variable(name), declaration.usual.format(**words), declaration.meaning)
            for name, declaration in cls._list_declarations()
        ]

    @classmethod
    def _list_declarations(cls) -> list[tuple[str, Declaration]]:
        return [(each.name, each.metadata[DECLARATION]) for each in fields(cls) if DECLARATION in each.metadata]


def declare_keys() -> Path | None:
    """Return the declaration of the file with the keys that encrypt secret fields."""
    return setting(
        None,
        "The file with the keys that encrypt secret fields; the same for all processes.",
        Path,
        usual="`keys.json`",
    )


def declare_ca_file() -> Path | None:
    """Return the declaration of certificate authorities that requests trust."""
    return setting(
        None,
        "Certificate authorities, in PEM, that requests trust besides the public ones.",
        parse_file,
        usual="the public ones",
    )


def declare_exemptions(whom: str) -> frozenset[Exemption]:
    """Return the declaration of the non-public addresses that `whom` may request."""
    return setting(
        frozenset(),
        f"Non-public addresses that {whom} may request, separated by commas: `10.0.0.0/8`, `wiki.internal`.",
        parse_addresses,
        usual="none",
    )


def declare_sign_up() -> SignUpPolicy:
    """Return the declaration of who may sign up."""

    def parse(text: str) -> SignUpPolicy:
        try:
            return parse_sign_up(text)
        except ValueError as error:
            raise InvalidSetting(str(error)) from error

    return setting(
        CLOSED,
        "Who may sign up: `open`, `closed`, or domains of e-mail addresses: `example.com, example.org`.",
        parse,
        usual="`closed`",
    )
