"""Counts for Prometheus what a run does: `table` names all metrics, `recorder` counts, `ray_export` hands them on."""
