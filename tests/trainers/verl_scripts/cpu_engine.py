"""Registers verl's FSDP engine for the CPU of `cpu.py`. verl imports it as `actor_rollout_ref.model.external_lib`."""

from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp import FSDPEngineWithLMHead

register = EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu", vendor="cpu")
register(FSDPEngineWithLMHead)
