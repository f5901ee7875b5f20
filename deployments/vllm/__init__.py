"""Provides the vLLM engine: a Serve deployment around AsyncLLM that takes exact token histories."""

from ray_gym.deployments.vllm.engine import VllmEngine

__all__ = ["VllmEngine"]
