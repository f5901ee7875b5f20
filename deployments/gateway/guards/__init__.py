"""Checks requests before they reach a route."""
