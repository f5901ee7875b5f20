"""Stands where AReaL expects its vLLM server, and has a service's model load the weights that AReaL saves.

    python -m ray_gym.trainers.areal.weight_server service-NAME-policy --root /shared/experiments --port 8100

runs in the service's venv, and `AREAL_LLM_SERVER_ADDRS=HOST:8100` tells AReaL of it. It generates nothing. AReaL saves a
checkpoint to `weight_update_v<version>` below its `cluster.fileroot`, sends its path, and deletes it after the answer;
as a replica of the model that starts later has to read it again, a copy is kept until the next update has succeeded.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ray_gym.run.signals import end_on_signals, serve_until_signalled

if __name__ == "__main__":
    end_on_signals()  # the imports below take seconds, and a KeyboardInterrupt out of them would be a traceback

from ray_gym.errors import RunFailed, UserError
from ray_gym.printable import printable
from ray_gym.trainers.kept_checkpoint import Update, serve_copy
from ray_gym.trainers.service import WeightsCommand

VERSIONED = re.compile(r"weight_update_v(\d+)")
KEPT = "ray_gym_weights"
"""Name of the folder of copies below the root."""
LONGEST_BODY = 65_536
"""Most bytes of a request."""


class SavedWeights:
    """Has a model load checkpoints that a trainer saves below a root, one at a time, and keeps a copy of the last."""

    def __init__(self, root: Path, update: Update) -> None:
        self._root = root.resolve()
        self._update = update
        self._served: int | None = None
        self._lock = threading.Lock()

    def load(self, folder: str) -> int:
        """Has the model serve the checkpoint in `folder`, and returns its version. One that is served already is not
        loaded again: AReaL repeats a request whose answer it missed.

        Errors: UserError for a folder that is not below the root, or without a version; those of the update, after
        which the model serves what it did.
        """
        path = Path(folder).resolve()
        named = VERSIONED.fullmatch(path.name)
        if named is None or not path.is_relative_to(self._root):
            raise UserError(
                f"{folder}: it is no folder weight_update_v<version> below {self._root}, the server's --root"
            )
        version = int(named[1])
        with self._lock:
            if version == self._served:
                return version
            serve_copy(path, self._root / KEPT, version, self._update)
            self._served = version
        return version


def make_server(weights: SavedWeights, host: str, port: int) -> ThreadingHTTPServer:
    """Returns a server that answers the requests which AReaL 1.0.4 makes of a vLLM server when weights change."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200 if self.path == "/health" else 404, "I serve no model.")

        def do_POST(self) -> None:
            if self.path in ("/areal_pause_generation", "/areal_continue_generation"):
                self._answer(200, "The update pauses the replicas, and resumes them.")
            elif self.path == "/areal_update_weights":
                self._load()
            else:
                self._answer(404, f"{self.path}: only whole checkpoints on disk can be loaded")

        def _load(self) -> None:
            try:
                length = int(self.headers.get("Content-Length", 0))
                folder = str(json.loads(self.rfile.read(min(length, LONGEST_BODY)))["model_path"])
                self._answer(200, f"version {weights.load(folder)} is served")
            except (ValueError, KeyError, TypeError) as error:
                self._answer(400, f"a JSON object with model_path is expected: {error!r}")
            except UserError as error:
                self._answer(400, str(error))
            except (RunFailed, OSError) as error:
                self._answer(500, str(error))

        def _answer(self, status: int, message: str) -> None:
            body = json.dumps({"success": status == 200, "message": message}).encode()
            if status >= 400:
                print(printable(f"{self.path}: {message}"), file=sys.stderr, flush=True)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing: what is refused is printed with its reason."""

    return ThreadingHTTPServer((host, port), Door)


def main(arguments: list[str]) -> int:
    """Serves until a signal stops it, and returns the exit code: 2 if the arguments don't fit."""
    parser = argparse.ArgumentParser(prog="python -m ray_gym.trainers.areal.weight_server", description=__doc__)
    parser.add_argument(
        "app", help="the model's Serve application: service-NAME-MODEL, with the service's name and the model's"
    )
    parser.add_argument("--root", type=Path, required=True, help="AReaL's cluster.fileroot")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8100)
    given = parser.parse_args(arguments)
    return serve_until_signalled(lambda: serve(given))


def serve(given: argparse.Namespace) -> int:
    """Serves, and returns the exit code 2 if the arguments don't fit. `given`: those."""
    if not given.root.is_dir():
        print(printable(f"--root: {given.root} is no folder"), file=sys.stderr)
        return 2
    command = WeightsCommand(given.app, (sys.executable, "-m", "ray_gym"))
    try:
        print(printable(f"{given.app} serves version {command.served()}"), flush=True)
    except (RunFailed, UserError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    with make_server(SavedWeights(given.root, command.update), given.host, given.port) as server:
        print(printable(f"ready: AREAL_LLM_SERVER_ADDRS={given.host}:{server.server_address[1]}"), flush=True)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
