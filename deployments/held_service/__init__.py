"""Runs `ray-gym serve` as an application of Serve, for tools that start services by Serve's config files: `serve
deploy`, KubeRay's RayService.
"""

from ray_gym.deployments.held_service.application import HeldService, build

__all__ = ["HeldService", "build"]
