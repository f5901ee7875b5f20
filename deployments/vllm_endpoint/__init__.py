"""Provides `engine: vllm_endpoint`, which sends exact token ids to a vLLM server elsewhere, and renders and parses
chats here.
"""

from ray_gym.deployments.vllm_endpoint.engine import VllmEndpointEngine

__all__ = ["VllmEndpointEngine"]
