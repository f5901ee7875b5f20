"""`ray-gym doctor`: joins the cluster that is running, examines it, leaves it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ray._private.authentication.authentication_utils import is_token_auth_enabled
from ray._private.services import canonicalize_bootstrap_address
from ray._private.worker import get_dashboard_url

from ray_gym.doctor.auth import check_auth, check_dashboard
from ray_gym.doctor.examination import examine
from ray_gym.doctor.nodes import examined
from ray_gym.doctor.result import Result
from ray_gym.doctor.subject import Subject, subject_of
from ray_gym.errors import RunFailed, UserError
from ray_gym.run import cluster

NONE_RUNNING = (
    "no Ray cluster is running here, and RAY_ADDRESS names none: start one (`ray start --head`; cluster/README.md has the ways), or set "
    "RAY_ADDRESS=HOST:6379, with RAY_AUTH_MODE and the token of that cluster. `ray-gym rollout` needs none: it starts a local one"
)


def diagnose(config_path: Path | None, overrides: Sequence[str], deadline_s: float) -> list[Result]:
    """Errors: UserError for a wrong config or address; RunFailed if there is no cluster."""
    subject = Subject() if config_path is None else subject_of(config_path, overrides)
    _check_running()
    with cluster.connected(), examined(deadline_s) as nodes:
        found = examine(nodes, subject)
        return [*found, check_auth(is_token_auth_enabled()), check_dashboard(get_dashboard_url() or "")]


def _check_running() -> None:
    """Errors: UserError for a wrong RAY_ADDRESS; RunFailed if there is no cluster, also where `ray start` told of one that is gone."""
    given = os.environ.get("RAY_ADDRESS", "")
    cluster.check_address(given)
    address = canonicalize_bootstrap_address(None)
    try:
        cluster.check_address(address or "")
    except UserError:
        address = None
    if address is None:
        raise RunFailed(NONE_RUNNING)
