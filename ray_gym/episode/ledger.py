"""Keeps the token ledger of one thread: the tokens that the model was given and those that it generated, in order,
append-only.

The prompt of step k+1 is exactly the prompt and the generated ids of step k, plus the ids of what is new. If that
cannot hold (a template rewrites earlier turns, or an endpoint renders them anew), the ledger forks: a new sample begins
with the whole prompt and holds the reason, and the old one stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np

from ray_gym.models.base import NO_TOKENS, Completion, Logprobs, Sampling, SpanKind, TokenIds, VersionSpan


class Span(msgspec.Struct, frozen=True):
    """Marks the tokens [start, end) of a sample that belong to one event."""

    event_seq: int
    """Number (`seq`) of the event."""
    start: int
    end: int
    generated: bool
    """True if the participant's model generated these tokens in this episode; False if they are part of a prompt."""
    sampling: Sampling | None = None
    """Sampling that the tokens were drawn with; None for tokens of a prompt."""
    kind: SpanKind | None = None
    """Relation of the logprobs to a plain forward pass, as in `Completion.kind`; None for tokens of a prompt."""
    grammar: str | None = None
    """Grammar that constrained the generation, as in `Completion.grammar`."""


@dataclass(slots=True)
class Sample:
    """Holds one token sequence that a trainer can train on. Its arrays have one entry for each token."""

    fork_reason: str | None = None
    """Reason why this sample does not continue the one before it or, for a first sample, another thread's; None if
    there is no such reason."""
    spans: list[Span] = field(default_factory=list)
    """Stretches of the sample by event, in order."""
    versions: list[VersionSpan] = field(default_factory=list)
    """Stretches of generated tokens by the version of the weights that generated them, in order."""
    _ids: list[TokenIds] = field(default_factory=list)
    _drawn: list[tuple[int, int, Logprobs]] = field(default_factory=list)
    """Start and end of each generated stretch, and its logprobs."""
    length: int = 0
    """Number of tokens."""

    def append(self, ids: TokenIds, logprobs: Logprobs | None) -> None:
        """Appends token ids (int32 [n]). `logprobs` (float32 [n]) is None for ids that were not generated here."""
        start = self.length
        self._ids.append(ids)
        self.length += len(ids)
        if logprobs is not None:
            self._drawn.append((start, self.length, logprobs))

    @property
    def token_ids(self) -> TokenIds:
        """Returns the token ids: int32 [length], not as a copy. Repeated calls join the arrays only once."""
        if len(self._ids) > 1:
            self._ids = [np.concatenate(self._ids)]
        return self._ids[0] if self._ids else NO_TOKENS

    @property
    def logprobs(self) -> Logprobs:
        """Returns the logprobs: float32 [length], 0 for tokens that were not generated here."""
        logprobs = np.zeros(self.length, dtype=np.float32)
        for start, end, drawn in self._drawn:
            logprobs[start:end] = drawn
        return logprobs

    @property
    def loss_mask(self) -> np.ndarray:
        """Returns the mask: int8 [length], 1 on the tokens that this participant generated here."""
        mask = np.zeros(self.length, dtype=np.int8)
        for start, end, _ in self._drawn:
            mask[start:end] = 1
        return mask


@dataclass(slots=True)
class Ledger:
    """Keeps the samples of one thread; the last one grows with each model call."""

    samples: list[Sample] = field(default_factory=list)
    """Samples of the thread, in order."""
    gap: bool = False
    """True after a generation that came without ids: the next sample begins with a whole prompt, so that those tokens
    never count as prompt of the last sample."""
    first_reason: str | None = None
    """Reason why the thread's first sample does not continue a sample of another thread; None if there is no such
    reason."""

    @property
    def history(self) -> TokenIds:
        """Returns the token ids of the current sample, prompts and generations together: int32 [n]; none after a gap."""
        return self.samples[-1].token_ids if self.samples and not self.gap else NO_TOKENS

    def add(self, completion: Completion, prompt_events: list[int], event_seq: int, sampling: Sampling) -> None:
        """Appends the tokens of one model call, to a new sample if the call forks. A call without tokens leaves a gap.

        `prompt_events` are the numbers of the events whose messages were new in its prompt, in order; `event_seq` is
        the number of the answer's event. Errors: ValueError if the completion's arrays don't fit together.
        """
        if not completion.has_tokens:
            self.gap = bool(self.samples)
            return
        if len(completion.logprobs) != len(completion.token_ids):
            raise ValueError(f"{len(completion.token_ids)} generated ids but {len(completion.logprobs)} logprobs")
        if completion.fork_reason is not None or self.gap or not self.samples:
            other_reason = "token_ids_missing" if self.gap else None if self.samples else self.first_reason
            self.samples.append(Sample(fork_reason=completion.fork_reason or other_reason))
            self.gap = False
        sample = self.samples[-1]
        position = sample.length
        sample.append(completion.prompt_ids, None)
        # What belongs to no message is the generation prompt: it goes with the event that it opened.
        lengths = completion.prompt_lengths if len(completion.prompt_lengths) == len(prompt_events) else ()
        for seq, length in zip(prompt_events, lengths, strict=False):
            if length:
                sample.spans.append(Span(seq, position, position + length, generated=False))
            position += length
        if position < sample.length:
            sample.spans.append(Span(event_seq, position, sample.length, generated=False))
        start = sample.length
        sample.append(completion.token_ids, completion.logprobs)
        if sample.length > start:
            span = Span(event_seq, start, sample.length, True, sampling, completion.kind, completion.grammar)
            sample.spans.append(span)
        for version in completion.versions:
            sample.versions.append(VersionSpan(version.version, start + version.start, start + version.end))
