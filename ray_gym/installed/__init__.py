"""Describes this installation of ray_gym: its version, the files that come with it, and the extras that are missing."""
