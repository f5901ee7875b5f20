"""Keeps the small model up as a Serve application until its standard input closes. Run by the `small_model_app` fixture."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from deployments.vllm import VllmEngine
from deployments.vllm.options import VllmOptions
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster import connected


def main(config: str) -> None:
    section = yaml.safe_load(Path(config).read_text())["models"]["small"]
    section.pop("engine")
    section["engine_args"]["max_model_len"] = 8192  # 27 tools of an office in a prompt take some 3,000
    engine = VllmEngine(VllmOptions(**section))
    engine.check(EngineCheck("small", {}, uses_tools=True))
    with connected():
        try:
            engine.start("tests", "small", lambda text: print(text, file=sys.stderr))
            print(f"app {engine.app}", flush=True)
            sys.stdin.read()
        finally:
            engine.stop()


if __name__ == "__main__":
    main(sys.argv[1])
