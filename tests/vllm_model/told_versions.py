"""Compares recorded logprobs with the weights of their recorded versions, in a forward pass that does not use vLLM."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

CLOSE, FAR = 2e-3, 0.5
"""Logprobs of float32 by vLLM and by transformers; of two models that have nothing to do with each other."""


class Checkpoints:
    """Holds the checkpoint of each version, for an independent forward pass."""

    def __init__(self, folder: Path, names: dict[int, str]) -> None:
        from ray_gym.trainers.recorded_logprobs import Reference

        self._references = {version: Reference(folder / name) for version, name in names.items()}

    def differences(self, sample: dict[str, Any], version: int) -> np.ndarray:
        """Returns for each generated token how far its recorded logprob is from the one that this version gives.

        The version computes the whole history.
        """
        import torch

        ids = torch.tensor(sample["token_ids"])
        positions = torch.tensor(np.flatnonzero(sample["loss_mask"]))
        logits = self._references[version].logits(ids, positions)
        computed = torch.log_softmax(logits, dim=-1).gather(1, ids[positions].unsqueeze(1)).squeeze(1).numpy()
        return np.abs(computed - np.array(sample["logprobs"])[positions.numpy()])


def versions_of(sample: dict[str, Any]) -> np.ndarray:
    """Returns the version of each generated token. Every one has exactly one, and no other token has any."""
    found = np.full(len(sample["token_ids"]), -1)
    for version, start, end in sample["versions"]:
        assert (found[start:end] == -1).all()
        found[start:end] = version
    mask = np.array(sample["loss_mask"], dtype=bool)
    assert (found[mask] >= 0).all() and (found[~mask] == -1).all()
    return found[mask]


def check(samples: Iterable[dict[str, Any]], checkpoints: Checkpoints) -> list[np.ndarray]:
    """Checks every token against the weights of its version. Returns the versions of each sample's tokens, in order."""
    told = []
    others: list[np.ndarray] = []
    for sample in samples:
        versions = versions_of(sample)
        for version in set(versions.tolist()):
            differences = checkpoints.differences(sample, version)
            assert differences[versions == version].max() < CLOSE, (version, differences[versions == version])
            others.append(differences[versions != version])
        told.append(versions)
    apart = np.concatenate(others)
    assert apart.size == 0 or np.median(apart) > FAR, "other weights would not have said so"
    return told
