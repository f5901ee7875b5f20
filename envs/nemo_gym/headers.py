"""Reads the headers of calls, and masks the secrets among them in what a server answers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ray_gym.config.interpolations import SHORTEST_MASKED
from ray_gym.engines.masked_keys import without_key
from ray_gym.errors import UserError
from ray_gym.printable import names_secret

_CREDENTIALS = re.compile(r"[\w-]+\s+(\S+)")
"""Regular expression of the value of an Authorization header: a scheme, and what stands behind it (RFC 9110, 11.4)."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Holds the headers that are sent with every call, and knows the secrets among them."""

    values: Mapping[str, str]
    """Values by the names of the headers."""
    secrets: tuple[str, ...] = ()
    """Values that are secrets, longest first, and those behind the schemes of such values."""

    @staticmethod
    def read(given: Mapping[str, str], variables: Mapping[str, str]) -> Headers:
        """Returns headers as options give them, without white space around their values. `variables`: the names of
        environment variables, by header, whose values are secrets. Errors: UserError if a variable is empty or not
        set, or for a value that no header can have.
        """
        missing = [name for name in variables.values() if not os.environ.get(name, "").strip()]
        if missing:
            raise UserError(f"environment.header_env: the environment variable {missing[0]} is not set")
        filled = {**given, **{header: os.environ[name] for header, name in variables.items()}}
        values = {header: value.strip() for header, value in filled.items()}
        for header, value in values.items():
            if not value.isprintable():
                option = "header_env" if header in variables else "headers"
                raise UserError(f"environment.{option}.{header}: its value has a character that no header can have")
        secret = [value for name, value in values.items() if name in variables or names_secret(name)]
        behind = [found[1] for value in secret if (found := _CREDENTIALS.fullmatch(value))]
        masked = {value for value in (*secret, *behind) if len(value) >= SHORTEST_MASKED}
        return Headers(values, tuple(sorted(masked, key=lambda value: (-len(value), value))))

    def hide(self, text: str) -> str:
        """Returns a text with `***` in the place of secrets, and of their beginnings and ends."""
        for secret in self.secrets:
            text = without_key(text, secret)
        return text
