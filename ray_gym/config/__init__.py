"""Reads configs: defines their sections, parses their files, and keeps their interpolations."""
