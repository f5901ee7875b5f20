"""Customer service: the policy is the agent of an internet provider, a simulated customer writes to it."""

from ray_gym.envs.customer_service.environment import CustomerService

__all__ = ["CustomerService"]
