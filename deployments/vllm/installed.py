"""Checks that vLLM and a model are on this machine, and says how to get what is missing."""

from __future__ import annotations

from importlib.util import find_spec

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.errors import UserError
from ray_gym.installed.extras import NotInstalled, not_installed
from ray_gym.run.cluster.address import address_here

VLLM = "vllm"


def check_installed(gpus: float, where: str) -> None:
    """Checks that vLLM is on this machine, unless a cluster is up, whose nodes load the models.

    Errors: NotInstalled, which begins with `where` (the config's section); UserError for a wrong address of a cluster.
    """
    if find_spec(VLLM) is None and address_here() is None:
        raise not_here(gpus, f"{where}.engine")


def check_model(options: ReplicaOptions, where: str) -> None:
    """Checks that the model is on this machine, as far as can be said. Errors: UserError, which names `where` and the field."""
    try:
        resolve_model(options.model or "")
    except NotInstalled as error:
        check_installed(options.gpus, where)  # it is made with what comes with vLLM
        raise NotInstalled(f"{where}.model: {error}") from None
    except UserError as error:
        raise UserError(f"{where}.model: {error}") from None


def not_here(gpus: float, where: str = "engine") -> NotInstalled:
    """Makes the error of a machine without vLLM. `gpus`: of a rank; 0 asks for the build for CPUs."""
    return not_installed(VLLM, "vllm" if gpus else "cpu", where)
