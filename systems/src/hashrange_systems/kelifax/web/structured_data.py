"""What pages say to programs about a resource: JSON-LD of schema.org."""

from __future__ import annotations

from typing import Any

import orjson
from markupsafe import Markup

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.public_entry import PublicResource
from hashrange_systems.kelifax.model.slug import path_of_resource
from hashrange_systems.kelifax.service.reviews import PublicScore

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def describe_resource(entry: PublicResource, score: PublicScore, base_url: str) -> Markup:
    """Return the JSON-LD of a resource; it cannot end the element that it is in."""
    described: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "SoftwareApplication",
        "mainEntityOfPage": base_url + path_of_resource(entry.slug),
        "datePublished": f"{entry.published_at:%Y-%m-%d}",
    }
    for each in CONTENT_FIELDS:
        described |= each.json_ld(each.value_of(entry)) if each.json_ld else {}
    if score.mean is not None:
        described["aggregateRating"] = {
            "@type": "AggregateRating",
            "ratingValue": score.mean,
            "ratingCount": score.ratings,
        }
    return escape_json(described)


def escape_json(value: Any) -> Markup:
    """Return JSON that may stand inside of a script element."""
    text = orjson.dumps(value).decode()
    return Markup("".join(ESCAPES.get(sign, sign) for sign in text))  # noqa: S704 - < > & are escaped above
