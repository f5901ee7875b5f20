"""Makes the policy the agent of an internet provider, to which a simulated customer writes."""

from ray_gym.envs.customer_service.environment import CustomerService

__all__ = ["CustomerService"]
