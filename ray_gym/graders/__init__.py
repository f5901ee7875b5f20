"""Exports graders, the parts of which a `score` is made. The calls and the verdict of each are in the record."""

from ray_gym.graders.combine import AllOf, Constraints, FirstThatPasses, Weighted
from ray_gym.graders.comparison import PairwiseComparison
from ray_gym.graders.equivalence import Equivalence, QuestionTask, equivalence_prompt
from ray_gym.graders.extract import Extract, answer_line, by_regex, first_of, last_boxed, tagged, whole
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.graders.judge import Judge, SwapCheck
from ray_gym.graders.library import Library
from ray_gym.graders.match import ExactMatch, Found, folded
from ray_gym.graders.prompt import JudgePrompt, fenced_texts
from ray_gym.graders.regex import RegularExpression, search
from ray_gym.graders.reward_model import RewardModel
from ray_gym.graders.state import FinalState
from ray_gym.graders.turns import RecencyWeighted, TurnMean

__all__ = [
    "AllOf",
    "Constraints",
    "Equivalence",
    "ExactMatch",
    "Extract",
    "FinalState",
    "FirstThatPasses",
    "Found",
    "Grader",
    "Judge",
    "JudgePrompt",
    "Library",
    "PairwiseComparison",
    "QuestionTask",
    "RecencyWeighted",
    "RegularExpression",
    "RewardModel",
    "SwapCheck",
    "TurnMean",
    "Verdict",
    "Weighted",
    "answer_line",
    "by_regex",
    "equivalence_prompt",
    "fenced_texts",
    "first_of",
    "folded",
    "last_boxed",
    "search",
    "tagged",
    "whole",
]
