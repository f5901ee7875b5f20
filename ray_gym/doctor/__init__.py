"""`ray-gym doctor`: is this cluster fit for this config? Looks at every node, and says what to mend."""
