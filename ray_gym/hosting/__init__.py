"""Runs models behind Ray Serve: brings applications up, and brings calls to their replicas."""
