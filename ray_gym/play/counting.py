"""Counts the tokens of prompts, by the chat template of the model that would answer them."""

from __future__ import annotations

from dataclasses import replace

from ray_gym.episode.thread import Thread
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import CompletionRequest, Model
from ray_gym.models.engine import Counting
from ray_gym.openai_api.refused import Refused, bad_request, service_unavailable
from ray_gym.play.agent_call import AgentCall


async def count_call(call: AgentCall, thread: Thread) -> int:
    """Returns the number of tokens of the prompt that a call would have if it opened a thread like this one. Nothing is
    recorded. Errors: those of `count_prompt`.
    """
    asked = replace(thread.participant.sampling, **call.sampling)
    request = CompletionRequest(list(call.messages), asked, thread.session_id, 0, tools=call.tools)
    return await count_prompt(thread.model, request, thread.participant.name)


async def count_prompt(model: Model, request: CompletionRequest, name: str) -> int:
    """Returns the number of tokens of a request's prompt. `name`: the model's name for its callers.

    Errors: Refused: 404 if the model counts none, 400 if its template refuses the request, 503 if it can't be reached.
    """
    if not isinstance(model, Counting) or not model.counts_tokens:
        message = f"model {name[:128]} has no chat template here, so its tokens can't be counted"
        raise Refused(404, "not_offered", message, "model")
    try:
        return await model.count_tokens(request)
    except EpisodeFailure as error:
        if error.failure.kind is FailureKind.DATA:
            raise bad_request(f"{error.failure.where}: {error.failure.message}", "messages") from None
        raise service_unavailable("the model can't be reached") from None
