"""Each step from logits to recorded logprobs, on vocabularies of a few ids, against sums done by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.models.base import Sampling
from ray_gym.trainers.recorded_logprobs import (
    Grammars,
    Reference,
    both_sides,
    counts_before,
    recorded_sampling,
    shared_beginning,
    token_logprobs,
    unpack,
)

PROBABILITIES = [0.4, 0.3, 0.15, 0.1, 0.05]
NO_PROMPT = torch.tensor([], dtype=torch.long)


def logprob_of(token: int, sampling: Sampling, probabilities: list[float] | None = None, **others: Any) -> float:
    """Returns the logprob of one token, drawn first, from logits that are the logarithms of these probabilities."""
    logits = torch.tensor([probabilities or PROBABILITIES]).log()
    prompt_ids = others.pop("prompt_ids", NO_PROMPT)
    return float(token_logprobs(logits, prompt_ids, torch.tensor([token]), sampling, **others)[0])


def test_plain_sampling_is_the_softmax_at_the_temperature() -> None:
    assert logprob_of(2, Sampling()) == pytest.approx(math.log(0.15), abs=1e-6)
    squared = [p**2 for p in PROBABILITIES]
    assert logprob_of(2, Sampling(temperature=0.5)) == pytest.approx(math.log(squared[2] / sum(squared)), abs=1e-6)


def test_a_greedy_token_is_recorded_without_temperature_and_truncation() -> None:
    greedy = Sampling(temperature=0, top_p=0.1, top_k=1, min_p=0.9)
    assert logprob_of(0, greedy) == pytest.approx(math.log(0.4), abs=1e-6)


def test_temperatures_near_zero_are_raised_as_the_engine_does() -> None:
    assert logprob_of(1, Sampling(temperature=0.001)) == logprob_of(1, Sampling(temperature=0.01)) > -50


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(top_k=2), 2),
        (Sampling(top_k=5), 5),
        (Sampling(top_k=50), 5),
        (Sampling(top_p=0.65), 2),
        (Sampling(top_p=0.75), 3),  # the id that crosses the threshold is in
        (Sampling(top_p=0.01), 1),  # the likeliest always is
        (Sampling(min_p=0.3), 3),
        (Sampling(min_p=0.5, top_k=4, top_p=0.9), 2),
        (Sampling(top_k=3, top_p=0.5), 2),  # of what top-k left, 0.4 / 0.85 is not yet half
    ],
)
def test_truncation_renormalises_over_what_it_keeps(sampling: Sampling, kept: int) -> None:
    for token, probability in enumerate(PROBABILITIES):
        expected = math.log(probability / sum(PROBABILITIES[:kept])) if token < kept else -math.inf
        assert logprob_of(token, sampling) == pytest.approx(expected, abs=1e-6)


def test_top_k_keeps_ties() -> None:
    tied = [0.4, 0.2, 0.2, 0.1, 0.1]
    assert logprob_of(2, Sampling(top_k=2), tied) == pytest.approx(math.log(0.2 / 0.8), abs=1e-6)


def test_truncation_comes_after_the_temperature() -> None:
    """At temperature 2 the likeliest two have less than 0.6 together, at 1 they have 0.7."""
    rooted = [math.sqrt(p) for p in PROBABILITIES]
    expected = math.log(rooted[2] / sum(rooted[:3]))
    assert logprob_of(2, Sampling(temperature=2.0, top_p=0.65)) == pytest.approx(expected, abs=1e-6)


def test_repetition_is_penalised_over_prompt_and_output_whatever_the_sign() -> None:
    logits = torch.tensor([[2.0, -1.0, 0.5], [2.0, -1.0, 0.5]])
    found = token_logprobs(logits, torch.tensor([1]), torch.tensor([0, 2]), Sampling(repetition_penalty=2.0))
    first, second = [2.0, -2.0, 0.5], [1.0, -2.0, 0.5]  # the first token drawn is seen at the second only
    expected = [2.0 - math.log(sum(map(math.exp, first))), 0.5 - math.log(sum(map(math.exp, second)))]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_presence_and_frequency_count_the_output_of_the_step_only() -> None:
    logits = torch.zeros(3, 2)
    sampling = Sampling(presence_penalty=0.5, frequency_penalty=0.25)
    found = token_logprobs(logits, torch.tensor([0, 0, 0]), torch.tensor([0, 0, 1]), sampling)
    lowered = [0.0, 0.75, 1.0]
    logs = [math.log(math.exp(-by) + 1) for by in lowered]
    assert found.tolist() == pytest.approx([-logs[0], -0.75 - logs[1], -logs[2]], abs=1e-6)


def test_a_token_is_not_among_those_before_it() -> None:
    assert counts_before(torch.tensor([1, 1, 0]), 2).tolist() == [[0, 0], [0, 1], [0, 2]]


def test_a_grammar_renormalises_before_anything_is_cut_off() -> None:
    allowed = torch.tensor([[False, True, False, True, True]])
    expected = math.log(0.3 / 0.4)  # of 0.45 that is allowed, 0.3 and 0.1 make up the nucleus
    assert logprob_of(1, Sampling(top_p=0.8), allowed=allowed) == pytest.approx(expected, abs=1e-6)
    assert logprob_of(0, Sampling(), allowed=allowed) == -math.inf


def test_bits_of_a_packed_mask() -> None:
    packed = torch.tensor([[0b101, -(2**31)]], dtype=torch.int32)
    assert unpack(packed, 64).nonzero()[:, 1].tolist() == [0, 2, 63]
    assert unpack(packed, 40).shape == (1, 40)


def test_an_edge_is_crossed_by_moving_the_threshold() -> None:
    """0.4 and 0.3 are the nucleus of 0.7 or not: rounding decides, and either side is one of the two."""
    looser, tighter = both_sides(Sampling(top_p=0.7), 1e-5)
    assert logprob_of(0, looser) == pytest.approx(math.log(0.4 / 0.85), abs=1e-6)
    assert logprob_of(0, tighter) == pytest.approx(math.log(0.4 / 0.7), abs=1e-6)
    looser, tighter = both_sides(Sampling(min_p=0.75), 1e-5)
    assert logprob_of(1, looser) == pytest.approx(math.log(0.3 / 0.7), abs=1e-6)
    assert logprob_of(1, tighter) == -math.inf
    assert both_sides(Sampling(top_p=0.7), 0) == both_sides(Sampling(temperature=0.7), 1e-5) == []


def test_a_record_gives_its_sampling() -> None:
    record = {"temperature": 0.7, "top_p": 0.9, "top_k": 3, "grammar": json.dumps({})}
    assert recorded_sampling(record) == Sampling(temperature=0.7, top_p=0.9, top_k=3)


def test_what_samples_begin_with() -> None:
    def beginning(*samples: tuple[list[int], int]) -> list[int]:
        return list(shared_beginning([{"token_ids": ids, "loss_mask": [0] * n + [1]} for ids, n in samples]).tolist())

    assert beginning(([1, 2, 3, 4, 9], 4), ([1, 2, 5, 6, 9], 4)) == [1, 2]
    assert beginning(([1, 2, 3, 4], 3), ([1, 2, 3, 4], 3)) == [1, 2], "3 gives the logits of what was drawn first"
    assert beginning(([1, 2, 3, 4], 3), ([1, 2], 1)) == []
    assert beginning() == []


def test_logits_are_those_one_position_before_with_a_shared_beginning_or_without(tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=32, **sizes)).eval()
    model.save_pretrained(tmp_path)
    ids, positions = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6]), torch.tensor([4, 5, 7])
    with torch.inference_mode():
        expected = model(input_ids=ids.unsqueeze(0)).logits[0][[3, 4, 6]]
    reference = Reference(tmp_path)
    assert torch.allclose(reference.logits(ids, positions), expected, atol=1e-6)
    reference.begin_with(ids[:3])
    for _ in range(2):  # what one sequence adds is not there for the next
        assert torch.allclose(reference.logits(ids, positions), expected, atol=1e-6)
    reference.begin_with(ids[:0])
    assert torch.allclose(reference.logits(ids, positions), expected, atol=1e-6)


def test_a_recorded_grammar_allows_its_calls_and_nothing_else() -> None:
    grammars, tokenizer = Grammars.of(checkpoint_dir()), AutoTokenizer.from_pretrained(checkpoint_dir())
    schema = {"type": "object", "properties": {"n": {"enum": [4, 7]}}, "required": ["n"]}
    content = {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": 1}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "go ", "content": content, "end": ""}}
    for grammar, text in ((json.dumps(tag), 'go {"n": 7}'), (json.dumps(schema), '{"n": 7}')):
        drawn = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        allowed = grammars.mark_allowed(grammar, drawn)
        assert allowed.shape == (len(drawn), 49152) and bool(allowed.gather(1, torch.tensor([drawn]).T).all())
        digits = {tokenizer.decode(int(token)) for token in allowed[-3].nonzero()}
        assert {text.strip() for text in digits} - {""} == {"4", "7"}
        assert allowed[-1].nonzero().flatten().tolist() == [drawn[-1]]
    with pytest.raises(ValueError, match="does not allow token 0"):
        grammars.mark_allowed(json.dumps(tag), [tokenizer.eos_token_id])
