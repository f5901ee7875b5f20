"""Simulates an engine that gives tokens: the messages of scripted players get token ids and logprobs.

Ids and logprobs are cut from constants. A text gets about as many as a tokenizer would give it. The double plays in the
workers' own processes or, with `replicas`, behind Serve, as the scripted engine does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.lag import watch_replica
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.engines.scripted_replica import ScriptedReplica
from ray_gym.hosting.application import DeploymentSpec
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Logprobs, Model, VersionSpan

IDS = (np.arange(4096, dtype=np.int32) * 7919) % 49152
LOGPROBS: Logprobs = (-(np.arange(4096) % 17) / 8).astype(np.float32)
CHARACTERS = 4
"""Approximate number of characters of a token of English text."""
MARKS = 5
"""Number of tokens that a chat template puts around a message."""


def with_tokens(completion: Completion, request: CompletionRequest) -> Completion:
    """Adds token ids (int32) and logprobs (float32) to a completion, and returns the same object.

    They stand for the prompt of the request's new messages, and for the answer.
    """
    lengths = tuple([length(message) for message in request.messages[request.known :]])
    prompt, drawn = sum(lengths) + MARKS, length(completion.message)
    completion.prompt_lengths, completion.prompt_ids = lengths, IDS[:prompt]
    completion.token_ids, completion.logprobs = IDS[:drawn], LOGPROBS[:drawn]
    completion.versions = (VersionSpan(0, 0, drawn),)
    completion.prompt_tokens, completion.generated_tokens = len(request.history) + prompt, drawn
    return completion


def length(message: Message) -> int:
    """Estimates the number of tokens of a message."""
    characters = len(message.content)
    for call in message.tool_calls:
        characters += len(call.name) + len(call.arguments)
    return MARKS + characters // CHARACTERS


class TokenModel:
    """Adds tokens to the answers of scripted players in the worker's process."""

    def __init__(self, players: Model) -> None:
        self._players = players

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the player's answer with tokens. Errors: EpisodeFailure if the player raises."""
        return with_tokens(await self._players.complete(request), request)

    async def close(self) -> None:
        await self._players.close()


class TokenReplica(ScriptedReplica):
    """Adds tokens to the answers of scripted players in a replica behind Serve."""

    def __init__(self, options: ScriptedOptions) -> None:
        super().__init__(options)
        self._pulse = watch_replica()

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the player's answer with tokens. Errors: EpisodeFailure if the player raises."""
        return with_tokens(await super().complete(request), request)


class TokenDouble(ScriptedEngine):
    """Implements an engine of scripted players whose answers have token ids and logprobs."""

    gives_tokens = True

    def connect(self) -> Model:
        connected = super().connect()
        return connected if self.options.replicas else TokenModel(connected)

    def _deployment_spec(self) -> DeploymentSpec:
        return replace(super()._deployment_spec(), replica_class=TokenReplica)
