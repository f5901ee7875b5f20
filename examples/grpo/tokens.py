"""Makes a tokenizer for conversations of one task, and says which of a conversation's tokens the policy said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATE = Path(__file__).with_name("chat.jinja")
PAD, BEGIN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VOCABULARY = 512
WORD = r" ?\d| ?[^\s\d]+|\s+"
"""Pieces of text that are encoded apart. Digits stand alone, so that each is a token. What has neither digits nor spaces
is one piece, so that the fixed part of a tool's call or result is a token or two."""

Conversation = dict[str, Any]
"""A line of `ray-gym export --form sft`: `messages` and `tools`."""


def render(conversation: Conversation, tokenizer: PreTrainedTokenizerFast) -> str:
    """Returns a conversation as the text that a model reads."""
    messages, tools = conversation["messages"], conversation.get("tools")
    text: str = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)
    return text


def train_tokenizer(conversations: Sequence[Conversation]) -> PreTrainedTokenizerFast:
    """Trains a byte-level BPE tokenizer on conversations, with the template of this folder."""
    untrained = _wrap(Tokenizer(models.BPE()))
    marked = [render(conversation, untrained) for conversation in conversations]
    texts = [part for text in marked for part in re.split(r"<\|\w+\|>", text) if part]  # marks are tokens already
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return _wrap(inner)


def _wrap(inner: Tokenizer) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=BEGIN, eos_token=END, pad_token=PAD, unk_token=PAD
    )
    tokenizer.chat_template = TEMPLATE.read_text()
    return tokenizer


def encode(conversation: Conversation, tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], list[bool]]:
    """Returns the token ids of a conversation, and which of them the policy said: its words, and the end of each turn."""
    ids: list[int] = tokenizer.encode(render(conversation, tokenizer), add_special_tokens=False)
    head: list[int] = tokenizer.encode(f"{BEGIN}assistant\n", add_special_tokens=False)
    return ids, said(ids, head, tokenizer.convert_tokens_to_ids(END))


def said(ids: Sequence[int], head: Sequence[int], end: int) -> list[bool]:
    """Returns True for each token from after a `head` up to the next `end`, which is included."""
    mask, speaking = [], False
    for place, token in enumerate(ids):
        mask.append(speaking)
        if speaking:
            speaking = token != end
        elif list(ids[max(0, place + 1 - len(head)) : place + 1]) == list(head):
            speaking = True
    return mask


def padded_vocabulary(tokenizer: PreTrainedTokenizerFast, multiple_of: int = 64) -> int:
    """Returns the number of a model's embeddings: that of the tokens, rounded up."""
    return -(-len(tokenizer) // multiple_of) * multiple_of
