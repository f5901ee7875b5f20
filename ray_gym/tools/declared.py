"""Makes JSON data of the pydantic models that tools return, and shows nothing that their types don't declare as shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, SchemaSerializer, core_schema, to_jsonable_python

from ray_gym.core_schemas import NO_TYPES, change_parts

Plain = Callable[[Any], Any]
"""Makes plain JSON data of a value, or raises an error for one of which all might be shown."""
PlainKeys = Callable[[Mapping[Any, Any]], Mapping[Any, Any]]
"""Gives a mapping keys that pydantic can dump, or raises an error for two that have one text."""
_UNDECLARED = frozenset({"any", "is-instance", "function-plain"})
"""Kinds of types whose values pydantic dumps as what they happen to be: all fields of a dataclass, say."""
_NO_VALUES = NO_TYPES | {"keys_schema"}
"""Keys of a core schema under which there are no types of values."""


class Refused(Exception):
    """Carries the error of `Plain` out of pydantic's serializer."""


def dump_declared(model: BaseModel, plain: Plain, plain_keys: PlainKeys) -> Any:
    """Returns a pydantic model as JSON data. Where its types don't say what is dumped (`Any`, extra fields), `plain` does;
    NaN stays NaN. `plain_keys` is given each mapping whose keys are not only texts or only whole numbers.

    Errors: those of `plain` and `plain_keys`; ValueError if the model can't be dumped.
    """
    if type(model).model_dump is not BaseModel.model_dump:  # it says itself what it shows
        return model.model_dump(mode="json", by_alias=True)
    serializer = _serializer(type(model), plain, plain_keys)
    try:
        return _dump(serializer, model, "error")
    except PydanticSerializationError as error:
        if isinstance(error.__cause__, Refused):
            raise error.__cause__.args[0] from None
    dumped = _dump(serializer, model, "none")
    for name, field in type(model).model_fields.items():  # one has a value of another type than it declares
        if not field.exclude:
            plain(getattr(model, name))
    return dumped


def _dump(serializer: SchemaSerializer, model: BaseModel, warnings: Literal["error", "none"]) -> Any:
    """Returns a model as JSON data. Errors: PydanticSerializationError, also for a date that is none (pandas' `NaT`)."""
    try:
        return serializer.to_python(model, mode="json", by_alias=True, warnings=warnings)
    except TypeError as error:
        raise PydanticSerializationError(str(error)) from error


@cache
def _serializer(model: type[BaseModel], plain: Plain, plain_keys: PlainKeys) -> SchemaSerializer:
    def write(value: Any) -> Any:
        return _refusing(plain, value)

    def write_mapping(value: Any, handler: Plain) -> Any:
        if isinstance(value, Mapping):
            value = _refusing(plain_keys, value)
        try:
            return handler(value)
        except (PydanticSerializationError, TypeError) as error:  # pydantic would tell its words, and lose its cause
            if isinstance(error.__cause__, Refused):
                raise error.__cause__ from None
            _require_keys(value, plain)
            raise PydanticSerializationError(str(error)) from None

    undeclared = core_schema.any_schema(serialization=core_schema.plain_serializer_function_ser_schema(write))
    mapping = core_schema.wrap_serializer_function_ser_schema(write_mapping)

    def checked(node: Any, is_type: bool = True) -> Any:
        if isinstance(node, list | tuple):
            return type(node)(map(checked, node))
        if not isinstance(node, Mapping):
            return node
        if is_type and node.get("type") in _UNDECLARED and "serialization" not in node:
            return {**undeclared, "ref": node["ref"]} if "ref" in node else undeclared
        if not is_type and node.get("type") == "any":  # `SerializeAsAny`
            return undeclared["serialization"]
        made = change_parts(node, lambda key, part: checked(part, key != "serialization"), without=_NO_VALUES)
        if isinstance(config := node.get("config"), Mapping):
            made["config"] = {"ser_json_inf_nan": "constants", **config}
            if config.get("extra_fields_behavior") == "allow" and "fields" in (inner := made.get("schema", {})):
                made["schema"] = {"extras_schema": undeclared, **inner}
        if node.get("type") == "dict" and (node.get("keys_schema") or {}).get("type") not in ("str", "int"):
            made.setdefault("serialization", mapping)
        return made

    schema = checked(model.__pydantic_core_schema__)
    return SchemaSerializer(schema, {"ser_json_inf_nan": "constants"}, _use_prebuilt=False)


def _require_keys(value: Any, plain: Plain) -> None:
    """Has `plain` refuse the first key of a mapping that JSON can't have, if there is one. Errors: Refused."""
    for key in value if isinstance(value, Mapping) else ():
        try:
            to_jsonable_python({key: None})
        except (TypeError, ValueError):
            _refusing(plain, {key: None})


def _refusing(read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(error) from error
