"""`python -m ray_gym` is the same command as `ray-gym`."""

from ray_gym.cli import main

if __name__ == "__main__":
    main()
