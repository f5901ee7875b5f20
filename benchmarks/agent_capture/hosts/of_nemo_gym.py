"""Captures black-box clients as NeMo Gym does: `PYTHON of_nemo_gym.py MODEL_URL COUNT`, in a venv with nemo-gym.

Its model server for vLLM runs as its launcher starts one, with the capture of model calls on (`observability_enabled`):
agents' programs call it below `/ng-rollout/ID`, and it forwards the calls to MODEL_URL. Prints the places of COUNT
conversations, and ends when its input is closed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

NAME = "double"
SERVER = "policy_model"
START_S = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def config(model_url: str, port: int, folder: str) -> dict[str, object]:
    """Returns the global config that its launcher would give the server."""
    endpoint = {"base_url": model_url, "api_key": "none", "model": NAME, "return_token_id_information": False}
    server = {"entrypoint": "app.py", "host": "127.0.0.1", "port": port, "uses_reasoning_parser": False, **endpoint}
    return {
        "head_server": {"host": "127.0.0.1", "port": free_port()},
        "default_host": "127.0.0.1",
        "dry_run": False,
        "observability_enabled": True,
        "model_call_capture_dir": folder,
        SERVER: {"responses_api_models": {"vllm_model": server}},
    }


def tell(port: int, count: int, folder: str, output: int) -> None:
    """Prints the places once the server is up; when the input is closed, prints the number of calls and ends it."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.2)
    places = [[f"http://127.0.0.1:{port}/ng-rollout/{number}-0/v1", "none", NAME] for number in range(count)]
    os.write(output, json.dumps(places).encode() + b"\n")
    sys.stdin.read()
    calls = sum(len(file.read_text().splitlines()) for file in Path(folder).glob("*.capture.jsonl"))
    os.write(output, json.dumps({"calls": calls}).encode() + b"\n")
    os.kill(os.getpid(), signal.SIGTERM)


def main(model_url: str, count: int) -> None:
    """Serves until standard input is closed."""
    output = os.dup(1)
    os.dup2(2, 1)  # what the server prints is not ours
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(config(model_url, port, folder))
        os.environ["NEMO_GYM_CONFIG_PATH"] = SERVER
        threading.Thread(target=tell, args=(port, count, folder, output), daemon=True).start()
        from responses_api_models.vllm_model.app import VLLMModel

        VLLMModel.run_webserver()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
