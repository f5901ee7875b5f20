"""Checks that processes which start Serve at the same moment share one, and that none ends another's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import free_port
from ray.exceptions import ActorAlreadyExistsError, ActorDiedError, GetTimeoutError, RayTaskError

from ray_gym.deployments.gateway import serve_http
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting import application, serve_start
from ray_gym.hosting.serve_start import JOIN_S, start_or_join

TAKEN = ActorAlreadyExistsError("Actor with name 'SERVE_CONTROLLER_ACTOR' already exists in the namespace serve")
PORT = RayTaskError("ready", "Traceback ...\nRuntimeError: Failed to bind to 127.0.0.1:80", RuntimeError("bind"))


def gone() -> Any:
    raise ActorDiedError()


def late() -> Any:
    raise GetTimeoutError("Get timed out")


class Controller:
    """Stands for Serve's controller, which a Ray job has started."""

    def __init__(self, job: str, alive: Callable[[], Any] = lambda: None, *proxies: Callable[[], Any]) -> None:
        self._actor_id = SimpleNamespace(job_id=SimpleNamespace(hex=lambda: job))
        self.check_alive = SimpleNamespace(remote=lambda: alive)
        handles = {str(number): SimpleNamespace(ready=remote(proxy)) for number, proxy in enumerate(proxies)}
        self.get_proxies = SimpleNamespace(remote=lambda: lambda: handles)


def remote(answer: Callable[[], Any]) -> Any:
    return SimpleNamespace(remote=lambda: answer)


class Cluster:
    """Stands for Ray and Serve as job `mine` sees them: what is there at each look, and how starts end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks: Iterator[Controller | None] = iter(())
        self.there: Controller | None = None
        self.starts: list[Exception | None] = []
        self.started: list[dict[str, Any]] = []
        self.shut_down = 0
        self.clock = 0.0
        ray = SimpleNamespace(
            get_actor=self._get_actor,
            get=lambda asked, timeout: [one() for one in asked] if isinstance(asked, list) else asked(),
            wait=lambda asked, num_returns, timeout: (asked[:num_returns], asked[num_returns:]),
            get_runtime_context=lambda: SimpleNamespace(get_job_id=lambda: "mine"),
        )
        monkeypatch.setattr(serve_start, "ray", ray)
        monkeypatch.setattr(serve_start, "serve", SimpleNamespace(start=self._start, shutdown=self._shutdown))
        monkeypatch.setattr(serve_start, "_check_cached_client_alive", lambda: None)
        monkeypatch.setattr(serve_start, "time", SimpleNamespace(monotonic=lambda: self.clock, sleep=self._sleep))

    def _get_actor(self, name: str, namespace: str) -> Controller:
        self.there = next(self.looks, self.there)
        if self.there is None:
            raise ValueError
        return self.there

    def _start(self, **options: Any) -> None:
        self.started.append(options)
        if (error := self.starts.pop(0) if self.starts else None) is not None:
            raise error
        self.there = Controller("mine")

    def _shutdown(self) -> None:
        self.shut_down += 1

    def _sleep(self, seconds: float) -> None:
        self.clock += seconds


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def test_a_process_that_is_second_by_a_moment_uses_the_serve_of_the_first(cluster: Cluster) -> None:
    cluster.looks, cluster.starts = iter([None, Controller("theirs")]), [TAKEN]
    assert start_or_join("HeadOnly", http_options={"port": 80}) is False
    assert len(cluster.started) == 1 and cluster.shut_down == 0


def test_the_first_has_started_it_with_its_options(cluster: Cluster) -> None:
    assert start_or_join("HeadOnly", http_options={"port": 80}) is True
    [options] = cluster.started
    assert options["proxy_location"] == "HeadOnly" and options["http_options"] == {"port": 80}
    assert start_or_join("HeadOnly") is False, "it was up"
    assert len(cluster.started) == 1


@pytest.mark.parametrize("dies", [Controller("theirs", gone), Controller("theirs", lambda: None, gone)])
def test_one_that_goes_down_again_is_started_anew(cluster: Cluster, dies: Controller) -> None:
    cluster.looks = iter([dies, dies, None, Controller("mine")])
    assert start_or_join("HeadOnly") is True
    assert len(cluster.started) == 1 and cluster.shut_down == 0


def test_only_a_start_with_http_waits_for_a_proxy(cluster: Cluster) -> None:
    cluster.there = Controller("theirs", lambda: None, gone)
    assert start_or_join("Disabled") is False and not cluster.started


def test_one_that_never_answers_is_not_waited_for_for_ever(cluster: Cluster) -> None:
    cluster.there = Controller("theirs", late)
    with pytest.raises(RunFailed, match=rf"another process has started .* within {JOIN_S:g} s: Get timed out"):
        start_or_join("Disabled")
    assert JOIN_S < cluster.clock < JOIN_S + 1 and cluster.shut_down == 0 and not cluster.started


@pytest.mark.parametrize(("owner", "times"), [("mine", 1), ("theirs", 0)])
def test_only_a_serve_of_its_own_is_shut_down_after_a_start_that_failed(
    cluster: Cluster, owner: str, times: int
) -> None:
    cluster.looks, cluster.starts = iter([None, Controller(owner)]), [PORT]
    with pytest.raises(RayTaskError):
        start_or_join("HeadOnly")
    assert cluster.shut_down == times


def test_a_run_is_told_in_a_line_that_serve_did_not_start(cluster: Cluster) -> None:
    cluster.starts = [PORT]
    with pytest.raises(RunFailed, match=r"^Serve did not start: RuntimeError: Failed to bind to 127.0.0.1:80$"):
        application.start_serve()
    cluster.looks, cluster.starts = iter([None, Controller("theirs")]), [TAKEN]
    application.start_serve()


def opened(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, port: int = 80) -> tuple[serve_http.HttpAddress, bool]:
    monkeypatch.setattr(serve_http, "_is_head_node", lambda: False)
    monkeypatch.setattr(serve_http, "find_http", lambda: serve_http.HttpAddress("127.0.0.1", port))
    return serve_http.open_http("127.0.0.1", port, False, print)


def test_two_services_that_start_at_once_blame_no_port(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.looks, cluster.starts = iter([None, None, Controller("theirs")]), [TAKEN]
    address, started = opened(cluster, monkeypatch)
    assert address.port == 80 and not started and cluster.shut_down == 0
    cluster.looks, cluster.starts = iter([None, None, Controller("theirs")]), [ActorDiedError()]
    with pytest.raises(RunFailed, match=r"^Serve went down while it was started: The actor died"):
        opened(cluster, monkeypatch)
    assert cluster.shut_down == 0


def test_a_port_that_cannot_be_opened_is_blamed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.looks, cluster.starts = iter([None, None, Controller("mine")]), [PORT]
    with pytest.raises(UserError, match=r"^service.port: can't open 127.0.0.1:80: RuntimeError: Failed to bind"):
        opened(cluster, monkeypatch)
    assert cluster.shut_down == 1


def test_the_port_of_a_serve_that_is_starting_is_not_probed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.there = Controller("theirs")
    monkeypatch.setattr(serve_http, "check_free", lambda *_: pytest.fail("it is another Serve's"))
    assert opened(cluster, monkeypatch, free_port())[1] is False


def test_a_service_does_not_end_a_serve_that_took_the_place_of_its_own(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = SimpleNamespace(
        status=lambda: SimpleNamespace(applications={}), shutdown=lambda: pytest.fail("it is another's")
    )
    monkeypatch.setattr(serve_http, "serve", idle)
    cluster.there = Controller("theirs")
    serve_http.shut_down_if_idle()
