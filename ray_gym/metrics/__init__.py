"""What a run tells Prometheus of itself: `table` names it all, `recorder` counts, `ray_export` hands it on."""
