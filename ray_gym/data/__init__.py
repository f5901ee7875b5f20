"""Files of task rows: reading them as they come, saying all that is wrong with them, and making them ready for runs."""
