"""Shows runs in a browser: a local web application over the Parquet of their directories (`ray-gym view`).

`ray_gym.viewer` reads and never writes but notes. It keeps nothing that can't be read again from the run: an index of the
episodes' flat columns is in memory while the server is up.
"""
