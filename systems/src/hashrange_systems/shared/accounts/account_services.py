"""The services of the accounts of a system, made once from its table and its owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from hashrange import Clock
from hashrange_systems.shared.accounts.api_keys import ApiKeys
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.logins import Logins
from hashrange_systems.shared.accounts.owners import Owners
from hashrange_systems.shared.accounts.schema import Accounts
from hashrange_systems.shared.accounts.second_factor import AccountFactors
from hashrange_systems.shared.accounts.sign_in import SignIn
from hashrange_systems.shared.channels.channels import USUAL_OPTIONS, ChannelOptions, Channels
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
    db: Accounts,
    owners: Owners[User],
    clock: Clock,
    signer: TokenSigner,
    *,
    base_url: str = "",
    demo: bool = False,
    channels: ChannelOptions = USUAL_OPTIONS,
) -> AccountServices[User]:
    """Return the services of a system, whose pages are at `base_url`; in the demo, sessions may begin without a key."""
    keys = ApiKeys(db, owners, clock)
    factors = AccountFactors(db, owners, clock)
    lockout = Lockout(db, clock)
    credentials = CredentialChanges(db, owners, lockout, clock)
    messages = Messages(db, clock)
    return AccountServices(
        db=db,
        owners=owners,
        clock=clock,
        signer=signer,
        keys=keys,
        factors=factors,
        credentials=credentials,
        logins=Logins(db, clock),
        sign_in=SignIn(db, owners, keys, factors, credentials, lockout, clock, signer, demo=demo),
        messages=messages,
        channels=Channels(
            accounts=db,
            owners=owners,
            messages=messages,
            clock=clock,
            signer=signer,
            base_url=base_url,
            options=channels,
        ),
    )
