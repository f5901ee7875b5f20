"""Follows the `$ref`s of a tool's schema, which vLLM's parsers do not know."""

from __future__ import annotations

from typing import Any

from ray_gym.json_pointers import look_up

MOST_WITHIN = 3
"""Schemas behind a `$ref`, each within another, that are put in: schemas may refer to themselves."""


def put_in(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema with those that it refers to in the place of their `$ref`s; of those more than `MOST_WITHIN` others
    are around, the type alone.
    """
    made: dict[tuple[int, int], Any] = {}

    def put(node: Any, within: int) -> Any:
        if isinstance(node, list):
            return [put(each, within) for each in node]
        if not isinstance(node, dict):
            return node
        target = look_up(node.get("$ref"), schema)
        if not isinstance(target, dict):
            return {key: put(each, within) for key, each in node.items()}
        own = {key: put(each, within) for key, each in node.items() if key != "$ref"}
        if within == MOST_WITHIN:
            return {"type": target.get("type", "object")} | own
        place = (id(target), within)
        if place not in made:
            made[place] = put(target, within + 1)
        return made[place] | own

    return {key: put(each, 0) for key, each in schema.items() if key not in ("$defs", "definitions")}
