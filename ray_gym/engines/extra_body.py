"""Tells what the fields of `extra_body` mean: which ones requests set themselves, and which may change how tokens are
drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

OWN_FIELDS = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "n", "stream", "echo", "stop", "seed"}
    | {"temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "logprobs", "return_token_ids"}
    | {"presence_penalty", "frequency_penalty", "repetition_penalty"}
)
"""Fields that requests set themselves. `extra_body` must not contain them, as the record would be wrong."""
_OTHER_NAMES = frozenset(
    {
        "max_new_tokens",
        "max_output_tokens",
        "num_predict",
        "n_predict",
        "stop_sequences",
        "repeat_penalty",
    }
    | {"temp", "sampling_temperature", "topk", "topp", "minp", "random_state", "rng_state"}
    | {"best_of", "num_return_sequences", "num_generations", "candidate_count", "num_beams", "beam_width", "beam_size"}
    | {"do_sample", "use_beam_search", "greedy", "greed_sampling"}  # without chance, a group's episodes are equal
    | {"decoding_method", "decode_method", "decoding_strategy", "sampling_method", "sampling_strategy", "penalty_alpha"}
)
"""Names that these fields have at some servers (Hugging Face TGI, Gemini, Cohere, Ollama, llama.cpp, Dynamo, watsonx),
and others that make several answers of which one is taken, or choose how tokens are drawn. A seed's name is any that
ends in `seed` (Mistral, SGLang).
"""
_SEED = re.compile(r"(?:.*_)?(?:(?:random|rng|noise|sampling)?seeds?)")
_HOLDERS = frozenset(
    {"options", "parameters", "sampling_params", "sampling", "generation_config", "extra_body", "config", "nvext"}
    | {
        "sampling_parameters",
        "generation_params",
        "generation_kwargs",
        "gen_kwargs",
        "model_kwargs",
        "inference_config",
    }
    | {"vllm_xargs", "extra_args", "custom_params", "custom_args", "generate_kwargs", "generation_args"}
    | {
        "litellm_params",
        "additional_model_request_fields",
        "decoding_params",
        "decoding_config",
        "sampling_config",
        "inference_params",
        "inference_parameters",
    }
)
"""Fields in which some servers take such fields. In all others, but `_DATA`, only a seed is looked for."""
_DATA = frozenset(
    {"metadata", "documents", "chat_template_kwargs", "mm_processor_kwargs", "logit_bias"}
    | {"response_format", "structured_outputs", "guided_json", "json_schema", "text"}
)
"""Fields with names of others: data, variables of a template, and schemas."""

HARMLESS_FIELDS = frozenset(
    {
        "chat_template_kwargs",
        "chat_template",
        "reasoning_effort",
        "documents",
        "mm_processor_kwargs",
        "include_reasoning",
    }
    | {
        "user",
        "metadata",
        "store",
        "service_tier",
        "priority",
        "request_id",
        "cache_salt",
        "provider",
        "safety_identifier",
    }
)
"""Fields of `extra_body` that do not change how tokens are drawn. Any other counts as a constraint, since it may change
which tokens can be drawn.
"""


def shaping_fields(extra: Mapping[str, Any]) -> list[str]:
    """Returns the sorted names of those fields of `extra` that may change which tokens can be drawn: all but
    `HARMLESS_FIELDS`.
    """
    return sorted(extra.keys() - HARMLESS_FIELDS)


def own_fields(extra: Mapping[str, Any]) -> list[str]:
    """Returns the sorted paths of those fields of `extra` that requests set themselves, by whatever name a server has for
    them, as in `options.seed`. A seed is one at any depth: all episodes of a group would have it.
    """
    return sorted(_own_fields(extra, is_holder=True))


def _own_fields(given: Any, is_holder: bool) -> Iterator[str]:
    """Yields the paths of such fields in a value; those of seeds alone if it is no holder of sampling."""
    if isinstance(given, list):
        for index, value in enumerate(given):
            yield from (f"{index}.{inner}" for inner in _own_fields(value, is_holder))
    for name, value in given.items() if isinstance(given, Mapping) else ():
        plain = spelled(name)
        if _SEED.fullmatch(plain) or (is_holder and (plain in OWN_FIELDS | _OTHER_NAMES or _asks_cache(plain, value))):
            yield str(name)
        elif plain not in _DATA:
            yield from (f"{name}.{inner}" for inner in _own_fields(value, plain in _HOLDERS))


def _asks_cache(name: str, value: Any) -> bool:
    """Returns True for a field that asks for answers from a cache, as proxies have it (LiteLLM, Portkey): a group's episodes
    would all have the first one's answer. One that says `no-cache` does not.
    """
    if name not in ("cache", "caching") or not value:
        return False
    return not (isinstance(value, Mapping) and any(spelled(key) == "no_cache" and value[key] for key in value))


def spelled(given: Any) -> str:
    """Returns a `finish_reason`, or the name of a field, in lower case with underscores; "" for what is no text."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", given).lower() if isinstance(given, str) else ""
