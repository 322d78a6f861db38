"""Types of the stored fields of users and checks."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, with_config
from typing_extensions import TypedDict

Tier = Literal["FREE", "PRO", "BUSINESS"]
Status = Literal["ACTIVE", "PAUSED", "FAILED"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # SHA-256: what a key hashes to, never the key itself
Address = Annotated[str, AfterValidator(str.casefold)]
Short = Annotated[str, Field(max_length=1000)]
Record = dict[str, Any]  # a small map that the model writes and reads


@with_config(ConfigDict(extra="forbid"))
class Result(TypedDict, total=False):
    """The outcome of a run as stored; its size is bounded, so that a check stays far below 400 KB."""

    status: Literal["UP", "DOWN", "DEGRADED", "UNKNOWN"]
    responseTime: int
    keywordFound: bool
    httpStatus: int
    certificateDays: int
    domainDays: int
    available: bool
    price: int
    shipping: int
    shippingKnown: bool
    currency: Annotated[str, Field(max_length=3)]
    cause: Annotated[str, Field(max_length=20)]
    message: Short
    link: Short
    phases: dict[Literal["dns", "connect", "tls", "firstByte"], int]
