"""Reads and writes OpenAI's wire formats, for servers and for clients."""
