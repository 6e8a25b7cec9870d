"""Kept results as a model reads them: what they are, and any part of them."""
