"""Writes a run's figures to programs that track experiments: `ray-gym track`."""
