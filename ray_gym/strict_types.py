"""Reads JSON by the types that a pydantic model declares, and takes no value for what it is not. Task rows and arguments
of tools are held to the same rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
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
_NUMBERS = frozenset({"int", "float", "bool"})
DIGITS = sys.float_info.dig
"""Digits of a decimal number that a float keeps, as which JSON's numbers are read."""
_GIVERS = frozenset({"function-before", "function-wrap"})
"""Kinds of core schemas whose function gives the value that is read."""
_MODELS = frozenset({"model", "model-fields", "dataclass", "dataclass-args", "typed-dict"})
"""Kinds of core schemas that have fields. What is told to a function of one of these are the fields beside it."""
_NO_TYPES = NO_TYPES | {"serialization", "config"}
"""Keys of a core schema under which there are no types that are read."""
_FITS_LAXLY = "https://pydantic.dev"
"""Text that fits the type of URLs, which for a union is as when it fits a type in pydantic's lax mode only."""


def read_strictly(text: str, model: type[ModelT], context: Any = None) -> tuple[ModelT, list[ErrorDetails]]:
    """Reads JSON text as a model, and returns it with what is refused: keys that no field has, at any depth, and values
    of another type than their field. Beside those that pydantic's strict mode refuses ("1" or 1.0 for a whole number)
    these are true and 1.0 for a 1 that an enumeration or a `Literal` has, a number as text for a date, "1_0" as a key for
    10, a whole number of digits that a float does not keep (`2**53 + 1`), and for a `Decimal` a number of more
    digits than a float keeps. Fields and models that are declared lax (`strict=False`) take any that pydantic does, but
    no infinity. `context`: what pydantic tells the model's validators.

    Errors: ValidationError for what pydantic refuses in its lax mode, too; those of the model's own validators.
    """
    read, refused = _strictly(text, model, context)
    return (read if read is not None else model.model_validate_json(text, context=context)), refused


def read_back(text: str, model: type[ModelT], context: Any = None) -> ModelT:
    """Reads the JSON text that was written of a model, as `read_strictly` does: a union takes the choice that it took in the
    row. Types without unions leave none, and pydantic alone reads them faster. Errors: as of `read_strictly`.
    """
    if _has(model, "union"):
        return read_strictly(text, model, context)[0]
    return model.model_validate_json(text, context=context)


def refused_values(text: str, model: type[BaseModel]) -> list[ErrorDetails]:
    """Returns what `read_strictly` refuses of a text that pydantic's lax mode refuses, too."""
    return _strictly(text, model)[1]


def _strictly(text: str, model: type[ModelT], context: Any = None) -> tuple[ModelT | None, list[ErrorDetails]]:
    """Returns a text read strictly, or None with what is refused of it."""
    validator = _validator(model, _has(model, "float") and _LONG_NUMBER.search(text) is not None)
    try:
        read: ModelT = validator.validate_json(text, strict=True, extra="forbid", context=context)
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
def _has(model: type[BaseModel], kind: str) -> bool:
    """Says whether a model has types of a kind of core schema, at any depth."""
    return _holds(model.__pydantic_core_schema__, kind)


def _holds(node: Any, kind: str) -> bool:
    if isinstance(node, list | tuple):
        return any(_holds(part, kind) for part in node)
    if not isinstance(node, Mapping):
        return False
    return _kind(node) == kind or any(_holds(part, kind) for _, part in parts_of(node, without=_NO_TYPES))


@cache
def _validator(model: type[BaseModel], checks_floats: bool) -> SchemaValidator:
    """Makes the validator of a model whose types are `_exact`. pydantic's own validators of the models within it would
    be used without `_use_prebuilt=False`. `checks_floats`: also compares floats with what was given, which is slower.
    """
    definitions: list[Any] = []
    given: Mapping[str, Any] = model.__pydantic_core_schema__
    exact = _exact(_named(given, given.get("definitions", ())), definitions, checks_floats)
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
        return {**made, "keys_schema": _checked(node["keys_schema"], _require_same_key, is_key=True)}
    return made


def _named(node: Any, definitions: Collection[Any]) -> Any:
    """Returns a core schema, or a part of one, in which each choice of a union has the name that pydantic gives it. Places
    of problems have these names, where those of exact types would be our functions'. `definitions`: those of the whole
    schema.
    """
    if isinstance(node, list | tuple):
        return type(node)(_named(part, definitions) for part in node)
    if not isinstance(node, Mapping):
        return node
    made = change_parts(node, lambda _, part: _named(part, definitions), without=_NO_TYPES)
    if _kind(node) == "union":
        pairs = zip(node["choices"], made["choices"], strict=True)
        made["choices"] = [_with_name(old, new, definitions) for old, new in pairs]
    return made


def _with_name(old: Any, new: Any, definitions: Collection[Any]) -> Any:
    if isinstance(old, tuple):  # it has one
        return new
    return new, SchemaValidator(_whole(old, definitions)).title


def _whole(node: Any, definitions: Collection[Any]) -> Any:
    return {"type": "definitions", "schema": node, "definitions": [*definitions]} if definitions else node


def _read_again(node: dict[str, Any], definitions: list[Any]) -> dict[str, Any]:
    """Returns the core schema of what a function gives, which is read as JSON again: strict types take no list of Python's
    for a tuple or a set, and then the whole row would be read laxly.
    """

    @cache
    def validator() -> SchemaValidator:
        return SchemaValidator(_whole(node, definitions), _use_prebuilt=False)

    def read(given: Any, as_json: Callable[[bytes], Any], info: core_schema.ValidationInfo[Any]) -> Any:
        text = _json_of(given)
        if text is None:
            return validator().validate_python(given, strict=True, extra="forbid", context=info.context)
        return as_json(text)

    return dict(core_schema.with_info_wrap_validator_function(read, core_schema.json_schema(node)))


def _json_of(given: Any) -> bytes | None:
    """Returns the JSON text of a value; None for one that JSON does not give back."""
    if isinstance(given, tuple):
        return None
    with suppress(PydanticSerializationError, ValueError):  # also for half a surrogate
        text = to_json(given)
        if isinstance(given, str | int | float) or from_json(text) == given:
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


def _checked(node: Mapping[str, Any], require: Callable[[Any, Any], None], is_key: bool = False) -> dict[str, Any]:
    """Returns the core schema of a type that has no others in it, whose values are checked beside what was given. A union
    learns how well the type fits as it does from pydantic's own: keys, and what pydantic only takes laxly, fit worst.
    """
    validator = SchemaValidator(dict(node))
    inner = core_schema.json_schema({key: part for key, part in node.items() if key != "ref"})
    fits = core_schema.union_schema([*([] if is_key else [inner]), core_schema.url_schema()], mode="left_to_right")

    def read(given: Any, fitting: Callable[[Any], Any]) -> Any:
        text = _json_of(given)
        try:
            value = fitting(text)
        except ValidationError:
            fitting(_FITS_LAXLY)
            value = validator.validate_python(given) if text is None else validator.validate_json(text)
        require(given, value)
        return value

    made = core_schema.no_info_wrap_validator_function(read, fits)
    return {**made, **({"ref": node["ref"]} if "ref" in node else {})}


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
