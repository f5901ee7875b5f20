"""Finds what a bridge compares its trainer with: the tokenizer of a model that a stream has up."""

from __future__ import annotations

from typing import Any

from ray_gym.deployments.chat.checkpoint import load_tokenizer
from ray_gym.errors import UserError
from ray_gym.stream import BlockingStream
from ray_gym.trainers.compatibility import check_group_size, check_temperature, check_tokenizers


def engine_tokenizer(stream: BlockingStream, model: str) -> Any | None:
    """Returns the tokenizer (of transformers) of a model of the stream's config; None if the config does not name one,
    as for engines of the user's own.

    Errors: UserError if there is no such model, or its tokenizer can't be loaded.
    """
    section = stream.config.models.get(model)
    if section is None:
        raise UserError(f"models.{model}: the config has no such model; it has {', '.join(stream.config.models)}")
    options = section.options
    given = options.get("tokenizer") or (options.get("model") if section.engine.startswith("vllm") else None)
    return None if given is None else load_tokenizer(str(given)).tokenizer


def check_stream(
    stream: BlockingStream, model: str, tokenizer: Any, temperature: float, size: int | None = None, option: str = ""
) -> None:
    """Checks that a stream fits its trainer: the size of groups, the temperature of the participants that `model`
    plays, and its tokenizer.

    `tokenizer`, `temperature`: the trainer's. `size`: number of episodes that the trainer's `option` says. Errors:
    UserError.
    """
    config = stream.config
    check_group_size(config.tasks.repeats, size, option)
    for name, participant in config.participants.items():
        is_trained = participant.trainable if participant.trainable is not None else name == "policy"
        if participant.model == model and is_trained:
            check_temperature(participant.sampling, temperature, f"participants.{name}")
    theirs = engine_tokenizer(stream, model)
    if theirs is not None:
        check_tokenizers(tokenizer, theirs, f"models.{model}")
