"""Writes a finished run in the forms that trainers read: `ray-gym export`."""
