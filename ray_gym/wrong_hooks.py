"""Finds what is wrong with the hooks of an environment's class before anything is played: one that is missing or misspelt,
or can't be called as one.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from ray_gym.core_schemas import NO_TYPES, parts_of
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.field_types import keys_of
from ray_gym.near_names import is_used, misspelt, with_underscores, written_otherwise
from ray_gym.task import Task

_HOOKS = [name for name in vars(Environment) if not name.startswith("_") and callable(getattr(Environment, name))]
_CLASSES = [name for name in _HOOKS if isinstance(getattr(Environment, name), type)]
_ATTRIBUTES = [name for name in vars(Environment) if not name.startswith("_") and name not in _HOOKS]
_RESERVED_WORDS = (
    *("generate", "opening", "relay", "narrow", "next_speaker", "tools_for", "metrics"),
    *("furnish", "score_group", "finished"),
)
"""Hooks that nobody but a run calls, so that a method with their words and parameters was meant for them. Words of other
hooks are common in helpers (`check_answer`, `score_one`).
"""
_OF_CALLERS = ("narrows", "brings_tools", "renders", "has_metrics")
"""Methods that say what a class overrides, and are no hooks."""
_GIVEN = ("task", "state", "episode", "turn")
"""Names of what hooks of an episode are given: a parameter of such a name is taken for that."""
_MAY_BE_ASYNC = ("setup", "score")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def require_hooks(cls: type[Environment[Any, Any]], where: str) -> None:
    """Checks the hooks of an environment's class. `where`: the part of the input that names it. Errors: UserError with a
    line for each that is wrong.
    """
    if wrong := wrong_hooks(cls):
        raise UserError("\n".join(f"{where}: {line}" for line in wrong))


def wrong_hooks(cls: type[Environment[Any, Any]]) -> list[str]:
    """Returns a line for each hook that the class has to define and does not, for each method or attribute whose
    name is near to that of a hook that its class leaves as it is, and for each hook that can't be called as one (async
    or a generator where it may not be, other parameters, no function); empty if all is well.
    """
    left = [hook for hook in _HOOKS if _is_left(cls, hook)]
    near = {name: hook for base in cls.__mro__ for name, hook in _near(cls, base).items()}
    lines = [f"{cls.__name__}.{name} is near to the hook {hook}: rename one" for name, hook in near.items()]
    required = {"setup": ("setup",), "score": ("score", "score_group")}
    missing = [name for name, any_of in required.items() if set(any_of) <= set(left) - set(near.values())]
    lines += [f"{cls.__name__} defines no {name}, which every environment has to" for name in missing]
    lines += [f"{cls.__name__}.{hook} {why}" for hook in _HOOKS if (why := _unfit(cls, hook))]
    return lines + [f"{cls.__name__}.{name} {why}" for name, why in _wrong_attributes(cls)]


def _near(cls: type[Environment[Any, Any]], base: type) -> dict[str, str]:
    """Returns the names that a class of an environment's line defines and that are near to a hook's or an attribute's
    which the class itself leaves as it is, each with the name that it is near to.
    """
    if base in Environment.__mro__:
        return {}
    own = [name for name in vars(base) if not name.startswith("_") and not hasattr(Environment, name)]
    near = {}
    for name in own:
        if name not in cls.tools:
            left = [hook for hook in _hooks_like(getattr(base, name)) if hook not in vars(base)]
            if hook := misspelt(name, left) or _meant(cls, base, name, left):
                near[name] = hook
    return near


def _hooks_like(value: object) -> list[str]:
    """Returns the hooks and attributes that a value can be meant for: a class, a method, or any other value."""
    if isinstance(value, type):
        return _CLASSES
    return [hook for hook in _HOOKS if hook not in _CLASSES] if callable(value) else [*_ATTRIBUTES, "task_type"]


def _meant(cls: type[Environment[Any, Any]], base: type, name: str, left: Sequence[str]) -> str | None:
    """Returns the hook in `left` for which a name was probably meant that has its words: no method of the class uses the
    name. None if there is none.
    """
    if is_used(name, (one for one in cls.__mro__ if one not in Environment.__mro__)):
        return None
    return written_otherwise(name, left) or _hook_within(cls, base, name)


def _hook_within(cls: type[Environment[Any, Any]], base: type, name: str) -> str | None:
    """Returns the hook for which a method of a class was probably meant, like `get_opening` for `opening`: its words are
    in the method's name, the method has its parameters, and the class leaves both it and `run`, which might call the
    method, as they are. Beside hooks that are common words, the name has only words of parameters (`check_task`). None if
    there is none.
    """
    words = f"_{with_underscores(name)}_"
    for hook in _hooks_like(getattr(base, name)) if _is_left(cls, "run") and callable(getattr(base, name)) else ():
        if f"_{hook}_" in words and _is_left(cls, hook):
            expected, own = _parameters(Environment, hook), _parameters(base, name)
            if expected is None or own is None or list(own.parameters) != list(expected.parameters):
                continue
            others = words.replace(f"_{hook}_", "_").strip("_").split("_")
            if hook in _RESERVED_WORDS or set(others) <= set(expected.parameters):
                return hook
    return None


def _is_left(cls: type[Environment[Any, Any]], hook: str) -> bool:
    """Says whether a class leaves a hook as it is."""
    return _function(cls, hook) is _function(Environment, hook)


def _unfit(cls: type[Environment[Any, Any]], hook: str) -> str | None:
    """Returns why a hook of a class can't be called as a hook; None if it can."""
    function = _function(cls, hook)
    if isinstance(_function(Environment, hook), type):
        return None  # an attribute that is a class
    if hook in _OF_CALLERS and not _is_left(cls, hook):
        close = [name for name in difflib.get_close_matches(hook, _HOOKS, cutoff=0.7) if name not in _OF_CALLERS]
        return "is a name that is used here: rename it" + (f"; did you mean {close[0]}?" if close else "")
    if not callable(function):
        return f"is the name of a hook, and no function (found {function!r:.60})"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "has a yield: return the value instead"
    if hook == "metrics" and isinstance(inspect.getattr_static(cls, hook), FunctionType):
        return "is called on the class: write @classmethod above it"
    is_async = inspect.iscoroutinefunction(_function(Environment, hook)) or hook in _MAY_BE_ASYNC
    if inspect.iscoroutinefunction(function) and not is_async:
        return "is async, and nothing awaits it: write it without async"
    expected, own = _parameters(Environment, hook), _parameters(cls, hook)
    if expected is not None and own is not None:
        try:
            own.bind(*expected.parameters)
        except TypeError:
            fits = False
        else:
            fits = not any(map(partial(_is_anothers, tuple(expected.parameters)), own.parameters, expected.parameters))
        if not fits:
            return f"takes ({', '.join(own.parameters)}), and is called with ({', '.join(expected.parameters)})"
    return None


def _is_anothers(of_hook: Sequence[str], own: str, given: str) -> bool:
    """Says whether a parameter has the name of something else that this hook, or most others, are given. A state may be
    the task. `of_hook`: names of what the hook is given; `given`: name of what is given in this place.
    """
    if own == given:
        return False
    return own in of_hook or (own in _GIVEN and given in _GIVEN and (own, given) != ("task", "state"))


def _wrong_attributes(cls: type[Environment[Any, Any]]) -> Iterator[tuple[str, str]]:
    """Yields the attributes of a class that are not of their kind, each with what it has to be. One that is a property
    is known only when there is an object.
    """
    for name in ("participants", "auxiliary"):
        given = getattr(cls, name)
        if not isinstance(given, property | list | tuple) or not all(isinstance(one, str) for one in _items(given)):
            yield name, f'has to be names in a tuple, like ("policy",) with its comma (found {given!r:.60})'
    names = [*_items(cls.participants), *_items(cls.auxiliary)]
    if twice := [name for name in names if names.count(name) > 1]:
        yield "participants", f"and auxiliary have {twice[0]!r} twice: each has one part in an episode"
    for name in ("opening_observes", "opens_outside", "uses_sandbox"):
        if not isinstance(given := getattr(cls, name), bool | property):
            yield name, f"has to be True or False (found {given!r:.60})"
    if cls.uses_sandbox is False and not _is_left(cls, "furnish") and _is_left(cls, "__init__"):
        yield "furnish", "is never called: set uses_sandbox = True"
    if callable(getattr(cls, "options", None)):
        yield "options", "is a name that is used here: rename it"
    pair = cls.reward_range
    if not isinstance(pair, property) and not _is_range(pair):
        yield "reward_range", f"has to be two numbers, the lowest reward first (found {pair!r:.60})"
    for name, base in (("Options", BaseModel), ("task_type", Task)):
        given = getattr(cls, name)
        if not (isinstance(given, type) and issubclass(given, base)):
            where = _where_types_are(given) if name == "task_type" else ""
            yield name, f"has to be a subclass of {base.__name__} (found {given!r:.60}){where}"
    if isinstance(cls.Options, type) and issubclass(cls.Options, BaseModel):
        taken = [name for name, field in cls.Options.model_fields.items() if "id" in keys_of(name, field)]
        yield from (
            (f"Options.{name}", "has the key by which a config names the environment, id: rename it") for name in taken
        )
    if isinstance(cls.task_type, type) and issubclass(cls.task_type, Task):
        for field, why in _wrong_fields(cls.task_type):
            yield f"task_type: {field}", why
    making = inspect.signature(cls)
    try:
        making.bind(None)
    except TypeError:
        yield "__init__", f"takes {making}, and is called with (options)"


def _where_types_are(given: Any) -> str:
    where = ", the first type in Environment[...]"
    if isinstance(given, ForwardRef):
        return f"{where}: define {given.__forward_arg__} in the same module, above the environment"
    return where


def _wrong_fields(task_type: type[Task]) -> Iterator[tuple[str, str]]:
    """Yields the fields that a task type may not have as they are, each with what to do."""
    for name, field in Task.model_fields.items():
        own = task_type.model_fields.get(name)
        if own is None or not _bare_types(own.annotation) <= _bare_types(field.annotation):
            yield (
                f"{task_type.__name__}.{name}",
                "is a field of every task, of another type: leave it out, or rename yours",
            )
    prompts = _parameters(task_type, "prompts")
    if "prompts" in task_type.model_fields or prompts is None or prompts.parameters:
        yield f"{task_type.__name__}.prompts", "is a name that is used here: rename it"
    for path in dict.fromkeys(_read_once(task_type.__pydantic_core_schema__, task_type.__name__)):
        yield path, "is an Iterable, which can be read once: make it a list"


def _bare_types(hint: Any) -> set[Any]:
    """Returns the types that a hint names, without what limits their values."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bare_types(arguments[0])
    if origin in (Union, UnionType):
        return set().union(*map(_bare_types, arguments))
    if origin is Literal:
        return set(map(type, arguments))
    return {(origin, *(frozenset(_bare_types(argument)) for argument in arguments))} if arguments else {hint}


def _read_once(schema: Any, path: str) -> Iterator[str]:
    """Yields the paths of the fields in a core schema, or a part of one, that are iterators."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "generator":
            yield path
        for name, part in parts_of(schema, without=NO_TYPES):
            yield from _read_once(part, f"{path}.{name}" if name else path)
    elif isinstance(schema, list | tuple):
        for part in schema:
            yield from _read_once(part, path)


def _items(given: Any) -> Iterable[Any]:
    return given if isinstance(given, list | tuple) else ()


def _is_range(pair: Any) -> bool:
    numbers = isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(one, int | float) for one in pair)
    return numbers and pair[0] <= pair[1]


def _parameters(cls: type, hook: str) -> inspect.Signature | None:
    """Returns the parameters of a hook as it is called on an object; None for one that is no plain function."""
    static = inspect.getattr_static(cls, hook)
    if not isinstance(static, FunctionType | classmethod | staticmethod):
        return None
    signature = inspect.signature(getattr(cls, hook))
    parameters = list(signature.parameters.values())
    if isinstance(static, FunctionType) and parameters and parameters[0].kind in _POSITIONAL:
        parameters = parameters[1:]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _function(cls: type, name: str) -> Any:
    """Returns the function behind a method or a class method."""
    method = getattr(cls, name)
    return getattr(method, "__func__", method)
