"""Names the extra of the package ray-gym that has a module which is missing here."""

from __future__ import annotations

from importlib.util import find_spec

from ray_gym.errors import UserError

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
MORE = {"cpu": f" --extra-index-url {TORCH_INDEX}"}
"""Further arguments of pip, by extra: CPU builds of torch are in an index of their own."""


class NotInstalled(UserError):
    """Says that the input is right, but that something which it needs is not on this machine."""


def require(modules: str | tuple[str, ...], extra: str, where: str) -> None:
    """Checks that top-level modules are installed, without importing them.

    `extra`: extra of ray-gym that has them. `where`: field of the config, or other part of the input, that needs them.
    Errors: NotInstalled, which names the extra.
    """
    for module in (modules,) if isinstance(modules, str) else modules:
        if find_spec(module) is None:
            raise not_installed(module, extra, where)


def not_installed(what: str, extra: str, where: str) -> NotInstalled:
    """Returns the error for the missing package `what`, with the command that installs it. `extra`: extra of ray-gym
    that has it. `where`: part of the input that needs it.
    """
    return NotInstalled(f"{where}: {what} is not installed here: pip install 'ray-gym[{extra}]'{MORE.get(extra, '')}")
