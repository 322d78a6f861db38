"""The content of a stored resource as a value of the model, also of one that the rules of the form would refuse."""

from __future__ import annotations

from hashrange_systems.kelifax.model.draft import Content
from hashrange_systems.kelifax.model.public_entry import strip_all
from hashrange_systems.kelifax.schema import Resource


def read_content(resource: Resource) -> Content:
    """Return the content of a resource."""
    return Content(
        name=resource.resource_name,
        url=resource.resource_url,
        purpose=resource.usage_purpose,
        category=resource.category,
        logo=resource.logo_image,
        tags=strip_all(resource.tags),
        pricing=tuple(sorted(resource.pricing)),
        features=strip_all(resource.key_features),
        use_cases=strip_all(resource.use_cases),
        lessons=tuple(dict(lesson) for lesson in resource.learning_resources),  # type: ignore[arg-type]  # texts, as declared
    )
