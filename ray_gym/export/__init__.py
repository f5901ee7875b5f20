"""A finished run, written in the forms that trainers read: `ray-gym export`."""
