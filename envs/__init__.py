"""Holds the environments that come with ray_gym, one package each. They are imported as `ray_gym.envs`."""

if __name__ != "ray_gym.envs":
    raise ImportError(
        f"this folder is the package ray_gym.envs, not {__name__}: import it under that name", name=__name__
    )
