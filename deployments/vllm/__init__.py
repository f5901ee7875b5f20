"""The vLLM engine: a Serve deployment around AsyncLLM that takes exact token histories."""

from deployments.vllm.engine import VllmEngine

__all__ = ["VllmEngine"]
