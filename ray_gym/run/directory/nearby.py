"""Says which run is probably meant by a location that is none."""

from __future__ import annotations

from difflib import get_close_matches

from pyarrow.fs import FileSelector, FileType

from ray_gym.config.sections import OutputSection
from ray_gym.messages import utf8
from ray_gym.run.directory.location import is_uri, parent_of, storage_at
from ray_gym.run.directory.storage import EPISODES, Storage

_CONFIG = "run.yaml"
MOST_NAMED = 3
"""Most runs of a folder that are named."""


def is_run(storage: Storage) -> bool:
    """Says whether a storage is that of a run. An object store has no empty folders. Errors: OSError."""
    return storage.exists(EPISODES) or storage.exists(_CONFIG)


def nearby_runs(location: str) -> str:
    """Returns the end of a message that a location is no run: the last runs by name of the folder that it is, or the run
    that it is a part of, or the run of a name near to its own if nothing is there; "" if there is none, or it can't be
    read.
    """
    try:
        if names := _names_of_runs(storage_at(location)):
            more = f", and {len(names) - MOST_NAMED} others" if len(names) > MOST_NAMED else ""
            return f"; it is a folder of runs: give one of {', '.join(names[-MOST_NAMED:])}{more}"
        for above in (parent_of(location), parent_of(parent_of(location))):
            if is_run(storage_at(above)):
                return f"; it is a part of the run {above}"
        return _told_near(location)
    except (OSError, ValueError):
        pass
    return ""


def _told_near(location: str) -> str:
    """Returns that nothing is at a location, and the run of its name in the folder beside it where runs are usually, or else
    the run beside it with a name near to its own; "" if something is there.
    Errors: OSError; UnicodeDecodeError.
    """
    storage, folder = storage_at(location), parent_of(location)
    if storage.filesystem.get_file_info(storage.root).type != FileType.NotFound:
        return ""
    name = location.rstrip("/").rpartition("/")[2]
    usual = f"{folder}/{OutputSection().dir}/{name}"
    near = get_close_matches(name, _names_of_runs(storage_at(folder)), 1)
    meant = usual if not is_uri(location) and is_run(storage_at(usual)) else f"{folder}/{near[0]}" if near else None
    return f"; nothing is there; did you mean {meant}?" if meant else "; nothing is there"


def _names_of_runs(storage: Storage) -> list[str]:
    """Returns the sorted names of the runs in a folder; none if it is no folder. Errors: OSError; UnicodeDecodeError."""
    if storage.filesystem.get_file_info(storage.root).type != FileType.Directory:
        return []
    found = storage.filesystem.get_file_info(FileSelector(storage.root))
    folders = sorted(info.base_name for info in found if info.type == FileType.Directory)
    configs = storage.filesystem.get_file_info([f"{storage.root}/{name}/{_CONFIG}" for name in folders])
    return [utf8(name) for name, config in zip(folders, configs, strict=True) if config.type != FileType.NotFound]
