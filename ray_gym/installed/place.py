"""Tells an installed ray_gym (a wheel, or an editable checkout) from a checkout that is only on the path."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder `ray_gym`."""


def is_installed(package: Path = PACKAGE) -> bool:
    """Says whether a process with the same interpreter finds this very package by itself."""
    try:
        installed = Distribution.from_name("ray-gym")
    except PackageNotFoundError:
        return False
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return bool(origin["url"] == package.parent.as_uri())
    return Path(str(installed.locate_file("ray_gym"))).resolve() == package
