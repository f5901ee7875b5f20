"""Provides `engine: vllm_endpoint`: a vLLM server elsewhere gets exact token ids, and the chat format runs here."""

from ray_gym.deployments.vllm_endpoint.engine import VllmEndpointEngine

__all__ = ["VllmEndpointEngine"]
