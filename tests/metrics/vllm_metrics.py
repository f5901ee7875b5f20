"""Reads the metrics of vLLM's engine, as Ray exports them, from the installed vLLM's source; importing it is slow."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from ray_gym.metrics.table import Kind, Metric

KINDS: dict[str, Kind] = {"_gauge_cls": "gauge", "_counter_cls": "counter", "_histogram_cls": "histogram"}
LABELS = ("model_name", "engine", "ReplicaId")
"""Labels of the metrics that have only vLLM's own labels and the one that its exporter to Ray adds."""


def vllm_metrics() -> dict[str, Metric]:
    """Returns the metrics by their names in Prometheus: all begin with Ray's prefix, and counters end with `_total`."""
    package = find_spec("vllm")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'vllm'", name="vllm")
    source = (Path(package.origin).parent / "v1" / "metrics" / "loggers.py").read_text()
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    found = [metric for call in calls if (metric := _made_by(call)) is not None]
    return {metric.name: metric for metric in found}


def _made_by(call: ast.Call) -> Metric | None:
    """Returns the metric that a call makes, if it is like `self._gauge_cls(name="vllm:...", labelnames=labelnames)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in KINDS:
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    name, labels = given.get("name"), given.get("labelnames")
    if not isinstance(name, ast.Constant) or not (isinstance(labels, ast.Name) and labels.id == "labelnames"):
        return None
    kind = KINDS[call.func.attr]
    exported = f"ray_{str(name.value).replace(':', '_')}"
    if kind == "counter":
        exported = f"{exported.removesuffix('_total')}_total"
    return Metric(exported, kind, LABELS, "")
