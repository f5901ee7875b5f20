"""Checks the name of a new environment, which also names a Python package, a distribution and an entry point."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys

from ray_gym.errors import UserError
from ray_gym.plugins import ENVIRONMENT, names

OTHER_FOLDERS = frozenset({"tests", "runs", "build", "dist"})
"""Names of folders that a project has already, or that are not installed and uploaded."""
_PLAIN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)


def check_name(name: str) -> None:
    """Checks the name of a new environment. Errors: UserError if it is no lower-case name of a package, or is taken by
    Python, an environment, an installed module or a folder of projects.
    """
    if not _PLAIN.fullmatch(name):
        raise UserError(f"NAME: {name!r} is no name of a package; {_suggestion(name)}")
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        raise UserError(f"NAME: {name} is a word of Python, or a module of its library; choose another name")
    if name in OTHER_FOLDERS:
        raise UserError(f"NAME: {name} is what another folder of a project is called; choose another name")
    if name in names(ENVIRONMENT):
        raise UserError(f"NAME: there is an environment {name} already (see ray-gym envs); choose another name")
    found = importlib.util.find_spec(name)
    if found is not None:
        where = found.origin or ", ".join(found.submodule_search_locations or [])
        raise UserError(f"NAME: there is a module {name} already, at {where}; choose another name")


def prefix_of(name: str) -> str:
    """Returns the prefix of an environment's class names: `shop_stock` gives `ShopStock`."""
    return "".join(part.capitalize() for part in name.split("_"))


def _suggestion(name: str) -> str:
    plain = "_".join(re.findall(r"[a-z0-9]+", name.lower())).lstrip("0123456789_")
    hint = f", for example {plain}" if _PLAIN.fullmatch(plain) else ""
    return f"take lower-case letters, digits and single underscores{hint}"
