"""Deploys models, and the gateway of the service, on Ray Serve. It is imported as `ray_gym.deployments`. Errors:
ImportError if it is imported by any other name.
"""

if __name__ != "ray_gym.deployments":
    raise ImportError(
        f"this folder is the package ray_gym.deployments, not {__name__}: import it under that name", name=__name__
    )
