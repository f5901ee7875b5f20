"""Provides `engine: vllm_reward`: scalar reward models behind Serve, which answer a conversation with a number."""

from ray_gym.deployments.vllm_reward.engine import VllmRewardEngine

__all__ = ["VllmRewardEngine"]
