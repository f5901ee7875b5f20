"""Reads rows of NeMo Gym's datasets: `{"responses_create_params": {"input": ..., "tools": ...}, ...fields of the
task}`.

`input` (with `instructions` as a system message before it) becomes the task's `messages`, and the task's own fields
stay as they are. Everything else is dropped here, and nowhere else:

* `tools`: the environment has its own, whose schemas come from its code;
* sampling and other settings of the request: the run's config has them, for every episode alike (`dropped_settings`
  names them, for a remark);
* bookkeeping (`agent_ref`, ids, labels) by which NeMo Gym finds an agent and people find rows. An id there need not be
  unique, so it does not become the `task_id`. Bookkeeping fields that the environment's task defines are kept.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Set
from typing import Any

REQUEST = "responses_create_params"
"""Key of the request in a row."""
BOOKKEEPING = frozenset(
    {
        "agent_ref",
        "id",
        "uuid",
        "hash_id",
        "category",
        "dataset",
        "environment_name",
        "metadata",
        "reward_profiles",
        "source",
        "split",
    }
)
"""Fields that are dropped unless the task has them."""
READ = frozenset({"input", "instructions", "tools"})
"""Keys of a request that are read, or that the environment has."""
ASKING = frozenset({"chat_template_kwargs", "extra_body"})
"""Keys of a request's metadata by which NeMo Gym's model servers change the request."""
BOOKKEEPING_PREFIX = "_ng_"
"""Prefix of further fields that are dropped unless the task has them."""
ELSEWHERE = ("previous_response_id", "prompt", "conversation")
"""Settings that refer to messages outside of the row, which are refused."""


def is_nemo_gym(fields: Mapping[str, Any]) -> bool:
    """Says whether a row has the form of NeMo Gym's datasets."""
    return REQUEST in fields


def task_fields(fields: Mapping[str, Any], known: Set[str]) -> dict[str, Any]:
    """Returns the fields of a row for the environment's task. `known` are the names of the task's fields.

    Errors: ValueError that names the field, if the request is no object, has no `input` or refers to messages outside
    of the row, or if the row has `messages` beside it.
    """
    request = fields[REQUEST]
    if not isinstance(request, Mapping):
        raise ValueError(f"{REQUEST}: Input should be an object (found {reprlib.repr(request)})")
    if "messages" in fields:
        raise ValueError(f"messages: the conversation is in {REQUEST}.input already")
    own = {name: value for name, value in fields.items() if name != REQUEST and not _is_dropped(name, known)}
    return {**own, "messages": _messages(request)}


def dropped_settings(fields: Mapping[str, Any]) -> list[str]:
    """Returns the settings of a row's request that are dropped, as dotted keys in sorted order: all that are not null
    or empty but `input`, `instructions` and `tools`. Of `metadata` these are the ones that ask the server for something.
    For a row in another form, they are those that a request would have under the same keys: template arguments.
    """
    request = fields.get(REQUEST, fields)
    if not isinstance(request, Mapping):
        return []
    found = {name: value for name, value in request.items() if value not in (None, "", [], {})}
    nested = {
        f"{outer}.{name}"
        for outer in ("metadata", "extra_body")
        if isinstance(inside := found.pop(outer, None), Mapping)
        for name, value in inside.items()
        if value not in (None, "", [], {}) and (outer == "extra_body" or name in ASKING)
    }
    own = found.keys() - READ if REQUEST in fields else found.keys() & {"chat_template_kwargs"}
    return sorted(own | nested)


def without_settings(fields: dict[str, Any], known: Set[str]) -> dict[str, Any]:
    """Returns the fields of a row in another form without the settings of a request that `dropped_settings` names. `known` are
    the names of the task's fields, which stay.
    """
    found = {"chat_template_kwargs"} | {name for name in ("extra_body",) if isinstance(fields.get(name), Mapping)}
    return {name: value for name, value in fields.items() if name in known or name not in found}


def _is_dropped(name: str, known: Set[str]) -> bool:
    """Says whether a field is bookkeeping that the task does not have."""
    return name not in known and (name in BOOKKEEPING or name.startswith(BOOKKEEPING_PREFIX))


def _messages(request: Mapping[str, Any]) -> Any:
    """Returns the conversation of a request. Errors: ValueError that names the field, if there is no `input`, or
    another field refers to messages outside of the row.
    """
    for name in ELSEWHERE:
        if request.get(name) is not None:
            raise ValueError(f"{REQUEST}.{name}: what it stands for is not in the row; write it out in input")
    given = request.get("input")
    if given is None:
        raise ValueError(f"{REQUEST}.input: missing")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if request.get("instructions") and isinstance(messages, list):
        return [{"role": "system", "content": request["instructions"]}, *messages]
    return messages
