"""Server-side encryption as a setting: checked, kept and described. Nothing is encrypted with KMS keys here."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.definition import Encryption

MANAGED_KEY = "alias/aws/dynamodb"


def resolve_encryption(specification: Wire, region: str, account: str) -> Encryption | None:
    """Return what an SSESpecification asks for, None for the default; raise when its members contradict each other."""
    sse_type, key = specification.get("SSEType"), specification.get("KMSMasterKeyId")
    enabled = specification.get("Enabled", sse_type is not None or key is not None)
    if not enabled:
        for member, given in (("SSEType", sse_type), ("KMSMasterKeyId", key)):
            if given is not None:
                raise ValidationException(f"{INVALID_PARAMETER}{member} can not be specified if Enabled is false")
        return None
    if sse_type == "AES256":
        raise ValidationException(f"{INVALID_PARAMETER}SSEType AES256 is not supported")
    if key is not None and sse_type is None:
        raise ValidationException(f"{INVALID_PARAMETER}SSEType KMS is required if KMSMasterKeyId is specified")
    return Encryption(resolve_key(key or MANAGED_KEY, region, account))


def change_encryption(current: Encryption | None, specification: Wire, region: str, account: str) -> Encryption | None:
    """Return what UpdateTable makes of a table's encryption; raise when it would stay as it is."""
    wanted = resolve_encryption(specification, region, account)
    if wanted is None and current is None:
        raise ValidationException(f"{INVALID_PARAMETER}Table is already encrypted by default")
    if current is not None and specification.get("KMSMasterKeyId") == current.key_arn:
        raise ValidationException(
            f"{INVALID_PARAMETER}Table is already encrypted with given KMSMasterKeyId. "
            "Use KMSMasterKeyId parameter if you want to change Master Key"
        )
    return wanted


def resolve_key(key: str, region: str, account: str) -> str:
    """Return the ARN of a key given by ARN, id or alias; an alias always means the same made-up key."""
    if key.startswith("arn:") and ":alias/" not in key:
        return key
    if "alias/" in key:
        alias = key.rpartition("alias/")[2]
        key = str(uuid5(NAMESPACE_URL, f"{region}/{account}/{alias}"))
    return f"arn:aws:kms:{region}:{account}:key/{key}"


def describe_encryption(encryption: Encryption | None, status: str = "ENABLED") -> Wire | None:
    """Return the SSEDescription; the default encryption has none."""
    if encryption is None:
        return None
    return {"Status": status, "SSEType": encryption.type, "KMSMasterKeyArn": encryption.key_arn}
