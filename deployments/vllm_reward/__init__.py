"""Provides the vllm_reward engine: a scalar reward model behind Serve, which answers a conversation with a number."""

from ray_gym.deployments.vllm_reward.engine import VllmRewardEngine

__all__ = ["VllmRewardEngine"]
