"""Keeps the ${...} of a config as they are written wherever the config is written again, because an environment
variable may be a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ray_gym.errors import Failure, RunFailed, UserError
from ray_gym.printable import masked, names_secret, without_scheme

PLACES = (("run", "name"), ("output", "dir"), ("output", "journal_dir"), ("tasks", "path"))
"""Fields that are always written with their values: they say where a run and its tasks are, and are no secret."""

_NAME = re.compile(r"oc\.env\s*:\s*['\"]?([^\s'\"{},$]+)(?=[\s'\"},])")
"""Regular expression of an environment variable's name in a text with ${oc.env:...}."""
_INNERMOST = re.compile(r"\$\{\s*oc\.env\s*:\s*['\"]?([^\s'\"{},$]+)['\"]?\s*(?:,([^{}]*))?\}")
"""Regular expression of a ${oc.env:...} without another one in it: the variable's name, and its default."""
_OF_SECRETS = frozenset({"headers", "env"})
"""Fields of which each value may be a secret."""
_USER = re.compile(r"://[^/\s@?#]*:[^/\s@?#]*@|https?://[^/\s@?#]+@")
"""Regular expression of a user and a password, or a key, in a URL."""
SHORTEST_MASKED = 6
"""Fewest characters of a value that is masked wherever it is echoed."""

Path = tuple[str | int, ...]
"""Keys and indices that lead to a value of the config."""


class Verbatim(str):
    """Marks a text of a config file whose ${...} is an interpolation, so that it must not be escaped."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Records a value of the config that its file has as a text with ${...}."""

    path: Path
    """Place of the value in the config."""
    text: str
    """Text in the file."""
    value: Any = field(repr=False)
    """Value that the text stood for."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of the environment's variables that the text names, when it was read."""


def interpolations(written: Any, resolved: Any, path: Path = ()) -> Iterator[Interpolation]:
    """Yields an `Interpolation` for each text of a config that has ${...}. Fields in `PLACES` are left out.

    `written` is the config as its file has it, `resolved` the same config with the values of its ${...}. `path`: place
    of both in the whole config.
    """
    if isinstance(written, str):
        if written != resolved and path not in PLACES:
            yield Interpolation(path, written, resolved, variables_in(written))
    elif isinstance(written, Mapping) and isinstance(resolved, Mapping):
        for key in written:
            yield from interpolations(written[key], resolved[key], (*path, str(key)))
    elif isinstance(written, list) and isinstance(resolved, list):
        for index, (text, value) in enumerate(zip(written, resolved, strict=True)):
            yield from interpolations(text, value, (*path, index))


def variables_in(text: str) -> dict[str, str]:
    """Returns the values of the environment's variables that a text of a config names, each by its name, without whitespace
    around it, which many readers of a value take off.
    """
    return {name: os.environ[name].strip() for name in names_in(text) if name in os.environ}


def names_in(text: str) -> Iterator[str]:
    """Yields the names of the environment's variables that a text of a config names, be it by another variable, as in
    ${oc.env:${oc.env:WHICH}}.
    """
    before = ""
    while text != before:
        yield from _NAME.findall(text)
        before, text = text, _INNERMOST.sub(_value_of, text)


def _value_of(found: re.Match[str]) -> str:
    """Returns the value of a ${oc.env:...}, without anything in it that would be one itself."""
    return re.sub(r"[${}]", "", os.environ.get(found[1], (found[2] or "").strip(" '\"")))


def unfilled(text: str, filled_in: Sequence[Interpolation], path: Path | None = None) -> str:
    """Returns a text for a message, in which values of a config that its file has as ${...} are as the file has them;
    so are the parts of values that come from environment variables.

    `path`: place of the value that the text is, if it is one. Values shorter than `SHORTEST_MASKED` are only replaced
    at their own place, since they are parts of many words.
    """
    for each in sorted(filled_in, key=lambda one: -len(str(one.value))):
        if each.path == path:
            return each.text
        if len(value := str(each.value).strip()) >= SHORTEST_MASKED:
            text = text.replace(value, each.text)
    return without_variables(text, filled_in)


def without_variables(text: str, filled_in: Sequence[Interpolation]) -> str:
    """Returns a text in which those parts of a config's values are masked that come from environment variables."""
    for each in filled_in:
        for value in _texts(each.value) if each.variables else ():  # a list or a mapping, decoded from a variable
            text = masked(text, value, each.text) if len(value) >= SHORTEST_MASKED else text
    named = [(name, value) for each in filled_in for name, value in each.variables.items()]
    variables = {without_scheme(value): name for name, value in named} | {value: name for name, value in named}
    for value in sorted(variables, key=len, reverse=True):
        if len(value) >= SHORTEST_MASKED:
            text = masked(text, value, f"${{oc.env:{variables[value]}}}")
    return text


def without_secrets(text: str, filled_in: Sequence[Interpolation]) -> str:
    """Returns a text for a model, which `without_variables` masks only where a place or a variable is named as a secret is,
    or a URL has a password: a path and a word that come from a variable are what the task and other answers say, too.
    """
    return without_variables(text, [_secret_part(each) for each in filled_in])


def _secret_part(each: Interpolation) -> Interpolation:
    if any(part in _OF_SECRETS or names_secret(str(part)) for part in each.path):
        return each
    named = each.variables.items()
    return replace(each, variables={key: value for key, value in named if names_secret(key) or _USER.search(value)})


def _texts(node: Any) -> Iterator[str]:
    """Yields the values in a list or a mapping, as texts."""
    if isinstance(node, Mapping | list):
        for value in node.values() if isinstance(node, Mapping) else node:
            yield from _texts(value) if isinstance(value, Mapping | list) else [str(value)]


def failure_unfilled(failure: Failure, filled_in: Sequence[Interpolation]) -> Failure:
    """Returns a failure whose texts are as `unfilled` gives them."""
    texts = (unfilled(text, filled_in) for text in (failure.where, failure.message, failure.traceback))
    return Failure(failure.kind, *texts)


@contextmanager
def errors_unfilled(filled_in: Sequence[Interpolation]) -> Iterator[None]:
    """Makes the messages of errors (UserError, RunFailed) that the block raises as `unfilled` gives them."""
    try:
        yield
    except (UserError, RunFailed) as error:
        if (text := unfilled(str(error), filled_in)) == str(error):
            raise
        raise type(error)(text) from None


def as_written(data: Any, filled_in: Sequence[Interpolation]) -> Any:
    """Returns a copy of `data` in which each value that the file has as a text with ${...} is that text again, marked
    as `Verbatim`. A value that has changed since it was read stays as it is. Tuples become lists.
    """
    texts = {each.path: each for each in filled_in}

    def written(node: Any, path: Path) -> Any:
        known = texts.get(path)
        if known is not None and _is_same(node, known.value):
            return Verbatim(known.text)
        if isinstance(node, Mapping):
            return {key: written(value, (*path, str(key))) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [written(value, (*path, index)) for index, value in enumerate(node)]
        return node

    return written(data, ())


def _is_same(node: Any, value: Any) -> bool:
    """Says whether a value of the config is the one that was read. A number may have been read as text."""
    if isinstance(node, Mapping) and isinstance(value, Mapping):
        return node.keys() == value.keys() and all(_is_same(node[key], value[key]) for key in node)
    if isinstance(node, float | int) and isinstance(value, str):
        try:
            return float(value) == node
        except ValueError:
            return False
    return bool(node == value)
