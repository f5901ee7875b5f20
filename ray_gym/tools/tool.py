"""Defines tools: typed methods of an environment that participants may call.

A tool is a method `(self, state, caller, ...)` under `@tool`; its further parameters are the arguments that a call gives,
by name. Its JSON schema comes from its signature. The arguments that a model writes are validated against it strictly
("3" is not accepted for 3). A model gets its mistakes as answers with an error; they never fail the episode.

Tools of a task or a library have a JSON schema and no method of their own: by `tool_by_schema` one method answers for
all of them.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import update_wrapper
from types import FunctionType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined
from pydantic_core.core_schema import ModelSchema

from ray_gym.errors import code_place, describe
from ray_gym.messages import ToolSchema
from ray_gym.tools.answer import IdempotencyKey, WhenLost
from ray_gym.tools.arguments import Arguments, ArgumentsByModel, ArgumentsBySchema

Method = TypeVar("Method", bound=Callable[..., Any])
_MARK = "__ray_gym_tool__"
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
_GATHERING = {
    inspect.Parameter.VAR_POSITIONAL: "arguments are given by name: drop the *, and take a list",
    inspect.Parameter.VAR_KEYWORD: "a schema names each argument: name them, or drop the **, and take a dict",
}
"""Kinds of parameters that gather arguments, each with what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """Holds the options of a tool. The class is used as the decorator `@tool(...)`, which makes a method a tool.

    Errors: TypeError for options that contradict each other.
    """

    participants: tuple[str, ...] | None = None
    """Names of the participants who may call the tool; None means everyone."""

    blocking: bool = False
    """Run it in a thread, for code that would hold up the event loop.

    A thread can't be killed: code that may never return is better isolated."""

    isolated: bool = False
    """Run it in a process of its own, for code that may crash, hang or eat memory.

    It works on a copy of the state: **what it changes in the state is lost**, only its result comes back. So state and
    arguments must be picklable, and so must the environment. At the deadline the process is killed, with all that it
    started. It is forked from a process that has imported the environment's module, which must not start threads when
    it is imported."""

    memory_mb: int | None = None
    """Megabytes that an isolated tool may take beyond the imported modules; more raises MemoryError in it. None means
    no limit.
    """

    effect: WhenLost | None = None
    """Says that the tool changes something outside of the episode: it books, pays, sends. None means that it does not.

    It is then called once, even if its worker dies: its answer is recorded, and given again when the episode is
    resumed, **without running its code**, so it must not change the state (a tool that has to do both awaits
    `episode.effect`). If its worker died in the middle, "retry" calls it again, "fail" fails the episode. A parameter
    with the type `IdempotencyKey` gets a key that is the same in every attempt; models don't see it.
    """

    def __new__(cls, *given: object, **options: object) -> ToolOptions:
        """Makes the options. Errors: TypeError for `@tool` without parentheses, and for an unknown option."""
        if given:
            name = getattr(given[0], "__name__", "the method")
            raise TypeError(f"write @tool() above {name}, with parentheses; options of it are given by name")
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                meant = "".join(f"did you mean {near}? " for near in get_close_matches(name, known, n=1))
                raise TypeError(f"@tool: there is no option {name}; {meant}the options are: {', '.join(known)}")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        names = self.participants
        if names is not None and (isinstance(names, str) or not all(isinstance(name, str) for name in names)):
            hint = f"; write ({names!r},), with a comma" if isinstance(names, str) else ""
            raise TypeError(f"@tool: participants is a tuple of names (found {names!r:.60}){hint}")
        if names is not None and not names:
            raise TypeError("@tool: participants: nobody may call it; leave it out, or name one")
        if self.effect not in (None, *get_args(WhenLost)):
            raise TypeError(
                f"@tool: effect is one of {', '.join(map(repr, get_args(WhenLost)))} (found {self.effect!r:.60})"
            )
        for name, given in (("blocking", self.blocking), ("isolated", self.isolated)):
            if not isinstance(given, bool):
                raise TypeError(f"@tool: {name} is True or False (found {given!r:.60})")
        if self.isolated and self.blocking:
            raise TypeError("@tool: an isolated tool holds up no event loop; drop blocking=True")
        most = self.memory_mb
        if most is not None and (type(most) is not int or most <= 0):
            raise TypeError(f"@tool: memory_mb is a whole number of megabytes, from 1 (found {most!r:.60})")
        if most is not None and not self.isolated:
            raise TypeError("@tool: memory_mb is an option of a tool with isolated=True")

    def __call__(self, method: Method) -> Method:
        """Marks a method as a tool with these options, and returns it. Errors: TypeError for something else than a
        function, as a class method is, and for an async method with `blocking=True`.
        """
        if not callable(method):
            raise TypeError(f"@tool: {method!r:.80} is no method that can be called with (self, state, caller, ...)")
        if self.blocking and inspect.iscoroutinefunction(method):
            raise TypeError(
                f"@tool: {method.__name__} is async, and would not run in a thread; drop async or blocking=True"
            )
        setattr(method, _MARK, self)
        return method

    def takes_time(self, method: Callable[..., Any]) -> bool:
        """Returns True if other code of the episode may run while the method does: it is async, or runs in a thread or
        a process.
        """
        return self.blocking or self.isolated or inspect.iscoroutinefunction(method)


tool = ToolOptions
"""Decorator for a method that is a tool, e.g. `@tool(participants=("policy",))`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Holds one tool of an environment: its schema, and how to call it."""

    schema: ToolSchema
    arguments: Arguments
    options: ToolOptions = ToolOptions()
    key_parameter: str | None = None
    """Name of the parameter that gets the idempotency key; None if no parameter does."""

    takes_time: bool = False
    """True if other code of the episode may run while the tool does: it is async, or runs in a thread or a process."""
    method: Callable[..., Any] | None = None
    """Function that answers for a tool which came with a task or a library (`tool_by_schema`): it gets the tool's name, and
    the arguments as one dict. None means the environment's method of the tool's name.
    """

    @property
    def participants(self) -> tuple[str, ...] | None:
        """Returns the names of the participants who may call the tool; None means everyone."""
        return self.options.participants

    def offered_to(self, participant: str) -> bool:
        """Returns True if the participant may call the tool."""
        return self.participants is None or participant in self.participants


def tools_of(environment_class: type) -> dict[str, Tool]:
    """Returns the tools of an environment class by name, base classes first, in the order of their definitions.

    Errors: TypeError if a tool lacks the parameters `state` and `caller`, another parameter has no type or can't be read
    from JSON, or one has the type `IdempotencyKey` although the tool has no effect; if a decorator hides a tool; if a
    subclass replaces a tool by something without `@tool()` that can't be called as the tool is.
    """
    found: dict[str, Tool] = {}
    methods: dict[str, Callable[..., Any]] = {}
    for base in reversed(environment_class.__mro__):
        for name, member in vars(base).items():
            options = getattr(member, _MARK, None)
            if options is not None:
                found[name], methods[name] = _read_tool(name, member, options), member
            elif _hides_tool(name, member):
                raise TypeError(
                    f"{base.__name__}.{name}: a decorator hides @tool() below it: write @tool() above the others"
                )
            elif name in methods and (why := _why_none(member, methods[name])):
                raise TypeError(
                    f"{base.__name__}.{name} replaces the tool{code_place(methods[name])}, and {why}: write @tool() above "
                    f"it, take {inspect.signature(methods[name])}, or rename it"
                )
    return found


def tool_by_schema(
    schema: ToolSchema,
    method: Callable[..., Any],
    *,
    participants: tuple[str, ...] | None = None,
    blocking: bool = False,
    effect: WhenLost | None = None,
) -> Tool:
    """Returns a tool whose JSON schema is given as data, for `Environment.tools_for`.

    `method`: a method of the environment or of another object, or a function, that is called with `(state, caller, name,
    arguments)`. It may answer for any number of tools, and gets arguments that fit the schema. The other options are
    those of `@tool`.

    Errors: ValueError if the schema has no name, or its parameters are no JSON schema of an object, or refer to something
    outside of it; TypeError if the method can't be called so.
    """
    if not schema.name:
        raise ValueError("a tool needs a name")
    _require_answering(schema.name, method)
    try:
        arguments = ArgumentsBySchema(schema.parameters)
    except ValueError as error:
        raise ValueError(f"tool {schema.name}: parameters: {error}") from None
    options = ToolOptions(participants=participants, blocking=blocking, effect=effect)
    return Tool(schema, arguments, options, takes_time=options.takes_time(method), method=method)


def _require_answering(name: str, method: Callable[..., Any]) -> None:
    """Checks that a function can answer for a tool of that name, whose schema is data. Errors: TypeError."""
    try:
        with suppress(ValueError):  # a function of C may have no signature
            inspect.signature(method).bind(None, None, name=name, arguments={})
    except TypeError as error:
        told = f"{getattr(method, '__qualname__', repr(method))}{code_place(method)}"
        raise TypeError(f"tool {name}: {told} can't be called with (state, caller, name, arguments): {error}") from None


def _hides_tool(name: str, member: object) -> bool:
    """Says whether a decorator has put something without the tool's mark around a tool of that name."""
    within = [getattr(member, key, None) for key in ("__func__", "fget", "func")]
    for cell in getattr(member, "__closure__", None) or ():
        with suppress(ValueError):  # an empty cell
            within.append(cell.cell_contents)
    return any(isinstance(inner, FunctionType) and inner.__name__ == name and hasattr(inner, _MARK) for inner in within)


def _why_none(member: Any, method: Callable[..., Any]) -> str:
    """Returns why something can't replace a tool's method under its schema; "" if it can."""
    expected = list(inspect.signature(method).parameters)
    try:
        own = inspect.signature(member)
        own.bind(*expected[:3], **dict.fromkeys(expected[3:]))
    except (TypeError, ValueError):
        return "can't be called as that is"
    beyond = [
        one.name for one in list(own.parameters.values())[3:] if one.kind not in _GATHERING and one.name not in expected
    ]
    return f"takes {beyond[0]} beside, which no model is shown" if beyond else ""


def _read_tool(name: str, method: Callable[..., Any], options: ToolOptions) -> Tool:
    place = code_place(method)
    parameters = list(inspect.signature(method).parameters.values())
    names = [parameter.name for parameter in parameters]
    is_of_model = len(names) > 2 and _is_of_model(name, method, names[2])
    is_by_position = len(parameters) > 2 and parameters[2].kind not in _BY_NAME
    if not is_by_position or names[1] in ("caller", "episode") or names[2] in ("state", "episode") or is_of_model:
        raise TypeError(f"tool {name}{place}: expected (self, state, caller, ...), found {inspect.signature(method)}")
    hints = _types_of(name, method, names[3:])
    fields: dict[str, Any] = {}
    key_parameter = None
    for parameter in parameters[3:]:
        if parameter.kind in _GATHERING:
            raise TypeError(f"tool {name}{place}: parameter {parameter.name}: {_GATHERING[parameter.kind]}")
        if parameter.name not in hints:
            raise TypeError(f"tool {name}{place}: parameter {parameter.name} has no type")
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise TypeError(f"tool {name}{place}: parameter {parameter.name} is given by name: drop the / behind it")
        if hints[parameter.name] is IdempotencyKey:
            key_parameter = parameter.name
            continue
        hint = hints[parameter.name]
        default = _default_in(hint) if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (_with_none(hint) if _is_none(default) else hint, default)
    config = ConfigDict(extra="forbid")
    arguments, schema_of_arguments = _model_of(f"tool {name}{place}", f"{name}_arguments", config, fields)
    schema = ToolSchema(name, inspect.cleandoc(method.__doc__ or ""), schema_of_arguments)
    if key_parameter and not options.effect:
        raise TypeError(
            f"tool {name}{place}: {key_parameter} is an IdempotencyKey, which only a tool with effect=... gets"
        )
    return Tool(schema, ArgumentsByModel(arguments), options, key_parameter, options.takes_time(method))


def _is_of_model(name: str, method: Callable[..., Any], parameter: str) -> bool:
    """Says whether a tool's third parameter, by its name and type, is an argument that a model gives, and no caller."""
    if parameter == "caller":
        return False
    try:
        hint = _types_of(name, method, [parameter]).get(parameter)
    except TypeError:
        return False  # a type that only type checkers see
    return hint in (int, float, str, bool) or get_origin(hint) in (list, dict, Literal)


def _default_in(hint: Any) -> Any:
    """Returns the default that a `Field` in an `Annotated` has; an ellipsis if there is none."""
    given = [one.default for one in get_args(hint)[1:] if isinstance(one, FieldInfo)]
    return next((one for one in given if one is not PydanticUndefined), ...) if get_origin(hint) is Annotated else ...


def _is_none(default: Any) -> bool:
    """Says whether a parameter's default is None, also one in a `Field`: then None is a value of it, whatever its type."""
    return (default.default if isinstance(default, FieldInfo) else default) is None


def _with_none(hint: Any) -> Any:
    """Returns a type of which None is a value, too. What a `Field` says of it stays outermost, where pydantic reads names
    and descriptions.
    """
    if get_origin(hint) is not Annotated:
        return hint | None
    inner, *beside = get_args(hint)
    if get_origin(inner) in (Union, UnionType) and type(None) in get_args(inner):
        return hint
    of_values = [one for one in beside if not isinstance(one, FieldInfo)]
    of_field = [one for one in beside if isinstance(one, FieldInfo)]
    value = Annotated[(inner, *of_values)] if of_values else inner
    return Annotated[(value | None, *of_field)] if of_field else value | None


class _ClosedModels(GenerateJsonSchema):
    """Writes JSON schemas in which nested models refuse keys that no field has, as `ArgumentsByModel` does, unless they
    say otherwise themselves.
    """

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        is_closed = "extra" not in schema["cls"].model_config and not schema.get("root_model")
        return {**made, "additionalProperties": False} if is_closed else made


def _plain_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON schema of the arguments without pydantic's titles, which only cost tokens."""

    def without_titles(node: Any, has_names: bool = False) -> Any:
        if isinstance(node, dict) and has_names:
            return {name: without_titles(schema) for name, schema in node.items()}
        if isinstance(node, dict):
            return {
                key: value if key in ("default", "examples") else without_titles(value, key in ("properties", "$defs"))
                for key, value in node.items()
                if key != "title" and not (key == "default" and _is_endless(value))
            }
        return [without_titles(item) for item in node] if isinstance(node, list) else node

    schema: dict[str, Any] = without_titles(arguments.model_json_schema(schema_generator=_ClosedModels))
    return {"type": "object", "properties": {}, **schema}


def _types_of(name: str, method: Callable[..., Any], parameters: Collection[str]) -> dict[str, Any]:
    """Returns the types of some of a tool's parameters by name. Errors: TypeError if one of them can't be read."""

    def of_those() -> None: ...

    try:
        update_wrapper(of_those, method)
        of_those.__annotations__ = {key: hint for key, hint in method.__annotations__.items() if key in parameters}
        return get_type_hints(of_those, include_extras=True)
    except Exception as error:
        raise TypeError(
            f"tool {name}{code_place(method)}: the types of {inspect.signature(method)} can't be read: {describe(error)}"
        ) from None


def _is_endless(value: Any) -> bool:
    """Says whether data holds infinity or NaN, which JSON does not have."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return True
    return False


def _model_of(
    tool: str, name: str, config: ConfigDict, fields: dict[str, Any]
) -> tuple[type[BaseModel], dict[str, Any]]:
    """Returns the model of a tool's arguments, and their JSON schema. `tool`: the tool with its place; `name`: the model's.
    Errors: TypeError that names the parameter whose type or name an argument can't have.
    """
    fault: Exception | None = None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Field name .* shadows", UserWarning)  # json, copy
            model: type[BaseModel] = create_model(name, __config__=config, **fields)
        schema = _plain_schema(model)
        if model.model_fields.keys() == fields.keys():
            return model, schema
    except Exception as error:
        fault = error
    for parameter, field in fields.items():
        if (why := _misfit("value", field)) is not None:
            kind = inspect.formatannotation(field[0])
            raise TypeError(f"{tool}: parameter {parameter}: {kind} can't be read from JSON: {why}")
        if _misfit(parameter, field) is not None:
            raise TypeError(
                f"{tool}: parameter {parameter}: pydantic has no field of that name: rename it (models are shown "
                f'{parameter} nevertheless with the type Annotated[..., Field(alias="{parameter}")])'
            )
    raise TypeError(f"{tool}: its parameters can't be read from JSON: {fault}")


def _misfit(name: str, field: Any) -> str | None:
    """Returns why a pydantic model can't have a field; None if it can. `field`: the type and the default."""
    try:
        model: type[BaseModel] = create_model("Arguments", **{name: field})
        _plain_schema(model)
    except Exception as error:
        return str(error).splitlines()[0]
    return None if name in model.model_fields else "pydantic takes it for no field"
