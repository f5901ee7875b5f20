"""Provides `engine: vllm_adapter`: a line of LoRA adapters on a model with `engine: vllm`, trained apart from others."""

from ray_gym.deployments.vllm_adapter.engine import VllmAdapterEngine

__all__ = ["VllmAdapterEngine"]
