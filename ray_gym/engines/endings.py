"""Reads errors that tell how an answer ended, and not of a fault: the conversation doesn't fit the model's context, a
filter withholds the answer, or the model wrote a call that the endpoint can't read.

Many endpoints say so by an HTTP status, where others give an answer with a `finish_reason`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ray_gym.engines.answered_message import read_message, unread_call
from ray_gym.engines.extra_body import spelled
from ray_gym.engines.nested_errors import Json, decoded, errors_in, words_of
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest

ENDING_STATUSES = frozenset({400, 403, 422, 424, 446, 451})
"""HTTP statuses of errors that `read_ending` reads. Routers answer 200, too, with an error in the place of choices."""
_FILTERS = frozenset(
    {"content_filter", "content_filtered", "responsible_aipolicy_violation", "content_policy_violation"}
    | {"content_policy_violation_error", "moderation_blocked", "refusal"}  # OpenAI, Azure, LiteLLM, OpenRouter
    | {"data_inspection_failed", "sensitive_check_error", "censorship_blocked"}  # DashScope, UCloud, StepFun
    | {"1301"}  # Zhipu
    | {"hooks_failed", "guardrail_intervened", "prohibited_content", "blocklist", "safety"}  # Portkey, Bedrock, Gemini
)
"""Codes of errors by which endpoints say that a filter withholds the answer, as `spelled` gives them."""
_FILTER_CODE = re.compile(
    r"(input|output)?_?(text|image)?_?(sensitive_content_detected|risk_detection)(\..*)?"  # Volcano Engine
)
_FILTER_WORDS = re.compile(
    r"(prompt|input|output|request|content) (was|is|has been) flagged"  # OpenAI, OpenRouter
    r"|limited access to this content for safety reasons|(by|of) (our|the) safety system"  # OpenAI
    r"|content management policy|output blocked by content filter"  # Azure; Anthropic
    r"|contentpolicyviolationerror|violated (\w+ ){0,4}(guardrail|moderation|content safety) policy"  # LiteLLM
    r"|content violates usage guidelines|content exists risk|considered high risk"  # xAI; DeepSeek; Moonshot
    r"|(in|out)put data may contain inappropriate|(in|out)put (new_)?sensitive"  # DashScope; MiniMax
    r"|不安全或敏感内容|sensitive chat messages|(prompt|response) blocked due to security"  # Zhipu; UCloud; Cloudflare
    r"|moderation on .{1,60} your input",  # OpenRouter, earlier
    re.IGNORECASE,
)
_BAD_CALL = frozenset({"tool_use_failed", "output_parse_failed"})
_BAD_TEXT = frozenset({"json_validate_failed"})
"""Codes of Groq's errors about what the model wrote, which is in `failed_generation`: a call, and JSON by a schema."""
_NO_CALL = re.compile(r"did not call a tool", re.IGNORECASE)
_CONTEXT_IS_FULL = re.compile(
    r"exceeds? (the )?context limit|exceed_context"
    r"|(prompt|input) is too long"  # Anthropic, Bedrock
    # vLLM, TensorRT-LLM, TabbyAPI, SiliconFlow, MLC-LLM
    r"|(than|exceeds?) (the )?(model('s)? )?(max(imum)?[ _])?(seq(uence)?|input|prompt|model)[ _]len(gth)?\b"
    r"|(input|prompt) token count .{0,20}exceeds"  # Gemini, GitHub Copilot
    r"|maximum prompt length is \d|reduce the length of the (messages|prompt|input)"  # xAI; Groq, Cerebras
    r"|range of input length should be|input length \d+ exceeds the maximum length"  # DashScope; Volcano Engine
    r"|prompt exceeds max length|model max length exceeded|exceeded model token limit"  # Zhipu; Moonshot
    r"|sum of prompt length \(.{1,120}should not exceed max_(num_tokens|seq_len)"  # TensorRT-LLM
    r"|tokens_limit_reached|request body too large for .{1,60}max size: \d+ tokens"  # GitHub Models
    r"|total number of tokens \(prompt and prediction\) cannot exceed"  # Cohere
    r"|inputs\W{1,3}tokens \+ \W{1,3}max_new_tokens|inputs\W{1,3}must have less than"  # Hugging Face TGI
    r"|max_tokens\W{1,3}must be at least 1, got (-|0\b)"  # older vLLM
    r"|too many tokens: size limit"  # Cohere
    r"|number of input tokens \d+ cannot exceed"  # watsonx
    r"|input_len exceeds session_len"  # lmdeploy
    r"|tokens requires a sequence length of \d+"  # SambaNova
    r"|too_many_prompt_tokens|total length of all messages is too long",  # Perplexity
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"context[ _]?(?:length|size|window)", re.IGNORECASE)
_OF_LENGTH = re.compile(
    r"\bmax(?:imum)?\b|exceed|too (?:long|large|big|many)|limit|longer|(?:larger|greater|more) than|overflow|\bfull\b"
    r"|\d tokens|超|过长|\bfit\b|not enough|insufficient|\bout of\b|\breached\b|outgrown|\broom\b|\bleft\b|\(\d+ > \d+\)"
    r"|\d prompt tokens",
    re.IGNORECASE,
)
"""Words for a context, and those of length that it takes beside them: else it may be the name of a field."""
_COPY = re.compile(r"\bmessages ?= ?(?=\[)", re.IGNORECASE)
"""Beginning of a copy of the request's messages in an error's text (LiteLLM's `Received Messages=[...]`)."""
_REST_OF_REQUEST = re.compile(r"(?:, ?\w+ ?= ?[^\n]*)?")
"""Further fields of a copied request behind its messages (`..., temperature=1.0)`)."""
_OF_COPY = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|[\[\]]""", re.DOTALL)
"""Texts within a copy, of which the last one may be cut, and its brackets."""
_PROMPT_IS_TOO_LONG = re.compile(
    r"\b(?:input|prompt)s?\b[^.\n]{0,40}?\b(?:lengths?|tokens?)\b[^.\n]{0,80}?(?:exceed|too long|supports up to)"  # SGLang, Vertex AI
    r"|too many (?:input )?tokens\b(?:: total|\. max input)|tokens in request more than max tokens"  # Cohere, OCI; Z.AI
    r'|(?:^|")(?:token limit exceeded|too many tokens)\.?(?:"|$)'
    r"|(?:prompt|输入)\s?.{0,8}(?:超长|过长)|token数量超过上限"  # Spark
    r"|输入(?=.{0,30}(?:长度|token)).{0,12}超[过出]",
    re.IGNORECASE,
)
"""Other words by which a prompt is too long. Those of a rate limit may be like them."""
_RATE = re.compile(r"rate.?limit|quota|per[ -](?:minute|hour|day|month)|\b[tr]p[md]\b|每|频率", re.IGNORECASE)

_LIMIT = re.compile(r"max_(?:completion_|output_|new_)?tokens")
_TOO_LARGE = re.compile(
    r"too (?:large|big|high|many)|exceed|at most|no more|(?:less|lower|smaller) (?:than|or)|(?:larger|greater|higher|bigger) than"
    r"|maximum|limit|range|between|above|over\b|\bcap\b|\bmax (?:is|of)|[<>\u2264]|up to",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"(?:un|not |n't be )support|deprecated|instead|unrecogni|unknown|unexpected|extra inputs|not permitted",
    re.IGNORECASE,
)


def read_ending(answer: Any, request: CompletionRequest) -> Completion | None:
    """Returns the completion that an error tells of; None if it tells of none, but of a fault.

    `answer`: the body of the error, as text or decoded. A withheld answer is empty, with the finish reason
    `content_filter`. What the model wrote and the endpoint can't read (Groq's `failed_generation`) is a call where the
    request has tools, and else the message's text. If it is no call in JSON, it is one that can't be read, which is
    answered with an error.
    """
    errors = list(errors_in(answer))
    if is_filtered(answer):
        return Completion(Message("assistant"), finish_reason="content_filter")
    codes, words = _codes(errors), _words(errors)
    if not codes & (_BAD_CALL | _BAD_TEXT):
        return None
    written = next((error["failed_generation"] for error in errors if "failed_generation" in error), "")
    text = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    is_call = codes & _BAD_CALL and request.tools and request.tool_choice != "none" and not _NO_CALL.search(words)
    return Completion(_read_call(text, request) if is_call else Message("assistant", text))


def is_filtered(answer: Any) -> bool:
    """Returns True if an error says that a filter withholds the answer: by a code, in words, or by what OpenRouter's
    moderation adds. `answer`: the body of the error, as text or decoded.
    """
    errors = list(errors_in(answer))
    codes = _codes(errors)
    return (
        not codes.isdisjoint(_FILTERS)
        or any(_FILTER_CODE.fullmatch(code) for code in codes)
        or any("flagged_input" in error for error in errors)
        or _FILTER_WORDS.search(_words(errors)) is not None
    )


def _codes(errors: list[Json]) -> set[str]:
    return {spelled(str(error.get(name))) for error in errors for name in ("code", "type", "error_type")}


def _words(errors: list[Json]) -> str:
    return "\n".join(map(_without_copies, words_of(errors)))


def _read_call(text: str, request: CompletionRequest) -> Message:
    """Returns the message with the call, or the calls, that a text is as JSON; else with one that can't be read."""
    given = decoded(text)
    if given and isinstance(given, dict | list):
        return read_message({"tool_calls": given if isinstance(given, list) else [given]}, request)
    return Message("assistant", tool_calls=(unread_call(text, request),))


def is_context_full(body: str) -> bool:
    """Returns True if the body of an HTTP 400, 413 or 422 says in words that the conversation doesn't fit the model's
    context.
    """
    words = own_words(body)
    is_too_long = _PROMPT_IS_TOO_LONG.search(words) is not None and _RATE.search(words) is None
    of_context = _CONTEXT.search(words) is not None and _OF_LENGTH.search(words) is not None
    return is_too_long or of_context or _CONTEXT_IS_FULL.search(words) is not None


def is_limit_too_large(body: str) -> bool:
    """Returns True if the body of an error says that the request's limit of tokens is larger than it may be."""
    words = own_words(body)
    return _LIMIT.search(words) is not None and _TOO_LARGE.search(words) is not None


def is_limit_unknown(body: str) -> bool:
    """Returns True if the body of an error says that the request's limit of tokens is a field that is not known there."""
    words = own_words(body)
    return _LIMIT.search(words) is not None and _UNSUPPORTED.search(words) is not None


def own_words(body: str) -> str:
    """Returns the body of an error answer without the copies of a request's messages. Of FastAPI's problems, which copy other
    parts of it, it has the messages, each behind the name of its field; and nothing of a `body` beside them.
    """
    answer = decoded(body)  # JSON may have letters in an escaped form
    is_json = isinstance(answer, dict | list)
    return json.dumps(_outside_copies(answer), ensure_ascii=False) if is_json else _without_copies(body)


def _outside_copies(node: Any) -> Any:
    if isinstance(node, str):
        return _without_copies(node)
    if isinstance(node, list):
        return [_outside_copies(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "msg" in node and not node.keys().isdisjoint(("loc", "input")):
        return f"{_last(node.get('loc'))}: {node['msg']}"
    copies = {"body"} if "detail" in node else ()
    return {key: _outside_copies(value) for key, value in node.items() if key not in copies}


def _without_copies(text: str) -> str:
    """Returns a text without copies of messages, each a list of Python or JSON, and of the request's fields behind them. One
    that is cut goes to the text's end.
    """
    kept, end = [], 0
    while copy := _COPY.search(text, end):
        kept.append(text[end : copy.start()])
        rest = _REST_OF_REQUEST.match(text, _end_of_list(text, copy.end()))
        end = rest.end() if rest else len(text)
    return "".join([*kept, text[end:]])


def _end_of_list(text: str, begin: int) -> int:
    """Returns the index behind the list that begins at an index of a text; that of the text's end if it does not end."""
    depth = 0
    for found in _OF_COPY.finditer(text, begin):
        depth += {"[": 1, "]": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def _last(location: Any) -> Any:
    return location[-1] if isinstance(location, list) and location else location
