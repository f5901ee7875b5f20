"""Draws a problem of any kind."""

from __future__ import annotations

import random

from ray_gym.envs.math import algebra, arithmetic, geometry
from ray_gym.envs.math.problem import MathProblem

FAMILIES = (*arithmetic.FAMILIES, *algebra.FAMILIES, *geometry.FAMILIES)


def problem(rng: random.Random) -> MathProblem:
    """Draws a problem of any kind."""
    return rng.choice(FAMILIES)(rng)
