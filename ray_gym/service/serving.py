"""Runs `ray-gym serve` from start to end.

It checks the config, opens the port, starts the models, the Service actor and the gateway, and waits for a signal. Then
it stops them in the reverse order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from ray_gym.config.interpolations import errors_unfilled, unfilled
from ray_gym.config.sections import RunConfig
from ray_gym.errors import RunFailed, UserError, describe
from ray_gym.hosting.application import RELEASE_S
from ray_gym.hosting.head import own_head_is_gone
from ray_gym.logs import configure
from ray_gym.models.base import Engine
from ray_gym.plugins import find_gateway
from ray_gym.run.cluster import cluster
from ray_gym.run.resume import load_config
from ray_gym.run.signals import unwind_on_signals
from ray_gym.service.gateway import Gateway
from ray_gym.service.offers import hire_all, make_engines, offers_of
from ray_gym.service.service import Service
from ray_gym.service.setup import NAMESPACE, ServiceSetup, actor_name, claim_directory, service_directory

CALLS = 4000
"""Most calls that the Service actor answers at once. Most of them wait for episodes."""
START_S = 300
"""Seconds that the Service actor may take to start, in which it reads what an earlier service left."""
STOP_S = 60
"""Seconds that the Service actor may take to stop rollouts and sessions and to write them."""
LOOK_S = 5
"""Seconds between two checks whether the Service actor is alive."""
ANSWER_S = 30
"""Seconds that such a check waits for an answer. A busy actor may take longer."""


def serve(config_path: Path, overrides: Sequence[str], say: Callable[[str], None], *, wait: bool = False) -> None:
    """Serves a config until a signal ends it.

    `say` prints a line. `wait`: True to wait for GPUs that the cluster does not have yet. Errors: UserError for a
    mistake in the config or an address that is taken; RunFailed if something does not come up or has ended; OSError if
    the service's directory can't be made. Everything that was started is stopped then.
    """
    config = load_config(config_path, overrides)
    configure(config.log, config.filled_in, service=config.service.name)
    with errors_unfilled(config.filled_in):
        _serve(config, config_path, lambda text: say(unfilled(text, config.filled_in)), wait)


def _serve(config: RunConfig, config_path: Path, say: Callable[[str], None], wait: bool) -> None:
    if config.limits.max_cost is not None:
        raise UserError("limits.max_cost: only a run (ray-gym rollout) keeps it, and this is a service; leave it out")
    offers = offers_of(config)
    engines, crews = make_engines(config, offers, config_path), hire_all(config, offers, config_path)
    directory, folder = service_directory(config), config_path.parent.absolute()
    gateway: Gateway = find_gateway()(config.service, directory, folder)
    config = config.model_copy(update={"service": gateway.check()})
    setup = ServiceSetup(config, folder, directory, engines)
    with unwind_on_signals(), cluster.connect(gateway.environment):
        cluster.check_cpus(config.fanout.workers, config.fanout.cpus_per_worker)
        cluster.check_gpus(engines, wait)
        if cluster.is_one_node():  # `ray-gym doctor` looks at the nodes of others
            for crew in crews:
                asyncio.run(crew.check())
        refuse_second(config.service.name)
        with ExitStack() as started:
            started.callback(_take_down, gateway.close)
            address = gateway.open(say)
            started.enter_context(claim_directory(setup.directory))
            _start_models(engines, actor_name(config.service.name), started, say)
            actor = _start_service(setup, started)
            started.callback(_take_down, gateway.stop)
            gateway.start(actor_name(config.service.name), NAMESPACE, engines)
            _wait(actor, address, say)
            say("stopping")
    say("stopped; started again with this output.dir, it resumes what was under way")


def refuse_second(service: str) -> None:
    """Waits up to RELEASE_S seconds until no service of this name is up on this cluster.

    The Service actor of a `ray-gym serve` that was killed ends within that time. Errors: UserError if one is still up.
    """
    deadline = time.monotonic() + RELEASE_S
    while time.monotonic() < deadline:
        try:
            ray.get_actor(actor_name(service), NAMESPACE)
        except ValueError:
            return
        time.sleep(0.2)
    raise UserError(
        f"service.name: a service {service!r} is up on this cluster already; end that one, or choose another service.name"
    )


def _start_models(engines: Mapping[str, Engine], run_id: str, started: ExitStack, say: Callable[[str], None]) -> None:
    for name, engine in engines.items():
        started.callback(engine.stop)
        engine.start(run_id, name, say)


def _start_service(setup: ServiceSetup, started: ExitStack) -> Any:
    """Starts the Service actor and returns its handle. `started` stops the actor when it is closed.

    Errors: UserError for a mistake that the actor finds; RunFailed if it does not come up.
    """
    name = actor_name(setup.config.service.name)
    actor = ray.remote(Service).options(name=name, namespace=NAMESPACE, num_cpus=0, max_concurrency=CALLS).remote(setup)
    started.callback(_take_down, partial(_stop_service, actor))
    try:
        ray.get(actor.start.remote(), timeout=START_S)
    except GetTimeoutError:
        raise RunFailed(f"the service did not come up within {START_S} s") from None
    except RayTaskError as error:
        raise _start_error(error.cause or error) from None
    except RayActorError as error:
        raise _start_error(error) from None
    return actor


def _start_error(error: BaseException) -> Exception:
    """Returns the error to raise when the Service actor does not start: `error` if it is a UserError, else RunFailed."""
    return error if isinstance(error, UserError) else RunFailed(f"the service did not start: {describe(error)}")


def _wait(actor: Any, address: str, say: Callable[[str], None]) -> None:
    """Says that the service is ready, waits until SIGINT or SIGTERM comes (as KeyboardInterrupt), and returns. Meanwhile it
    says what is wrong with workers: the service's own log is not on this terminal.

    Errors: RunFailed if the service's process ended by itself.
    """
    try:
        say(f"ready: {address}")
        said: list[str] = []
        while True:
            time.sleep(LOOK_S)
            with suppress(GetTimeoutError):
                told = ray.get(actor.troubles.remote(), timeout=ANSWER_S)
                for line in told:
                    if line not in said:
                        say(line)
                said = told
    except KeyboardInterrupt:
        return
    except RayError as error:
        raise RunFailed(f"the service has ended: {describe(error)}") from None


def _take_down(stop: Callable[[], None]) -> None:
    """Stops what was started on the cluster; on a local cluster that is gone already, it is gone too."""
    if not own_head_is_gone():
        stop()


def _stop_service(actor: Any) -> None:
    with suppress(RayError):  # the actor is killed in any case
        ray.get(actor.close.remote(), timeout=STOP_S)
    ray.kill(actor)
