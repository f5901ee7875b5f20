"""Checks lines as NeMo RL reads them, after its sources at commit 7ea279abfbeb698b092856d0dab61e7cf39bc909.

Stands in for NeMo RL where it isn't installed: it checks what the named functions take for granted, and computes
nothing of theirs.
"""

from __future__ import annotations

from typing import Any

Line = dict[str, Any]


def check_openai_format(line: Line) -> None:
    """Checks a line for `OpenAIFormatDataset.format_data` and for chat templates.

    Chat templates are given messages and tools as they are.
    """
    messages = line["messages"]
    assert messages[-1]["role"] == "assistant", "asserted by format_data"
    check_chat(messages, dict)
    for tool in line.get("tools", ()):
        assert tool["type"] == "function" and tool["function"]["name"] and tool["function"]["parameters"]


def check_preference(line: Line) -> None:
    """Checks a line for `preference_preprocessor`.

    Two completions have different ranks, the lower the better, and each continues the context.
    """
    ranks = [one["rank"] for one in line["completions"]]
    assert ranks == [0, 1]
    for one in line["completions"]:
        assert one["completion"] and one["completion"][-1]["role"] == "assistant"
        check_chat(line["context"] + one["completion"], str)


def check_chat(messages: list[Line], arguments: type) -> None:
    """A call's arguments have one type in a file that Hugging Face's `datasets` reads."""
    for message in messages:
        assert message["role"] in ("system", "user", "assistant", "tool") and isinstance(message["content"], str)
        assert ("tool_call_id" in message) == (message["role"] == "tool")
        for call in message.get("tool_calls", ()):
            assert call["type"] == "function" and isinstance(call["function"]["arguments"], arguments)


def check_prompt_group(line: Line) -> None:
    """Checks the fields of `PromptGroupRecord` and `Completion`, and the values that `record_to_train_batch` needs."""
    assert set(line) == {"prompt_idx", "prompt", "extra_env_info", "metadata", "completions", "rollout_metrics"}
    assert line["prompt"] and line["completions"]
    for one in line["completions"]:
        assert set(one) == {"message_log", "env_extras", "truncated", "reward"}
        log = one["message_log"]
        begins = log[: len(line["prompt"])]
        assert _ids(begins) == _ids(line["prompt"]), "extract_initial_prompt_messages counts tokens, whole messages"
        assert not any("generation_logprobs" in message for message in begins)
        for message in log:
            assert message["token_ids"], "an empty tensor would be of floats"
            generated = "generation_logprobs" in message
            assert generated == (message["role"] == "assistant"), "add_grpo_token_loss_masks_and_generation_logprobs"
            assert not generated or len(message["generation_logprobs"]) == len(message["token_ids"])


def _ids(log: list[Line]) -> list[int]:
    return [token for message in log for token in message["token_ids"]]
