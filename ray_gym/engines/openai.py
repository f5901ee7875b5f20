"""Runs models behind an OpenAI-compatible endpoint: `models: {judge: {engine: openai, base_url: ..., model: ...}}`.

The endpoint renders the prompts itself. If it also returns the token ids that it rendered and drew (vLLM does), the
records hold exact samples; otherwise they hold text only. Logprobs must be those of the distribution that was sampled
from, so a vLLM server should be started with `--logprobs-mode processed_logprobs`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from pydantic import Field, field_validator

from ray_gym.engines import openai_wire as wire
from ray_gym.engines.arranged import ARRANGEMENTS
from ray_gym.engines.dialect import MAX_TOKENS, Dialect
from ray_gym.engines.endings import (
    ENDING_STATUSES,
    is_context_full,
    is_limit_too_large,
    is_limit_unknown,
    read_ending,
)
from ray_gym.engines.endpoint import Endpoint, EndpointOptions, RefusedRequest, error_text
from ray_gym.engines.endpoint_check import EndpointCheck, open_endpoint_check
from ray_gym.engines.endpoint_door import EndpointDoor
from ray_gym.engines.extra_body import own_fields, shaping_fields
from ray_gym.engines.sent_back import of_origin, with_origin
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.hosting import tls
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Engine, EngineCheck
from ray_gym.models.door import PATHS
from ray_gym.models.rates import RateLimit
from ray_gym.seeds import stable_id

NO_IDS = (
    "an answer has no token ids, or not a logprob for each, though the endpoint counts as one that gives them: no sample "
    "holds what is generated so"
)
"""Warning of answers without the token ids that were asked for."""


class OpenAIOptions(EndpointOptions):
    """Holds the options of `engine: openai` in a config."""

    token_ids: Literal["auto"] | bool = "auto"
    """True if the endpoint gives token ids and logprobs. auto: it is asked before the run starts."""
    probe: bool = True
    """Ask the endpoint for its models before the run starts. Without it, `token_ids: auto` means false."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Fields that are added to every request, e.g. {chat_template_kwargs: {enable_thinking: false}}."""

    @field_validator("extra_body")
    @classmethod
    def _check_own_fields(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := own_fields(value):
            raise ValueError(
                f"{', '.join(taken)}: set by the participant (sampling, tool_choice) or by the engine, which asks for one "
                "answer, with a seed of each call's own, and none of a cache"
            )
        return value


class OpenAIModel:
    """Calls the chat completions API of an endpoint. It is safe for many concurrent calls on one event loop."""

    def __init__(
        self,
        options: OpenAIOptions,
        key: str | None,
        exact: bool,
        first_pause_s: float = 0.5,
        context_tokens: int | None = None,
    ) -> None:
        """Creates a model that connects at its first call.

        `key`: the API key; None means that none is sent. `exact`: True if the endpoint gives token ids and logprobs.
        `first_pause_s`: seconds between the first and the second try of a call. `context_tokens`: length of the model's
        context; None if the endpoint does not tell it.
        """
        self._context_tokens = context_tokens
        self._options = options
        self._exact = exact
        self._endpoint = Endpoint(options, key, first_pause_s)
        self._dialect = Dialect(exact)
        self._origin = stable_id(options.base_url, options.model)

    @property
    def rate(self) -> RateLimit | None:
        """Returns the limit of this worker's calls a minute; None if there is none."""
        return self._endpoint.rate

    def take_warnings(self) -> list[str]:
        """Returns the warnings about the endpoint since the last call."""
        return self._endpoint.take_warnings()

    async def context_tokens(self) -> int | None:
        return self._context_tokens

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the endpoint's completion of a request. One that it refuses for its form is asked again in the form that
        the refusal tells (`Dialect`), which later requests have, too. One that asks for more tokens than the endpoint has
        room for is asked again without a limit, so that the room is the limit. If the endpoint still says that the
        conversation doesn't fit the model's context (HTTP 400, 413 or 422), returns an empty completion with the finish
        reason `context_full`. An error that tells of an answer (`read_ending`) is that answer.

        Errors: EpisodeFailure: data if the endpoint refuses a request that has a `response_format` (HTTP 400 or 422),
        else infra.
        """
        options = self._options
        request = msgspec.structs.replace(request, beside=of_origin(request.beside, self._origin))
        body = wire.request_body(request, options.model, self._exact, options.extra_body)
        dialect = began = self._dialect
        asked: list[dict[str, Any]] = []
        while True:
            if asked and self.rate is not None:
                self.rate.count_again()
            asked.append(dialect.apply(body, request))
            try:
                completion = await self._ask(request, asked[-1])
            except RefusedRequest as refused:
                if (told := _told_by(refused, request)) is not None:
                    self._learn(dialect, began)
                    return told
                if (other := dialect.after(refused, body, request, asked, began)) is not None:
                    dialect = other
                elif MAX_TOKENS in body and _asks_for_too_much(refused):
                    del body[MAX_TOKENS]
                elif refused.status in (400, 413, 422) and is_context_full(refused.text):
                    if not any(message.role == "assistant" for message in request.messages):
                        self._endpoint.warn("context", f"a first prompt is too long for the model's context: {refused}")
                    return Completion(Message("assistant"), finish_reason="context_full")
                else:
                    raise self._failure(refused, request) from None
            else:
                self._learn(dialect, began)
                return completion

    def _learn(self, taken: Dialect, began: Dialect) -> None:
        """Gives all later requests what one learnt whose form was `taken`. Warns of the fields that they leave out, and of
        another order of messages.
        """
        for name in sorted(taken.left_out - self._dialect.left_out):
            means = "it may call several tools at once" if name == "parallel_tool_calls" else "its own default counts"
            self._endpoint.warn(name, f"it refuses {name}, so calls leave that out, and {means}")
        for name in sorted(taken.arrangements - self._dialect.arrangements):
            self._endpoint.warn(name, f"it refuses the order of messages, so in later calls {ARRANGEMENTS[name]}")
        self._dialect = self._dialect.learnt(taken, began)

    async def _ask(self, request: CompletionRequest, body: dict[str, Any]) -> Completion:
        """Returns the endpoint's completion. Errors: RefusedRequest; EpisodeFailure (infra)."""
        return await self._endpoint.post(
            "/chat/completions",
            body,
            request.session_id,
            lambda answer: self._read(answer, request),
        )

    def _read(self, answer: bytes, request: CompletionRequest) -> Completion:
        """Returns the completion in an answer, or the one that an error in its place tells of. Warns if it lacks the
        token ids that the endpoint should give. Errors: ValueError.
        """
        read = wire.read(answer)
        told = read_ending(read, request) if isinstance(read, dict) and not read.get("choices") else None
        if told is not None:
            return told
        found = wire.completion(read, request, self._exact, self._options.extra_body, self._context_tokens)
        if self._exact and not found.has_tokens:
            self._endpoint.warn("token ids", NO_IDS)
        found.beside = with_origin(found.beside, self._origin)
        return found

    def _failure(self, refused: RefusedRequest, request: CompletionRequest) -> EpisodeFailure:
        """Returns the failure for a refusal: data if it may be due to a `response_format`, else infra."""
        if refused.status in (400, 422) and request.response_format is not None:
            return EpisodeFailure(FailureKind.DATA, "response_format", self._endpoint.shown(str(refused)))
        return self._endpoint.failure(str(refused), retry=False, refused=refused)

    async def close(self) -> None:
        await self._endpoint.close()


def _told_by(refused: RefusedRequest, request: CompletionRequest) -> Completion | None:
    """Returns the answer that a refusal tells of; None if it tells of none."""
    return read_ending(refused.text, request) if refused.status in ENDING_STATUSES else None


def _asks_for_too_much(refused: RefusedRequest) -> bool:
    """Returns True if a request may have been refused since it asks for more tokens than there is room for, or by a field
    that is not known there.
    """
    told = (is_context_full, is_limit_too_large, is_limit_unknown)
    return refused.status in (400, 413, 422) and any(says(refused.text) for says in told)


class OpenAIEngine(Engine):
    """Checks an endpoint, and connects workers to it. It starts no process."""

    Options = OpenAIOptions
    options: OpenAIOptions
    passes = PATHS

    def __init__(self, options: OpenAIOptions) -> None:
        super().__init__(options)
        self._key: str | None = None
        """API key that the driver has found, for workers whose environment lacks it."""
        self._exact: bool | None = None if options.token_ids == "auto" else options.token_ids
        self._checked = False
        self._context_tokens: int | None = None

    tells_versions = False  # endpoints don't

    @property
    def gives_tokens(self) -> bool:
        return bool(self._exact)

    def check(self, request: EngineCheck) -> None:
        self._key = self.options.require_key(f"models.{request.model}")
        if self.options.probe:
            with open_endpoint_check(self.options, self._key, request) as check:
                self._context_tokens = check.check_model()
                found = self.options.token_ids is not False and _probe_token_ids(check, self.options, request)
            self._exact = found if self._exact is None else self._exact
        self._checked = True

    @property
    def reshapes(self) -> str:
        fields = shaping_fields(self.options.extra_body)
        return f"extra_body: {', '.join(fields)}" if fields else ""

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Checks the endpoint if that was not done before. Warns the user, by `say`, if the endpoint is reached in
        plain text although Ray uses TLS. Errors: UserError for what the check finds wrong.
        """
        if not self._checked:
            self.check(EngineCheck(model=name, samplings={}, uses_tools=False))
        if note := tls.endpoint_note(name, self.options.base_url):
            say(note)

    def connect(self) -> OpenAIModel:
        return OpenAIModel(
            self.options, self.options.key() or self._key, self.gives_tokens, context_tokens=self._context_tokens
        )

    def open_door(self) -> EndpointDoor:
        return EndpointDoor(self.options, self.options.key() or self._key, self.options.extra_body)


def _probe_token_ids(check: EndpointCheck, options: OpenAIOptions, request: EngineCheck) -> bool:
    """Asks the endpoint for one token, and returns True if the answer has token ids, and logprobs that are right for
    this run. Else, with `token_ids: auto`, logs a warning and returns False.

    Errors: UserError if the endpoint does not answer, the answer is no chat completion, or its status is none of 200,
    400 and 422; with `token_ids: true`, also if the token ids or right logprobs are missing.
    """
    insists = options.token_ids is True
    body = wire.probe_body(options.model, options.extra_body)
    status, text = check.ask("POST", "/chat/completions", body)
    problem = f"{check.url} gives no token ids"
    if status not in (400, 422):
        check.refuse(status, text, f". If it plays the model all the same, set {check.where}.token_ids=false")
        try:
            answer = json.loads(text)
            if wire.has_token_ids(answer):
                problem = _logprobs_problem(check.url, request) if wire.has_raw_logprobs(answer) else ""
        except ValueError as error:
            raise check.error("base_url", f"answered with no chat completion: {error}") from None
    else:
        problem += f" (HTTP {status}: {check.shown(error_text(text))})"
    if problem and insists:
        raise UserError(f"{check.where}.token_ids: {problem}; fix that or set it to auto or false")
    if problem:
        logging.getLogger(__name__).warning("%s: %s; its records will have no samples", check.where, problem)
    return not problem


def _logprobs_problem(url: str, request: EngineCheck) -> str:
    """Returns the reason why logprobs from before temperature and truncation are wrong for this run. Returns "" if they
    are right, since all participants sample with temperature 1 and without truncation or penalties.
    """
    reshaped = [
        name for name, sampling in request.samplings.items() if not (sampling.is_plain and sampling.temperature == 1)
    ]
    if not reshaped:
        return ""
    return (
        f"{url} gives logprobs from before temperature and truncation, which participants "
        f"{', '.join(reshaped)} set (start vLLM with --logprobs-mode processed_logprobs)"
    )
