"""Provides the vllm_endpoint engine: a vLLM server elsewhere, given exact token ids, with our chat format run here."""

from ray_gym.deployments.vllm_endpoint.engine import VllmEndpointEngine

__all__ = ["VllmEndpointEngine"]
