"""Models behind an OpenAI-compatible endpoint: `models: {judge: {engine: openai, base_url: ..., model: ...}}`.

The endpoint renders the prompts itself. Where it also says which token ids it rendered and drew (vLLM does), the
records hold exact samples; where it does not, they hold text only. Logprobs must be those of the distribution that was
sampled from, so a vLLM server should be started with `--logprobs-mode processed_logprobs`.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import math
import os
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import aiohttp
import httpx
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.messages import Message
from ray_gym.models import openai_wire as wire
from ray_gym.models.base import Completion, CompletionRequest, EngineCheck

CONNECT_TIMEOUT_S = 5.0
CHECK_TIMEOUT_S = 20.0
LONGEST_PAUSE_S = 30.0
RETRIED_STATUSES = frozenset({408, 409, 429})


class OpenAIOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str
    """Usually ends in /v1."""
    model: Annotated[str, Field(min_length=1)]
    """The model's name at the endpoint."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    token_ids: Literal["auto"] | bool = "auto"
    """Whether the endpoint gives token ids and logprobs. auto: asked before the run starts."""
    probe: bool = True
    """Ask the endpoint for its models before the run starts. Without it, `token_ids: auto` means false."""
    max_connections: Annotated[int, Field(ge=1)] = 1024
    """Calls in flight, for each worker."""
    retries: Annotated[int, Field(ge=0)] = 5
    timeout_s: Annotated[float, Field(gt=0)] = 600
    """Seconds of silence after which a call counts as lost."""
    extra_body: dict[str, Any] = {}
    """Added to every request, e.g. {chat_template_kwargs: {enable_thinking: false}}."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError(f"{value!r} is not an address like http://host:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("only scheme, host, port and path go here; the key is named by api_key_env")
        return value.rstrip("/")

    @field_validator("extra_body")
    @classmethod
    def _leaves_own_fields_alone(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(wire.OWN_FIELDS & value.keys())
        if taken:
            raise ValueError(f"{', '.join(taken)}: set by the participant (sampling, tool_choice) or by the engine")
        return value


@dataclass(frozen=True, slots=True)
class _Lost:
    """A call that is worth another try, and how long the endpoint asked to be left alone."""

    problem: str
    retry_after_s: float = 0


class OpenAIModel:
    def __init__(self, options: OpenAIOptions, key: str | None, exact: bool, first_pause_s: float = 0.5) -> None:
        self._options = options
        self._key = key
        self._exact = exact
        self._first_pause_s = first_pause_s
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        options = self._options
        body = json.dumps(wire.request_body(request, options.model, self._exact, options.extra_body)).encode()
        tried = 0
        while not isinstance(outcome := await self._call(body, request), Completion):
            if tried == options.retries:
                raise self._failure(f"{outcome.problem} (tried {tried + 1} times)")
            await asyncio.sleep(max(self._pause_s(tried), outcome.retry_after_s))
            tried += 1
        return outcome

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _call(self, body: bytes, request: CompletionRequest) -> Completion | _Lost:
        url = f"{self._options.base_url}/chat/completions"
        headers = {"Content-Type": "application/json", "X-Session-Id": request.session_id}  # routers keep it together
        try:
            async with self._connected().post(url, data=body, headers=headers, allow_redirects=False) as response:
                status, answer = response.status, await response.read()
                retry_after_s = _seconds(response.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Lost(describe(error))
        if status == 200:
            return self._understand(answer, request)
        text = answer.decode(errors="replace")
        problem = f"HTTP {status}: {wire.error_text(text)}"
        if status in RETRIED_STATUSES or status >= 500:
            return _Lost(problem, retry_after_s)
        if status == 400 and wire.context_is_full(text):
            return Completion(Message("assistant"), finish_reason="context_full")
        raise self._failure(problem)

    def _understand(self, answer: bytes, request: CompletionRequest) -> Completion | _Lost:
        try:
            return wire.completion(json.loads(answer), request, self._exact, self._options.extra_body)
        except ValueError as error:
            return _Lost(f"not a chat completion: {describe(error)}")

    def _connected(self) -> aiohttp.ClientSession:
        """Made at the first call: it belongs to the event loop that runs then."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._options.max_connections),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=self._options.timeout_s
                ),
                headers=_authorization(self._key),
                trust_env=True,
            )
        return self._session

    def _pause_s(self, tried: int) -> float:
        """Doubles each time; the jitter keeps thousands of episodes from coming back at the same instant."""
        return min(self._first_pause_s * 2.0**tried, LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)

    def _failure(self, problem: str) -> EpisodeFailure:
        shown = problem.replace(self._key, "***") if self._key else problem
        return EpisodeFailure(FailureKind.INFRA, f"model {self._options.base_url}", shown)


class OpenAIEngine:
    Options = OpenAIOptions

    def __init__(self, options: OpenAIOptions) -> None:
        self.options = options
        self._key: str | None = None
        """The driver's, for workers whose environment lacks it."""
        self._exact: bool | None = None if options.token_ids == "auto" else options.token_ids
        self._checked = False

    @property
    def gives_tokens(self) -> bool:
        return bool(self._exact)

    def check(self, request: EngineCheck) -> None:
        self._key = self._driver_key(f"models.{request.model}")
        if self.options.probe:
            found = _Probe(self.options, self._key, request).run()
            self._exact = found if self._exact is None else self._exact
        self._checked = True

    def gpus(self) -> float:
        return 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Nothing to bring up. An engine that was not checked yet finds out here what the check finds out."""
        if not self._checked:
            self.check(EngineCheck(model=name, samplings={}, uses_tools=False))

    def connect(self) -> OpenAIModel:
        return OpenAIModel(self.options, self._key_here() or self._key, self.gives_tokens)

    def stop(self) -> None:
        return None

    def _driver_key(self, where: str) -> str | None:
        name, key = self.options.api_key_env, self._key_here()
        if name and not key:
            raise UserError(f"{where}.api_key_env: the environment variable {name} is not set; export {name}=YOUR_KEY")
        return key

    def _key_here(self) -> str | None:
        name = self.options.api_key_env
        return os.environ.get(name, "").strip() or None if name else None


class _Probe:
    """The questions to an endpoint before a run starts, each answered within seconds or turned into a `UserError`."""

    def __init__(self, options: OpenAIOptions, key: str | None, request: EngineCheck) -> None:
        self._options = options
        self._key = key
        self._request = request
        self._where = f"models.{request.model}"
        self._deadline = time.monotonic() + CHECK_TIMEOUT_S

    def run(self) -> bool:
        """Whether the endpoint gives token ids that can be used."""
        certificates = ssl.create_default_context()  # the machine's own, as for the calls of the run
        with httpx.Client(headers=_authorization(self._key), verify=certificates) as client:
            self._check_model(client)
            return self._options.token_ids is not False and self._gives_token_ids(client)

    def _check_model(self, client: httpx.Client) -> None:
        status, body = self._ask(client, "GET", "/models", None)
        self._refuse(status, body)
        try:
            models = wire.listed_models(json.loads(body))
        except ValueError:
            what = "answered GET /models with something that is not a list of models"
            raise self._error("base_url", f"{what}: {wire.error_text(body)!r}; it usually ends with /v1") from None
        wanted = self._options.model
        if wanted not in models:
            close = difflib.get_close_matches(wanted, models, n=1, cutoff=0.4)
            hint = f"did you mean {close[0]!r}? " if close else ""
            known = ", ".join(sorted(models)[:20]) or "none"
            raise UserError(f"{self._where}.model: {self._url} has no model {wanted!r}; {hint}it has: {known}")
        self._check_lengths(models[wanted])

    def _check_lengths(self, context: int | None) -> None:
        for participant, sampling in self._request.samplings.items():
            if context is not None and sampling.max_tokens > context:
                field = f"participants.{participant}.sampling.max_tokens"
                raise UserError(f"{field}: {sampling.max_tokens} is more than the context of {self._where}, {context}")

    def _gives_token_ids(self, client: httpx.Client) -> bool:
        """`token_ids: true` insists on usable ids; auto goes without, and says so where they would be wrong."""
        insists = self._options.token_ids is True
        body = wire.probe_body(self._options.model, self._options.extra_body)
        status, text = self._ask(client, "POST", "/chat/completions", body)
        problem = f"{self._url} gives no token ids"
        if status not in (400, 422):
            self._refuse(status, text)
            try:
                answer = json.loads(text)
                if wire.gives_token_ids(answer):
                    problem = self._wrong_logprobs() if wire.logprobs_are_raw(answer) else ""
            except ValueError as error:
                raise self._error("base_url", f"answered with no chat completion: {error}") from None
        else:
            problem += f" (HTTP {status}: {wire.error_text(text)})"
        if problem and insists:
            raise UserError(f"{self._where}.token_ids: {problem}; fix that or set it to auto or false")
        if problem:
            logging.getLogger(__name__).warning("%s: %s; its records will have no samples", self._where, problem)
        return not problem

    def _wrong_logprobs(self) -> str:
        """Raw logprobs are right only where sampling leaves the model's distribution as it is."""
        reshaped = [
            name
            for name, sampling in self._request.samplings.items()
            if not (sampling.is_plain and sampling.temperature == 1)
        ]
        if not reshaped:
            return ""
        return (
            f"{self._url} gives logprobs from before temperature and truncation, which participants "
            f"{', '.join(reshaped)} set (start vLLM with --logprobs-mode processed_logprobs)"
        )

    def _ask(self, client: httpx.Client, method: str, path: str, body: Any) -> tuple[int, str]:
        """Status and text. Read by the piece, since a timeout alone does not end an answer that trickles."""
        parts: list[bytes] = []
        left = max(self._deadline - time.monotonic(), 0.1)
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_TIMEOUT_S))
        try:
            with client.stream(method, self._url + path, json=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > self._deadline:
                        raise httpx.ReadTimeout("the answer did not end")
        except httpx.TimeoutException as error:
            waited = f"did not answer {method} {path} in time ({describe(error)})"
            raise self._error("base_url", f"{waited}; is it up, and reachable from here?") from None
        except httpx.HTTPError as error:
            raise self._error("base_url", f"can't be reached ({describe(error)}); is the endpoint up?") from None
        return response.status_code, b"".join(parts).decode(errors="replace")

    def _refuse(self, status: int, body: str) -> None:
        """What each status other than 200 means to someone who has just written a config."""
        said = f"answered HTTP {status}: {wire.error_text(body)}"
        if status in (401, 403):
            field = self._options.api_key_env
            hint = f"check the key in {field}" if field else "name the environment variable with its key here"
            raise self._error("api_key_env", f"{said}; {hint}")
        if status == 404:
            raise self._error("base_url", f"{said}; base_url usually ends with /v1")
        if status >= 500:
            raise self._error("base_url", f"{said}; the endpoint is broken or still starting: look at its log")
        if status != 200:
            raise self._error("base_url", f"{said}; base_url must be the address of a chat-completions endpoint")

    def _error(self, field: str, problem: str) -> UserError:
        shown = problem.replace(self._key, "***") if self._key else problem
        return UserError(f"{self._where}.{field}: {self._url} {shown}")

    @property
    def _url(self) -> str:
        return self._options.base_url


def _authorization(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _seconds(value: str | None) -> float:
    """The seconds form of Retry-After; its date form and nonsense count as nothing asked."""
    try:
        seconds = float(value or 0)
    except ValueError:
        return 0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0
