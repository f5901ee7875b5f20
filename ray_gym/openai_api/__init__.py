"""Reads and writes OpenAI's wire formats: chat completions, and the Responses API."""
