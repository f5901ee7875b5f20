"""Makes a batch by hand, whose logprobs a tiny Llama computed: two groups of four episodes, for tests of bridges.

Masks interleave (several generated spans a sample), one episode a group has a fork, and one of the batch has failed.
As the recorded logprobs are the model's own, each importance ratio of a trainer's first step with that model must be 1.
Nothing here needs Ray until `handmade_groups` is called, so that venvs with another Ray can use the rows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from ray_gym.record.schema import as_table

GROUPS, REPEATS = 2, 4
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PAD, START, END = 256, 257, 258
"""Ids of the special tokens; those of bytes are below."""
VOCABULARY = 320
FAILED = "1-3"
"""Id of the episode that failed."""
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_model(seed: int = 0) -> LlamaForCausalLM:
    """Returns a Llama with 64 hidden units, 2 layers, and random weights in float32."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=START,
        eos_token_id=END,
        pad_token_id=PAD,
    )
    return LlamaForCausalLM(config).to(torch.float32).eval()


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a tokenizer of single bytes and three special tokens, with a ChatML template."""
    letters = sorted(ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({letter: id_ for id_, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(list(SPECIALS))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIALS[1],
        eos_token=SPECIALS[2],
        pad_token=SPECIALS[0],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def save_tiny(folder: Path, seed: int = 0, scale: float = 1.0) -> Path:
    """Saves the tiny model with its tokenizer as a checkpoint, and returns the folder. `scale`: factor of its embeddings,
    with which its distributions are less even.
    """
    model = tiny_model(seed)
    model.get_input_embeddings().weight.data.mul_(scale)
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def handmade_groups(model: LlamaForCausalLM, seed: int = 0, version: int = 0, repeats: int = REPEATS) -> list[Any]:
    """Returns the batch as a list of `ray_gym.stream.Group`."""
    from ray_gym.stream import Group

    rows = handmade_rows(model, seed, version, repeats)
    chosen = [[row for row in rows if row["group_id"] == f"g{number}"] for number in range(GROUPS)]
    return [
        Group(number, f"g{number}", f"t{number}", version, handmade_table(of_group))
        for number, of_group in enumerate(chosen)
    ]


def handmade_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Returns the episodes as a table under the schema of the record."""
    return as_table(rows)


def handmade_rows(
    model: LlamaForCausalLM, seed: int = 0, version: int = 0, repeats: int = REPEATS
) -> list[dict[str, Any]]:
    """Returns the episodes of the batch as rows of the record, in the order of their groups."""
    rng, rows = random.Random(seed), []
    for group in range(GROUPS):
        prompt = [START, *_some(rng, 8, 14), END]
        for repeat in range(repeats):
            reward = float((repeat + group) % 2)
            samples = [_sample(rng, model, prompt, rng.randint(1, 3), reward, version)]
            if repeat == 1:
                forked = [*prompt, *_some(rng, 2, 4)]
                samples.append(_sample(rng, model, forked, 1, reward, version, fork="reasoning_stripped"))
            row = _episode(group, repeat, reward, samples, repeats)
            rows.append(_failed(row) if row["episode_id"] == FAILED else row)
    return rows


def _episode(group: int, repeat: int, reward: float, samples: list[dict[str, Any]], repeats: int) -> dict[str, Any]:
    return {
        "run_id": "handmade",
        "episode_id": f"{group}-{repeat}",
        "task_id": f"t{group}",
        "group_id": f"g{group}",
        "repeat": repeat,
        "env_id": "handmade",
        "status": "completed",
        "stop_reason": "finished",
        "reward": reward,
        "rewards": [{"participant": "policy", "name": "reward", "value": reward}],
        "turns": sum(span["generated"] for sample in samples for span in sample["spans"]),
        "group_size": repeats,
        "group_completed": repeats - (f"{group}-{repeats - 1}" == FAILED),
        "events": [],
        "samples": samples,
        "tools_shown": "{}",
    }


def _failed(row: dict[str, Any]) -> dict[str, Any]:
    failure = {"kind": "environment", "where": "score", "message": "on purpose"}
    none = {"reward": None, "rewards": [], "stop_reason": "failed", "failure": failure}
    samples = [{**sample, "trainable": False, "reward": None} for sample in row["samples"]]
    return {**row, "status": "failed", **none, "samples": samples}


def _sample(
    rng: random.Random,
    model: LlamaForCausalLM,
    prompt: list[int],
    turns: int,
    reward: float,
    version: int,
    fork: str | None = None,
) -> dict[str, Any]:
    """Returns a sample with `turns` generated spans, between which others speak."""
    ids, mask, spans = list(prompt), [0] * len(prompt), [_span(0, 0, len(prompt), generated=False)]
    for turn in range(turns):
        said = [*_some(rng, 3, 6), END]
        spans.append(_span(2 * turn + 1, len(ids), len(ids) + len(said), generated=True))
        ids, mask = [*ids, *said], [*mask, *[1] * len(said)]
        if turn + 1 < turns:
            heard = _some(rng, 2, 5)
            spans.append(_span(2 * turn + 2, len(ids), len(ids) + len(heard), generated=False))
            ids, mask = [*ids, *heard], [*mask, *[0] * len(heard)]
    drawn = [span for span in spans if span["generated"]]
    return {
        "thread": "policy",
        "participant": "policy",
        "model": "policy",
        "trainable": True,
        "reward": reward,
        "token_ids": ids,
        "loss_mask": mask,
        "logprobs": [lp if m else 0.0 for lp, m in zip(logprobs_of(model, ids), mask, strict=True)],
        "versions": [{"version": version, "start": span["start"], "end": span["end"]} for span in drawn],
        "spans": spans,
        "fork_reason": fork,
    }


def _span(seq: int, start: int, end: int, *, generated: bool) -> dict[str, Any]:
    sampling = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "presence_penalty": 0.0}
    plain = {**sampling, "frequency_penalty": 0.0, "repetition_penalty": 1.0, "grammar": None}
    span = {"event_seq": seq, "start": start, "end": end, "generated": generated}
    return {**span, "sampling": plain if generated else None, "kind": "plain" if generated else None}


def _some(rng: random.Random, least: int, most: int) -> list[int]:
    return [rng.randrange(PAD) for _ in range(rng.randint(least, most))]


def logprobs_of(model: LlamaForCausalLM, ids: list[int]) -> list[float]:
    """Returns the logprob that the model gives each token at temperature 1; 0 for the first."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1].float()
    drawn = torch.tensor(ids[1:])[:, None]
    return [0.0, *logits.log_softmax(-1).gather(1, drawn)[:, 0].tolist()]
