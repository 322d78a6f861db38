"""The services of the accounts of a system, made once from its table and its owners."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from hashrange import Clock
from hashrange_systems.shared.accounts.api_keys import ApiKeys
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.logins import Logins
from hashrange_systems.shared.accounts.owners import Owners
from hashrange_systems.shared.accounts.schema import Accounts
from hashrange_systems.shared.accounts.second_factor import AccountFactors
from hashrange_systems.shared.accounts.sign_in import SignIn
from hashrange_systems.shared.channels.channel_type import ANY_TARGET, TargetRules
from hashrange_systems.shared.channels.channels import Channels
from hashrange_systems.shared.channels.messages import Messages
from hashrange_systems.shared.signed_token import TokenSigner

User = TypeVar("User")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountServices(Generic[User]):
    """What pages, commands and workers use of the accounts."""

    db: Accounts
    owners: Owners[User]
    clock: Clock
    signer: TokenSigner
    keys: ApiKeys[User]
    factors: AccountFactors
    credentials: CredentialChanges
    logins: Logins
    sign_in: SignIn[User]
    messages: Messages
    channels: Channels


def make_account_services(
    accounts: Accounts,
    owners: Owners[User],
    clock: Clock,
    application: str,
    *,
    base_url: str = "",
    rules: TargetRules = ANY_TARGET,
    trusted: Collection[str] = (),
    demo: bool = False,
) -> AccountServices[User]:
    """Return the services; `application` is part of what is signed, and `trusted` names types of channels."""
    signer = TokenSigner(accounts.session.secret, application)
    keys = ApiKeys(accounts, owners, clock)
    factors = AccountFactors(accounts, owners, clock)
    credentials = CredentialChanges(accounts, owners, clock)
    messages = Messages(accounts, clock)
    return AccountServices(
        db=accounts,
        owners=owners,
        clock=clock,
        signer=signer,
        keys=keys,
        factors=factors,
        credentials=credentials,
        logins=Logins(accounts, clock),
        sign_in=SignIn(accounts, owners, keys, factors, credentials, clock, signer, demo=demo),
        messages=messages,
        channels=Channels(
            accounts=accounts,
            owners=owners,
            messages=messages,
            clock=clock,
            signer=signer,
            base_url=base_url,
            rules=rules,
            trusted=trusted,
        ),
    )
