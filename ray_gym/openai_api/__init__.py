"""Reads and writes OpenAI's wire formats, whichever side speaks them."""
