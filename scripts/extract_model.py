#!/usr/bin/env python3
"""Write src/hashrange/engine/model.json: the request shapes of DynamoDB and its streams, out of botocore's models.

Run it after an upgrade of botocore. Only what a request is checked against is kept: types, members, limits, enums;
and which member is the idempotency token.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from botocore.loaders import Loader

TARGET = Path(__file__).parents[1] / "src" / "hashrange" / "engine" / "model.json"
SERVICES = ("dynamodb", "dynamodbstreams")
FACTS = ("type", "required", "enum", "min", "max", "pattern")
WALKED_BY_HAND = "AttributeValue"  # its members are the type tags; the engine knows them better than the model

Model = dict[str, Any]


def extract() -> Model:
    """Return the operations under their target prefix, and under `shapes` all that a request of theirs can reach."""
    sections: Model = {}
    shapes: Model = {}
    for service in SERVICES:
        model = Loader().load_service_model(service, "service-2")
        inputs = {name: operation["input"]["shape"] for name, operation in sorted(model["operations"].items())}
        sections[model["metadata"]["targetPrefix"]] = inputs
        for shape in inputs.values():
            gather(shape, model["shapes"], shapes)
    return {**sections, "shapes": dict(sorted(shapes.items()))}


def gather(name: str, source: Model, found: Model) -> None:
    """Add a shape and all it refers to; the two services must agree on what they share."""
    shape = reduce_shape(name, source[name])
    if found.setdefault(name, shape) != shape:
        message = f"the services disagree on {name}"
        raise ValueError(message)
    for reference in [*shape.get("members", {}).values(), shape.get("of"), shape.get("key")]:
        if reference is not None and reference not in found:
            gather(reference, source, found)


def reduce_shape(name: str, shape: Model) -> Model:
    """Return the facts of a shape, references by name."""
    if name == WALKED_BY_HAND:
        return {"type": "value"}
    facts = {fact: shape[fact] for fact in FACTS if fact in shape}
    if "members" in shape:
        facts["members"] = {member: reference["shape"] for member, reference in shape["members"].items()}
        tokens = [member for member, reference in shape["members"].items() if reference.get("idempotencyToken")]
        if tokens:
            facts["token"] = tokens[0]
    of = shape.get("member") or shape.get("value")
    if of:
        facts["of"] = of["shape"]
    if "key" in shape:
        facts["key"] = shape["key"]["shape"]
    return facts


def render(model: Model) -> str:
    """Return the extract as JSON with one shape or operation a line, so that a change reads well."""
    sections = [f"{json.dumps(title)}:{{\n{render_lines(section)}\n}}" for title, section in model.items()]
    return "{" + ",\n".join(sections) + "}\n"


def render_lines(section: Model) -> str:
    """Return the entries of an object, one a line."""
    return ",\n".join(
        f"{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}" for name, entry in section.items()
    )


if __name__ == "__main__":
    TARGET.write_text(render(extract()), "utf-8")
