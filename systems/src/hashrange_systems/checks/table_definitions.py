"""The tables of the checks system: those of the original, with additions, and one for the history of checks."""

from hashrange import KEYS_ONLY, Gsi, Table, camel

users = Table(
    "${USER_TABLE:-USER}",
    "PK",
    "SK",
    naming=camel,
    ttl="expiresAt",
    indexes=[
        Gsi("Email-Index", "email", "PK", ["tier", "status"]),  # "Email Index" is not a legal name
    ],
)
checks = Table(
    "${CHECK_TABLE:-CHECK}",
    "PK",
    "SK",
    naming=camel,
    ttl="expiresAt",
    indexes=[
        Gsi("User-Check-Index", "userid", "PK"),
        Gsi("Type-Status-Index", "checkType", "status", ["PK", "userid", "createdAt"]),
        Gsi("Due-Index", "dueShard", "nextRunAt", KEYS_ONLY),  # added: only active checks of active users are in it
        Gsi("Outbox-Index", "outboxShard", "sendAt", KEYS_ONLY),  # added: only alerts that are still to be sent
        Gsi("Owner-Alert-Index", "owner", "createdAt", KEYS_ONLY),  # added: the alerts of a user, by time
    ],
)
history = Table("${CHECKS_HISTORY_TABLE:-checks-history}", "PK", "SK", naming=camel, ttl="expiresAt")  # added
