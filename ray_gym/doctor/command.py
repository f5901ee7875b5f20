"""Carries out `ray-gym doctor`: connects to the cluster that is running, examines it, and disconnects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ray._private.authentication.authentication_utils import is_token_auth_enabled
from ray._private.worker import get_dashboard_url

from ray_gym.doctor.auth import check_auth, check_dashboard
from ray_gym.doctor.examination import examine
from ray_gym.doctor.needs import ClusterNeeds, needs_of
from ray_gym.doctor.nodes import start_examiners
from ray_gym.doctor.result import Result
from ray_gym.run.cluster import cluster


def diagnose(config_path: Path | None, overrides: Sequence[str], deadline_s: float) -> list[Result]:
    """Checks the running cluster, for a config if one is given, and returns the results of all checks.

    `config_path`: None to check the cluster alone. `overrides`: KEY=VALUE. `deadline_s`: seconds for each answer of a
    node. Errors: UserError for a wrong config or address; RunFailed if there is no cluster.
    """
    needs = ClusterNeeds() if config_path is None else needs_of(config_path, overrides)
    cluster.check_running()
    with cluster.connect(), start_examiners(deadline_s) as nodes:
        found = examine(nodes, needs)
        return [*found, check_auth(is_token_auth_enabled()), check_dashboard(get_dashboard_url() or "")]
