"""Recomputes logprobs of recorded tokens: applies the sampling that a span records to the logits of a model.

The order (grammar, penalties, temperature, min-p, top-k, top-p) and the rule at each threshold are those of vLLM 0.32
(`vllm/v1/sample/sampler.py`). The code repeats them on purpose: a check of the engine must not call the engine, and a
trainer computes the logprobs of its own weights in the same way, whatever the sampling was. Logits are float32 of shape
(tokens, vocabulary): token t of the span was drawn from row t.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from ray_gym.models.base import Sampling

LEAST_TEMPERATURE = 0.01
"""Least temperature at which vLLM samples.

It raises smaller ones to this; below GREEDY it takes the likeliest token.
"""
GREEDY = 1e-5
NOT_SAMPLED = -float("inf")


def recorded_sampling(record: Mapping[str, Any]) -> Sampling:
    """Makes a `Sampling` from the field `sampling` of a recorded span. Its grammar is left out."""
    known = {field.name for field in fields(Sampling)}
    return Sampling(**{name: value for name, value in record.items() if name in known})


def token_logprobs(
    logits: torch.Tensor,
    prompt_ids: torch.Tensor,
    token_ids: torch.Tensor,
    sampling: Sampling,
    allowed: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns each generated token's logprob under the distribution it was drawn from, float32 of shape (tokens,).

    `prompt_ids` are all tokens of the sample before the span, which were the engine's prompt in this step. `allowed` is
    the grammar's mask, bool of shape (tokens, vocabulary).
    """
    if allowed is not None:
        logits = logits.masked_fill(~allowed, NOT_SAMPLED)
    counts = counts_before(token_ids, logits.shape[-1])
    logits = repetition_penalised(logits, in_prompt(prompt_ids, logits.shape[-1]) | (counts > 0), sampling)
    logits = logits - sampling.frequency_penalty * counts - sampling.presence_penalty * (counts > 0)
    if sampling.temperature >= GREEDY:  # a greedy token is recorded without a temperature, and with nothing cut off
        logits = logits / max(sampling.temperature, LEAST_TEMPERATURE)
        logits = logits.masked_fill(below_min_p(logits, sampling.min_p), NOT_SAMPLED)
        logits = logits.masked_fill(below_top_k(logits, sampling.top_k), NOT_SAMPLED)
        logits = logits.masked_fill(outside_top_p(logits, sampling.top_p), NOT_SAMPLED)
    return logits.log_softmax(dim=-1).gather(-1, token_ids.unsqueeze(-1)).squeeze(-1)


def in_prompt(prompt_ids: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Marks the ids that are in the prompt: bool, shape (vocabulary,)."""
    found = torch.zeros(vocabulary, dtype=torch.bool)
    found[prompt_ids] = True
    return found


def counts_before(token_ids: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Counts how often each id was generated before each position of the span: float32, shape (tokens, vocabulary)."""
    drawn = torch.nn.functional.one_hot(token_ids, vocabulary).to(torch.float32)
    return drawn.cumsum(dim=0) - drawn


def repetition_penalised(logits: torch.Tensor, seen: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Returns the logits with the repetition penalty on ids that were seen (Keskar et al. 2019, CTRL, section 4.1).

    Their positive logits are divided by the penalty, and the others are multiplied by it. `seen`: bool, shape (tokens,
    vocabulary).
    """
    penalty = sampling.repetition_penalty
    return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


def below_min_p(logits: torch.Tensor, min_p: float) -> torch.Tensor:
    """Marks ids that are less likely than `min_p` times the likeliest: bool, shape (tokens, vocabulary)
    (Nguyen et al. 2024, min-p sampling).
    """
    probabilities = logits.softmax(dim=-1)
    return probabilities < probabilities.amax(dim=-1, keepdim=True) * min_p


def below_top_k(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    """Marks ids that are less likely than the k-th likeliest: bool, shape (tokens, vocabulary).

    Ids as likely as that one are not marked. If `top_k` is 0 or at least the vocabulary's size, nothing is marked.
    """
    if not 0 < top_k < logits.shape[-1]:
        return torch.zeros_like(logits, dtype=torch.bool)
    return logits < logits.topk(top_k, dim=-1).values[..., -1:]


def outside_top_p(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Marks ids outside of the nucleus (Holtzman et al. 2020): bool, shape (tokens, vocabulary).

    These are the least likely ones, whose probabilities add up to no more than 1 - top_p. The likeliest is never
    marked.
    """
    if top_p >= 1:
        return torch.zeros_like(logits, dtype=torch.bool)
    ascending, order = logits.sort(dim=-1)
    outside = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - torch.tensor(top_p, dtype=torch.float32)
    outside[..., -1] = False
    return torch.zeros_like(outside).scatter(-1, order, outside)


class Grammars:
    """Finds the tokens that recorded grammars allow, by the same rules as vLLM
    (`vllm/v1/structured_output/backend_xgrammar.py`).
    """

    def __init__(self, tokenizer: Any, vocabulary: int, stop_ids: Sequence[int], any_whitespace: bool = True) -> None:
        """Prepares the compiler of grammars.

        `vocabulary` is the size of the model's vocabulary, which may be larger than the tokenizer's. `stop_ids` are the
        tokens that end a generation. `any_whitespace`: True lets JSON schemas take any whitespace, which is vLLM's
        default (`disable_any_whitespace: false`). Structural tags say it themselves.
        """
        import xgrammar

        self._vocabulary = vocabulary
        self._stop_ids = list(stop_ids)
        self._any_whitespace = any_whitespace
        information = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocabulary)
        self._compiler = xgrammar.GrammarCompiler(information)  # it caches what it compiled

    @staticmethod
    def of(checkpoint: Path) -> Grammars:
        """Makes the grammars of a checkpoint from its tokenizer and the size of its vocabulary.

        The tokens that end a generation are those of the tokenizer and of the generation config.
        """
        from transformers import AutoConfig, AutoTokenizer, GenerationConfig

        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        listed = GenerationConfig.from_pretrained(checkpoint).eos_token_id
        stop_ids = {tokenizer.eos_token_id, *(listed if isinstance(listed, list) else [listed])} - {None}
        return Grammars(tokenizer, AutoConfig.from_pretrained(checkpoint).vocab_size, sorted(stop_ids))

    def mark_allowed(self, grammar: str, token_ids: Sequence[int]) -> torch.Tensor:
        """Marks the ids that the grammar allows at each token: bool, shape (tokens, vocabulary).

        Errors: ValueError for a token that the grammar does not allow, or that comes after the grammar's end.
        """
        import xgrammar

        matcher = xgrammar.GrammarMatcher(self._compile(grammar), override_stop_tokens=self._stop_ids)
        packed = xgrammar.allocate_token_bitmask(len(token_ids), self._vocabulary)
        for position, token_id in enumerate(token_ids):
            if matcher.is_terminated():
                raise ValueError(f"the grammar had come to its end before token {position} of {len(token_ids)}")
            matcher.fill_next_token_bitmask(packed, position)
            if not matcher.accept_token(token_id):
                raise ValueError(f"the grammar does not allow token {position}, {token_id}")
        return unpack(packed, self._vocabulary)

    def _compile(self, grammar: str) -> Any:
        if json.loads(grammar).get("type") == "structural_tag":
            return self._compiler.compile_structural_tag(grammar)
        separators = None if self._any_whitespace else (",", ":")
        return self._compiler.compile_json_schema(grammar, any_whitespace=self._any_whitespace, separators=separators)


def unpack(packed: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Returns xgrammar's bits as bool of shape (tokens, vocabulary).

    `packed` is int32 of shape (tokens, words). Each word holds 32 ids, the first in the lowest bit.
    """
    bits = (packed.unsqueeze(-1) >> torch.arange(32, dtype=torch.int32)) & 1
    return bits.flatten(start_dim=-2)[..., :vocabulary].to(torch.bool)


class Reference:
    """Computes the logits of generated tokens by a model of transformers, one sequence at a time."""

    def __init__(self, checkpoint: Path, dtype: str = "float32") -> None:
        from transformers import AutoModelForCausalLM

        self._model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=getattr(torch, dtype)).eval()
        self._shared = 0
        self._cache: Any = None

    def begin_with(self, token_ids: torch.Tensor) -> None:
        """Computes the beginning that all later sequences share, so that it is computed only once.

        `token_ids`: int64, shape (tokens,); empty if they share none. The beginning is the system prompt and the tools:
        half of a short sample.
        """
        self._shared = len(token_ids)
        self._cache = None
        if self._shared:
            with torch.inference_mode():
                self._cache = self._model(input_ids=token_ids.unsqueeze(0), use_cache=True).past_key_values

    def logits(self, token_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Returns the logits that the tokens at `positions` were drawn from: float32, shape (positions, vocabulary).

        They are those of the position before each. `token_ids`: the whole sequence, which begins with the shared
        beginning.
        """
        with torch.inference_mode():
            output = self._model(
                input_ids=token_ids[self._shared :].unsqueeze(0),
                past_key_values=copy.deepcopy(self._cache),
                use_cache=self._cache is not None,
                logits_to_keep=positions - 1 - self._shared,
            )
        return output.logits[0].to(torch.float32)


def shared_beginning(samples: Sequence[Mapping[str, Any]]) -> torch.Tensor:
    """Returns the token ids (int64) that all samples begin with.

    They are fewer than the tokens of the shortest prompt, since the logits of its last token are needed.
    """
    firsts = [list(sample["loss_mask"]).index(1) for sample in samples if 1 in sample["loss_mask"]]
    prompts = [list(sample["token_ids"][: min(firsts, default=1) - 1]) for sample in samples]
    shared = takewhile(lambda column: len(set(column)) == 1, zip(*prompts, strict=False))
    return torch.tensor([column[0] for column in shared], dtype=torch.long)


def sample_logprobs(
    sample: Mapping[str, Any], reference: Reference, grammars: Grammars, edge: float = 0, tolerance: float = math.inf
) -> tuple[torch.Tensor, int]:
    """Returns computed logprobs of a sample's generated tokens (float32), in order, and the number of tokens at an
    edge.

    A token is at an edge if its logprob differs from the recorded one by more than `tolerance`, and does not if the
    thresholds of top-p and min-p are moved by `edge` (see `both_sides`). Then the result has that logprob. Errors:
    ValueError for a token that the recorded grammar does not allow.
    """
    token_ids, recorded = torch.tensor(sample["token_ids"]), torch.tensor(sample["logprobs"])
    spans = [span for span in sample["spans"] if span["generated"]]
    positions = torch.cat([torch.arange(span["start"], span["end"]) for span in spans])
    rows = reference.logits(token_ids, positions).split([span["end"] - span["start"] for span in spans])
    made, at_edge = [], 0
    for span, logits in zip(spans, rows, strict=True):
        prompt_ids, drawn = token_ids[: span["start"]], token_ids[span["start"] : span["end"]]
        sampling, grammar = recorded_sampling(span["sampling"]), span["sampling"]["grammar"]
        allowed = grammars.mark_allowed(grammar, drawn.tolist()) if grammar else None
        computed = token_logprobs(logits, prompt_ids, drawn, sampling, allowed)
        wanted = recorded[span["start"] : span["end"]]
        for side in both_sides(sampling, edge):
            far = (computed - wanted).abs() > tolerance
            if far.any():
                other = token_logprobs(logits, prompt_ids, drawn, side, allowed)
                better = far & ((other - wanted).abs() <= tolerance)
                computed, at_edge = torch.where(better, other, computed), at_edge + int(better.sum())
        made.append(computed)
    return torch.cat(made), at_edge


def both_sides(sampling: Sampling, edge: float) -> list[Sampling]:
    """Returns the sampling twice, with its thresholds of top-p and min-p moved up and down by `edge`.

    The list is empty if `edge` is 0, if the sampling is greedy, or if neither threshold cuts anything off.
    """
    if not edge or sampling.temperature < GREEDY or (sampling.top_p >= 1 and sampling.min_p <= 0):
        return []
    moved = ((sampling.top_p + by if sampling.top_p < 1 else 1.0, sampling.min_p * (1 - by)) for by in (edge, -edge))
    return [replace(sampling, top_p=top_p, min_p=min_p) for top_p, min_p in moved]
