"""Hosts models behind Ray Serve: deploys applications, and sends calls to their replicas."""
