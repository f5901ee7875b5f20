"""What an application serves, kept in the cluster's own key-value store: it outlives the process of the holder."""

from __future__ import annotations

import json
from typing import Any

from ray.experimental import internal_kv

from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict

NAMESPACE = "ray_gym_weights"


def read(app: str) -> Checkpoint | None:
    found = internal_kv._internal_kv_get(app, namespace=NAMESPACE)
    return None if found is None else decode(found)


def write(app: str, checkpoint: Checkpoint) -> None:
    internal_kv._internal_kv_put(app, encode(checkpoint), overwrite=True, namespace=NAMESPACE)


def forget(app: str) -> None:
    internal_kv._internal_kv_del(app, namespace=NAMESPACE)


def encode(checkpoint: Checkpoint) -> bytes:
    return json.dumps(_as_json(checkpoint)).encode()


def decode(text: bytes) -> Checkpoint:
    return _from_json(json.loads(text))


def _as_json(checkpoint: Checkpoint) -> dict[str, Any]:
    source, base = checkpoint.source, checkpoint.base
    kind = "first" if source is None else "folder" if isinstance(source, Folder) else "state_dict"
    more: dict[str, Any] = {}
    if isinstance(source, Folder):
        more = {"path": source.path, "adapter": source.adapter}
    elif isinstance(source, StateDict):
        more = {"id": source.id}
    return {"version": checkpoint.version, "kind": kind, **more, "base": _as_json(base) if base else None}


def _from_json(found: dict[str, Any]) -> Checkpoint:
    base = _from_json(found["base"]) if found["base"] else None
    if found["kind"] == "first":
        return Checkpoint(found["version"], None, base)
    if found["kind"] == "state_dict":
        return Checkpoint(
            found["version"], StateDict((None,), found["id"]), base
        )  # the reference went with the process
    return Checkpoint(found["version"], Folder(found["path"], found["adapter"]), base)
