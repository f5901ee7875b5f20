"""Run by a Python that has wandb: reads the file that its client wrote offline, and prints its records.

python read_by_wandb.py FILE

The file has a header of 7 bytes and records in blocks of 32 KiB, as LevelDB's log: 4 bytes of checksum, 2 of length, and
one that says whether the record is whole (1) or its first (2), a middle (3) or its last (4) piece.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from wandb.proto import wandb_internal_pb2

BLOCK, HEAD, WHOLE, LAST = 32 * 1024, 7, 1, 4


def records(data: bytes) -> Iterator[bytes]:
    at, found = HEAD, b""
    while at + HEAD <= len(data):
        if (left := BLOCK - at % BLOCK) < HEAD:
            at += left
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        found += data[at + HEAD : at + HEAD + length]
        at += HEAD + length
        if kind in (WHOLE, LAST):
            yield found
            found = b""


def main(file: str) -> None:
    told: dict[str, list[object]] = {"history": [], "summary": [], "config": [], "run": []}
    for data in records(Path(file).read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "history":
            told[kind].append({_key(item): json.loads(item.value_json) for item in record.history.item})
        elif kind == "summary":
            told[kind].append({_key(item): json.loads(item.value_json) for item in record.summary.update})
        elif kind == "run":
            told[kind].append([record.run.project, record.run.display_name, record.run.git.remote_url])
            told["config"].append({item.key: json.loads(item.value_json) for item in record.run.config.update})
    print(json.dumps(told))


def _key(item: object) -> str:
    return item.key or "/".join(item.nested_key)


if __name__ == "__main__":
    main(*sys.argv[1:])
