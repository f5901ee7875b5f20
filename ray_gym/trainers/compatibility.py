"""Checks what every bridge has to check before a trainer's first step, and says in one line what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ray_gym.errors import UserError
from ray_gym.models.model import Sampling
from ray_gym.models.tokenizers import TokenizerDigest, probe_ids
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, why_nothing_trains

NAMED = 3
"""Most examples that an error names."""


def check_package(package: str, tested: Sequence[str], *, any_version: bool = False) -> str:
    """Checks that a trainer's package has a version that its bridge was tested with, and returns the version.

    `any_version`: True accepts every version. Errors: UserError, which names the version and the tested ones.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        raise UserError(f"{package} is not installed here; the bridge was tested with {_either(tested)}") from None
    if found not in tested and not any_version:
        raise UserError(
            f"{package}: version {found} is installed, and the bridge was tested with {_either(tested)}; "
            f"pip install {package}=={tested[-1]}, or pass any_version=True to try this one"
        )
    return found


def check_group_size(repeats: int, wanted: int | None = None, option: str = "") -> None:
    """Checks that groups have at least two episodes, and as many as the trainer takes.

    `repeats`: `tasks.repeats` of the config. `wanted`: number that the trainer's `option` says; None means any. Errors:
    UserError.
    """
    if repeats < 2:
        raise UserError(
            f"tasks.repeats: {repeats}; an episode that is alone in its group has the advantage 0, so nothing would be "
            "learned; give at least 2"
        )
    if wanted is not None and repeats != wanted:
        raise UserError(f"tasks.repeats: {repeats}, but the trainer's {option} is {wanted}; give both the same")


def check_trainable(rows: Sequence[Row], groups: Sequence[Group]) -> None:
    """Checks that a batch has a token to train on. Errors: UserError, which says what became of the episodes."""
    if not rows:
        numbers = ", ".join(str(group.number) for group in groups[:NAMED]) + (" ..." if len(groups) > NAMED else "")
        raise UserError(
            f"groups {numbers}: the batch has no trainable token: {why_nothing_trains(groups)}; "
            "`ray-gym show --failed` on the stream's directory has more"
        )


def check_temperature(sampling: Sampling, temperature: float, where: str) -> None:
    """Checks that the trainer divides logits by the temperature that tokens are drawn at: else importance ratios are
    wrong from the first step.

    `sampling`: that of the participant at `where` in the config. Errors: UserError.
    """
    if sampling.temperature != temperature:
        raise UserError(
            f"{where}.sampling.temperature: {sampling.temperature}, but the trainer's temperature is {temperature}; "
            "importance ratios would not be 1 at the first step: give both the same"
        )


def check_tokenizers(trainer: Any, engine: Any, where: str = "the engine") -> None:
    """Checks that the tokenizers of trainer and engine (of transformers) are the same: their vocabularies, and the
    tokens of a probe text.

    `where`: part of the config that names the engine's. Errors: UserError, which says how they differ.
    """
    ours, theirs = trainer.get_vocab(), engine.get_vocab()
    if ours != theirs:
        tokens = sorted(token for token in ours.keys() | theirs.keys() if ours.get(token) != theirs.get(token))
        some = "; ".join(f"{token!r} is {ours.get(token)} and {theirs.get(token)}" for token in tokens[:NAMED])
        raise UserError(
            f"{where}: its tokenizer differs from the trainer's: {len(ours)} tokens in the trainer's vocabulary, "
            f"{len(theirs)} in its own, {len(tokens)} with other ids ({some}); load both from one checkpoint"
        )
    _check_probes(probe_ids(trainer), probe_ids(engine), where)


def check_digest(trainer: Any, engine: TokenizerDigest, where: str) -> None:
    """Checks that a trainer's tokenizer (of transformers) is that of an engine elsewhere, by the engine's digest.

    `where`: name of the engine, for errors. Errors: UserError, which says how they differ.
    """
    own = TokenizerDigest.of(trainer)
    if own.vocabulary != engine.vocabulary:
        raise UserError(
            f"{where}: its tokenizer differs from the trainer's: {own.size} tokens in the trainer's vocabulary and "
            f"{engine.size} in its own, with other ids or texts; load both from one checkpoint"
        )
    _check_probes(own.probe, engine.probe, where)


def _check_probes(ours: Sequence[int], theirs: Sequence[int], where: str) -> None:
    """Checks that two tokenizers with one vocabulary have the same tokens for the probe. Errors: UserError."""
    if list(ours) == list(theirs):
        return
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    raise UserError(
        f"{where}: its tokenizer splits text otherwise than the trainer's, though the vocabularies are equal: a probe "
        f"text has {len(ours)} and {len(theirs)} tokens, which differ from token {at} on; load both from one checkpoint"
    )


def check_vocabulary(rows: Sequence[Row], size: int) -> None:
    """Checks that the trainer's model has an embedding for every token of a batch. `size`: number of its embeddings.
    Errors: UserError.
    """
    largest = max((int(row.token_ids.max()) for row in rows), default=0)
    if largest >= size:
        raise UserError(
            f"token {largest} of a sample is outside of the trainer's model, which has {size} embeddings: trainer and "
            "engine have different models; load both from one checkpoint"
        )


def _either(versions: Sequence[str]) -> str:
    return " or ".join(versions)
