"""Tells an installed ray_gym (a wheel, or an editable checkout) from a checkout that is only on Python's path."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""Path of the folder `ray_gym`."""


def is_installed(package: Path = PACKAGE) -> bool:
    """Returns True if the folder `package` is the one that is installed as ray-gym, so that every process with this
    interpreter finds it.
    """
    try:
        installed = Distribution.from_name("ray-gym")
    except PackageNotFoundError:
        return False
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return bool(origin["url"] == package.parent.as_uri())
    return Path(str(installed.locate_file("ray_gym"))).resolve() == package
