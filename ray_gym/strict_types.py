"""Reads JSON by the types that a pydantic model declares, and takes no value for what it is not. Task rows and arguments
of tools are held to the same rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, TypeVar

from pydantic import BaseModel, Strict, ValidationError
from pydantic_core import (
    ErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    PydanticSerializationError,
    SchemaValidator,
    core_schema,
    from_json,
    to_json,
    to_jsonable_python,
)

from ray_gym.core_schemas import NO_TYPES, change_parts, parts_of
from ray_gym.field_types import keys_of, refuses_key, types_inside

ModelT = TypeVar("ModelT", bound=BaseModel)
_OTHER_TYPE = frozenset(
    {"int_type", "float_type", "bool_type", "string_type", "int_from_float", "enum", "literal_error", "byte_size"}
    | {"date_type", "datetime_type", "time_type", "time_delta_type", "stands_for_another"}
)
"""Kinds of problems that say that a value has another type than its field."""
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LONG_NUMBER = re.compile(r"[0-9](?<![0-9.eE].)[0-9]{15,}(?![0-9.eE])")  # what is rare comes first: it is faster
"""A whole number of JSON that a float may not hold: from 2**53 on. (It may stand in a text, too.)"""
_LEAVES = frozenset({"literal", "enum", "date", "datetime", "time", "timedelta", "decimal"})
"""Kinds of types for which pydantic's strict mode takes values that stand for others."""
_TIMES = frozenset({"date", "datetime", "time", "timedelta"})
"""Kinds of types of which one reads what is meant for another."""
_NUMBERS = frozenset({"int", "float", "bool"})
DIGITS = sys.float_info.dig
"""Digits of a decimal number that a float keeps, as which JSON's numbers are read."""
_GIVERS = frozenset({"function-before", "function-wrap"})
"""Kinds of core schemas whose function gives the value that is read."""
_MODELS = frozenset({"model", "model-fields", "dataclass", "dataclass-args", "typed-dict"})
"""Kinds of core schemas that have fields. What is told to a function of one of these are the fields beside it."""
_NO_TYPES = NO_TYPES | {"serialization", "config"}
"""Keys of a core schema under which there are no types that are read."""


def read_strictly(text: str, model: type[ModelT]) -> tuple[ModelT, list[ErrorDetails]]:
    """Reads JSON text as a model, and returns it with what is refused: keys that no field has, at any depth, and values
    of another type than their field. Beside those that pydantic's strict mode refuses ("1" or 1.0 for a whole number)
    these are true and 1.0 for a 1 that an enumeration or a `Literal` has, a number as text for a date, "1_0" as a key for
    10, a whole number of digits that a float does not keep (`2**53 + 1`), and for a `Decimal` a number of more
    digits than a float keeps. Fields and models that are declared lax (`strict=False`) take any that pydantic does, but
    no infinity.

    Errors: ValidationError for what pydantic refuses in its lax mode, too; those of the model's own validators.
    """
    read, refused = _strictly(text, model)
    return (read if read is not None else model.model_validate_json(text)), refused


def refused_values(text: str, model: type[BaseModel]) -> list[ErrorDetails]:
    """Returns what `read_strictly` refuses of a text that pydantic's lax mode refuses, too."""
    return _strictly(text, model)[1]


def _strictly(text: str, model: type[ModelT]) -> tuple[ModelT | None, list[ErrorDetails]]:
    """Returns a text read strictly, or None with what is refused of it."""
    validator = _validator(model, _LONG_NUMBER.search(text) is not None)
    try:
        read: ModelT = validator.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        return None, [problem for problem in error.errors(include_url=False) if _is_refused(problem, model)]
    return read, []


def _is_refused(problem: ErrorDetails, model: type[BaseModel]) -> bool:
    if problem["type"] == "finite_number" or refuses_key(model, problem):
        return True
    return problem["type"] in _OTHER_TYPE and not _is_lax(model, problem["loc"])


def _is_lax(model: type[BaseModel], location: Sequence[Any]) -> bool:
    """Says whether a field of a model, or of a model within it, is declared lax: by `strict=False` of the field or in
    the config of its model.
    """
    kinds: list[Any] = [model]
    for part in location:
        models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if any(kind.model_config.get("strict") is False for kind in models):
            return True
        fields = [info for kind in models for name, info in kind.model_fields.items() if part in keys_of(name, info)]
        if any(Strict(False) in info.metadata for info in fields):
            return True
        kinds = [inner for kind in kinds for inner in types_inside(kind, part)] or kinds
    return False


@cache
def _validator(model: type[BaseModel], checks_floats: bool) -> SchemaValidator:
    """Makes the validator of a model whose types are `_exact`. pydantic's own validators of the models within it would
    be used without `_use_prebuilt=False`. `checks_floats`: also compares floats with what was given, which is slower.
    """
    definitions: list[Any] = []
    exact = _exact(model.__pydantic_core_schema__, definitions, checks_floats)
    definitions += exact.get("definitions", ())
    return SchemaValidator(exact, _use_prebuilt=False)


def _exact(node: Any, definitions: list[Any], checks_floats: bool) -> Any:
    """Returns a core schema, or a part of one, in which no type takes values that stand for others. `definitions`: list of
    those parts, exact ones, to which others refer. It is filled before a value is read. `checks_floats`: as in
    `_validator`.
    """
    if isinstance(node, list | tuple):
        return type(node)(_exact(part, definitions, checks_floats) for part in node)
    if not isinstance(node, Mapping):
        return node
    kind = _kind(node)
    if node.get("strict") is False and (kind in _NUMBERS or kind in _LEAVES):
        return _checked({**node, **({"allow_inf_nan": False} if kind == "float" else {})}, _take_any)
    if _is_leaf(node):
        return _checked(node, _require_same)
    if checks_floats and kind == "float":
        return _checked({**node, "strict": True, "allow_inf_nan": False}, _require_same)
    made = change_parts(node, lambda _, part: _exact(part, definitions, checks_floats), without=_NO_TYPES)
    if kind in _GIVERS and not _looks_around(node["schema"]):
        return {**made, "schema": _read_again(made["schema"], definitions)}
    if kind == "float":
        return {**made, "allow_inf_nan": False}
    if kind == "dict" and _kind(node.get("keys_schema")) in _LEAVES | _NUMBERS:
        return {**made, "keys_schema": _checked(node["keys_schema"], _require_same_key)}
    if kind == "union":
        return {**made, "choices": list(map(_chosen(node["choices"]), node["choices"], made["choices"]))}
    return made


def _chosen(choices: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """Returns the function that makes a choice of a union of its core schema and its exact one. A checked value has its type's
    name for a label, and does not win over one that has the type of what was given, as pydantic takes the result of any
    function for such a one.
    """
    are_strict = sum(_kind(choice) in _TIMES for choice in choices) > 1

    def choice_of(old: Any, new: Any) -> Any:
        if not _is_checked(new):
            return new
        if _kind(old) == "literal":
            return new, "literal"
        exact = _checked(old, _require_same, is_strict=True) if are_strict and _kind(old) in _TIMES else new
        return {"type": "chain", "steps": [exact, core_schema.any_schema()]}, _kind(old)

    return choice_of


def _read_again(node: dict[str, Any], definitions: list[Any]) -> dict[str, Any]:
    """Returns the core schema of what a function gives, which is read as JSON again: strict types take no list of Python's
    for a tuple or a set, and then the whole row would be read laxly.
    """

    @cache
    def validator() -> SchemaValidator:
        whole = {"type": "definitions", "schema": node, "definitions": definitions} if definitions else node
        return SchemaValidator(whole, _use_prebuilt=False)

    def read(given: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        options: dict[str, Any] = {"strict": True, "extra": "forbid", "context": info.context}
        text = _json_of(given)
        return (
            validator().validate_python(given, **options)
            if text is None
            else validator().validate_json(text, **options)
        )

    return dict(core_schema.with_info_plain_validator_function(read))


def _json_of(given: Any) -> bytes | None:
    """Returns the JSON text of a value; None for one that JSON does not give back."""
    with suppress(PydanticSerializationError, ValueError):  # also for half a surrogate
        text = to_json(given)
        if from_json(text) == given:
            return text
    return None


def _looks_around(node: Any) -> bool:
    """Says whether a part of a core schema has a function that may look at fields beside the part."""
    if isinstance(node, list | tuple):
        return any(map(_looks_around, node))
    if not isinstance(node, Mapping) or node.get("type") in _MODELS:
        return False
    is_told = node.get("type") == "with-info"
    return is_told or any(_looks_around(part) for _, part in parts_of(node, without=_NO_TYPES - {"function"}))


def _kind(node: Any) -> Any:
    return node.get("type") if isinstance(node, Mapping) else None


def _is_leaf(node: Any) -> bool:
    """Says whether a part of a core schema is a type of `_LEAVES`, and no list of texts, which only texts fit."""
    if _kind(node) not in _LEAVES:
        return False
    listed = [getattr(one, "value", one) for one in node.get("members", node.get("expected", ()))]
    return not listed or not all(isinstance(value, str) for value in listed)


def _checked(node: Mapping[str, Any], require: Callable[[Any, Any], None], is_strict: bool = False) -> dict[str, Any]:
    """Returns the core schema of a type that has no others in it, whose values are checked beside what was given. `is_strict`:
    also refuses what pydantic's strict mode does of JSON, as a date and a time for a date.
    """
    validator = SchemaValidator(dict(node))

    def read(given: Any) -> Any:
        if node["type"] == "float" and type(given) is int and abs(given) > sys.float_info.max:
            raise PydanticKnownError("finite_number")  # Python's reader only says that it is no number
        value = validator.validate_json(to_json(given), strict=True) if is_strict else validator.validate_python(given)
        require(given, value)
        return value

    return {**core_schema.no_info_plain_validator_function(read), **({"ref": node["ref"]} if "ref" in node else {})}


def _is_checked(node: Any) -> bool:
    return bool(_kind(node) == "function-plain")


def _take_any(given: Any, read: Any) -> None:
    """Takes any value that pydantic does, as the type is declared lax."""


def _require_same(given: Any, read: Any) -> None:
    """Checks that a value does not stand for another. Errors: PydanticCustomError."""
    value = read.value if isinstance(read, Enum) and not isinstance(given, Enum) else read
    is_same = True
    if isinstance(given, str):
        is_number = _NUMBER.fullmatch(given.strip()) is not None
        if isinstance(value, Decimal):
            is_same = is_number and given == given.strip()
        elif isinstance(value, date | time | timedelta | int | float):
            is_same = not is_number
    elif isinstance(value, Decimal) and isinstance(given, float) and _digits(given) > DIGITS:
        raise PydanticCustomError(
            "stands_for_another", "Input should be a text: a float keeps {n} digits", {"n": DIGITS}
        )
    elif isinstance(value, float) and type(given) is int and not _is_kept(given, value):
        raise PydanticCustomError(
            "stands_for_another",
            "Input should be a number that a float holds; the nearest is {read}",
            {"read": repr(value)},
        )
    elif isinstance(given, int | float):
        is_same = isinstance(value, int | float | Decimal) and isinstance(given, bool) == isinstance(value, bool)
        is_same = is_same and not (isinstance(given, float) and isinstance(value, int))
    if not is_same:
        raise PydanticCustomError("stands_for_another", "Input should not stand for {read}", {"read": f"{read!r:.60}"})


def _is_kept(number: int, read: float) -> bool:
    """Says whether a whole number keeps its digits as a float: it is the float, or how the float is written."""
    return read == number or int(Decimal(repr(read))) == number


def _digits(number: float) -> int:
    return len(Decimal(repr(number)).as_tuple().digits)


def _require_same_key(given: Any, read: Any) -> None:
    """Checks that the text of a key is the one that its value has in JSON, or any of a decimal number's. Errors:
    PydanticCustomError.
    """
    is_number = isinstance(read, float) and isfinite(read) and _NUMBER.fullmatch(given) is not None
    if is_number and (not given.strip("+-").isdigit() or _is_kept(int(given), read)):
        return
    (text,) = to_jsonable_python({read: None})
    if given != text or isinstance(read, float):
        raise PydanticCustomError("stands_for_another", "Input should be written as {text}", {"text": f"{text!r:.60}"})
