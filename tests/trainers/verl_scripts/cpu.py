"""Stands in for a GPU in verl: a platform of its plugins, and its FSDP engine registered for it.

verl imports it by `VERL_USE_EXTERNAL_MODULES=cpu` with `VERL_PLATFORM=cpu`, before the bridge's plugin.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

MEMORY = (1 << 30, 1 << 31)
"""Free and all bytes that the stand-in claims to have."""


def nothing(*_: Any, **__: Any) -> None:
    """Does nothing, in place of what only a GPU does."""


class Device:
    """Has the functions of `torch.cuda` that verl calls: those of `torch.cpu`, and answers for those that it lacks."""

    memory_allocated = memory_reserved = max_memory_allocated = max_memory_reserved = staticmethod(lambda *_: 0)
    mem_get_info = staticmethod(lambda *_: MEMORY)
    is_available = staticmethod(lambda: True)
    get_rng_state = staticmethod(torch.get_rng_state)
    set_rng_state = staticmethod(torch.set_rng_state)
    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)
    get_device_name = staticmethod(lambda *_: "cpu")
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, nothing)


@PlatformRegistry.register(platform="cpu")
class Cpu(PlatformBase):
    """Answers verl's questions about a platform for a CPU, whose processes speak gloo."""

    device_name = vendor_name = "cpu"
    device_module = Device()
    set_device = synchronize = empty_cache = set_allocator_settings = profiler_start = profiler_stop = nothing
    cudart = get_collective_module = nothing

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return "cpu"  # `tensor.to(0)` would ask for an accelerator

    def device_count(self) -> int:
        return 1

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_capability(self, index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CPU_VISIBLE_DEVICES"

    def nvtx_range(self, message: str) -> Any:
        return contextlib.nullcontext()

    def ray_resource_name(self) -> str:
        return "CPU"

    def ray_resource_options(self, number: int) -> dict[str, float]:
        return {"num_cpus": 0.5}

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        return {}


starts_group = torch.distributed.init_process_group


def start_group(backend: str | None = None, *given: Any, **named: Any) -> None:
    """Starts torch's process group. verl asks for "cpu:gloo,<device>:<backend>", which names the CPU twice here."""
    starts_group("gloo" if backend == "cpu:gloo,cpu:gloo" else backend, *given, **named)


torch.distributed.init_process_group = start_group
