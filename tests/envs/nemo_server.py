"""Starts a real resources server of NeMo Gym without its head server and agents, in a Python that has nemo-gym.

python nemo_server.py NAME PORT [KEY=JSON]...     (further keys of the server's config)

Prints the path of the server's folder, with its example rows, once it is imported.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import resources_servers
import uvicorn
from nemo_gym.base_resources_server import SimpleResourcesServer
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import DictConfig

HOST = "127.0.0.1"


def folder_of(name: str) -> Path:
    return next(Path(root, name) for root in resources_servers.__path__ if Path(root, name).is_dir())


def made(name: str, port: int, more: dict[str, object]) -> SimpleResourcesServer:
    sys.path.insert(0, str(folder_of(name)))  # some import their neighbours by plain names
    module = importlib.import_module(f"resources_servers.{name}.app")
    (server_class,) = [
        found
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, SimpleResourcesServer) and found.__module__ == module.__name__
    ]
    config_class = server_class.model_fields["config"].annotation
    config = config_class(host=HOST, port=port, entrypoint="app.py", name=name, **more)
    client = ServerClient(head_server_config=BaseServerConfig(host=HOST, port=port), global_config_dict=DictConfig({}))
    return server_class(config=config, server_client=client)


def main(name: str, port: int, more: dict[str, object]) -> None:
    server = made(name, port, more)
    app = server.setup_webserver()
    server.setup_liveness(app)
    server.setup_exception_middleware(app)
    print(folder_of(name), flush=True)
    uvicorn.run(app, host=HOST, port=port, log_level="warning")


if __name__ == "__main__":
    keys = dict(pair.split("=", 1) for pair in sys.argv[3:])
    main(sys.argv[1], int(sys.argv[2]), {key: json.loads(value) for key, value in keys.items()})
