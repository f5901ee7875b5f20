"""Checks that the cluster asks for Ray's token, and that its dashboard does, which runs the jobs that it is sent."""

from __future__ import annotations

from ray_gym.doctor.ports import get
from ray_gym.doctor.result import CLUSTER, Result

SET_IT = "set RAY_AUTH_MODE=token and a token on every node before `ray start` (docs/ray_auth.md)"
JOBS = "/api/jobs/"


def check_auth(tokens_on: bool) -> Result:
    """Returns the result of the check that Ray asks for its token. `tokens_on`: True if it does."""
    if tokens_on:
        return Result(CLUSTER, "auth", "Ray asks for its token")
    return Result(CLUSTER, "auth", "no token: anyone who reaches Ray's ports runs code on the cluster", SET_IT)


def check_dashboard(address: str) -> Result:
    """Sends the dashboard a request without a token, and returns the result of the check that it refuses that. No
    dashboard, or none that answers, is also a problem.

    `address`: HOST:PORT, or "" for a cluster without a dashboard.
    """
    if not address:
        mend = "for `ray job submit` and `serve deploy`, start the head with its dashboard (ray[default])"
        return Result(CLUSTER, "dashboard", "there is none", mend)
    host, _, port = address.rpartition(":")
    status, _ = get(host.strip("[]"), int(port), JOBS)
    if status in (401, 403):
        return Result(CLUSTER, "dashboard", f"{address} asks for the token")
    if status == 0:
        mend = "reach it by `ray dashboard` or a port forward, if you submit jobs from here; look at dashboard.log on the head"
        return Result(CLUSTER, "dashboard", f"nothing answers at {address}", mend)
    return Result(CLUSTER, "dashboard", f"{address} gives its jobs to anyone who asks", SET_IT)
