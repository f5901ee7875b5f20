"""What OpenAI's wire formats say, apart from who speaks them."""
