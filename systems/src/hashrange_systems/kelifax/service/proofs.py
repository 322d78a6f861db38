"""Proof of work: `make_challenge()` for a form, `use(payload)` when it is sent. A proof is used once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hashrange import Clock, Taken
from hashrange_systems.kelifax.errors import ProofRefused
from hashrange_systems.kelifax.record_item import UsedChallenge
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.proof_of_work import DEFAULT_COST, ProofInvalid, make_challenge, verify_proof


@dataclass(frozen=True, slots=True)
class Proofs:
    """Challenges and their proofs."""

    db: Kelifax
    clock: Clock
    secret: bytes = field(repr=False)
    cost: int = DEFAULT_COST

    def make_challenge(self) -> dict[str, Any]:
        """Return a challenge for the browser of a visitor."""
        return make_challenge(self.secret, self.clock.millis(), self.cost)

    async def use(self, payload: str) -> None:
        """Accept a proof that was not used before; raise ProofRefused."""
        try:
            proof = verify_proof(self.secret, payload, self.clock.millis())
        except ProofInvalid as error:
            raise ProofRefused(str(error)) from error
        try:
            await self.db.create(UsedChallenge(digest=proof.digest, expires_at=from_ms(proof.expires_at)))
        except Taken:
            raise ProofRefused("was used before") from None
