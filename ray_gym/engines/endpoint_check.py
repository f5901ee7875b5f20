"""Checks an endpoint before a run starts: whether it is up, takes the key, and has the model. Each question is answered
within seconds, or becomes a `UserError`.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
import ssl
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import httpx

from ray_gym.aio.backoff import pause_s
from ray_gym.engines.endpoint import (
    CONNECT_TIMEOUT_S,
    EndpointOptions,
    authorization,
    error_text,
    read_retry_after,
    redirection,
    shown_error,
)
from ray_gym.engines.openai_wire import read_models
from ray_gym.errors import UserError
from ray_gym.models.base import EngineCheck
from ray_gym.proxies import answered_through, require_proxy, unreached

CHECK_TIMEOUT_S = 20.0
"""Seconds for all requests of one check of an endpoint together."""
FIRST_PAUSE_S = 0.5
"""Seconds between the first and the second try of a question that is asked too often."""
_USED_UP = re.compile(r"quota|\bbilling|\bcredits?\b|\bbalance\b|\bbudget|余额|欠费", re.IGNORECASE)
_PASSES = re.compile(
    r"retry|try(?:ing)? again|wait|rate[ _-]limit|concurren|per[ _-](?:second|minute|hour|day)(?![a-z])|\b[tr]p[md]\b",
    re.IGNORECASE,
)
"""Words of a refusal for money or a quota that is used up, and of one for a rate, which names them, too."""
_FULL_STOP = re.compile(r"(?<!\.)\.\Z")


class EndpointCheck:
    """A check sends a few requests to one endpoint, with one deadline for all of them (`CHECK_TIMEOUT_S`)."""

    def __init__(self, options: EndpointOptions, key: str | None, request: EngineCheck, client: httpx.Client) -> None:
        self._options = options
        self._key = key
        self._request = request
        self._client = client
        self.where = f"models.{request.model}"
        self.url = options.base_url
        self._deadline = time.monotonic() + CHECK_TIMEOUT_S
        self._models: dict[str, int | None] = {}

    def check_model(self) -> int | None:
        """Checks that the endpoint has the model, and that no participant's `max_tokens` exceeds the model's context.
        Returns that context in tokens, None if the endpoint doesn't tell it.

        Errors: UserError if the check fails, or the endpoint does not answer with a list of models.
        """
        status, body = self.ask("GET", "/models", None)
        self.refuse(status, body, self._unasked)
        try:
            self._models = models = read_models(json.loads(body))
        except ValueError:
            what = "answered GET /models with something that is not a list of models"
            told = f"{what}: {error_text(body)!r}; it usually ends with /v1"
            raise self.error("base_url", told, self._unasked) from None
        wanted = self._options.model
        listed = _listed(wanted, models)
        if listed is None:
            known = ", ".join(sorted(models, key=lambda name: ("://" in name, name))[:20]) or "none"
            has = f"has no model {wanted!r}; {self._guess()}it has: {known}"
            raise self.error("model", has, self._unasked)
        self._check_lengths(models[listed])
        return models[listed]

    def _guess(self) -> str:
        """Returns a question for the model of the list whose name is close to the config's; "" if there is none, or the list
        has that one.
        """
        wanted = self._options.model
        names = [name for name in self._models if "*" not in name]
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.4) if wanted not in names else []
        return f"did you mean {close[0]!r}? " if close else ""

    @property
    def _unasked(self) -> str:
        """Returns the hint by which key of the config the endpoint is not asked for its models, and what that means for token
        ids; "" if there is none.
        """
        if "probe" not in type(self._options).model_fields:
            return ""
        hint = f". If it plays the model all the same, set {self.where}.probe=false"
        is_auto = getattr(self._options, "token_ids", None) == "auto"
        return f"{hint}; token_ids are then false, unless they are set to true" if is_auto else hint

    def _check_lengths(self, context: int | None) -> None:
        for participant, sampling in self._request.samplings.items():
            if context is not None and sampling.max_tokens > context:
                field = f"participants.{participant}.sampling.max_tokens"
                raise UserError(f"{field}: {sampling.max_tokens} is more than the context of {self.where}, {context}")

    def ask(self, method: str, path: str, body: Any) -> tuple[int, str]:
        """Sends a request, with `body` as JSON, and returns the HTTP status and the text of the answer. One that is asked too
        often (HTTP 429) is asked again as long as there is time.

        Errors: UserError if the endpoint can't be reached, or has not answered in time.
        """
        for tried in itertools.count():
            response, text = self._ask(method, path, body)
            pause = max(pause_s(tried, FIRST_PAUSE_S), read_retry_after(response.headers.get("Retry-After")))
            if response.status_code != 429 or time.monotonic() + pause >= self._deadline:
                return response.status_code, redirection(response.status_code, response.headers.get("Location")) or text
            time.sleep(pause)
        raise AssertionError("unreachable")

    def _ask(self, method: str, path: str, body: Any) -> tuple[httpx.Response, str]:
        """Sends a request, and returns the response and its text. Reads it in pieces, since a timeout alone does not end an
        answer that trickles. Errors: as `ask`.
        """
        parts: list[bytes] = []
        left = max(self._deadline - time.monotonic(), 0.1)
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_TIMEOUT_S))
        try:
            with self._client.stream(method, self.url + path, json=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > self._deadline:
                        raise httpx.ReadTimeout("the answer did not end")
        except httpx.TimeoutException as error:
            waited = f"did not answer {method} {path} in time ({unreached(error, self.url)})"
            raise self.error("base_url", f"{waited}; is it up, and reachable from here?") from None
        except httpx.HTTPError as error:
            problem = f"can't be reached ({unreached(error, self.url)}); is the endpoint up?"
            raise self.error("base_url", problem) from None
        return response, b"".join(parts).decode(errors="replace")

    def refuse(self, status: int, body: str, hint: str = "") -> None:
        """Checks that the status of an answer is 200. Errors: UserError for any other: it names `api_key_env` for 401
        and 403, `model` for 404 of one that is listed, and else `base_url`, as the key of the config that is probably wrong.
        An answer that may be a proxy's own names the proxy instead.

        `hint`: a sentence on how this is not asked, for errors behind which a call may succeed.
        """
        through = answered_through(self.url, status, body)
        said = f"answered HTTP {status}{through}: {error_text(body)}"
        if through:
            raise self.error("base_url", said)
        if status in (401, 403):
            field = self._options.api_key_env
            advice = f"check the key in {field}" if field else "name the environment variable with its key here"
            raise self.error("api_key_env", f"{said}; {advice}", hint if status == 403 else "")
        if status == 404 and self._models and self._options.model in body:
            raise self.error("model", f"{said}; {self._guess()}".rstrip("; "), hint)
        if status in (402, 429) and _is_used_up(body):
            raise self.error("base_url", said)
        if status != 200:
            raise self.error("base_url", f"{said}; {_advice(status)}", hint if status >= 400 else "")

    def error(self, field: str, problem: str, hint: str = "") -> UserError:
        """Returns a UserError about the key `field` of the model's config, with the API key masked. `hint`: a sentence that
        is not cut.
        """
        told = self.shown(problem)
        if hint:  # a sentence of its own
            told = _FULL_STOP.sub("", told)
        return UserError(f"{self.where}.{field}: {self.url} {told}{hint}")

    def shown(self, text: str) -> str:
        """Returns a text about an error, with the API key masked, and cut if it is long."""
        return shown_error(text, self._key)


def _advice(status: int) -> str:
    if status == 404:
        return "base_url usually ends with /v1"
    if status == 429:
        return "it is asked too often: wait and begin again"
    if status >= 500:
        return "the endpoint is broken or still starting: look at its log"
    return "base_url must be the address of a chat-completions endpoint"


def _is_used_up(body: str) -> bool:
    said = f"{body}\n{error_text(body)}"  # JSON may have letters in an escaped form
    return _USED_UP.search(said) is not None and _PASSES.search(said) is None


def _listed(wanted: str, models: Collection[str]) -> str | None:
    """Returns the name under which a list has a model; None if it has none. Gemini lists `models/NAME`, Ollama
    `NAME:latest`, LiteLLM patterns (`openai/*`); routers take `ORGANIZATION/NAME` with a suffix (OpenRouter's `a/b:nitro`).
    """
    before = wanted.rpartition(":")[0]
    names = (wanted, f"models/{wanted}", f"{wanted}:latest", *[before] * ("/" in before))
    patterns = (name for name in models if "*" in name and fnmatchcase(wanted, name))
    return next((name for name in names if name in models), None) or next(patterns, None)


@contextmanager
def open_endpoint_check(options: EndpointOptions, key: str | None, request: EngineCheck) -> Iterator[EndpointCheck]:
    """Yields a check of an endpoint. Its HTTP client is closed at the end of the block. Errors: UserError for a proxy of
    the environment that calls can't go through.
    """
    try:
        proxy = require_proxy(options.base_url)
    except ValueError as error:
        raise UserError(f"models.{request.model}.base_url: {error}") from None
    certificates = ssl.create_default_context()  # the machine's own, as for the calls of the run
    with httpx.Client(headers=authorization(key), verify=certificates, proxy=proxy, trust_env=False) as client:
        yield EndpointCheck(options, key, request, client)
