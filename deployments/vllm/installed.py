"""Checks that vLLM and a model are installed on this machine, and says how to install them."""

from __future__ import annotations

from importlib.util import find_spec

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.deployments.vllm.options import ReplicaOptions
from ray_gym.errors import UserError
from ray_gym.installed.extras import NotInstalled, not_installed
from ray_gym.run.cluster.address import address_here

VLLM = "vllm"


def check_installed(gpus: float, where: str) -> None:
    """Checks that vLLM is installed on this machine, unless a cluster is up, whose nodes load the models.

    `gpus`: GPUs of a rank, by which the error names the package's extra. `where`: section of the config, for errors.
    Errors: NotInstalled; UserError for a wrong address of a cluster.
    """
    if find_spec(VLLM) is None and address_here() is None:
        raise vllm_missing(gpus, f"{where}.engine")


def check_model(options: ReplicaOptions, where: str) -> None:
    """Checks that a model given by a path, or the small model, is on this machine. A hub's model is not checked.

    `where`: section of the config, for errors. Errors: UserError if a path is no checkpoint; NotInstalled if the small
    model was not fetched (if vLLM is missing too, the error is about vLLM).
    """
    try:
        resolve_model(options.model or "")
    except NotInstalled as error:
        check_installed(options.gpus, where)  # the small model is converted by packages that come with vLLM
        raise NotInstalled(f"{where}.model: {error}") from None
    except UserError as error:
        raise UserError(f"{where}.model: {error}") from None


def vllm_missing(gpus: float, where: str = "engine") -> NotInstalled:
    """Returns the error for a machine without vLLM. `gpus`: GPUs of a rank; 0 asks for the build for CPUs. `where`:
    field of the config that needs vLLM.
    """
    return not_installed(VLLM, "vllm" if gpus else "cpu", where)
