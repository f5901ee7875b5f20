"""The service behind the gateway: rollouts that are submitted, and sessions that are driven from outside. Knows nothing of HTTP."""
