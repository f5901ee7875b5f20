"""Knows the Ray cluster that a run is on: its address, its nodes and their GPUs."""
