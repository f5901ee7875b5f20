"""Names that users import stay importable.

The list is of what docs, examples, READMEs, scaffold templates and the environments that users imitate imported
before the files of ray_gym moved into rooms. Nothing leaves it before its deprecation has run out (CONTRIBUTING.md).
"""

from __future__ import annotations

from importlib import import_module

import pytest

from ray_gym.load_object import load_object

NAMES = {
    "ray_gym": (
        "AsyncClient",
        "Client",
        "Environment",
        "Episode",
        "EpisodeFailure",
        "FailureKind",
        "Message",
        "Opening",
        "Options",
        "Participant",
        "Score",
        "Task",
        "Tool",
        "ToolCall",
        "ToolError",
        "ToolSchema",
        "TransferClient",
        "Turn",
        "Weights",
        "load",
        "open_stream",
        "tool",
        "tool_by_schema",
        "tool_call_message",
    ),
    "ray_gym.client": ("Client", "RolloutRequest", "SessionRequest"),
    "ray_gym.conversation": (
        "AnsweredCall",
        "CarriedOut",
        "Conversation",
        "EarlierCall",
        "EarlierMessage",
        "answered_calls",
        "carried_out",
        "json_object",
        "mirrored",
        "policy_view",
        "spoken",
        "user_view",
    ),
    "ray_gym.environment": ("Options",),
    "ray_gym.errors": ("EpisodeFailure", "FailureKind", "UserError", "describe"),
    "ray_gym.events": ("Event",),
    "ray_gym.graders": (
        "AllOf",
        "Constraints",
        "Equivalence",
        "ExactMatch",
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
        "equivalence_prompt",
        "first_of",
        "folded",
        "last_boxed",
        "search",
        "tagged",
        "whole",
    ),
    "ray_gym.graders.comparison": ("FIRST_MUCH_BETTER", "FORM", "HIGHEST", "LOWEST", "SECOND_MUCH_BETTER"),
    "ray_gym.graders.equivalence": ("compared", "literal_judge", "says_equal"),
    "ray_gym.graders.grader": ("shown",),
    "ray_gym.load": ("load",),
    "ray_gym.messages": ("Message",),
    "ray_gym.models.base": ("CompletionRequest",),
    "ray_gym.models.scripted": ("Player",),
    "ray_gym.plugins": ("ENVIRONMENT", "load_object", "names"),
    "ray_gym.scaffold": ("PATTERNS", "Written", "write_environment"),
    "ray_gym.scaffold.names": ("check_name", "prefix_of"),
    "ray_gym.scaffold.write": ("PATTERNS", "Written", "write_environment"),
    "ray_gym.service.api": ("SeenMessage", "SessionInfo"),
    "ray_gym.stop": ("StopReason",),
    "ray_gym.stream": ("Group", "open_stream"),
    "ray_gym.testing": ("Played", "call_of", "generated", "play_task", "reward_of", "says"),
    "ray_gym.tools": ("WhenLost", "tools_of", "within"),
    "ray_gym.trajectory": ("SCHEMA", "VOLATILE_COLUMNS"),
    "ray_gym.weights.update": ("Deadlines",),
    "ray_gym.wording": ("has_words",),
}
"""Names by the module that they were imported from."""

IN_CONFIGS = (
    "envs.calendar.players:scripted_user",
    "envs.customer_service.players:customer",
    "envs.math.verification:verify_answer",
    "envs.tic_tac_toe.players:minimax_player",
    "envs.tic_tac_toe.players:random_player",
    "ray_gym.graders.equivalence:literal_judge",
)
"""Names that pages and examples gave to configs and graders."""


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("module", NAMES)
def test_what_users_import_is_there(module: str) -> None:
    found = import_module(module)
    assert [name for name in NAMES[module] if not hasattr(found, name)] == []


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("path", IN_CONFIGS)
def test_what_configs_name_is_found(path: str) -> None:
    assert callable(load_object(path, "models.user.player"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CarriedOut", "AnsweredCall"),
        ("carried_out", "answered_calls"),
        ("mirrored", "user_view"),
        ("spoken", "policy_view"),
    ],
)
def test_an_earlier_name_names_its_successor(old: str, new: str) -> None:
    module = import_module("ray_gym.conversation")
    with pytest.warns(FutureWarning, match=f"conversation.{old} is called ray_gym.conversation.{new} now"):
        assert getattr(module, old) is getattr(module, new)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018
