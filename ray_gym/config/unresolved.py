"""Says why a ${...} of a config can't be filled in, and what to write instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from omegaconf.errors import (
    InterpolationKeyError,
    InterpolationResolutionError,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
)

LITERAL = r"; for a text with a literal ${, write \${"
"""End of a message about a ${...} that can't be filled in."""
NEAR = 0.7
"""Likeness from which a key, or a kind of interpolation, may be a misspelt one (of `difflib`)."""
_OF_VARIABLES = f"an environment variable is ${{oc.env:NAME}}{LITERAL}"
_UNSET = re.compile(r"Environment variable '(.*)' not found", re.S)
_NO_KEY = re.compile(r"Interpolation key '(.*?)' not found", re.S)
_NO_KIND = re.compile(r"Unsupported interpolation type (\S+)")
_SHELL_DEFAULT = ":-"
"""Beginning of a default as shells write it: ${NAME:-value}."""
_RAISED = re.compile(r"^\w+ raised while resolving interpolation: ")


def why_unresolved(error: OmegaConfBaseException, written: Any) -> str:
    """Returns why a ${...} of a config can't be filled in, behind the dotted key whose value has it. `written`: the
    config, with each ${...} as it is written.
    """
    told = " ".join(str(error).split()).partition(" full_key: ")[0]
    key = f"{error.full_key}: " if error.full_key else ""
    if unset := _UNSET.search(told):
        return f"{key}{_unset(unset[1])}"
    if isinstance(error, UnsupportedInterpolationType) and (kind := _NO_KIND.search(told)):
        return f"{key}{_unknown_kind(kind[1], list(_texts(written)))}"
    if isinstance(error, InterpolationKeyError) and (name := _NO_KEY.search(told)):
        return f"{key}{_unknown_key(name[1], list(_keys(written)))}"
    if told == "Recursive interpolation detected":
        return f"{key}its ${{...}} leads back to itself"
    hint = LITERAL if isinstance(error, InterpolationResolutionError) else ""
    return f"{key}{_RAISED.sub('', told)}{hint}"


def unread_interpolation(text: str) -> str:
    """Returns why OmegaConf can't read a text with a ${...}."""
    is_open = text.count("${") > text.count("}")
    fault = "a ${ in it is not closed by a }" if is_open else "a ${...} in it is neither ${KEY} nor ${oc.env:NAME}"
    return f"{fault}{LITERAL}"


def _unset(name: str) -> str:
    name, dash, default = name.partition(_SHELL_DEFAULT)
    if dash:
        return f"the default of an environment variable stands behind a comma: ${{oc.env:{name},{default}}}"
    return f"the environment variable {name} is not set; with a default: ${{oc.env:{name},VALUE}}"


def _unknown_key(key: str, keys: list[str]) -> str:
    """Returns that the config has no key for ${KEY}, and what is meant: an environment variable, or the nearest key."""
    name = "NAME" if key == "oc.env" else key.removeprefix("oc.env.")
    if name != key or name in os.environ or name.isupper():
        return f"there is no key {key} in the config; did you mean ${{oc.env:{name}}}?"
    near = get_close_matches(key.lstrip("."), keys, n=1, cutoff=NEAR)
    hint = f"did you mean ${{{near[0]}}}?" if near else _OF_VARIABLES
    return f"there is no key {key} in the config; {hint}"


def _unknown_kind(kind: str, texts: list[str]) -> str:
    """Returns that there is no ${KIND:...}, and what is meant, as far as texts of the config show it."""
    at = re.search(rf"\$\{{\s*{re.escape(kind)}\s*:(-?)([^{{}}]*)", "\n".join(texts))
    dash, rest = (at[1], at[2].strip()) if at else ("", "")
    if dash:
        meant = f"{kind},{rest}"
    elif rest and get_close_matches(kind.lower(), ("oc.env", "env", "os.environ"), n=1, cutoff=NEAR):
        meant = rest.replace(_SHELL_DEFAULT, ",")
    else:
        return f"there is no ${{{kind}:...}}; {_OF_VARIABLES}"
    return f"there is no ${{{kind}:...}}; did you mean ${{oc.env:{meant}}}?"


def _keys(node: Any, above: str = "") -> Iterator[str]:
    """Yields the dotted keys of a config."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield f"{above}{key}"
            yield from _keys(value, f"{above}{key}.")


def _texts(node: Any) -> Iterator[str]:
    """Yields the texts of a config."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping | list):
        for value in node.values() if isinstance(node, Mapping) else node:
            yield from _texts(value)
