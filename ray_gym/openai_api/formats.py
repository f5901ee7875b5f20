"""Reads the formats that an answer's text has to have, of both of OpenAI's APIs."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field

from ray_gym.openai_api.refused import Refused, bad_request
from ray_gym.openai_api.request import Json, Nested

FORMAT = "response_format"
"""Name of the format in failures of models, whose callers may know it by another name."""
LONGEST_FORMAT = 50_000
"""Largest number of characters of a format's JSON, from which a grammar is compiled."""


class SchemaFormat(Nested):
    """Describes a JSON schema that an answer's text must keep to. It is always kept to, whatever `strict` says."""

    name: str | None = None
    description: str | None = None
    schema_: Annotated[Json | None, Field(alias="schema")] = None
    strict: bool | None = None


class Format(SchemaFormat):
    """Describes the format that an answer's text must have.

    For `json_schema`, chat completions have name and schema in the field of that name, the Responses API beside the
    type. Other types have no schema.
    """

    type: Literal["text", "json_object", "json_schema"]
    json_schema: SchemaFormat | None = None


def read_format(given: Format | None, param: str) -> str | None:
    """Returns a format as JSON text, in the form of chat completions; None for any text. `param`: field that errors
    name. Errors: Refused (400) if a `json_schema` lacks its schema, has two of them, or is longer than `LONGEST_FORMAT`
    characters, and if another type has one.
    """
    if given is None:
        return None
    beside = [name for name in ("schema_", "json_schema") if getattr(given, name) is not None]
    if extra := beside[1:] if given.type == "json_schema" else beside:
        named = extra[0].rstrip("_")
        raise bad_request(f"{param}: {named} is not followed beside type {given.type}; leave it out", param)
    if given.type == "text":
        return None
    if given.type == "json_object":
        return json.dumps({"type": given.type})
    inner = given.json_schema or given
    if inner.schema_ is None:
        raise bad_request(f"{param}: a format of type json_schema has to have its schema, an object", param)
    held = {"name": inner.name or "answer", "schema": inner.schema_, "strict": True}
    text = json.dumps({"type": given.type, "json_schema": held})
    if len(text) > LONGEST_FORMAT:
        raise bad_request(f"{param}: longer than {LONGEST_FORMAT} characters", param)
    return text


def refusal_by_model(where: str, message: str, format_field: str) -> Refused:
    """Returns the refusal of a call that a model refused. `where` and `message`: those of its failure. `format_field`: the
    caller's name of the field that has the format, which stands in the place of `FORMAT`.
    """
    field = format_field if where == FORMAT else where
    return bad_request(f"{field}: {message}", field if where in (FORMAT, "tools") else None)
