"""Says what callers of the service are told of an endpoint's refusal, at any of its doors."""

from __future__ import annotations

import json

from ray_gym.engines.endings import ENDING_STATUSES, is_filtered
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.openai_api.refused import Refused, service_unavailable, too_many_requests

RETRIED_STATUSES = frozenset({408, 409, 425, 429, 498})
"""HTTP statuses below 500 after which a call is made again. 498 is Groq's, for a lack of capacity."""
RETRY_AFTER_S = 5.0
"""Seconds after which a caller should retry, if the endpoint does not say it."""


class RefusedByEndpoint(EpisodeFailure):
    """Says that an endpoint has answered a call with an error, so that the episode can't go on. `refused` is the same for
    a caller of the service.
    """

    def __init__(self, where: str, message: str, retry: bool, refused: Refused) -> None:
        super().__init__(FailureKind.INFRA, where, message, retry)
        self.args = (where, message, retry, refused)  # of which a copy is made in another process
        self.refused = refused


def refusal_of(status: int, path: str, body: str, shown: str, retry_after_s: float) -> Refused:
    """Returns the error that a caller gets for an endpoint's answer with a status other than 200: 429 for 429; 502 for
    401, 403 and all below 400; 503 for 408, 409, 425, 498 and 5xx but 501; 400 for others, and where a filter
    withholds the answer.

    `path`: that of the request, below /v1. `body`: the answer's. `shown`: its words, with the API key masked.
    `retry_after_s`: seconds for which the endpoint asked not to be called; 0 if it did not.
    """
    if status in ENDING_STATUSES and is_filtered(body):
        return Refused(400, "content_filter", shown, _param(body))
    if status == 429:
        return too_many_requests(shown, retry_after_s or RETRY_AFTER_S)
    if status in (404, 405, 501):
        return Refused(400, "not_offered", f"the model's endpoint has no /v1{path} for it: {shown}", "model")
    if status in (401, 403) or status < 400:
        return Refused(502, "model_failed", f"the model's endpoint does not let the service in (HTTP {status})")
    if status >= 500 or status in RETRIED_STATUSES:
        return service_unavailable(f"the model's endpoint failed (HTTP {status})", RETRY_AFTER_S)
    return Refused(400, "invalid_request", shown, _param(body))


def _param(body: str) -> str | None:
    """Returns the name of the request's field that an error in OpenAI's format is about, or None if it names none."""
    try:
        param = json.loads(body)["error"]["param"]
    except (ValueError, KeyError, TypeError):
        return None
    return param if isinstance(param, str) else None
