"""Asks questions whose gold answer may be phrased in many ways: a judge says whether an answer means the same."""

from ray_gym.envs.equivalence_judge.environment import EquivalenceJudge

__all__ = ["EquivalenceJudge"]
