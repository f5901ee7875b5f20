"""Records metrics of a run for Prometheus: `table` lists them, `recorder` collects their values, `ray_export` gives
them to Ray.
"""
