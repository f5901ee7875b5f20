"""The weights of a model that serves: checked, changed on all replicas or none, and known by version. `docs/weights.md`."""
