"""Tables and items as other programs wrote them: the documents of five systems, with what boto3 stores for them."""

import json
from decimal import Decimal
from hashlib import sha256

from boto3.dynamodb.types import TypeSerializer

SERIALIZER = TypeSerializer()
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FA"


def gsi(name, partition, sort, projection="ALL", attributes=()):
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    keys += [{"AttributeName": sort, "KeyType": "RANGE"}] if sort else []
    found = {"ProjectionType": projection, **({"NonKeyAttributes": list(attributes)} if attributes else {})}
    return {"IndexName": name, "KeySchema": keys, "Projection": found}


def create(database, name, keys, indexes=(), numbers=(), ttl=None, *, recovery=False):
    """Create a table as a deployment would, on demand and without deletion protection."""
    names = {*keys, *(key["AttributeName"] for index in indexes for key in index["KeySchema"])}
    request = {
        "TableName": name,
        "KeySchema": [
            {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        "AttributeDefinitions": [
            {"AttributeName": each, "AttributeType": "N" if each in numbers else "S"} for each in sorted(names)
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexes:
        request["GlobalSecondaryIndexes"] = list(indexes)
    database.call("CreateTable", request)
    if ttl:
        wanted = {"AttributeName": ttl, "Enabled": True}
        database.call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": wanted})
    if recovery:
        wanted = {"PointInTimeRecoveryEnabled": True}
        database.call("UpdateContinuousBackups", {"TableName": name, "PointInTimeRecoverySpecification": wanted})


def put(database, name, items):
    """Store plain Python values as boto3's Table does."""
    for item in items:
        raw = {attr: SERIALIZER.serialize(value) for attr, value in item.items()}
        database.call("PutItem", {"TableName": name, "Item": raw})


# ── aura ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_aura(database):
    create(
        database,
        "aura-historia-data",
        ["pk", "sk"],
        [
            gsi("ProductTypeIndex", "gsi1_pk", "gsi1_sk"),
            gsi(
                "CountryLastCrawledIndex",
                "gsi2_pk",
                "gsi2_sk",
                "INCLUDE",
                ["domain", "last_crawled_start", "last_crawled_end"],
            ),
            gsi(
                "CountryLastScrapedIndex",
                "gsi3_pk",
                "gsi3_sk",
                "INCLUDE",
                ["domain", "last_scraped_start", "last_scraped_end", "last_crawled_end"],
            ),
            gsi("CoreDomainNameIndex", "gsi4_pk", "gsi4_sk", "KEYS_ONLY"),
        ],
    )
    for number in range(12):
        put(database, "aura-historia-data", [aura_shop(number), *aura_urls(number)])
    return ["aura-historia-data"]


def aura_shop(number):
    domain, country = f"shop{number}.example.com", f"COUNTRY#{('DE', 'AT', 'FR')[number % 3]}"
    start, end = f"2026-01-{number + 1:02d}T10:00:00Z", f"2026-01-{number + 1:02d}T12:30:00Z"
    crawl = ({"gsi2_sk": "NEVER#"}, {"gsi2_sk": f"PROGRESS#{start}"}, {"gsi2_sk": f"DONE#{end}"})[number % 3]
    scrape = ({"gsi3_sk": "NEVER#"}, {"gsi3_sk": "NEVER#"}, {"gsi3_sk": f"DONE#2026-02-{number + 1:02d}T01:00:00Z"})
    item = {
        "pk": f"SHOP#{domain}",
        "sk": "META#",
        "domain": domain,
        "core_domain_name": f"shop{number // 2}",
        "shop_country": country,
        "gsi2_pk": country,
        "gsi3_pk": country,
        "gsi4_pk": f"shop{number // 2}",
        "gsi4_sk": domain,
        **crawl,
        **scrape[number % 3],
    }
    if number % 3:
        item["last_crawled_start"] = start
    if number % 3 == 2:
        item |= {"last_crawled_end": end, "last_scraped_start": f"2026-02-{number + 1:02d}T00:00:00Z"}
        item["last_scraped_end"] = f"2026-02-{number + 1:02d}T01:00:00Z"
    if number in {5, 11}:  # scraped again
        item["gsi3_sk"] = f"PROGRESS#{item['last_scraped_start']}"
        del item["last_scraped_end"]
    if number % 2:
        item["shop_name"] = None if number == 3 else f"Shop {number}"
    return item


def aura_urls(number):
    for page, kind in enumerate(("product", "product", "category")):
        url = f"https://shop{number}.example.com/p/{page}?a=1#top"
        yield {
            "pk": f"SHOP#shop{number}.example.com",
            "sk": f"URL#{url}",
            "url": url,
            "type": kind,
            "hash": sha256(f"available {number}{page}".encode()).hexdigest(),
            "gsi1_pk": f"SHOP#shop{number}.example.com",
            "gsi1_sk": kind,
        }


def make_first_aura(database):
    create(database, "aura-first", ["PK", "SK"])
    for number in range(8):
        domain = f"shop{number}.example.com"
        url = f"https://{domain}/products/item-{number}"
        shop = {"PK": f"SHOP#{domain}", "SK": "META#", "domain": domain, "standards_used": ["json-ld", "microdata"]}
        page = {
            "PK": f"SHOP#{domain}",
            "SK": f"URL#{url}",
            "url": url,
            "standards_used": [] if number else ["json-ld"],
            "type": None if number == 1 else "product",
            "is_product": bool(number % 2),
            "hash": "5d41402abc4b2a76b9719d911017c592",
        }
        put(database, "aura-first", [shop, page])
    return ["aura-first"]


# ── shuttle ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_shuttle(database):
    shops, jobs, history = (f"InavorShuttle-dev-{name}" for name in ("shops", "jobs", "import-history"))
    create(database, shops, ["domain"], recovery=True)
    indexes = [
        gsi("shopDomain-createdAt-index", "shopDomain", "createdAt"),
        gsi("status-createdAt-index", "status", "createdAt"),
    ]
    create(database, jobs, ["jobId"], indexes, numbers={"createdAt"}, ttl="expiresAt", recovery=True)
    create(database, history, ["shopDomain", "timestamp"], numbers={"timestamp"}, ttl="expiresAt", recovery=True)
    for number in range(10):
        at = 1699564800000 + number * 60000
        put(database, shops, [shuttle_shop(number, at)])
        put(database, jobs, [shuttle_job(number, at)])
        put(database, history, [shuttle_import(number, at)])
    return [shops, jobs, history]


def shuttle_shop(number, at):
    return {
        "domain": f"store{number}.myshopify.com",
        "name": f"Store {number}",
        "accessToken": f"shpat_{number:032x}",
        "plan": ("FREE", "SMALL")[number % 2],
        "installedAt": at,
        "uninstalledAt": at + 1000 if number == 4 else None,
        "billingStatus": "CANCELLED" if number == 4 else "ACTIVE",
        "settings": {"theme": "dark"} if number % 2 else {"limit": 5, "tags": {"a"}},
        "createdAt": at,
        "updatedAt": at + number,
    }


def shuttle_job(number, at):
    status = ("QUEUED", "PROCESSING", "COMPLETED", "FAILED")[number % 4]
    item = {
        "jobId": f"{ULID}{number}",
        "shopDomain": "mystore.myshopify.com",
        "type": "IMPORT",
        "mode": "OVERWRITE_EXISTING",
        "status": status,
        "isDryRun": bool(number % 2),
        "totalProducts": 1000,
        "processedProducts": 250,
        "successfulProducts": 240,
        "failedProducts": 10,
        "shopifyApiCallsUsed": 100,
        "progressPercentage": Decimal("12.5") if number == 7 else 25,
        "s3Key": f"imports/mystore.myshopify.com/{number}/source.json",
        "errorSummary": {"VALIDATION_ERROR": 5, "API_ERROR": number},
        "createdBy": "user@example.com",
        "createdAt": at,
        "updatedAt": at + 100,
        "expiresAt": at + 7776000 if number % 2 else at // 1000 + 7776000,
    }
    if status != "QUEUED":
        item |= {"startedAt": at + 5, "estimatedCompletionAt": at + 800_000}
    return item | ({"completedAt": at + 600_000} if status in {"COMPLETED", "FAILED"} else {})


def shuttle_import(number, at):
    return {
        "shopDomain": f"store{number % 2}.myshopify.com",
        "timestamp": at,
        "jobId": f"{ULID}{number}",
        "productsImported": 1000,
        "status": "COMPLETED",
        "errorCount": number,
        "mode": "OVERWRITE_EXISTING",
        "shopifyApiCallsUsed": 100,
        "durationMs": 300000,
        "expiresAt": 1731100800000,
    }


# ── kelifax ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_kelifax(database):
    indexes = [
        gsi("ResourceStatusIndex", "resourceStatus", "createdAt"),
        gsi("CategoryIndex", "category", "createdAt"),
    ]
    create(database, "kelifax-resources", ["resourceSlug"], indexes)
    put(database, "kelifax-resources", map(kelifax_resource, range(9)))
    return ["kelifax-resources"]


SEPARATORS = [None, (",", ":")]  # json.dumps writes spaces, the example of the document has none
LEARNING = [{"title": "Guide", "url": "https://d.com", "type": "documentation"}, {"title": "Video", "url": "c"}]


def kelifax_resource(number):
    approved, rejected = number % 2 == 1, number == 4
    at = f"2025-10-{number + 10}T10:30:00.{number:06d}Z"
    return {
        "resourceSlug": f"amazing-dev-tool-{number}",
        "submissionId": f"3f2504e0-4f89-41d3-9a0c-0305e82c330{number}",
        "resourceStatus": "approved" if approved else "rejected" if rejected else "pending",
        "createdAt": at,
        "submittedAt": at,
        "approvedAt": at if approved else "",
        "rejectedAt": at if rejected else "",
        "rejectionReason": "spam" if rejected else "",
        "submitterFirstName": "John",
        "submitterLastName": "Doe",
        "submitterEmail": "john@techcorp.com",
        "submitterCompany": "" if number % 3 else "Tech, Corp",
        "submitterPhone": "" if number % 3 else "+1234567890",
        "submitterDomain": "techcorp.com",
        "resourceName": "Amazing Dev Tool",
        "resourceUrl": "https://amazingdevtool.com",
        "usagePurpose": "This tool helps developers, and others...",
        "category": "development",
        "logoImage": "" if number % 3 else "Amazing_Dev_Tool.png",
        "tags": "productivity,development,automation",
        "keyFeatures": "Automated code generation|Integrated debugging tools",
        "useCases": "Rapid prototyping for startups|Enterprise app development",
        "learningResources": ""
        if number == 2
        else "|".join(json.dumps(each, separators=SEPARATORS[number % 2]) for each in LEARNING),
        "searchText": "amazing dev tool development productivity automation",
        "featured": False,
        "viewCount": number,
        "lastViewed": "",
    }


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_checks(database):
    create(database, "USER", ["PK", "SK"], [gsi("Email-Index", "email", "PK")])
    create(
        database,
        "CHECK",
        ["PK", "SK"],
        [
            gsi("User-Check-Index", "userid", "PK"),
            gsi("Type-Status-Index", "checkType", "status", "INCLUDE", ["userid", "createdAt"]),
        ],
    )
    for number in range(6):
        times = {"createdAt": "2024-06-29T12:00:00Z", "updatedAt": f"2024-06-29T12:00:0{number}Z"}
        user = {"PK": f"{123456 + number}", "SK": "USER", "email": f"user{number}@example.com", "tier": "PRO"}
        put(database, "USER", [user | {"checkLimit": 100, "status": "ACTIVE"} | times])
        check = {"PK": f"abcdef{number}", "SK": "CHECK", "userid": f"{123456 + number}", "url": "https://example.com"}
        check |= {"checkType": "AVAILABILITY", "delayMs": 300000, "status": "ACTIVE", **times}
        check["attributes"] = {"keyword": "Example"} if number else {}
        if number % 2:
            check["lastExecutedAt"] = "2024-06-29T14:05:00Z"
            check["lastResult"] = {"status": "UP", "responseTime": 250, "keywordFound": True, "price": Decimal("1.5")}
        put(database, "CHECK", [check])
    return ["USER", "CHECK"]


SYSTEMS = {
    "aura": make_aura,
    "first_aura": make_first_aura,
    "shuttle": make_shuttle,
    "kelifax": make_kelifax,
    "checks": make_checks,
}

TIMES, CRAWLS = "createdAt updatedAt", "last_crawled_start last_crawled_end last_scraped_start last_scraped_end"
DOCUMENTED = {  # the attributes that the documents list
    "aura-historia-data": f"pk sk domain core_domain_name shop_name shop_country {CRAWLS} url type hash "
    "gsi1_pk gsi1_sk gsi2_pk gsi2_sk gsi3_pk gsi3_sk gsi4_pk gsi4_sk",
    "aura-first": "PK SK domain standards_used url type is_product hash",
    "InavorShuttle-dev-shops": f"domain name accessToken plan installedAt uninstalledAt billingStatus settings {TIMES}",
    "InavorShuttle-dev-jobs": "jobId shopDomain type mode status isDryRun totalProducts processedProducts "
    "successfulProducts failedProducts progressPercentage startedAt completedAt estimatedCompletionAt s3Key "
    f"errorSummary shopifyApiCallsUsed createdBy {TIMES} expiresAt",
    "InavorShuttle-dev-import-history": "shopDomain timestamp jobId productsImported status errorCount mode "
    "shopifyApiCallsUsed durationMs expiresAt",
    "kelifax-resources": "resourceSlug submissionId resourceStatus createdAt submittedAt approvedAt rejectedAt "
    "rejectionReason submitterFirstName submitterLastName submitterEmail submitterCompany submitterPhone resourceName "
    "resourceUrl usagePurpose category logoImage tags keyFeatures useCases learningResources searchText featured "
    "viewCount lastViewed submitterDomain",
    "USER": f"PK SK email tier checkLimit status {TIMES}",
    "CHECK": f"PK SK userid url checkType delayMs status attributes {TIMES} lastExecutedAt lastResult",
}
