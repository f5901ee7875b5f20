"""Says in one line what does not fit between trainer and stream, before the first step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
from handmade import handmade_groups, save_tiny, tiny_model, tiny_tokenizer
from handmade_stream import HandmadeStream
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
from transformers import PreTrainedTokenizerFast

from ray_gym.errors import UserError
from ray_gym.models.model import Sampling
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.trainers.compatibility import (
    check_digest,
    check_group_size,
    check_package,
    check_temperature,
    check_tokenizers,
    check_trainable,
    check_vocabulary,
)
from ray_gym.trainers.engine import check_stream, engine_tokenizer
from ray_gym.trainers.rows import rows_of


def test_a_trainer_of_another_version_is_named_with_the_tested_ones() -> None:
    with pytest.raises(
        UserError, match=r"pytest: version \S+ is installed, .* tested with 1\.0 or 1\.1; .*pytest==1\.1"
    ):
        check_package("pytest", ["1.0", "1.1"])
    found = check_package("pytest", ["1.0"], any_version=True)
    assert check_package("pytest", [found]) == found
    with pytest.raises(UserError, match=r"no-such-trainer is not installed here; .* tested with 1.0"):
        check_package("no-such-trainer", ["1.0"], any_version=True)


def test_a_group_of_one_is_refused_and_one_of_another_size() -> None:
    with pytest.raises(UserError, match=r"tasks.repeats: 1; .*alone in its group"):
        check_group_size(1)
    with pytest.raises(UserError, match=r"tasks.repeats: 4, but the trainer's num_generations is 8"):
        check_group_size(4, 8, "num_generations")
    check_group_size(8, 8, "num_generations")


def test_a_batch_without_a_trainable_token_says_what_became_of_it() -> None:
    groups = handmade_groups(tiny_model())
    rows = rows_of(groups[1])
    check_trainable(rows, groups)
    failed = [group for group in groups if "failed" in group.episodes.column("status").to_pylist()]
    with pytest.raises(
        UserError, match=r"groups 1: .* 1 of 4 episodes failed \(1 times: score: on purpose\); 3 were completed"
    ):
        check_trainable([], failed)


def test_another_temperature_is_refused() -> None:
    with pytest.raises(UserError, match=r"participants.policy.sampling.temperature: 0.7, but the trainer's .* is 1.0"):
        check_temperature(Sampling(temperature=0.7), 1.0, "participants.policy")
    check_temperature(Sampling(temperature=0.7), 0.7, "participants.policy")


def test_another_vocabulary_is_refused() -> None:
    other = tiny_tokenizer()
    other.add_tokens(["<tool>"])
    with pytest.raises(UserError, match=r"models.policy: .* 259 tokens .* 260 in its own, 1 with .*'<tool>' is None"):
        check_tokenizers(tiny_tokenizer(), other, "models.policy")
    check_tokenizers(tiny_tokenizer(), tiny_tokenizer())


def test_a_digest_tells_tokenizers_apart_as_the_tokenizers_do() -> None:
    check_digest(tiny_tokenizer(), TokenizerDigest.of(tiny_tokenizer()), "models.policy")
    more, swapped, split = tiny_tokenizer(), tiny_tokenizer(), tiny_tokenizer()
    more.add_tokens(["<tool>"])
    with pytest.raises(UserError, match=r"models.policy: .* 259 tokens in the trainer's vocabulary and 260 in its own"):
        check_digest(tiny_tokenizer(), TokenizerDigest.of(more), "models.policy")
    told = json.loads(swapped.backend_tokenizer.to_str())
    vocabulary = told["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    swapped = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(told)))
    with pytest.raises(UserError, match=r"259 tokens in the trainer's vocabulary and 259 in its own, with other ids"):
        check_digest(tiny_tokenizer(), TokenizerDigest.of(swapped), "models.policy")
    removes = Split(" ", behavior="removed")
    split.backend_tokenizer.pre_tokenizer = Sequence([removes, ByteLevel(add_prefix_space=False)])
    with pytest.raises(UserError, match=r"splits text otherwise .* from token 5 on"):
        check_digest(tiny_tokenizer(), TokenizerDigest.of(split), "models.policy")


def test_another_split_of_the_same_vocabulary_is_refused() -> None:
    other = tiny_tokenizer()
    removes = Split(" ", behavior="removed")
    other.backend_tokenizer.pre_tokenizer = Sequence([removes, ByteLevel(add_prefix_space=False)])
    assert other.get_vocab() == tiny_tokenizer().get_vocab()
    with pytest.raises(UserError, match=r"splits text otherwise .* from token 5 on"):
        check_tokenizers(tiny_tokenizer(), other)


def test_a_token_outside_of_the_trainers_model_is_refused() -> None:
    rows = [row for group in handmade_groups(tiny_model()) for row in rows_of(group)]
    check_vocabulary(rows, 320)
    with pytest.raises(UserError, match=r"token 258 of a sample is outside .* has 258 embeddings"):
        check_vocabulary(rows, 258)


def test_a_stream_is_compared_with_its_trainer(tmp_path: Path) -> None:
    stream = HandmadeStream(save_tiny(tmp_path / "tiny"), temperature=0.5)
    tokenizer = engine_tokenizer(stream, "policy")
    assert tokenizer is not None
    check_stream(stream, "policy", tokenizer, 0.5, 4, "num_generations")
    with pytest.raises(UserError, match=r"temperature: 0.5"):
        check_stream(stream, "policy", tokenizer, 1.0)
    with pytest.raises(UserError, match=r"models.judge: the config has no such model; it has policy"):
        engine_tokenizer(stream, "judge")
