"""Finds, joins and checks the Ray cluster that a run uses: its address, its nodes and their GPUs."""
