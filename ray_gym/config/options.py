"""Reads options of an environment that a command gets as words: `--option KEY=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from ray_gym.config.file import merge_overrides, validate
from ray_gym.errors import UserError
from ray_gym.field_types import keys_of

ModelT = TypeVar("ModelT", bound=BaseModel)
WORD = "--option"


def read_options(model: type[ModelT], options: Sequence[str], name: str) -> ModelT:
    """Returns the options of an environment. `options`: texts KEY=VALUE with dotted keys, as overrides of a config are.
    `name`: the environment's name, for messages.

    Errors: UserError for a text of another form, an unknown key, a wrong value, or an option that has to be given and
    is not.
    """
    for option in options:
        if not re.match(r"[^-=][^=]*=", option):
            raise UserError(f"{WORD} {option!r}: write KEY=VALUE")
    given = merge_overrides("{}", WORD, options)
    for field, info in model.model_fields.items():
        if info.is_required() and not given.keys() & set(keys_of(field, info)):
            raise UserError(f"{WORD} {field}=VALUE: missing, and {name} needs it")
    return validate(model, given, WORD)
