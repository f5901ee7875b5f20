"""Provides `engine: vllm`: models on vLLM's AsyncLLM in Serve deployments, which get exact token histories."""

from ray_gym.deployments.vllm.engine import VllmEngine

__all__ = ["VllmEngine"]
