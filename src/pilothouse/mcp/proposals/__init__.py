"""What a person typed, pasted, dropped or found, made into servers that could be added."""
