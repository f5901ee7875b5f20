"""Defines the routes of the gateway."""
