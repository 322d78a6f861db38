"""The seed's example values, in wire form and to the letter, and makers of items for tests."""

from datetime import timedelta

from hashrange_systems.shuttle.schema import Import, Queued

SHOPS, JOBS, HISTORY = "InavorShuttle-dev-shops", "InavorShuttle-dev-jobs", "InavorShuttle-dev-import-history"
DOMAIN, OTHER = "mystore.myshopify.com", "other.myshopify.com"
JOB_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
INSTALLED = 1_699_564_800  # 2023-11-09T21:20:00Z, the time that the seed's examples share
NINETY_DAYS, YEAR = 7_776_000, 31_536_000

SHOP_ITEM = {
    "domain": {"S": DOMAIN},
    "name": {"S": "My Store"},
    "accessToken": {"S": "shpat_..."},
    "plan": {"S": "FREE"},
    "installedAt": {"N": "1699564800000"},
    "uninstalledAt": {"NULL": True},
    "billingStatus": {"S": "ACTIVE"},
    "settings": {"M": {"theme": {"S": "dark"}}},
    "createdAt": {"N": "1699564800000"},
    "updatedAt": {"N": "1699564800000"},
}
JOB_ITEM = {
    "jobId": {"S": JOB_ID},
    "shopDomain": {"S": DOMAIN},
    "type": {"S": "IMPORT"},
    "mode": {"S": "OVERWRITE_EXISTING"},
    "status": {"S": "PROCESSING"},
    "isDryRun": {"BOOL": False},
    "totalProducts": {"N": "1000"},
    "processedProducts": {"N": "250"},
    "successfulProducts": {"N": "240"},
    "failedProducts": {"N": "10"},
    "progressPercentage": {"N": "25"},
    "startedAt": {"N": "1699564800000"},
    "estimatedCompletionAt": {"N": "1699565600000"},
    "s3Key": {"S": "imports/mystore.myshopify.com/01ARZ3.../source.json"},
    "errorSummary": {"M": {"VALIDATION_ERROR": {"N": "5"}, "API_ERROR": {"N": "5"}}},
    "shopifyApiCallsUsed": {"N": "100"},
    "createdBy": {"S": "user@example.com"},
    "createdAt": {"N": "1699564800000"},
    "updatedAt": {"N": "1699564900000"},
    "expiresAt": {"N": "1707340800000"},
}
IMPORT_ITEM = {
    "shopDomain": {"S": DOMAIN},
    "timestamp": {"N": "1699564800000"},
    "jobId": {"S": JOB_ID},
    "productsImported": {"N": "1000"},
    "status": {"S": "COMPLETED"},
    "errorCount": {"N": "5"},
    "mode": {"S": "OVERWRITE_EXISTING"},
    "shopifyApiCallsUsed": {"N": "100"},
    "durationMs": {"N": "300000"},
    "expiresAt": {"N": "1731100800000"},
}

TOKENS = {
    "access_token": "shpat_first",
    "refresh_token": "shprt_first",
    "access_token_expires_at": None,
    "scopes": frozenset({"read_products", "write_products"}),
    "key_id": None,
}


def install(operator, now, domain=DOMAIN, **changes):
    given = {"domain": domain, "name": "My Store", "plan": "FREE", "installed_at": now, "created_at": now, **TOKENS}
    return operator.install(**given | changes).run()


def make_job(number, now, shop_domain=DOMAIN, **changes):
    given = {"type": "IMPORT", "mode": "NEW_ONLY", "created_by": "user@example.com", "created_at": now, **changes}
    return Queued(job_id=f"01ARZ3NDEKTSV4RRFFQ69G{number:04d}", shop_domain=shop_domain, **given)


def queue(operator, count, now, **changes):
    """Create so many jobs, a second apart."""
    made = [make_job(number, now + timedelta(seconds=number), **changes) for number in range(count)]
    return [operator.create(job).run() for job in made]


def start(operator, job, now, worker="w1"):
    return operator.start(job, started_at=now, worker=worker, lease_until=now + timedelta(minutes=5)).run()


def make_import(number, timestamp, shop_domain=DOMAIN, **changes):
    given = {"products_imported": 10, "status": "COMPLETED", "mode": "NEW_ONLY", "duration_ms": 1000, **changes}
    return Import(shop_domain=shop_domain, timestamp=timestamp, job_id=f"01ARZ3NDEKTSV4RRFFQ69G{number:04d}", **given)


def read_plain(database, table, **key):
    """Return the item as GetItem answers it."""
    found = database.call("GetItem", {"TableName": table, "Key": {name: {"S": v} for name, v in key.items()}})
    return found.get("Item")
