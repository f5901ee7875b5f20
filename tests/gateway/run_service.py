"""Opens a config's service on a local cluster; before that, on another one, beside a Serve that somebody else has started.

Arguments: the config, the port of the other Serve, the service's port.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ray import serve

from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway.gateway import HttpGateway
from ray_gym.errors import UserError
from ray_gym.run.cluster.cluster import connect
from ray_gym.service import serving


def say(text: str) -> None:
    print(text, flush=True)


def beside_another(folder: Path, others: int, port: int) -> None:
    with connect():
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": others})
        try:
            HttpGateway(ServiceSection(port=port), folder / "service", folder).open(say)
        except UserError as error:
            say(f"refused: {error}")
        fits = HttpGateway(ServiceSection(port=others), folder / "service", folder)
        say(f"taken: {fits.open(say)}")
        fits.close()
        say(f"still there: {serve.status().proxies != {}}")
        serve.shutdown()


if __name__ == "__main__":
    config, others, port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    beside_another(config.parent, others, port)
    serving.serve(config, [f"service.port={port}"], say)
