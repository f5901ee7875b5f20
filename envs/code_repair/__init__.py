"""Has the policy mend a small Python package with a planted fault, in a sandbox."""

from ray_gym.envs.code_repair.environment import CodeRepair

__all__ = ["CodeRepair"]
