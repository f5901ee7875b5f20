"""Offers the service over HTTP: a FastAPI application in replicas of Serve, in front of the Service actor."""

from ray_gym.deployments.gateway.gateway import HttpGateway

__all__ = ["HttpGateway"]
