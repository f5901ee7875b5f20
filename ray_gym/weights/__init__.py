"""Changes the weights of a model that serves: they are checked, changed on all replicas or none, and known by version.

See `docs/weights.md`.
"""
