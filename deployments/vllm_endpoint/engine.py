"""Implements `engine: vllm_endpoint` of a config: `models: {policy: {engine: vllm_endpoint, base_url:
http://host:8000/v1, model: NAME, tokenizer: ...}}`.

The server only generates. Prompts are rendered and answers parsed in the workers, by the same code as in replicas of
`engine: vllm`, so that the samples are as exact. The server has to be started with `--logprobs-mode
processed_logprobs`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ray_gym.deployments.chat.checkpoint import load_tokenizer, resolve_model
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.formats import check_formats, make_formats
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.chat.token_engine import Generation
from ray_gym.deployments.vllm_endpoint.server import PATH, VllmServer, read_generation
from ray_gym.engines.endpoint import Endpoint, EndpointOptions, error_text
from ray_gym.engines.endpoint_check import EndpointCheck, open_endpoint_check
from ray_gym.engines.endpoint_door import EndpointDoor
from ray_gym.errors import UserError
from ray_gym.hosting import tls
from ray_gym.installed.extras import require
from ray_gym.models.base import Completion, CompletionRequest, Engine, EngineCheck
from ray_gym.models.door import PATHS
from ray_gym.models.rates import RateLimit
from ray_gym.models.tokenizers import TokenizerDigest

PROBE_IDS = [1, 2, 3]
"""Prompt of the request that checks the server."""
_RAW_LOGPROB = -1e-4
"""Limit for the log probability of a probe's token, which top-k 1 makes certain: a lower one is from before top-k."""


class VllmEndpointOptions(EndpointOptions, ChatOptions):
    """Holds the options of `engine: vllm_endpoint` in a config."""

    tokenizer: str | None = None
    """Checkpoint folder, or name at a model hub, of the model that the server has. By default it is `model`."""

    @property
    def tokenizer_name(self) -> str:
        """Returns the folder or name that the tokenizer is loaded from."""
        return self.tokenizer or self.model


class VllmEndpointModel:
    """Completes requests in a worker's process: renders and parses there, and generates at the vLLM server."""

    def __init__(self, options: VllmEndpointOptions, key: str | None, uses_tools: bool, max_model_len: int) -> None:
        """Loads the tokenizer and the parsers.

        `key`: the server's API key, None if it needs none. `uses_tools`: True if participants have tools.
        `max_model_len`: the model's context, in tokens. Errors: UserError for a tokenizer, template or parser that does
        not load or fit; NotInstalled if transformers or the small model is missing.
        """
        name = options.tokenizer_name
        chat_format, tool_format = make_formats(options, name, load_tokenizer(name), uses_tools)
        self._endpoint = Endpoint(options, key)
        self._max_model_len = max_model_len
        self._completer = Completer(chat_format, tool_format, VllmServer(self._endpoint, options.model, max_model_len))

    @property
    def rate(self) -> RateLimit | None:
        """Returns the limit of this worker's calls a minute; None if there is none."""
        return self._endpoint.rate

    def take_warnings(self) -> list[str]:
        """Returns the warnings about the endpoint since the last call."""
        return self._endpoint.take_warnings()

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the completion of a request, with its exact token ids; an empty one with `context_full` if the prompt
        leaves no room.

        Errors: EpisodeFailure (infra if the server fails or can't be reached; data if the template refuses the
        messages, or the server the grammar).
        """
        return await self._completer.complete(request)

    counts_tokens = True

    async def count_tokens(self, request: CompletionRequest) -> int:
        return await self._completer.count_tokens(request)

    async def context_tokens(self) -> int:
        return self._max_model_len

    async def close(self) -> None:
        self._completer.close()
        await self._endpoint.close()


class VllmEndpointEngine(Engine):
    """Checks a vLLM server, and connects workers to it. It starts nothing."""

    Options = VllmEndpointOptions
    options: VllmEndpointOptions
    passes = PATHS[1:]
    """Paths whose requests are forwarded to the server. Chats are not: they are rendered and parsed as in episodes."""
    gives_tokens = True
    tells_versions = False  # servers don't

    def __init__(self, options: VllmEndpointOptions) -> None:
        super().__init__(options)
        self._key: str | None = None
        """Key of the driver, for workers whose environment lacks it."""
        self._uses_tools = False
        self._max_model_len = 0

    def check(self, request: EngineCheck) -> None:
        where = f"models.{request.model}"
        self._uses_tools = request.uses_tools
        self._key = self.options.require_key(where)
        try:
            resolve_model(self.options.tokenizer_name)
        except UserError as error:
            raise UserError(f"{where}.tokenizer: {error}") from None
        check_formats(self.options, self.options.tokenizer_name, where, self._uses_tools)
        require("vllm", "cpu", f"{where}.engine")
        with open_endpoint_check(self.options, self._key, request) as check:
            length = check.check_model()
            if length is None:
                raise check.error("base_url", "does not say max_model_len in GET /models; is it a vLLM server?")
            self._max_model_len = length
            self._check_tokens(check)

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Loads the tokenizer and the formats once, to find mistakes before the run begins; checks the server first if
        `check` was not called. `name`: name of the model in the config. `say`: prints a line for the user.

        Errors: UserError for a tokenizer, template or parser that does not load or fit, or for a server that can't be
        reached or is not as needed; NotInstalled if vLLM, transformers or the small model is missing.
        """
        if not self._max_model_len:
            self.check(EngineCheck(name, {}, uses_tools=self._uses_tools))
        try:
            make_formats(
                self.options, self.options.tokenizer_name, load_tokenizer(self.options.tokenizer_name), self._uses_tools
            )
        except UserError as error:
            raise UserError(f"models.{name}: {error}") from None
        say(f"model {name}: {self.options.model} at {self.options.base_url}, by exact token ids")
        if note := tls.endpoint_note(name, self.options.base_url):
            say(note)

    def connect(self) -> VllmEndpointModel:
        key = self.options.key() or self._key
        return VllmEndpointModel(self.options, key, self._uses_tools, self._max_model_len)

    def tokenizer(self) -> TokenizerDigest:
        return TokenizerDigest.of(load_tokenizer(self.options.tokenizer_name).tokenizer)

    def open_door(self) -> EndpointDoor:
        return EndpointDoor(self.options, self.options.key() or self._key)

    def _check_tokens(self, check: EndpointCheck) -> None:
        """Asks the server for one token, and checks that it returns token ids and processed logprobs. Errors: UserError
        if it does not, or refuses the request.
        """
        body: dict[str, Any] = {"model": self.options.model, "prompt": PROBE_IDS, "max_tokens": 1, "temperature": 1.0}
        status, text = check.ask("POST", PATH, {**body, "top_k": 1, "logprobs": 0, "return_token_ids": True})
        if status in (400, 422):
            raise check.error("base_url", f"takes no token ids for a prompt ({error_text(text)}); is it a vLLM server?")
        check.refuse(status, text)
        try:
            answer: Generation = read_generation(json.loads(text))
        except ValueError as error:
            raise check.error("base_url", f"gives no token ids ({error}); is it a vLLM server?") from None
        if answer.prompt_ids != PROBE_IDS:
            raise check.error("base_url", f"got the ids {PROBE_IDS} and returned {answer.prompt_ids} for them")
        if (answer.logprobs < _RAW_LOGPROB).any():
            what = "gives logprobs from before temperature and truncation"
            raise check.error("base_url", f"{what}; start vLLM with --logprobs-mode processed_logprobs")
