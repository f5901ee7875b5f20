"""Reads the arguments of a tool call: JSON text that a model wrote, checked before the tool sees it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from pydantic import BaseModel
from pydantic import ValidationError as ModelError
from pydantic_core import ErrorDetails, from_json
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from ray_gym.each_key_once import each_key_once
from ray_gym.half_pairs import without_halves
from ray_gym.messages import is_no_arguments
from ray_gym.strict_types import read_strictly

_PROBLEMS = 5
"""Largest number of problems that one error lists."""


class BadArguments(ValueError):
    """Says what is wrong with the arguments of a tool call. The model that wrote them gets the message."""


class Arguments(Protocol):
    """Reads the arguments of the calls of one tool."""

    def read(self, text: str) -> dict[str, Any]:
        """Returns the values of a JSON object by name, checked against the tool's parameters. No text and null are read
        as no arguments. Errors: BadArguments if `text` is no JSON object, gives a key twice, or its values don't fit
        the parameters.
        """
        ...


@dataclass(frozen=True, slots=True)
class ArgumentsByModel:
    """Reads arguments by a pydantic model, which is made from a method's signature: values get the types of the
    parameters. They are held to the rule of task rows (`read_strictly`).
    """

    model: type[BaseModel]

    def read(self, text: str) -> dict[str, Any]:
        text = _given(text)
        try:
            read, wrong = read_strictly(text, self.model)
        except ModelError as error:
            raise _bad(_problems(error)) from None
        _decode(text)
        if wrong:
            raise _bad(wrong)
        return {name: getattr(read, name) for name in self.model.model_fields}


class ArgumentsBySchema:
    """Reads arguments by a JSON schema (draft 2020-12 by default): values stay as JSON decodes them."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Checks the schema, and keeps it. Errors: ValueError if it is no JSON schema of an object, or refers to
        something outside of itself.
        """
        validator = validator_for(schema, default=Draft202012Validator)
        try:
            validator.check_schema(schema, validator.FORMAT_CHECKER)
        except SchemaError as error:
            raise ValueError(f"it is no JSON schema: {_locate(error.absolute_path, error.message)}") from None
        if schema.get("type") != "object":
            raise ValueError("its type must be object")
        dialect = specification_with(str(validator.META_SCHEMA["$schema"]))
        registry: Registry[Any] = Registry().with_resource("", dialect.create_resource(schema))
        for reference in _references(schema):
            try:
                registry.resolver().lookup(reference)
            except Unresolvable:
                raise ValueError(f"it refers to {reference!r}, which is not in it") from None
        self._validator: Validator = validator(schema, registry=Registry())  # the default one would ask the network

    def read(self, text: str) -> dict[str, Any]:
        values = _decode(_given(text))
        try:
            problems = list(self._validator.iter_errors(values))
        except RecursionError:
            raise BadArguments("they are nested too deeply") from None
        if problems:
            raise BadArguments("; ".join(_describe_problem(problem) for problem in problems[:_PROBLEMS]))
        checked: dict[str, Any] = values
        return checked


def _given(text: str) -> str:
    """Returns the text of a call's arguments with "?" for half of a surrogate pair; an empty object for the ways in which
    models write that there are none.
    """
    return "{}" if is_no_arguments(text) else without_halves(text)


def _problems(error: ModelError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False, include_context=False)


def _bad(problems: Iterable[ErrorDetails]) -> BadArguments:
    return BadArguments("; ".join(_locate(problem["loc"], problem["msg"]) for problem in problems))


def _decode(text: str) -> Any:
    """Decodes JSON. Errors: BadArguments for what is none, as NaN is, for a key that is given twice, and for numbers that
    are too large for a float.
    """
    try:
        values = from_json(text, allow_inf_nan=False)
        json.loads(text, object_pairs_hook=each_key_once, parse_int=str)  # Python reads only so many digits
    except ValueError as error:
        raise BadArguments(f"Invalid JSON: {error}") from None
    if not all(map(isfinite, _floats(values))):
        raise BadArguments("Invalid JSON: number out of range")
    return values


def _floats(node: Any) -> Iterator[float]:
    if isinstance(node, float):
        yield node
    elif isinstance(node, Mapping | list):
        for child in node.values() if isinstance(node, Mapping) else node:
            yield from _floats(child)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _describe_problem(error: ValidationError) -> str:
    return _locate(error.absolute_path, error.message)


def _locate(place: Any, message: str) -> str:
    path = ".".join(str(part) for part in place)
    return f"{path}: {message}" if path else message
