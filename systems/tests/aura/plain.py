"""Items as any other client reads and writes them: plain requests, and values without their type tags."""

from datetime import datetime

TABLE = "aura-historia-data"


def at(text):
    """Return a time of 15 January 2026, `10:00`, or of any day, `2026-01-13T00:00:00`."""
    return datetime.fromisoformat(f"{text}Z" if "T" in text else f"2026-01-15T{text}Z")


def tag(value):
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [tag(part) for part in value]}
        case _:
            return {"S": value}


def untag(value):
    ((kind, content),) = value.items()
    if kind == "L":
        return [untag(part) for part in content]
    return int(content) if kind == "N" else content


def put_item(database, item, table=TABLE):
    database.call("PutItem", {"TableName": table, "Item": {name: tag(value) for name, value in item.items()}})


def get_item(database, pk, sk="META#", table=TABLE, names=("pk", "sk")):
    key = {names[0]: {"S": pk}, names[1]: {"S": sk}}
    found = database.call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")
    return None if found is None else {name: untag(value) for name, value in found.items()}


def query(database, index, condition, table=TABLE, **values):
    """Return the rows of a query written as the seed writes it."""
    request = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {f":{name}": tag(value) for name, value in values.items()},
    }
    rows = database.call("Query", request)["Items"]
    return [{name: untag(value) for name, value in row.items()} for row in rows]


def domains(rows):
    return [row["domain"] if isinstance(row, dict) else row.domain for row in rows]


def put_shop(database, domain, gsi2_sk="NEVER#", gsi3_sk="NEVER#", country="DE", **more):
    """Write a shop's metadata as the seed describes them, its index attributes included."""
    core = domain.split(".", maxsplit=1)[0]
    crawl, scrape = _times("crawled", gsi2_sk), _times("scraped", gsi3_sk)
    put_item(
        database,
        {
            "pk": f"SHOP#{domain}",
            "sk": "META#",
            "domain": domain,
            "core_domain_name": core,
            "shop_country": f"COUNTRY#{country}",
            **crawl,
            **scrape,
            "gsi2_pk": f"COUNTRY#{country}",
            "gsi2_sk": gsi2_sk,
            "gsi3_pk": f"COUNTRY#{country}",
            "gsi3_sk": gsi3_sk,
            "gsi4_pk": core,
            "gsi4_sk": domain,
            **more,
        },
    )


def _times(what, state):
    prefix, _, moment = state.partition("#")
    match prefix:
        case "PROGRESS":
            return {f"last_{what}_start": moment}
        case "DONE":
            return {f"last_{what}_start": f"{moment[:11]}00:00:00Z", f"last_{what}_end": moment}
        case _:
            return {}
