"""Serves a reward model in one replica. The class is a plain one; the module `engine` makes a Serve deployment
of it.
"""

from __future__ import annotations

import uuid
from typing import Any

from ray_gym.deployments.chat.checkpoint import load_tokenizer, resolve_model
from ray_gym.deployments.chat.formats import make_formats
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.vllm import reaper
from ray_gym.deployments.vllm.hardware import cpu_engine_args, prepare_cpu
from ray_gym.deployments.vllm.layout import parallel_args
from ray_gym.deployments.vllm_reward.options import RewardOptions, VerdictOptions
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.hosting.lanes.replica import BatchedReplica
from ray_gym.messages import Message
from ray_gym.models.base import NO_TOKENS, Completion, CompletionRequest


class RewardReplica(BatchedReplica):
    """Answers conversations with their rewards, by one engine."""

    def __init__(self, options: RewardOptions) -> None:
        """Loads the model. Errors: UserError for a model that is no reward model, and for a template, answers or engine
        arguments that don't fit it; NotInstalled if the small model was not fetched.
        """
        self.options = options
        if options.gpus == 0:
            prepare_cpu(options)
        model = options.model or ""
        tokens = load_tokenizer(model)
        chat = ChatOptions(chat_template=options.chat_template, chat_template_kwargs=options.chat_template_kwargs)
        self._format, _ = make_formats(chat, model, tokens, uses_tools=False)
        self._reaper = reaper.watch()
        self._engine = _load_engine(resolve_model(model), options, tokens.tokenizer)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns a completion with the reward of the conversation, as the text of a number without bounds; an empty
        completion with `context_full` if the conversation does not fit the model's context.

        Errors: EpisodeFailure (infra if the engine breaks, data if the template can't show or refuses the messages).
        """
        from vllm import PoolingParams
        from vllm.inputs import TokensPrompt

        try:
            ids = self._encode(request.messages)
        except UserError as error:
            raise EpisodeFailure(FailureKind.DATA, "chat template", str(error)) from error
        if len(ids) > self._engine.model_config.max_model_len:
            return Completion(Message("assistant"), finish_reason="context_full", prompt_tokens=len(ids))
        params = PoolingParams(task="classify", use_activation=False)  # the logit, without a sigmoid
        last = None
        try:
            async for output in self._engine.encode(TokensPrompt(prompt_token_ids=ids), params, uuid.uuid4().hex):
                last = output
        except Exception as error:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", describe(error)) from error
        if last is None:
            raise EpisodeFailure(FailureKind.INFRA, "vllm", "the engine aborted the request")
        return Completion(Message("assistant", repr(float(last.outputs.data[0]))), prompt_tokens=len(ids))

    async def check_health(self) -> None:
        await self._engine.check_health()

    async def describe(self) -> dict[str, Any]:
        """Returns a description for runs that attach: the model, its GPUs per rank, its transport, and that it gives
        rewards.
        """
        return {"model": self.options.model, "gpus": self.options.gpus, "rewards": True, "transport": self.transport}

    def _encode(self, messages: list[Message]) -> list[int]:
        """Returns the token ids of the conversation, with the question of the verdict if there is one. Errors:
        UserError if the template can't show calls, or refuses the messages.
        """
        verdict = self.options.verdict
        if verdict is None:
            return self._format.encode_conversation(messages)
        asked = [*messages, Message("user", verdict.question)]
        ids: list[int] = self._format.prompt(asked, (), 0, NO_TOKENS).new_ids.tolist()
        return ids

    def close(self) -> None:
        """Ends the engine's processes. A second call does nothing."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.shutdown()

    def __del__(self) -> None:
        self.mark_stopping()
        if hasattr(self, "_engine"):
            self.close()


def _load_engine(path: str, options: RewardOptions, tokenizer: Any) -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    arguments: dict[str, Any] = {
        "model": path,
        "runner": "pooling",
        **parallel_args(options),
        "disable_log_stats": True,
        "enable_log_requests": False,
        **(cpu_engine_args(options) if options.gpus == 0 else {}),
        **(_classifier_args(path, options.verdict, tokenizer) if options.verdict else {}),
        **options.engine_args,
    }
    try:
        engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
    except TypeError as error:
        raise UserError(f"engine_args: {error}") from error
    if engine.model_config.hf_config.num_labels != 1:
        labels = engine.model_config.hf_config.num_labels
        engine.shutdown()
        raise UserError(f"{path} has {labels} labels; a reward model has one (set verdict to use a language model)")
    return engine


def _classifier_args(path: str, verdict: VerdictOptions, tokenizer: Any) -> dict[str, Any]:
    """Returns vLLM's engine arguments that make a language model a classifier with one label, whose weights are the
    difference of two rows of its head: that of the good answer's token minus that of the bad answer's. Errors:
    UserError if an answer is not one token.
    """
    from transformers import AutoConfig

    tokens = []
    for name, text in (("bad", verdict.bad), ("good", verdict.good)):
        ids = tokenizer.encode(text, add_special_tokens=False)
        if len(ids) != 1:
            raise UserError(f"verdict.{name}: {text!r} is {len(ids)} tokens of this model; choose a word that is one")
        tokens += tokenizer.convert_ids_to_tokens(ids)
    (architecture,) = AutoConfig.from_pretrained(path).architectures
    return {
        "convert": "classify",
        "hf_overrides": {
            "architectures": [architecture.replace("ForCausalLM", "ForSequenceClassification")],
            "classifier_from_token": tokens,
            "method": "from_2_way_softmax",
        },
    }
