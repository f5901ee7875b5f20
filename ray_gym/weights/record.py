"""Keeps the checkpoints that an application serves in Ray's own key-value store, where they outlive the process of the
holder.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ray.experimental import internal_kv

from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict, Transferred
from ray_gym.weights.lines import ServedLines

NAMESPACE = "ray_gym_weights"


def read(app: str) -> ServedLines | None:
    """Returns the checkpoints that are kept for an application; None if there are none."""
    found = internal_kv._internal_kv_get(app, namespace=NAMESPACE)
    return None if found is None else decode(found)


def write(app: str, served: ServedLines) -> None:
    internal_kv._internal_kv_put(app, encode(served), overwrite=True, namespace=NAMESPACE)


def forget(app: str) -> None:
    internal_kv._internal_kv_del(app, namespace=NAMESPACE)


def encode(served: ServedLines) -> bytes:
    """Encodes what is served as JSON; the references of state dicts are left out."""
    lines = {line: _as_json(checkpoint) for line, checkpoint in served.lines.items()}
    return json.dumps({"own": _as_json(served.own), "lines": lines}).encode()


def decode(text: bytes) -> ServedLines:
    """Decodes what is served. State dicts in it have the reference None, as references are not kept."""
    found = json.loads(text)
    lines = {line: replace(_from_json(each), line=line) for line, each in found["lines"].items()}
    return ServedLines(_from_json(found["own"]), lines)


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
