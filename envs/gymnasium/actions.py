"""Describes to a model how to write an action, and reads its text as an action of the space."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ray_gym.envs.gymnasium.library import library
from ray_gym.graders import folded

LARGEST = 16
"""Largest number of numbers in an action. No model could write a longer one."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_BETWEEN = re.compile(r"[\s,]+")
_AROUND = "*_`\"'.\u201c\u201d "
"""Signs of Markdown, quotes and full stops that may be around the name of an action."""
_MARKS = " \t\r\n*`\"'"
"""Signs of Markdown and quotes that may be around numbers."""
_CLOSING = {"[": "]", "(": ")"}


class BadAction(ValueError):
    """Says why a text is no valid action."""


def is_writable(space: Any) -> bool:
    """Says whether a model can write actions of the space: its kind is known here, and no array in it has more than
    `LARGEST` numbers.
    """
    spaces = library().spaces
    if isinstance(space, spaces.Tuple | spaces.Dict):
        return all(is_writable(child) for child in _children(space).values())
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return int(np.prod(space.shape)) <= LARGEST
    return isinstance(space, spaces.Discrete | spaces.Text)


def describe_action(space: Any, names: Sequence[str] = ()) -> str:
    """Describes for the prompt how to write an action. `names`: of the actions of a discrete space, or empty.

    Errors: TypeError for a space whose actions can't be written.
    """
    spaces = library().spaces
    match space:
        case spaces.Discrete():
            return _of_discrete(space, names)
        case spaces.MultiDiscrete():
            bounds = zip(space.start.ravel(), (space.start + space.nvec - 1).ravel(), strict=True)
            return f"{space.nvec.size} whole numbers ({', '.join(f'{low} to {high}' for low, high in bounds)})"
        case spaces.MultiBinary():
            return f"{int(np.prod(space.shape))} numbers, each 0 or 1"
        case spaces.Box():
            bounds = zip(space.low.ravel(), space.high.ravel(), strict=True)
            count = int(np.prod(space.shape))
            kind = "whole number" if np.issubdtype(space.dtype, np.integer) else "number"
            return f"{count} {kind}{'' if count == 1 else 's'} ({', '.join(f'{low:g} to {high:g}' for low, high in bounds)})"
        case spaces.Text():
            return f"a text of {space.min_length} to {space.max_length} characters"
        case spaces.Tuple():
            return "a JSON list of: " + "; ".join(describe_action(child) for child in space.spaces)
        case spaces.Dict():
            return "a JSON object with " + "; ".join(
                f"{key!r}: {describe_action(child)}" for key, child in space.spaces.items()
            )
    raise TypeError(f"actions of {space} can't be written")


def read_action(space: Any, text: str, names: Sequence[str] = ()) -> Any:
    """Returns the action of the space that a text spells. `names`: of the actions of a discrete space, or empty.

    Errors: BadAction if the text is no action, or one outside of the space.
    """
    spaces = library().spaces
    if isinstance(space, spaces.Text):
        return _check_in_space(space, text)
    if isinstance(space, spaces.Discrete) and (index := _named(text, names, int(space.start))) is not None:
        return _check_in_space(space, np.int64(space.start + index))
    if isinstance(space, spaces.Tuple | spaces.Dict):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise BadAction("it is no JSON") from None
        return _check_in_space(space, _from_value(space, value))
    numbers = _BETWEEN.split(_without_brackets(text.strip(_MARKS)).strip(" \t\r\n,"))
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        raise BadAction(f"{text[:80]!r} is not what was asked for")
    return _check_in_space(space, _from_value(space, [float(number) for number in numbers]))


def _from_value(space: Any, value: Any) -> Any:
    """Turns JSON data into an action, which may still be outside of the space. Errors: BadAction if the data have
    another form than the space's actions, or a number is not whole where it has to be, or too large.
    """
    spaces = library().spaces
    if isinstance(space, spaces.Tuple | spaces.Dict):
        children = _children(space)
        given = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(given, dict) or set(given) != set(children):
            raise BadAction("it has not the parts that were asked for")
        parts = {key: _from_value(child, given[key]) for key, child in children.items()}
        return tuple(parts.values()) if isinstance(space, spaces.Tuple) else parts
    if isinstance(space, spaces.Text):
        return value
    _check_numbers(value)
    try:
        numbers = np.asarray(value, dtype=np.float64).ravel()
    except (ValueError, TypeError, OverflowError):
        raise BadAction("a number was expected") from None
    size = int(np.prod(space.shape))
    if numbers.size != size:
        raise BadAction(f"{size} numbers were expected, not {numbers.size}")
    if np.issubdtype(space.dtype, np.integer) and not all(number.is_integer() for number in numbers.tolist()):
        raise BadAction("whole numbers were expected")
    if np.issubdtype(space.dtype, np.integer) and np.abs(numbers).max(initial=0) >= 2**31:
        raise BadAction("it is out of range")
    with np.errstate(over="ignore"):
        made = numbers.astype(space.dtype).reshape(space.shape)
    if not np.isfinite(made).all():
        raise BadAction("it is out of range")
    return made[()] if isinstance(space, spaces.Discrete) else made


def _named(text: str, names: Sequence[str], first: int) -> int | None:
    """Returns the index of the action that a text names, as in `left`, `**left**`, `"left".` or, as the prompt has it,
    `0 (left)`; None if it names none. `first`: number of the first action.
    """
    said = folded(text)
    for index, name in enumerate(map(folded, names)):
        forms = {name, f"{first + index} ({name})"}
        if said in forms or said.strip(_AROUND) in forms:
            return index
    return None


def _without_brackets(text: str) -> str:
    text = text.strip()
    while text[:1] in _CLOSING and text.endswith(_CLOSING[text[0]]):
        text = text[1:-1].strip()
    return text


def _check_numbers(value: Any) -> None:
    """Checks that a value is a finite number or nested lists of finite numbers, because Numpy would also take texts and
    truth values. Errors: BadAction if it is anything else.
    """
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, bool) or not isinstance(item, int | float):
            raise BadAction("a number was expected")
        elif isinstance(item, float) and not math.isfinite(item):
            raise BadAction("a finite number was expected")


def _check_in_space(space: Any, action: Any) -> Any:
    if not space.contains(action):
        raise BadAction("it is out of range")
    return action


def _children(space: Any) -> dict[Any, Any]:
    return dict(enumerate(space.spaces)) if isinstance(space.spaces, tuple) else dict(space.spaces)


def _of_discrete(space: Any, names: Sequence[str]) -> str:
    if names:
        numbered = ", ".join(f"{space.start + index} ({name})" for index, name in enumerate(names))
        return f"one of {numbered}, by number or name"
    return f"a whole number from {space.start} to {space.start + space.n - 1}"
