"""Shows the tokens of a sample as the model saw them: generated ones coloured by their logprobs, the others plain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray_gym.report.bounds import MOST_SAMPLES, Allowance
from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import of, short
from ray_gym.report.texts import folded
from ray_gym.viewer.sample_tokens import Annotations, SampleTokens, tokens_in
from ray_gym.viewer.token_texts import TokenTexts, texts_of

STEPS = (
    (-0.0513, "95% or more"),
    (-0.2231, "80%"),
    (-0.6931, "50%"),
    (-1.6094, "20%"),
    (-2.9957, "5%"),
    (-4.6052, "1%"),
)
"""Least logprob of each step of the colours, and the probability that it is; below all of them is one more step."""
_LINE_END = "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}\n"


class Tokenizers:
    """Gives the texts of tokens by the name of a model, each tokenizer read once."""

    def __init__(self, models: Mapping[str, Any]) -> None:
        """Takes the section `models` of the run's config."""
        self._models = models
        self._read: dict[str, TokenTexts | None] = {}

    def of(self, model: str | None) -> TokenTexts | None:
        """Returns the texts of a model's tokens; None if its tokenizer is not on this machine."""
        if model is None:
            return None
        if model not in self._read:
            self._read[model] = texts_of(self._models, model)
        return self._read[model]


def samples_of(
    row: Mapping[str, Any], noted: Annotations, tokenizers: Tokenizers, allowance: Allowance
) -> Iterator[Content]:
    """Yields the trainable samples of an episode, each folded. `row`: that of the record; `noted`: what a trainer noted."""
    samples = row["samples"] or []
    trained = [number for number, sample in enumerate(samples) if sample["trainable"]]
    if not trained:
        yield element("p", "No sample of this episode is trained on.", class_="quiet")
        return
    each = max(1, allowance.tokens // min(len(trained), MOST_SAMPLES))
    for number in trained[:MOST_SAMPLES]:
        tokens = tokens_in(row, number, tokenizers.of(samples[number]["model"]), noted)
        yield folded(_summary(samples[number], tokens), flow(tokens, each), class_="sample")
    if len(trained) > MOST_SAMPLES:
        yield element("p", f"{of(len(trained) - MOST_SAMPLES, 'more sample')} left out", class_="cut")
    if len(samples) > len(trained):
        yield element("p", f"{of(len(samples) - len(trained), 'sample')} not trained on", class_="quiet")


def flow(tokens: SampleTokens, most: int) -> Markup:
    """Returns the tokens of a sample; of more than `most`, those at the beginning and those at the end."""
    length = len(tokens.token_ids)
    head = length if length <= most else most // 3
    tail = length if length <= most else length - (most - head)
    control = set(tokens.control)
    parts: list[Content] = [_token(tokens, place, control) for place in range(head)]
    if tail > head:
        parts.append(element("span", f"{tail - head:,} tokens are left out here", class_="gap"))
    parts += [_token(tokens, place, control) for place in range(tail, length)]
    return element("div", parts, class_="tokens", translate="no")


def legend() -> Markup:
    """Returns the meaning of the colours."""
    steps = [element("span", f"{name}", class_=f"t p{step}") for step, (_, name) in enumerate(STEPS)]
    steps.append(element("span", "less than 1%", class_=f"t p{len(STEPS)}"))
    plain = element("span", "not generated", class_="t m")
    control = element("span", "control token", class_="t c m")
    return element("p", "Probability of a generated token: ", steps, " ", plain, " ", control, class_="legend")


def _summary(sample: Mapping[str, Any], tokens: SampleTokens) -> Iterator[Content]:
    yield f"{of(len(tokens.token_ids), 'token')} of {short(sample['participant'], 60)}, "
    yield f"{sum(tokens.loss_mask):,} generated"
    if sample["fork_reason"]:
        yield f"; a fork: {short(sample['fork_reason'], 60)}"
    if tokens.vocabulary is None:
        yield "; ids, as no tokenizer of this model is on this machine"


def _token(tokens: SampleTokens, place: int, control: set[int]) -> Markup:
    id_ = tokens.token_ids[place]
    generated = tokens.loss_mask[place] == 1
    told = [f"id {id_}"]
    logprob = tokens.logprobs[place]
    if generated:
        told.append("no logprob" if logprob is None else f"logprob {logprob:.4g}")
        if tokens.versions[place] is not None:
            told.append(f"version {tokens.versions[place]}")
        told += _noted(tokens.annotations, place)
    colour = "m" if not generated else "x" if logprob is None else f"p{_step(logprob)}"
    text = str(id_) + " " if tokens.vocabulary is None else tokens.vocabulary.get(id_, f"<{id_}>")
    classes = f"t {colour}{' c' if id_ in control else ''}"
    return element("span", text.replace("\n", _LINE_END), class_=classes, title=", ".join(told))


def _noted(annotations: Mapping[str, Sequence[float | None]], place: int) -> Iterator[str]:
    """Yields what a trainer noted of a token."""
    for name, values in annotations.items():
        value = values[place]
        if value is not None:
            yield f"trainer's {name} {value:.4g}" if name == "logprob" else f"{name} {value:.4g}"


def _step(logprob: float) -> int:
    return next((step for step, (least, _) in enumerate(STEPS) if logprob >= least), len(STEPS))
