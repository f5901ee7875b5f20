"""Changes the weights of a model that serves: new weights are checked, loaded on all replicas or on none, and have a
version.

See `docs/weights.md`.
"""
