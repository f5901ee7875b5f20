"""Converts requests and answers of OpenAI's chat completions to and from JSON, without I/O.

`exact` means that the endpoint gives token ids (vLLM, and servers that follow it). Such endpoints are sent all sampling
parameters: the server would fill in a missing one from the checkpoint's generation config, and the record would say
`plain` of tokens that were drawn with, for instance, top_k 20. Other endpoints, like OpenAI's own, may refuse some:
they are sent penalties, `top_k` and `min_p` only if they differ from their defaults. What they refuse of the others,
`dialect` leaves out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import numpy as np

from ray_gym.engines.answered_message import CALLED, UNREAD_CALL, read_message, with_unread_call
from ray_gym.engines.endpoint import error_text
from ray_gym.engines.extra_body import shaping_fields, spelled
from ray_gym.engines.json_bodies import decode_json
from ray_gym.engines.nested_errors import errors_in
from ray_gym.engines.sent_back import read_given
from ray_gym.engines.spelled import value_of
from ray_gym.engines.tool_names import sent_call, sent_tool
from ray_gym.messages import Message
from ray_gym.models.base import (
    Completion,
    CompletionRequest,
    FinishReason,
    Logprobs,
    Sampling,
    SpanKind,
    TokenIds,
)
from ray_gym.openai_api.sampling import LOWEST_LOGPROB, MOST_TOKENS
from ray_gym.seeds import stable_id

Json = dict[str, Any]

ENDS: Mapping[str, FinishReason] = {
    **dict.fromkeys(
        ("stop", "stop_sequence", "eos", "eos_token", "end_turn", "complete", "completed", "pause_turn"), "stop"
    ),
    **dict.fromkeys(("endoftext", "end_of_text", *CALLED, *UNREAD_CALL), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "repetition", "token_limit", "max_length"), "length"),
    **dict.fromkeys(("max_new_tokens", "max_output_tokens", "max_completion_tokens", "max_output"), "length"),
    **dict.fromkeys(("content_filter", "safety", "refusal", "recitation"), "content_filter"),
    **dict.fromkeys(("prohibited_content", "blocklist", "spii", "language"), "content_filter"),
    **dict.fromkeys(("sensitive", "image_safety", "image_prohibited_content", "image_recitation"), "content_filter"),
    **dict.fromkeys(("error_toxic", "guardrail_intervened", "content_filtered"), "content_filter"),
    **dict.fromkeys(("model_context_window_exceeded", "context_length_exceeded"), "context_full"),
}
"""Ends of an answer by the values of `finish_reason`, as `_end_of` gives them: OpenAI's and vLLM's, and those of servers
that follow them (Hugging Face TGI, Gemini, Anthropic, Cohere, Mistral, Zhipu, Bedrock, watsonx, AI21, MiniMax).
"""
_PREFIX = re.compile(r"finish_?reason[._]|\w+: ")
"""Prefixes that some servers write before an end: `FinishReason.STOP`, and Gemini's `content_filter: RECITATION`."""
_NEAR = 64
"""Tokens that servers may leave of a context that is full."""
_ROUNDED = 1e-4
"""Largest logprob: that of a certain token, which some servers round to a little above 0."""
_RAW_LOGPROB = -1e-4
"""Threshold for the logprob of a probe's token: a lower one is from before top-k (see `has_raw_logprobs`)."""


class _Logprob(TypedDict):
    logprob: float


class _Logprobs(TypedDict):
    content: list[_Logprob] | None


class _Choice(TypedDict):
    index: NotRequired[Any]
    message: dict[str, msgspec.Raw]
    finish_reason: NotRequired[Any]
    error: NotRequired[Any]
    logprobs: NotRequired[_Logprobs | None]
    token_ids: NotRequired[Any]
    prompt_token_ids: NotRequired[Any]


class _ChatCompletion(TypedDict):
    """Holds the fields of an answer that are read. The others are skipped while it is decoded: among them the text and
    bytes of each token, which are most of the answer.
    """

    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    error: NotRequired[Any]
    usage: NotRequired[Any]
    prompt_token_ids: NotRequired[Any]


_decoder = msgspec.json.Decoder(_ChatCompletion)


class BadAnswer(ValueError):
    """Says that an answer is not as the protocol describes it."""


def request_body(request: CompletionRequest, model: str, exact: bool, extra: Mapping[str, Any]) -> Json:
    """Returns the body of a request for a chat completion, as JSON data.

    `model`: the model's name at the endpoint. `exact`: True if the endpoint gives token ids: they are asked for.
    `extra`: further fields; the request's own fields win over them. The body has the tools that are allowed now; for an
    exact endpoint it has all tools, unless a call is required. With the tool choice `none` it has no tools.
    """
    body: Json = {**extra, "model": model, "messages": [_message(message, exact) for message in request.messages]}
    body |= _sampling(request.sampling, exact)
    # The prompt shows the tools. Narrowed ones would change it at every step, and with it the token ids of the history:
    # an exact endpoint gets them only if it builds a grammar from them.
    narrows = not exact or request.tool_choice == "required"
    tools = (narrows and request.allowed_tools) or request.tools
    if tools and request.tool_choice != "none":
        body["tools"] = [tool.as_openai() if exact else sent_tool(tool) for tool in tools]
        body["tool_choice"] = request.tool_choice
        body["parallel_tool_calls"] = request.parallel_tool_calls
        if exact and request.tool_choice == "required":
            # vLLM holds arguments to their schema only when asked to; otherwise any JSON passes its grammar.
            for tool in body["tools"]:
                tool["function"]["strict"] = True
    if request.response_format is not None:
        body["response_format"] = json.loads(request.response_format)
    if exact:
        body |= {"logprobs": True, "return_token_ids": True}
    return body


def probe_body(model: str, extra: Mapping[str, Any]) -> Json:
    """Returns the body of a request for one token, as JSON data. The answer to it shows whether the endpoint gives
    token ids, and which logprobs (`has_raw_logprobs`).
    """
    messages = [{"role": "user", "content": "Hello"}]
    exact = {"logprobs": True, "return_token_ids": True, "temperature": 1.0, "top_k": 1}
    return {**extra, "model": model, "messages": messages, "max_tokens": 1, **exact}


def read(answer: bytes) -> Any:
    """Decodes the JSON of an answer to a request for a chat completion: only the fields that are used. An answer in
    another form is decoded whole, for the error message about it. Errors: ValueError if the answer is no JSON.
    """
    try:
        return _decoder.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        return decode_json(answer)


def completion(
    answer: Any,
    request: CompletionRequest,
    exact: bool,
    extra: Mapping[str, Any],
    context_tokens: int | None = None,
) -> Completion:
    """Converts a decoded answer to a completion, with token ids and logprobs if `exact` and the answer has them.

    `extra`: fields that were added to the request; those that may change how tokens are drawn make the completion
    `constrained`. `context_tokens`: length of the model's context; None if it is not known. Errors: `BadAnswer` if the
    answer is not as the protocol describes it.
    """
    choice = _first_choice(answer)
    _require_no_error(answer, choice)
    end = _end_of(choice.get("finish_reason"))
    is_empty = end in ENDS and end not in CALLED and not choice.keys() & {"text", "delta"}  # some have the words there
    given = choice.get("message") or ({} if is_empty else None)
    if not isinstance(given, dict):
        raise BadAnswer("the choice has no message")
    usage = _object(answer.get("usage"))
    kind, grammar = _span_kind(request, extra)
    stop_text = choice.get("stop_reason")  # of vLLM; of others it is missing, or says something else
    finish_reason = _read_finish_reason(choice.get("finish_reason"))
    try:
        message = read_message(given, request)
        beside = "" if exact else read_given(given)
    except ValueError as error:
        raise BadAnswer(str(error)) from None
    if end in UNREAD_CALL:
        message = with_unread_call(message, request)
    if end in CALLED and not message.tool_calls:
        raise BadAnswer(f"it ended by finish_reason {choice['finish_reason']!r}, and has no call")
    if exact and finish_reason == "length" and _fills_context(usage, request.sampling.max_tokens, context_tokens):
        finish_reason = "context_full"
    found = Completion(
        message=message,
        finish_reason=finish_reason,
        kind=kind,
        grammar=grammar,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        generated_tokens=_count(usage.get("completion_tokens")) if exact else _generated(usage),
        cached_tokens=_cached(usage),
        stop_text=stop_text if stop_text in request.sampling.stop else None,
        beside=beside,
    )
    if exact:
        _add_tokens(found, answer, choice, request)
    return found


def _cached(usage: Json) -> int:
    """Returns the number of tokens of the prompt that were cached, which DeepSeek and Moonshot tell under other names."""
    told = (_object(usage.get("prompt_tokens_details")).get("cached_tokens"), usage.get("prompt_cache_hit_tokens"))
    return next(filter(None, map(_count, (*told, usage.get("cached_tokens")))), 0)


def _generated(usage: Json) -> int:
    """Returns the number of generated tokens, with those of thoughts that are counted apart: in the sum (Gemini, xAI), or, of
    endpoints that tell no sum, as more than all that were generated. What of the prompt is counted apart is none of them.
    """
    prompt, told, total = (_count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    thoughts = _count(_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if not total:
        return told + thoughts if thoughts > told else told
    apart = total - prompt - told
    if not prompt or apart <= 0 or apart in _parts_of_prompt(usage):
        return told
    return told + (min(apart, thoughts) or apart)


def _parts_of_prompt(usage: Json) -> set[int]:
    """Returns the numbers of tokens that were read from a cache, written to it, or made of pictures and sounds."""
    details = _object(usage.get("prompt_tokens_details"))
    read = max(_cached(usage), _count(usage.get("cache_read_input_tokens")))
    names = ("cache_creation_tokens", "cache_write_tokens")
    written = max(_count(usage.get("cache_creation_input_tokens")), *(_count(details.get(name)) for name in names))
    return {read, written, read + written, *(_count(details.get(name)) for name in ("image_tokens", "audio_tokens"))}


def _fills_context(usage: Json, max_tokens: int, context_tokens: int | None) -> bool:
    """Says whether an answer that was cut before `max_tokens` was cut by a full context. A context that is known and far
    from full cut nothing: then a limit of the server's own did.
    """
    generated = _count(usage.get("completion_tokens"))
    is_far = context_tokens is not None and _count(usage.get("prompt_tokens")) + generated + _NEAR < context_tokens
    return 0 < generated < max_tokens and not is_far


def has_token_ids(answer: Any) -> bool:
    """Returns True if an answer has the ids of its prompt, those of its generated tokens, and a logprob for each of the
    latter.

    Errors: `BadAnswer` if it has no choices, or ids or logprobs that are no numbers.
    """
    return _tokens(answer, _first_choice(answer)) is not None


def has_raw_logprobs(answer: Any) -> bool:
    """Returns True if the logprobs in the answer to a probe are from before temperature and top-k. The probe asks for
    top_k 1, so logprobs from after it would be 0. Returns False if the answer has no token ids.

    Errors: `BadAnswer` if it has no choices, or ids or logprobs that are no numbers.
    """
    tokens = _tokens(answer, _first_choice(answer))
    return tokens is not None and bool((tokens[2] < _RAW_LOGPROB).any())


def read_models(answer: Any) -> dict[str, int | None]:
    """Returns the models of an answer to GET /models: by name, the context length in tokens, or None if it is missing. It may
    be a bare list (Together), whose entries may have a name beside an address as their id (GitHub): then a model has both.
    Entries without a name are left out. Errors: `BadAnswer` if the answer is no list of models.
    """
    data = answer.get("data") if isinstance(answer, dict) else answer
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    found = {name: _count(entry.get("max_model_len")) or None for entry in entries for name in _names_of(entry)}
    if not found and data != []:
        raise BadAnswer("not a list of models")
    return found


def _names_of(entry: Json) -> list[str]:
    id, name = (str(entry.get(field) or "") for field in ("id", "name"))
    names = (name, id) if not id or "://" in id else (id,)
    return [name for name in names if name]


def _message(message: Message, exact: bool) -> Json:
    body: Json = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [sent_call(call, keeps_name=exact) for call in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    if exact and message.reasoning is not None:
        body["reasoning"] = message.reasoning
    return body


def _sampling(sampling: Sampling, exact: bool) -> Json:
    body: Json = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    if sampling.max_tokens < MOST_TOKENS:  # else what the context leaves
        body["max_tokens"] = sampling.max_tokens
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    usual = Sampling()
    for name in ("presence_penalty", "frequency_penalty", "top_k", "min_p", "repetition_penalty"):
        value = getattr(sampling, name)
        if exact or value != getattr(usual, name):
            body[name] = value
    return body


def _span_kind(request: CompletionRequest, extra: Mapping[str, Any]) -> tuple[SpanKind, str | None]:
    """Returns the kind of distribution that the tokens were drawn from, and the hash of its constraints: `constrained`
    if there are any, else `plain` or `truncated` by the sampling, and None. Constraints are a required tool call, a
    response format, and fields of `extra` that may change which tokens can be drawn.
    """
    shaping = {name: extra[name] for name in shaping_fields(extra)}
    tools = request.allowed_tools or request.tools
    required = [tool.as_openai() for tool in tools] if request.tool_choice == "required" else []
    form = [request.response_format] if request.response_format is not None else []
    if required or shaping or form:
        return "constrained", stable_id("openai", required, shaping, *form)
    return ("plain" if request.sampling.is_plain else "truncated"), None


def _first_choice(answer: Any) -> Json:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if isinstance(choices, list) and choices and all(isinstance(choice, dict) for choice in choices):
        return next((choice for choice in choices if choice.get("index") == 0), choices[0])
    raise BadAnswer(f"no choices in the answer: {_told(answer)}")


def _require_no_error(answer: Json, choice: Json) -> None:
    """Checks that an answer holds no error beside its words, as routers of several providers write it when one of them
    breaks off. Errors: `BadAnswer`.
    """
    of_message = value_of(_object(choice.get("message")).get("error"))
    if error := answer.get("error") or choice.get("error") or of_message:
        raise BadAnswer(f"it broke off with an error: {_told({'error': error})}")


def _told(answer: Any) -> str:
    """Returns the words of an error in the place of an answer, and its code, which no HTTP status tells."""
    codes = (error.get("code") or error.get("error_code") for error in errors_in(answer))
    code = next((f" (code {code})" for code in codes if code and isinstance(code, int | str)), "")
    return f"{error_text(json.dumps(answer, ensure_ascii=False))}{code}"


def _read_finish_reason(given: Any) -> FinishReason:
    """Returns the end of an answer by its field `finish_reason`. Errors: `BadAnswer` for anything that is no end of an
    answer (null, abort, error): the call is lost.
    """
    known = ENDS.get(_end_of(given))
    if known is None:
        raise BadAnswer(f"it ended by finish_reason {given!r}, which is no end of an answer")
    return known


def _end_of(given: Any) -> str:
    """Returns a `finish_reason` in lower case with underscores, without what may be before it; "" for what is no text."""
    return _PREFIX.sub("", spelled(given))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _add_tokens(found: Completion, answer: Json, choice: Json, request: CompletionRequest) -> None:
    """Adds token ids and logprobs to the completion `found`, unless the answer lacks them.

    The endpoint renders the whole prompt for every call. If its ids begin with those of the history, `prompt_ids` is
    the rest; otherwise the completion is a fork, and `prompt_ids` is the whole prompt.
    """
    tokens = _tokens(answer, choice)
    if tokens is None:
        return
    history = request.history
    prompt_ids, found.token_ids, found.logprobs = tokens
    if prompt_ids[: len(history)].tobytes() == history.tobytes():
        found.prompt_ids = prompt_ids[len(history) :].copy()  # a view would keep every whole prompt in memory
    else:
        found.prompt_ids = prompt_ids
        narrowed = request.tool_choice == "required" and request.allowed_tools != request.tools
        found.fork_reason = "tools_narrowed" if narrowed else "endpoint_rerendered"


def _tokens(answer: Json, choice: Json) -> tuple[TokenIds, TokenIds, Logprobs] | None:
    """Returns prompt ids (int32 [p]), generated ids (int32 [n]) and their logprobs (float32 [n]). Returns None if any
    of them is missing, or there are not as many logprobs as generated ids. Errors: `BadAnswer` for ids or logprobs that
    can be none.
    """
    prompt = answer.get("prompt_token_ids") or choice.get("prompt_token_ids")
    generated = choice.get("token_ids")
    if not prompt or generated is None:
        return None
    entries = _object(choice.get("logprobs")).get("content") or []
    try:
        logprobs = read_logprobs([entry["logprob"] for entry in entries])
    except (TypeError, KeyError):
        raise BadAnswer("logprobs that are not numbers") from None
    prompt_ids, token_ids = read_ids(prompt), read_ids(generated)
    return (prompt_ids, token_ids, logprobs) if len(logprobs) == len(token_ids) else None


def read_ids(given: Any) -> TokenIds:
    """Returns token ids, int32 [n]. Errors: `BadAnswer` unless they are whole numbers from 0 that an int32 holds: NumPy
    alone would also take true, 1.7 and "7".
    """
    if not isinstance(given, list) or not set(map(type, given)) <= {int}:
        raise BadAnswer("token ids that are not whole numbers")
    if given and not 0 <= min(given) <= max(given) < 2**31:
        raise BadAnswer("token ids that are no ids: below 0, or too large")
    return np.array(given, dtype=np.int32)


def read_logprobs(given: list[Any]) -> Logprobs:
    """Returns logprobs, float32 [n]: -Infinity for `LOWEST_LOGPROB`, in whose place it stands. Errors: `BadAnswer` unless
    they are numbers of at most 0.
    """
    if not set(map(type, given)) <= {int, float}:
        raise BadAnswer("logprobs that are not numbers")
    if not all(logprob <= _ROUNDED for logprob in given):  # NaN is neither
        raise BadAnswer("logprobs above 0, or that are no numbers")
    with np.errstate(over="ignore"):
        return np.array([value if value > LOWEST_LOGPROB else -np.inf for value in given], dtype=np.float32)
