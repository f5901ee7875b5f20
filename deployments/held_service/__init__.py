"""Runs `ray-gym serve` in a Serve application, for tools that start services by Serve's config files: `serve deploy`,
and KubeRay's RayService.
"""

from ray_gym.deployments.held_service.application import HeldService, build

__all__ = ["HeldService", "build"]
