"""Lets the policy play tic-tac-toe, as X against the user's O."""

from ray_gym.envs.tic_tac_toe.environment import TicTacToe

__all__ = ["TicTacToe"]
