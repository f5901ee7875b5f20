"""Describes this installation of ray_gym: its version, the files that come with it, the extras that are missing."""
