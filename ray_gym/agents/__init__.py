"""Has programs play participants of episodes: agents that people already use, or their own."""
