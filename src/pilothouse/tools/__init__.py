"""The built-in tools and the texts that describe them to a model."""
