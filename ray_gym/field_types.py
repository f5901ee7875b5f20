"""Reads what pydantic models say of their fields: the types below a location, and whether keys that no field has are
refused there.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic.fields import FieldInfo

UNKNOWN_KEY = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
"""Kinds of pydantic's problems that say that no field has a key."""


def refuses_key(model: type[BaseModel], problem: Mapping[str, Any]) -> bool:
    """Says whether a problem of a validation with `extra="forbid"` is a key that no field has, and that is refused: the
    model that it is given to does not say itself that it allows or ignores others. pydantic alone would drop a misspelt
    key of a nested model without a word.

    `problem`: one of `ValidationError.errors()`. Where a union has several models, one that says so is enough.
    """
    kinds = kinds_at(model, problem["loc"][:-1])
    return problem["type"] in UNKNOWN_KEY and not any(_extra_of(kind) in ("allow", "ignore") for kind in kinds)


def _extra_of(kind: Any) -> str | None:
    """Returns how a type itself says that it treats keys that none of its fields has; None if it does not say."""
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    extra: str | None = config.get("extra")
    return extra


def kinds_at(annotation: Any, location: Sequence[Any]) -> list[Any]:
    """Returns the types that are allowed at a location (keys and indices) below a type, by walking the models' fields.
    For a union these are all its members.
    """
    kinds = kinds_of(annotation)
    for part in location:  # where a union's kinds are told apart, a part is the name of one
        inside = [inner for kind in kinds for inner in types_inside(kind, part)]
        kinds = inside or [kind for kind in kinds if _has_value(kind, part)] or kinds
    return kinds


def _has_value(kind: Any, value: Any) -> bool:
    """Says whether a member of a union may have this value in a field by which the members are told apart."""
    return any(value in get_args(one) for one in fields_of(kind).values() if get_origin(one) is Literal)


def kinds_of(annotation: Any) -> list[Any]:
    """Returns the types that an annotation allows: `X | Y | None` is X or Y; `Annotated[X, ...]` is X."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for member in get_args(annotation) if member is not type(None) for kind in kinds_of(member)]
    if hasattr(annotation, "__metadata__"):
        return kinds_of(annotation.__origin__)
    return [annotation]


def types_inside(kind: Any, part: Any) -> list[Any]:
    """Returns the types that a model, a mapping or a sequence allows under a key or index."""
    if isinstance(kind, type) and issubclass(kind, RootModel):
        roots = kinds_of(kind.model_fields["root"].annotation)
        return [inner for root in roots for inner in types_inside(root, part)]
    fields, arguments = fields_of(kind), get_args(kind)
    if part in fields:
        return kinds_of(fields[part])
    if get_origin(kind) in (dict, Mapping):
        return kinds_of(arguments[-1])
    if get_origin(kind) in (list, tuple, set, frozenset, Sequence):
        return [inner for argument in arguments if argument is not Ellipsis for inner in kinds_of(argument)]
    return []


def fields_of(annotation: Any) -> dict[str, Any]:
    """Returns the types of the fields of a model, a dataclass or a TypedDict by the keys for them; {} for other types."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        own = annotation.model_fields.items()
        return {key: field.annotation for name, field in own for key in keys_of(name, field)}
    if hasattr(annotation, "__dataclass_fields__") or hasattr(annotation, "__required_keys__"):
        try:
            hints = get_type_hints(annotation, include_extras=True)
        except NameError:  # a class inside of a function
            hints = dict(annotation.__annotations__)
        fields = {one.name for one in dataclasses.fields(annotation)} if dataclasses.is_dataclass(annotation) else hints
        return {name: hint for name, hint in hints.items() if name in fields}
    return {}


def keys_of(name: str, field: FieldInfo) -> list[str]:
    """Returns the keys that the input may use for a field of a model: its name and its aliases. Of an alias that is a
    path, it is the first key.
    """
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    aliases = [str(choice.path[0]) if isinstance(choice, AliasPath) else choice for choice in choices if choice]
    return list(dict.fromkeys([name, *aliases]))
