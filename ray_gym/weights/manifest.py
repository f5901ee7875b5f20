"""Reads which tensors a checkpoint holds from the headers of its safetensors files: names, shapes, types, sizes. No
tensor is loaded.

The format: 8 bytes with the length of the header (little-endian), the header (JSON: for each tensor its dtype, its
shape, and where its bytes begin and end, counted from the header's end), then the bytes of all tensors, without gaps.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.errors import UserError

INDEX = "model.safetensors.index.json"
HEADER_LIMIT = 100 * 2**20
"""Largest number of bytes of a header that the format allows."""
BITS = {
    **{"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "C64": 64},
    **{"I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64, "U32": 32, "U16": 16, "U8": 8, "BOOL": 8},
}
"""Bits of an element, by the type's name in safetensors."""
CAST = frozenset({"F64", "F32", "F16", "BF16"})
"""Names of types that an engine converts to its own when it loads them."""
SHOWN = 5
"""Largest number of differences that an error names."""


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Describes one tensor of a checkpoint: its type, its shape, and the name of the file that holds it."""

    dtype: str
    shape: tuple[int, ...]
    file: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Lists the tensors of a checkpoint's folder, by name."""

    folder: Path
    tensors: dict[str, TensorEntry]
    ties_head: bool = False
    """True if the model's head is its embedding, so that a checkpoint may hold the tensor under both names or under
    one.
    """

    def without_tied(self) -> dict[str, TensorEntry]:
        """Returns the tensors by name, without `lm_head.weight` if the head is tied to the embedding. If the head is
        not tied, returns `tensors` itself, not a copy.
        """
        if not self.ties_head:
            return self.tensors
        return {name: entry for name, entry in self.tensors.items() if name.split(".")[-2:] != ["lm_head", "weight"]}


def read_manifest(folder: Path) -> Manifest:
    """Returns the manifest of a folder. Errors: UserError if there is no such folder, it has no safetensors files, one
    of them or the index is wrong, two files have the same tensor, or a tensor of the index is missing.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder (every node that hosts the model must see it)")
    listed = _read_index(folder)
    names = sorted(set(listed.values())) if listed else sorted(path.name for path in folder.glob("*.safetensors"))
    if not names:
        raise UserError(f"{folder}: it has no .safetensors files; save the checkpoint in that format")
    tensors: dict[str, TensorEntry] = {}
    for name in names:
        for tensor, entry in _read_header(folder / name).items():
            if tensor in tensors:
                raise UserError(f"{folder / name}: {tensor} is in {tensors[tensor].file}, too")
            tensors[tensor] = entry
    for tensor, name in listed.items():
        if tensor not in tensors or tensors[tensor].file != name:
            raise UserError(f"{folder / INDEX}: it has {tensor} in {name}, where it is not")
    return Manifest(folder, tensors, _ties_head(folder))


def differences(expected: Manifest, given: Manifest) -> list[str]:
    """Returns, sorted, a line for each reason why the weights of `given` don't fit a model that was loaded from
    `expected`. The list is empty if they fit.

    Floating-point types may differ, since the engine casts what it loads (a trainer's float32 into a bfloat16 engine).
    """
    wanted, there = expected.without_tied(), given.tensors
    allowed = expected.tensors.keys() | ({"lm_head.weight"} if expected.ties_head else set())
    found = [f"{given.folder}: {name} is missing" for name in wanted.keys() - there.keys()]
    for name in there.keys() - allowed:
        found.append(f"{given.folder / there[name].file}: the model has no {name}")
    for name in wanted.keys() & there.keys():
        mine, other = wanted[name], there[name]
        where = f"{given.folder / other.file}: {name}"
        if mine.shape != other.shape:
            found.append(f"{where} has the shape {list(other.shape)}, the model's has {list(mine.shape)}")
        elif mine.dtype != other.dtype and not {mine.dtype, other.dtype} <= CAST:
            found.append(f"{where} is {other.dtype}, the model's is {mine.dtype}")
    return sorted(found)


def summary(problems: list[str]) -> str:
    """Joins the first `SHOWN` problems in one line, and adds the number of the others."""
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more


def _read_index(folder: Path) -> dict[str, str]:
    """Returns the name of each tensor's file, by the index of a checkpoint; empty for a checkpoint without an index.
    Errors: UserError if the index can't be read, or names a file outside of the folder.
    """
    path = folder / INDEX
    if not path.exists():
        return {}
    try:
        listed = json.loads(path.read_bytes())["weight_map"]
        checked = {str(tensor): str(name) for tensor, name in listed.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: no index of a checkpoint: {error!r}") from None
    for name in set(checked.values()):
        if name != Path(name).name:
            raise UserError(f"{path}: {name!r} is not a file of this folder")
    return checked


def _read_header(path: Path) -> dict[str, TensorEntry]:
    """Returns the tensors of one safetensors file by name, from its header. Errors: UserError if the file can't be
    read, is cut off, or its header is wrong.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(HEADER_LIMIT, max(size - 8, 0)):
                raise UserError(f"{path}: no safetensors file, or cut off in its header ({size} bytes)")
            header: Any = json.loads(file.read(length))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{path}: its header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise UserError(f"{path}: its header is no JSON object")
    header.pop("__metadata__", None)
    entries, spans = {}, []
    for name, described in header.items():
        dtype, shape, (start, end) = _read_entry(path, name, described)
        if math.prod(shape) * BITS[dtype] != (end - start) * 8:
            raise UserError(f"{path}: {name} ({dtype}, {list(shape)}) has {end - start} bytes in the file")
        entries[name] = TensorEntry(dtype, shape, path.name)
        spans.append((start, end, name))
    _check_layout(path, size - 8 - length, spans)
    return entries


def _read_entry(path: Path, name: str, described: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    try:
        dtype, shape, (start, end) = str(described["dtype"]), tuple(described["shape"]), described["data_offsets"]
        numbers = [*shape, start, end]
    except (TypeError, KeyError, ValueError):
        raise UserError(f"{path}: its header does not describe {name} (dtype, shape, data_offsets)") from None
    if dtype not in BITS:
        raise UserError(f"{path}: {name} has the unknown type {dtype!r}")
    if any(not isinstance(number, int) or number < 0 for number in numbers):
        raise UserError(f"{path}: {name} has the shape {list(shape)} at {start} to {end}, which is none")
    return dtype, shape, (start, end)


def _check_layout(path: Path, size: int, spans: list[tuple[int, int, str]]) -> None:
    """Checks that the tensors fill the file: there is no gap, no overlap, and the file ends where the last one does.
    `size`: number of bytes after the header. Errors: UserError if they don't.
    """
    position = 0
    for start, end, name in sorted(spans):
        if end > size:
            raise UserError(
                f"{path}: it is cut off: {name} ends at byte {end} of its tensors, of which {size} are there"
            )
        if start != position:
            raise UserError(f"{path}: {name} begins at byte {start} of its tensors, not at {position}")
        position = end
    if position != size:
        raise UserError(f"{path}: it has {size - position} bytes after its last tensor")


def _ties_head(folder: Path) -> bool:
    """Returns True if the model's `config.json` ties the head to the embedding, False also if it can't be read."""
    try:
        return bool(json.loads((folder / "config.json").read_bytes()).get("tie_word_embeddings"))
    except (OSError, ValueError, AttributeError):
        return False
