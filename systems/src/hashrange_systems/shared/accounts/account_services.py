"""The services of the accounts of a system, made once from its table and its owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from hashrange import Clock
from hashrange_systems.shared.accounts.account_link import AccountLinks
from hashrange_systems.shared.accounts.api_keys import ApiKeys
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.logins import Logins
from hashrange_systems.shared.accounts.owners import Owners
from hashrange_systems.shared.accounts.password_reset import RESET, PasswordReset
from hashrange_systems.shared.accounts.schema import Accounts
from hashrange_systems.shared.accounts.second_factor import AccountFactors
from hashrange_systems.shared.accounts.sign_in import SignIn
from hashrange_systems.shared.accounts.sign_up import SIGN_UP, NewOwners, SignUp
from hashrange_systems.shared.accounts.sign_up_policy import CLOSED, SignUpPolicy
from hashrange_systems.shared.accounts.teams import INVITE, Teams
from hashrange_systems.shared.channels.channels import USUAL_OPTIONS, ChannelOptions, Channels
from hashrange_systems.shared.channels.messages import Messages
from hashrange_systems.shared.channels.outbox import Outbox, Render, RenderQuestion, render_question
from hashrange_systems.shared.channels.sender import Sender
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
    sign_up: SignUp
    password_reset: PasswordReset
    teams: Teams

    def make_outbox(
        self, senders: Mapping[str, Sender], render: Render, ask: RenderQuestion = render_question
    ) -> Outbox:
        """Return what sends the messages of the system, which renders its own, and the mails about accounts.

        `ask` renders the message that asks to confirm a channel, with the link.
        """
        return Outbox(
            clock=self.clock,
            accounts=self.db,
            channels=self.channels,
            senders=senders,
            render=render,
            render_question=ask,
            notices={
                SIGN_UP: self.sign_up.render,
                RESET: self.password_reset.render,
                INVITE: self.teams.render,
            },
        )


def make_account_services(
    db: Accounts,
    owners: Owners[User],
    clock: Clock,
    signer: TokenSigner,
    *,
    base_url: str = "",
    demo: bool = False,
    channels: ChannelOptions = USUAL_OPTIONS,
    sign_up: SignUpPolicy = CLOSED,
) -> AccountServices[User]:
    """Return the services of a system, whose pages are at `base_url`; in the demo, sessions may begin without a key.

    If people can sign up, `owners` are `NewOwners`, too.
    """
    new_owners = owners if isinstance(owners, NewOwners) else None
    if sign_up.is_open and new_owners is None:
        raise TypeError(f"{type(owners).__name__} needs write_new, so that people can sign up")
    keys = ApiKeys(db, owners, clock)
    factors = AccountFactors(db, owners, clock)
    lockout = Lockout(db, clock)
    credentials = CredentialChanges(db, owners, lockout, clock)
    messages = Messages(db, clock)
    logins = Logins(db, clock)
    links = AccountLinks(signer, clock, base_url)
    signing_up = SignUp(
        accounts=db,
        owners=new_owners,
        logins=logins,
        credentials=credentials,
        messages=messages,
        links=links,
        clock=clock,
        policy=sign_up,
    )
    return AccountServices(
        db=db,
        owners=owners,
        clock=clock,
        signer=signer,
        keys=keys,
        factors=factors,
        credentials=credentials,
        logins=logins,
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
        sign_up=signing_up,
        password_reset=PasswordReset(
            accounts=db,
            owners=owners,
            credentials=credentials,
            lockout=lockout,
            messages=messages,
            links=links,
            clock=clock,
        ),
        teams=Teams(
            accounts=db,
            owners=owners,
            logins=logins,
            sign_up=signing_up,
            messages=messages,
            links=links,
            clock=clock,
        ),
    )
