"""Finding texts by what they mean: vectors made by a model here or elsewhere, kept, and compared."""
