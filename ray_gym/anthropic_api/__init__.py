"""Reads and writes Anthropic's wire format: the Messages API."""
