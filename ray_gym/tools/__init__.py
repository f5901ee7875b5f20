"""Tools: what they are, how a call is carried out, and where it runs."""
