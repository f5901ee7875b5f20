"""Starts Serve on the cluster at RAY_ADDRESS: python start_serve_at_once.py PORT. Just before the controller is made it
says `about to`, and goes on when it gets a line; then it says whether it has started Serve, and ends when its stdin ends.
"""

from __future__ import annotations

import sys
from typing import Any

from ray.serve._private import api

from ray_gym.deployments.gateway.serve_http import open_http
from ray_gym.run.cluster.cluster import connect


def main(port: str) -> None:
    make = api.get_controller_impl

    def make_when_told(**options: Any) -> Any:
        print("about to", flush=True)
        sys.stdin.readline()
        return make(**options)

    api.get_controller_impl = make_when_told
    with connect():
        running, started = open_http("127.0.0.1", int(port), False, print)
        print(running.address, started, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
