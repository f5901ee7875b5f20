"""Models behind Ray Serve: how an application comes up, and how a call reaches a replica."""
