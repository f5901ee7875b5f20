"""Calls a vLLM server as a `TokenEngine`. Its completions endpoint takes token ids as a prompt, and returns
token ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest
from ray_gym.engines.endpoint import Endpoint, RefusedRequest
from ray_gym.engines.json_bodies import decode_json
from ray_gym.engines.openai_wire import read_ids, read_logprobs
from ray_gym.errors import EpisodeFailure, FailureKind

PATH = "/completions"


@dataclass(frozen=True, slots=True)
class VllmServer:
    """Generates at a vLLM server. It is safe for many concurrent calls on one event loop."""

    endpoint: Endpoint
    model: str
    """Name of the model at the server."""
    max_model_len: int
    """Largest length of prompt and generation together, in tokens."""

    async def generate(self, request: GenerationRequest) -> Generation:
        """Returns the tokens that the server generates after the ids of a prompt.

        Errors: EpisodeFailure (data if the server refuses a request with a grammar by the status 400 or 422; infra if
        it can't be reached, its answer can't be read, or it refuses any other request).
        """
        body = request_body(request, self.model)
        try:
            return await self.endpoint.post(
                PATH, body, request.session_id, lambda answer: read_generation(decode_json(answer))
            )
        except RefusedRequest as refused:
            if request.grammar is not None and refused.status in (400, 422):
                raise EpisodeFailure(
                    FailureKind.DATA, request.grammar.field, self.endpoint.shown(str(refused))
                ) from None
            raise self.endpoint.failure(str(refused), retry=False, refused=refused) from None


def request_body(request: GenerationRequest, model: str) -> dict[str, Any]:
    """Returns the body of a request to the completions endpoint, as JSON data."""
    body = {
        "model": model,
        "prompt": request.prompt_ids,
        **request.sampling_fields(),
        "logprobs": 0,  # only that of the sampled token
        "return_token_ids": True,
    }
    if request.grammar is not None:
        body["structured_outputs"] = {request.grammar.kind: request.grammar.text}
    return body


def read_generation(answer: Any) -> Generation:
    """Returns the generation in the server's answer, decoded from JSON. It has no versions, since servers don't report
    them. Errors: ValueError if fields are missing or don't fit together, or if the generation ended by
    neither `stop` nor `length`.
    """
    try:
        (choice,) = answer["choices"]
        token_ids, logprobs = read_ids(choice["token_ids"]), read_logprobs(choice["logprobs"]["token_logprobs"])
        prompt_ids = read_ids(choice["prompt_token_ids"]).tolist()
        text, finish_reason = str(choice["text"]), choice["finish_reason"]
        stop_text = choice.get("stop_reason")
        details = (answer.get("usage") or {}).get("prompt_tokens_details") or {}
        cached = int(details.get("cached_tokens") or 0)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"a completion without token ids, logprobs or text ({error!r})") from None
    if len(token_ids) != len(logprobs):
        raise ValueError(f"{len(token_ids)} token ids but {len(logprobs)} logprobs")
    if finish_reason not in ("stop", "length"):
        raise ValueError(f"the generation ended by {finish_reason!r}")
    stopped_at = stop_text if isinstance(stop_text, str) else None  # else the id of a token
    return Generation(prompt_ids, token_ids, logprobs, text, finish_reason == "length", (), cached, stopped_at)
