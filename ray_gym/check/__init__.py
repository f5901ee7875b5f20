"""`ray-gym check-env`: plays an environment in process, with players that behave and players that don't, and says what it does wrong."""
