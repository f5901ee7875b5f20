"""Lets the policy play one hand of blackjack by text against a dealer's fixed rules."""

from ray_gym.envs.blackjack.environment import Blackjack

__all__ = ["Blackjack"]
