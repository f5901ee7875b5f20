"""Lets a checkout of slime be imported on a CPU: what its rollout manager and its loss import of SGLang, Megatron and
loggers are empty modules. Of Megatron's `mpu` there is what one rank says.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from absent import Empty, pretend

RANKS = ("context_parallel", "tensor_model_parallel", "data_parallel", "pipeline_model_parallel")


def one_rank() -> types.ModuleType:
    """Returns a module that stands for `megatron.core.mpu` in a process that is the only one."""
    mpu = types.ModuleType("megatron.core.mpu")
    for name in RANKS:
        setattr(mpu, f"get_{name}_world_size", lambda **_: 1)
        setattr(mpu, f"get_{name}_rank", lambda **_: 0)
        setattr(mpu, f"get_{name}_group", lambda **_: None)
    mpu.is_pipeline_last_stage = lambda **_: True  # type: ignore[attr-defined]
    return mpu


def open_checkout(folder: str) -> None:
    """Puts a checkout first on the path."""
    pretend("sglang", "sglang_router", "megatron", "wandb", "deep_ep", "qwen_vl_utils")
    sys.modules["torch.utils.tensorboard"] = Empty("torch.utils.tensorboard")
    import megatron.core

    sys.modules["megatron.core.mpu"] = megatron.core.mpu = one_rank()
    package = types.ModuleType("slime.backends.megatron_utils")  # its own applies patches to Megatron
    package.__path__ = [str(Path(folder) / "slime" / "backends" / "megatron_utils")]
    sys.modules[package.__name__] = package
    sys.path.insert(0, folder)
