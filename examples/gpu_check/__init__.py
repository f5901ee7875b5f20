"""Checks on a node with GPUs what CPUs can't show, and prints a report for an issue (docs/gpus.md): `make gpu-check`."""
