"""Names the extra of the package that has what is missing here."""

from __future__ import annotations

from importlib.util import find_spec

from ray_gym.errors import UserError

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
MORE = {"cpu": f" --extra-index-url {TORCH_INDEX}"}
"""By extra, what else pip has to be told: CPU builds of torch lie on an index of their own."""


class NotInstalled(UserError):
    """The input is right, and something that it needs is not on this machine."""


def require(modules: str | tuple[str, ...], extra: str, where: str) -> None:
    """Checks that top-level modules are installed, without importing them. `where` is what needs them: the config's field, an option.

    Errors: NotInstalled, which names the extra.
    """
    for module in (modules,) if isinstance(modules, str) else modules:
        if find_spec(module) is None:
            raise not_installed(module, extra, where)


def not_installed(what: str, extra: str, where: str) -> NotInstalled:
    """Makes the error of a command that found `what` missing."""
    return NotInstalled(f"{where}: {what} is not installed here: pip install 'ray-gym[{extra}]'{MORE.get(extra, '')}")
