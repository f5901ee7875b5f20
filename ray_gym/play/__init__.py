"""Who drives an episode: a worker that plays it, or a session whose commands come from outside."""
