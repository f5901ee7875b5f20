"""Items of the library's datasets. Imported where the library is needed: when a run is planned, and in processes apart."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from typing import Any

import reasoning_gym
from reasoning_gym.composite import DatasetSpec
from reasoning_gym.factory import DATASETS

_HASH_DEPENDENT = frozenset(
    {"isomorphic_strings", "knight_swap", "polynomial_multiplication", "ransom_note", "word_ladder"}
)
"""They go by the order of sets: the same seed gives the same item only in processes with the same PYTHONHASHSEED."""
_OTHER_ORACLES = ("example_answer", "example_correct_answer", "possible_answer")
"""Where the metadata of datasets with many right answers name one."""
_OURS = ("seed", "size")


def names() -> list[str]:
    return sorted(DATASETS)


def check(dataset: str, settings: Mapping[str, Any]) -> None:
    """Errors: ValueError for settings that the dataset does not take."""
    for name in _OURS:
        if name in settings:
            raise ValueError(f"settings.{name}: it is the task's")
    _, config_class = DATASETS[dataset]
    try:
        config = config_class(**_settings(dataset, settings))
        if hasattr(config, "validate"):
            config.validate()
    except Exception as error:
        raise ValueError(f"settings: {dataset} does not take them: {error or type(error).__name__}") from None


def depends_on_hashes(dataset: str, settings: Mapping[str, Any]) -> bool:
    """Whether this process may make another item of the same seed than the next one."""
    parts = [part["name"] for part in settings["datasets"]] if dataset == "composite" else [dataset]
    return not _HASH_DEPENDENT.isdisjoint(parts)


def entry(dataset: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The library's item: question, answer, metadata."""
    made: dict[str, Any] = _dataset(dataset, settings, seed)[0]
    return made


def oracle(entry: Mapping[str, Any]) -> str | None:
    """An answer that is right, where the library knows one."""
    if entry["answer"] is not None:
        return str(entry["answer"])
    found = next((entry["metadata"][name] for name in _OTHER_ORACLES if name in entry["metadata"]), None)
    return found if found is None or isinstance(found, str) else json.dumps(found)


def make(dataset: str, settings: Mapping[str, Any], seed: int) -> list[str]:
    """The question, and the whole item for `score`: pickled, for JSON would make lists of its tuples and text of its keys."""
    made = entry(dataset, settings, seed)
    return [str(made["question"]), base64.b64encode(pickle.dumps(made)).decode()]


def score(dataset: str, settings: Mapping[str, Any], seed: int, item: str, answer: str | None) -> float:
    return float(_dataset(dataset, settings, seed).score_answer(answer, pickle.loads(base64.b64decode(item))))


def _dataset(dataset: str, settings: Mapping[str, Any], seed: int) -> Any:
    return reasoning_gym.create_dataset(dataset, **_settings(dataset, settings), seed=seed, size=1)


def _settings(dataset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """As the library wants them: JSON has no tuples and no objects."""
    if dataset == "composite" and isinstance(settings.get("datasets"), list):
        return {**settings, "datasets": [DatasetSpec(**{"config": {}, **part}) for part in settings["datasets"]]}
    return dict(settings)
