"""Reads the tools of OpenAI's APIs as functions, under names by which a model can call them.

A namespace's functions have its name before theirs, and its description before theirs; a free-form tool becomes a
function of one text; tools of all other types, which a service would carry out itself, such as a search of the web, are
left out. Calls and results in the agent's messages are read alike (`input_items`), and what the model calls is written as the agent has
sent it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from ray_gym.messages import SCHEMA_FIELDS, TOOL_FIELDS
from ray_gym.openai_api.free_form import CUSTOM, INPUT, as_function, spelled_out, text_of
from ray_gym.openai_api.left_out import is_plain_name
from ray_gym.openai_api.parts import asks_something

Json = dict[str, Any]
HOSTED = frozenset(
    {"web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11", "file_search"}
    | {"code_interpreter", "computer", "computer_use", "computer_use_preview", "mcp", "image_generation", "local_shell"}
    | {"shell", "apply_patch", "tool_search", "programmatic_tool_calling"}
)
"""Types of tools that are a service's own, or the model's maker's, as a choice of tools may have them."""
NAMESPACE = "namespace"
_OF_NAMESPACES = frozenset({"type", "name", "description", "tools"})
_OF_FREE_FORM = TOOL_FIELDS | {CUSTOM, "format"}
"""Fields of namespaces and of free-form tools that are read, or change nothing."""
_READ = frozenset({"function", CUSTOM, NAMESPACE})
"""Types of tools that are read."""
_LARGEST = 100_000
"""Most bytes of tools that are remembered."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """Says how an agent knows a tool."""

    name: str
    namespace: str | None = None
    is_free_form: bool = False


@dataclass(slots=True)
class OfferedTools:
    """Holds the tools of a request as functions, and what was left out."""

    functions: list[Json] = field(default_factory=list)
    """Functions, in OpenAI's form."""
    known_as: dict[str, AgentTool] = field(default_factory=dict)
    """Tools that the agent knows in another way than as a function of this name."""
    left_out: list[str] = field(default_factory=list)
    flat_names: dict[tuple[str, str], str] = field(default_factory=dict)
    """Names under which a model knows the tools of namespaces, by the namespace's name and the tool's."""
    taken: set[str] = field(default_factory=set)
    """Names of functions that no other tool may have."""

    def copy(self) -> OfferedTools:
        """Returns a copy to which more can be added. It shares the functions."""
        return OfferedTools(*(getattr(self, name).copy() for name in self.__slots__))

    def flat_name(self, namespace: Any, name: Any) -> str:
        """Returns the name under which a model knows a tool, be it of a namespace or of none."""
        return self.flat_names.get((str(namespace or ""), str(name)), _joined(namespace, name))


@dataclass(frozen=True, slots=True)
class _Space:
    """Holds the name and the description of a namespace, with those that it is in. Both may be empty."""

    name: str = ""
    description: str = ""

    def within(self, namespace: Mapping[str, Any]) -> _Space:
        """Returns a namespace that is in this one."""
        name, told = namespace.get("name"), namespace.get("description") or ""
        return _Space(
            _joined(self.name, name) if name else self.name, "\n\n".join(filter(None, (self.description, told)))
        )


def read_offered(given: Sequence[Any]) -> OfferedTools:
    """Reads tools of any type. What is no tool stays as it is, so that it is refused. Those of recent calls, which an
    agent sends again with each, are remembered.
    """
    try:
        written = msgspec.json.encode(given)
    except (UnicodeEncodeError, RecursionError):
        return _read(given)
    if len(written) > _LARGEST:
        return _read(given)
    return _read_written(written).copy()


@lru_cache(maxsize=64)
def _read_written(written: bytes) -> OfferedTools:
    return _read(msgspec.json.decode(written))


def _read(given: Sequence[Any]) -> OfferedTools:
    offered = OfferedTools()
    found = list(_spread(given, _Space(), offered))
    offered.taken.update(_name_of(tool) for space, tool in found if not space.name)
    for space, tool in found:
        if not _is_left_out(tool, offered):
            _add(offered, space, tool)
    return offered


def offers_only_functions(body: Mapping[str, Any]) -> bool:
    """Returns True if a body offers no tools but functions, as all servers take them."""
    tools = body.get("tools")
    given = tools if isinstance(tools, list) else ()
    return all(not isinstance(tool, Mapping) or tool.get("type") == "function" for tool in given)


def plain_choice(choice: Any, offered: OfferedTools) -> Any:
    """Returns a choice of tools in which each is a function under the name that the model knows. A choice that only tools
    which are left out could meet becomes `auto`, which is noted.
    """
    if choice == "required" and offered.left_out and not offered.functions:
        return _left_to_the_model(choice, offered)
    if not isinstance(choice, Mapping):
        return choice
    kind = kind_of(choice)
    if _is_of_no_function(choice, offered):
        return _left_to_the_model(kind, offered)
    if kind in ("function", CUSTOM) and "name" in choice:
        return _plain_tool(choice, offered)
    if kind == CUSTOM and CUSTOM in choice:
        return {
            **{name: choice[name] for name in choice if name != CUSTOM},
            "type": "function",
            "function": choice[CUSTOM],
        }
    if kind == "allowed_tools" and isinstance(choice.get(kind), Mapping):
        inner = plain_choice({"type": kind, **choice[kind]}, offered)
        return {**choice, kind: inner} if isinstance(inner, Mapping) else inner
    if kind == "allowed_tools" and isinstance(choice.get("tools"), list):
        kept = [one for one in choice["tools"] if not _is_of_no_function(one, offered)]
        if choice["tools"] and not kept:
            return _left_to_the_model(kind, offered)
        return {**choice, "tools": [_plain_tool(one, offered) if isinstance(one, Mapping) else one for one in kept]}
    return choice


def as_known(item: Json, known_as: Mapping[str, AgentTool]) -> Json:
    """Returns a call of the model as its agent knows the tool."""
    tool = known_as.get(item["name"]) if item["type"] == "function_call" else None
    if tool is None:
        return item
    if tool.is_free_form:
        kept = {name: item[name] for name in ("id", "call_id", "status")}
        space = {} if tool.namespace is None else {"namespace": tool.namespace}
        return {"type": "custom_tool_call", **kept, "name": tool.name, **space, INPUT: text_of(item["arguments"])}
    return {**item, "name": tool.name, "namespace": tool.namespace}


def _spread(given: Sequence[Any], space: _Space, offered: OfferedTools) -> Iterator[tuple[_Space, Any]]:
    """Yields the tools of a list and those of its namespaces, each after its namespace. Notes a namespace without any."""
    for tool in given:
        if kind_of(tool) == NAMESPACE and tool.get("tools") is None:
            offered.left_out.append(f"tools.{NAMESPACE}")
        elif _is_namespace(tool):
            _followed(tool, _OF_NAMESPACES, offered)
            yield from _spread(tool["tools"], space.within(tool), offered)
        else:
            yield space, {**tool, "type": "function"} if _is_of_anthropic(tool) else tool


def _is_of_anthropic(tool: Any) -> bool:
    """Returns True for a function of Anthropic's API, whose type is that of OpenAI's free-form tools, but with a schema."""
    return kind_of(tool) == CUSTOM and any(asks_something(tool.get(field)) for field in SCHEMA_FIELDS)


def _is_namespace(tool: Any) -> bool:
    is_one = kind_of(tool) == NAMESPACE and isinstance(tool.get("tools"), list)
    return is_one and all(isinstance(tool.get(name), str | None) for name in ("name", "description"))


def _add(offered: OfferedTools, space: _Space, tool: Any) -> None:
    """Adds a tool as a function under a name that no other has. One without a name stays as it is."""
    is_free_form, name = kind_of(tool) == CUSTOM, _name_of(tool)
    if not name:
        offered.functions.append(as_function(tool) if is_free_form else tool)
        return
    flat = _own_name(offered, space.name, name) if space.name else name
    if is_free_form or space.name:
        offered.known_as[flat] = AgentTool(name, space.name or None, is_free_form)
    function = _free_form(tool, offered) if is_free_form else _followed(tool, TOOL_FIELDS, offered)
    offered.functions.append(_renamed(function, flat, space.description))


def _free_form(tool: Mapping[str, Any], offered: OfferedTools) -> Json:
    """Returns a free-form tool as a function. Notes a format that can't be told in words."""
    form = spelled_out(_followed(tool, _OF_FREE_FORM, offered)).get("format")
    if asks_something(form) and kind_of(form) not in ("text", "grammar"):
        offered.left_out.append("tools.format")
    return as_function(tool)


def _followed(tool: Mapping[str, Any], known: Collection[str], offered: OfferedTools) -> Json:
    """Returns a tool without the fields that are not `known` and ask for something, which is noted."""
    kept: Json = {}
    for name, value in tool.items():
        if name in ("function", CUSTOM) and isinstance(value, Mapping):
            kept[name] = _followed(value, known, offered)
        elif name in known or not asks_something(value) or not is_plain_name(f"tools.{name}"):
            kept[name] = value
        else:
            offered.left_out.append(f"tools.{name}")
    return kept


def _renamed(function: Mapping[str, Any], name: str, described: str) -> Json:
    """Returns a function under another name, with a text before its description."""
    inner = function.get("function")
    if isinstance(inner, Mapping):
        return {**function, "function": _renamed(inner, name, described)}
    own = function.get("description") or ""
    told = "\n\n".join(filter(None, (described, own))) if isinstance(own, str) else own
    return {**function, "name": name, **({"description": told} if described else {})}


def _own_name(offered: OfferedTools, namespace: str, name: str) -> str:
    """Returns the name under which the model knows a tool of a namespace: one that no other tool has."""
    key = namespace, name
    if key not in offered.flat_names:
        plain = flat = _joined(namespace, name)
        number = 2
        while flat in offered.taken:
            flat, number = f"{plain}_{number}", number + 1
        offered.taken.add(flat)
        offered.flat_names[key] = flat
    return offered.flat_names[key]


def _name_of(tool: Any) -> str:
    """Returns the name of a function or a free-form tool; "" for what has none."""
    told = tool if isinstance(tool, Mapping) else {}
    inner = spelled_out(told) if kind_of(told) == CUSTOM else told.get("function")
    name = (inner if isinstance(inner, Mapping) else told).get("name")
    return name if isinstance(name, str) else ""


def _is_left_out(tool: Any, offered: OfferedTools) -> bool:
    """Returns True, and notes it, if a tool has a type, and none of those that are read."""
    kind = kind_of(tool)
    name = f"tools.{kind}"
    if not kind or kind in _READ or not is_plain_name(name):
        return False
    offered.left_out.append(name)
    return True


def _is_of_no_function(choice: Any, offered: OfferedTools) -> bool:
    """Returns True if a choice of one tool is of a type that is left out."""
    kind = kind_of(choice)
    return kind in HOSTED or f"tools.{kind}" in offered.left_out


def _left_to_the_model(choice: str | None, offered: OfferedTools) -> str:
    """Returns the choice that leaves it to the model, and notes the one that can't be met."""
    offered.left_out.append(f"tool_choice.{choice}")
    return "auto"


def _joined(namespace: Any, name: Any) -> str:
    """Returns the name of a namespace and that of what is in it as one."""
    between = "" if str(namespace).endswith("__") else "__"
    return f"{namespace}{between}{name}" if namespace else str(name)


def _plain_tool(choice: Mapping[str, Any], offered: OfferedTools) -> Json:
    inner = choice.get("function") or choice.get(CUSTOM)
    named = inner if isinstance(inner, Mapping) else choice
    return {"type": "function", "name": offered.flat_name(choice.get("namespace"), named.get("name"))}


def kind_of(given: Any) -> str | None:
    """Returns the type of a tool, a choice or an item; None for one that says none, or no text."""
    kind = given.get("type") if isinstance(given, Mapping) else None
    return kind if isinstance(kind, str) else None
