"""Holds agents on several SDKs, each a function that plays a participant with a shell (`docs/agents.md`)."""
