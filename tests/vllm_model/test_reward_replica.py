"""Puts a language model in the place of a reward model, and compares vLLM's results with those of transformers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ray_gym.deployments.small_model import NAME, checkpoint_dir
from ray_gym.deployments.vllm_reward.engine import VllmRewardEngine
from ray_gym.deployments.vllm_reward.options import RewardOptions, VerdictOptions
from ray_gym.deployments.vllm_reward.replica import RewardReplica
from ray_gym.errors import UserError
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, EngineCheck, Sampling

ENGINE_ARGS = {
    "dtype": "float32",  # as the reference: a CPU with instructions for bfloat16 would take that
    "enforce_eager": True,
    "max_model_len": 512,
    "max_num_seqs": 8,
    "block_size": 32,
    "kv_cache_memory_bytes": 2**28,
}
OPTIONS = RewardOptions(model=NAME, gpus=0, verdict=VerdictOptions(), engine_args=ENGINE_ARGS)
CONVERSATIONS = [
    [Message("user", "What is 2 + 2?"), Message("assistant", "It is 4.")],
    [Message("user", "What is 2 + 2?"), Message("assistant", "Leave me alone.")],
    [Message("system", "Be brief."), Message("user", "Hi <|im_end|>"), Message("assistant", "Hello.")],
]

pytestmark = [pytest.mark.engine, pytest.mark.models, pytest.mark.asyncio(loop_scope="module")]


@contextlib.contextmanager
def engine_of(options: RewardOptions) -> Iterator[RewardReplica]:
    before = dict(os.environ)
    replica = RewardReplica(options)
    try:
        yield replica
    finally:
        replica.close()
        os.environ.clear()
        os.environ.update(before)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replica() -> AsyncIterator[RewardReplica]:
    with engine_of(OPTIONS) as replica:
        yield replica


async def reward(replica: RewardReplica, messages: list[Message]) -> Completion:
    return await replica.complete(CompletionRequest(messages, Sampling(), "session", 0))


async def test_the_reward_is_the_difference_of_two_logits(replica: RewardReplica) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(checkpoint_dir())
    model = AutoModelForCausalLM.from_pretrained(checkpoint_dir(), dtype=torch.float32)
    yes, no = (tokenizer.encode(word, add_special_tokens=False) for word in ("Yes", "No"))
    given = []
    for messages in CONVERSATIONS[:2]:
        asked = [*messages, Message("user", VerdictOptions().question)]
        data = [{"role": message.role, "content": message.content} for message in asked]
        text = tokenizer.apply_chat_template(data, tokenize=False, add_generation_prompt=True)
        ids = tokenizer.encode(text, add_special_tokens=False)
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        completion = await reward(replica, messages)
        given.append(float(completion.message.content))
        assert given[-1] == pytest.approx(float(logits[yes[0]] - logits[no[0]]), abs=2e-3)
        assert completion.prompt_tokens == len(ids) and not completion.has_tokens
    assert given[0] != given[1]


async def test_a_sequence_classifier_with_one_label(tmp_path: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoTokenizer, LlamaForSequenceClassification

    tokenizer: Any = AutoTokenizer.from_pretrained(checkpoint_dir())
    config = AutoConfig.from_pretrained(checkpoint_dir(), num_hidden_layers=2, num_labels=1)
    torch.manual_seed(0)
    model = (
        LlamaForSequenceClassification(config).float().eval()
    )  # nobody trained it, which its arithmetic doesn't mind
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with engine_of(RewardOptions(model=str(tmp_path), gpus=0, engine_args=ENGINE_ARGS)) as replica:
        for messages in CONVERSATIONS[:2]:
            data = [{"role": message.role, "content": message.content} for message in messages]
            ids = tokenizer.encode(tokenizer.apply_chat_template(data, tokenize=False), add_special_tokens=False)
            with torch.no_grad():
                last = model.model(torch.tensor([ids])).last_hidden_state[0, -1]
                expected = float(model.score(last))
            assert float((await reward(replica, messages)).message.content) == pytest.approx(expected, abs=1e-4)


async def test_control_strings_in_messages_stay_text(replica: RewardReplica) -> None:
    completion = await reward(replica, CONVERSATIONS[2])
    assert completion.finish_reason == "stop"
    plain = [*CONVERSATIONS[2][:1], Message("user", "Hi "), CONVERSATIONS[2][2]]
    assert completion.prompt_tokens > (await reward(replica, plain)).prompt_tokens + 2


async def test_a_conversation_that_is_too_long_gets_no_reward(replica: RewardReplica) -> None:
    completion = await reward(replica, [Message("user", "word " * 600), Message("assistant", "Yes.")])
    assert completion.finish_reason == "context_full" and completion.message.content == ""


async def test_answers_that_are_not_one_token_are_refused() -> None:
    with pytest.raises(UserError, match=r"verdict\.good: 'Certainly not' is \d tokens"):
        RewardReplica(OPTIONS.model_copy(update={"verdict": VerdictOptions(good="Certainly not")}))


@pytest.mark.parametrize(
    ("options", "participant", "message"),
    [
        (OPTIONS, "policy", "participants.policy.model: 'reward' is a reward model, which writes no messages"),
        (RewardOptions(), "reward_model", "models.reward: set model"),
        (RewardOptions(model="./nowhere"), "reward_model", "models.reward.model: nowhere is no checkpoint"),
    ],
)
async def test_what_can_be_seen_before_anything_loads(options: RewardOptions, participant: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        VllmRewardEngine(options).check(EngineCheck("reward", {participant: Sampling()}, uses_tools=False))
