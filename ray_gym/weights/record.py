"""Keeps the checkpoint that an application serves in Ray's own key-value store, where it outlives the process of the
holder.
"""

from __future__ import annotations

import json
from typing import Any

from ray.experimental import internal_kv

from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict, Transferred

NAMESPACE = "ray_gym_weights"


def read(app: str) -> Checkpoint | None:
    """Returns the checkpoint that is kept for an application; None if there is none."""
    found = internal_kv._internal_kv_get(app, namespace=NAMESPACE)
    return None if found is None else decode(found)


def write(app: str, checkpoint: Checkpoint) -> None:
    internal_kv._internal_kv_put(app, encode(checkpoint), overwrite=True, namespace=NAMESPACE)


def forget(app: str) -> None:
    internal_kv._internal_kv_del(app, namespace=NAMESPACE)


def encode(checkpoint: Checkpoint) -> bytes:
    """Encodes a checkpoint as JSON; the reference of a state dict is left out."""
    return json.dumps(_as_json(checkpoint)).encode()


def decode(text: bytes) -> Checkpoint:
    """Decodes a checkpoint. A state dict in it has the reference None, as references are not kept."""
    return _from_json(json.loads(text))


def _as_json(checkpoint: Checkpoint) -> dict[str, Any]:
    source, base = checkpoint.source, checkpoint.base
    told: dict[str, Any] = {"kind": "first"}
    match source:
        case Folder(path, adapter):
            told = {"kind": "folder", "path": path, "adapter": adapter}
        case StateDict():
            told = {"kind": "state_dict", "id": source.id}
        case Transferred(last):
            told = {"kind": "transferred", "last": _as_json(last)}
    return {"version": checkpoint.version, **told, "base": _as_json(base) if base else None}


def _from_json(found: dict[str, Any]) -> Checkpoint:
    base = _from_json(found["base"]) if found["base"] else None
    if found["kind"] == "first":
        return Checkpoint(found["version"], None, base)
    if found["kind"] == "state_dict":
        return Checkpoint(
            found["version"], StateDict((None,), found["id"]), base
        )  # the reference went with the process
    if found["kind"] == "transferred":
        return Checkpoint(found["version"], Transferred(_from_json(found["last"])), base)
    return Checkpoint(found["version"], Folder(found["path"], found["adapter"]), base)
