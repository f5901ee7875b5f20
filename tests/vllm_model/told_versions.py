"""Tokens held against the weights of the versions that they say they came from, computed anew by another program than vLLM."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

CLOSE, FAR = 2e-3, 0.5
"""Logprobs of float32 by vLLM and by transformers; of two models that have nothing to do with each other."""


class Checkpoints:
    """What each version is, for an independent forward pass."""

    def __init__(self, folder: Path, names: dict[int, str]) -> None:
        from benchmarks.recompute import Reference

        self._references = {version: Reference(folder / name) for version, name in names.items()}

    def differences(self, sample: dict[str, Any], version: int) -> np.ndarray:
        """By generated token: how far its recorded logprob is from what this version gives, the whole history under it."""
        import torch

        ids = torch.tensor(sample["token_ids"])
        positions = torch.tensor(np.flatnonzero(sample["loss_mask"]))
        logits = self._references[version].logits(ids, positions)
        computed = torch.log_softmax(logits, dim=-1).gather(1, ids[positions].unsqueeze(1)).squeeze(1).numpy()
        return np.abs(computed - np.array(sample["logprobs"])[positions.numpy()])


def versions_of(sample: dict[str, Any]) -> np.ndarray:
    """By generated token. Every one has exactly one, and nothing else has any."""
    found = np.full(len(sample["token_ids"]), -1)
    for version, start, end in sample["versions"]:
        assert (found[start:end] == -1).all()
        found[start:end] = version
    mask = np.array(sample["loss_mask"], dtype=bool)
    assert (found[mask] >= 0).all() and (found[~mask] == -1).all()
    return found[mask]


def check(samples: Iterable[dict[str, Any]], checkpoints: Checkpoints) -> list[np.ndarray]:
    """Every token under the weights of its version. Gives the versions of each sample's tokens, in order."""
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
