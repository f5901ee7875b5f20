"""Defines the episode record: its schema, and the rows that episodes become."""
